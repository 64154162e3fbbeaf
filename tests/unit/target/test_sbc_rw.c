/* READ, WRITE, VERIFY, ORWRITE, COMPARE AND WRITE (target/sbc_rw.c): SBC-3 section 5. */
#include "tests/unit/target/device_server.h"

static const struct server_config slow = {.delay_ns = LOOP_NS_PER_MS};

/* A block CDB of 6, 10, 12 or 16 bytes. */
static void block(
	uint8_t cdb[CDB_SIZE], uint8_t opcode, uint8_t flags, uint64_t lba, uint32_t blocks)
{
	memset(cdb, 0, CDB_SIZE);
	cdb[0] = opcode;
	if (cdb_length(cdb) != 6)
		cdb[1] = flags;
	switch (cdb_length(cdb)) {
	case 6:
		put_be24(cdb + 1, (uint32_t)lba);
		cdb[4] = (uint8_t)blocks;
		break;
	case 10:
		put_be32(cdb + 2, (uint32_t)lba);
		put_be16(cdb + 7, (uint16_t)blocks);
		break;
	case 12:
		put_be32(cdb + 2, (uint32_t)lba);
		put_be32(cdb + 6, blocks);
		break;
	default:
		put_be64(cdb + 2, lba);
		put_be32(cdb + 10, blocks);
	}
}

static void every_read_reads_what_every_write_wrote(void **state)
{
	static const uint8_t reads[] = {SCSI_READ_6, SCSI_READ_10, SCSI_READ_12, SCSI_READ_16};
	static const uint8_t writes[] = {SCSI_WRITE_6, SCSI_WRITE_10, SCSI_WRITE_12, SCSI_WRITE_16,
		SCSI_WRITE_AND_VERIFY_10, SCSI_WRITE_AND_VERIFY_12, SCSI_WRITE_AND_VERIFY_16};
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(writes); i++) {
		uint8_t *data = server_pattern(1024, (unsigned)i);

		block(cdb, writes[i], 0, 100 + i, 2);
		assert_good(server_out(s, cdb, data, 1024));
		for (size_t n = 0; n < sizeof(reads); n++) {
			memset(v->memory, 0, 1024);
			block(cdb, reads[n], 0, 100 + i, 2);
			assert_good(server_in(s, cdb, 1024));
			assert_memory_equal(v->memory, data, 1024);
		}
		free(data);
	}
	server_free(v);
}

static void six_byte_read_of_zero_is_256_blocks(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	block(cdb, SCSI_READ_6, 0, 0, 0);
	assert_int_equal(server_in(s, cdb, 256 * 512)->put_end, 256 * 512);
	server_free(v);
}

static void beyond_the_end_is_out_of_range(void **state)
{
	static const uint8_t codes[] = {SCSI_READ_6, SCSI_READ_10, SCSI_READ_12, SCSI_READ_16,
		SCSI_VERIFY_10, SCSI_VERIFY_12, SCSI_VERIFY_16};
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(codes); i++) {
		block(cdb, codes[i], 0, 65535, 2);
		assert_sense(server_in(s, cdb, 1024), SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	}
	block(cdb, SCSI_READ_16, 0, UINT64_MAX, 1);
	assert_sense(server_in(s, cdb, 512), SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	block(cdb, SCSI_READ_16, 0, UINT64_MAX, 0);
	assert_sense(server_in(s, cdb, 0), SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	block(cdb, SCSI_READ_16, 0, 65537, 0);
	assert_sense(server_in(s, cdb, 0), SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	server_free(v);
}

static void longer_than_the_block_limits_is_refused(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	block(cdb, SCSI_READ_16, 0, 0, 32769);
	assert_sense(server_in(s, cdb, 4096), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	block(cdb, SCSI_READ_16, 0, 0, 32768);
	assert_int_equal(server_in(s, cdb, 16u << 20)->put_end, 16u << 20);
	server_free(v);
}

static void protection_bits_are_refused_and_caching_bits_taken(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE], data[512] = {0};

	(void)state;
	for (uint8_t p = 1; p < 8; p++) {
		block(cdb, SCSI_READ_10, (uint8_t)(p << 5), 0, 1);
		assert_sense(
			server_in(s, cdb, 512), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	}
	for (uint8_t flags = 0; flags < 0x20; flags++) {
		block(cdb, SCSI_WRITE_16, flags & 0x1a, 0, 1);
		assert_good(server_out(s, cdb, data, 512));
	}
	server_free(v);
}

static void verify_compares_with_data_or_reads_alone(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t *data = server_pattern(8192, 3), cdb[CDB_SIZE];
	struct server_result *r;

	(void)state;
	server_write(s, 4, 16, data, 8192);
	block(cdb, SCSI_VERIFY_16, 0x02, 4, 16);
	assert_good(server_out(s, cdb, data, 8192));
	data[5000] ^= 1;
	r = server_out(s, cdb, data, 8192);
	assert_sense(r, SENSE_MISCOMPARE, ASC_MISCOMPARE_DURING_VERIFY);
	assert_true(r->sense.information_valid);
	assert_int_equal(r->sense.information, 5000);
	block(cdb, SCSI_VERIFY_16, 0, 4, 16); /* the data is not looked at */
	r = server_out(s, cdb, data, 8192);
	assert_good(r);
	assert_int_equal(r->transfer_length, 0);
	assert_int_equal(r->gets, 0);
	block(cdb, SCSI_VERIFY_10, 0x06, 4, 1);
	assert_sense(
		server_out(s, cdb, data, 512), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	free(data);
	server_free(v);
}

static void partial_write_and_verify(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t a[512], cdb[CDB_SIZE];
	struct server_result *r;

	(void)state;
	memset(a, 'a', 512);
	block(cdb, SCSI_WRITE_AND_VERIFY_10, 0x02, 0, 1);
	r = server_out(s, cdb, a, 200);
	assert_good(r);
	assert_int_equal(r->transfer_length, 512);
	server_read(s, 0, 1, 512);
	assert_memory_equal(v->memory, a, 200);
	assert_int_equal(v->memory[200], 0);
	server_free(v);
}

static void orwrite_sets_bits(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t a[1024], cdb[CDB_SIZE];

	(void)state;
	memset(a, 0x0f, sizeof(a));
	server_write(s, 0, 2, a, 1024);
	memset(a, 0xa0, sizeof(a));
	block(cdb, SCSI_ORWRITE_16, 0, 0, 2);
	assert_good(server_out(s, cdb, a, 1024));
	memset(a, 0xaf, sizeof(a));
	server_read(s, 0, 2, 1024);
	assert_memory_equal(v->memory, a, 1024);
	server_free(v);
}

/* ---- durability ---- */

static struct {
	const struct backend_ops *under;
	struct backend_ops ops;
	unsigned writes, durable, flushes;
} recorded;

static void record(struct backend_channel *c, struct backend_request *r)
{
	recorded.writes += r->operation == BACKEND_WRITE;
	recorded.durable += r->operation == BACKEND_WRITE && r->fua;
	recorded.flushes += r->operation == BACKEND_FLUSH;
	recorded.under->submit(c, r);
}

static unsigned durable_writes(bool no_write_cache, uint8_t opcode, uint8_t flags)
{
	struct server *v =
		server_new_with((struct server_config){.no_write_cache = no_write_cache});
	struct tgt_session *s = server_session(v, 0);
	uint8_t data[1024] = {0}, cdb[CDB_SIZE];
	unsigned durable;

	memset(&recorded, 0, sizeof(recorded));
	recorded.under = v->device->backend->ops;
	recorded.ops = *recorded.under;
	recorded.ops.submit = record;
	v->device->backend->ops = &recorded.ops;
	block(cdb, opcode, flags, 0, 1);
	assert_good(server_out(s, cdb, data, 512));
	assert_int_equal(recorded.writes, 1);
	durable = recorded.durable;
	v->device->backend->ops = recorded.under;
	server_free(v);
	return durable;
}

static void write_is_durable_without_cache_and_with_fua(void **state)
{
	(void)state;
	assert_int_equal(durable_writes(false, SCSI_WRITE_10, 0), 0);
	assert_int_equal(durable_writes(false, SCSI_WRITE_10, CDB_FUA), 1);
	assert_int_equal(durable_writes(true, SCSI_WRITE_10, 0), 1);
	assert_int_equal(durable_writes(true, SCSI_WRITE_6, 0), 1);
	assert_int_equal(durable_writes(false, SCSI_WRITE_AND_VERIFY_10, 0), 1);
}

static unsigned flushes_of_a_read(bool no_write_cache, uint8_t flags)
{
	struct server *v =
		server_new_with((struct server_config){.no_write_cache = no_write_cache});
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	memset(&recorded, 0, sizeof(recorded));
	recorded.under = v->device->backend->ops;
	recorded.ops = *recorded.under;
	recorded.ops.submit = record;
	v->device->backend->ops = &recorded.ops;
	block(cdb, SCSI_READ_10, flags, 0, 1);
	assert_good(server_in(s, cdb, 512));
	v->device->backend->ops = recorded.under;
	server_free(v);
	return recorded.flushes;
}

static void read_with_fua_is_of_the_medium(void **state)
{
	(void)state;
	assert_int_equal(flushes_of_a_read(false, 0), 0);
	assert_int_equal(flushes_of_a_read(false, CDB_FUA), 1);
	assert_int_equal(flushes_of_a_read(true, CDB_FUA), 0);
}

static void read_with_fua_fails_when_the_flush_does(void **state)
{
	struct fault_config fault = {
		.rules = {{.operation = BACKEND_FLUSH, .error = EIO}},
		.rule_count = 1,
	};
	struct server *v = server_new_with((struct server_config){.fault = &fault});
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	block(cdb, SCSI_READ_10, CDB_FUA, 0, 1);
	assert_sense(server_in(s, cdb, 512), SENSE_MEDIUM_ERROR, ASC_WRITE_ERROR);
	server_free(v);
}

static void read_with_fua_is_aborted_while_it_flushes(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	uint32_t itt;

	(void)state;
	block(cdb, SCSI_READ_10, CDB_FUA, 0, 1);
	itt = server_send(s, (struct server_send){.cdb = cdb, .read = true, .length = 512});
	server_turn(v);
	command_abort(list_first(&s->commands, struct command, session_link));
	server_advance(v, LOOP_NS_PER_S);
	assert_true(s->results[itt].aborted);
	server_free(v);
}

/* ---- COMPARE AND WRITE ---- */

static void compare_and_write_when_it_is_the_same(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t data[2048], cdb[CDB_SIZE];

	(void)state;
	memset(data, 0, 1024);
	memset(data + 1024, 'n', 1024);
	cdb_compare_and_write(cdb, 7, 2, true);
	assert_good(server_do(s, (struct server_send){.cdb = cdb,
					 .write = true,
					 .length = 2048,
					 .out = data,
					 .immediate = 1500}));
	server_read(s, 7, 2, 1024);
	assert_memory_equal(v->memory, data + 1024, 1024);
	server_free(v);
}

static void compare_and_write_when_it_is_not(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t data[1024], cdb[CDB_SIZE];
	struct server_result *r;

	(void)state;
	memset(data, 'n', sizeof(data));
	memset(data, 0, 300);
	cdb_compare_and_write(cdb, 7, 1, false);
	r = server_out(s, cdb, data, 1024);
	assert_sense(r, SENSE_MISCOMPARE, ASC_MISCOMPARE_DURING_VERIFY);
	assert_int_equal(r->sense.information, 300);
	server_read(s, 7, 1, 512);
	assert_int_equal(v->memory[400], 0);
	server_free(v);
}

static void compare_and_write_of_a_wrong_length(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t data[4096] = {0}, cdb[CDB_SIZE];

	(void)state;
	cdb_compare_and_write(cdb, 0, 1, false);
	assert_sense(
		server_out(s, cdb, data, 2048), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb_compare_and_write(cdb, 0, 3, false);
	assert_sense(
		server_out(s, cdb, data, 2048), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb_compare_and_write(cdb, 0, 0, false);
	assert_good(server_none(s, cdb));
	cdb_compare_and_write(cdb, 65535, 2, false);
	assert_sense(server_out(s, cdb, data, 2048), SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	server_free(v);
}

/* Eight increments of one counter from two loops, all under way at once: a counter that was read by
 * two of them would fail one or lose one. */
static void compare_and_write_is_alone_across_loops(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);
	uint8_t data[1024] = {0}, cdb[CDB_SIZE];
	unsigned won = 0;

	(void)state;
	data[512] = 1;
	cdb_compare_and_write(cdb, 0, 1, false);
	for (unsigned i = 0; i < 4; i++) {
		struct server_send what = {
			.cdb = cdb, .write = true, .length = 1024, .out = data, .immediate = 1024};

		server_send(a, what);
		server_send(b, what);
	}
	for (unsigned i = 0; i < 50; i++)
		server_advance(v, LOOP_NS_PER_MS);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(a->results[i].responded && b->results[i].responded);
		won += a->results[i].status == SCSI_GOOD;
		won += b->results[i].status == SCSI_GOOD;
	}
	assert_int_equal(won, 1);
	server_free(v);
}

static void write_waits_for_compare_and_write(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);
	uint8_t data[1024] = {0}, other[512], cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	memset(data + 512, 'c', 512);
	memset(other, 'w', 512);
	cdb_compare_and_write(cdb, 0, 1, false);
	server_send(
		a, (struct server_send){.cdb = cdb, .write = true, .length = 1024, .out = data});
	server_turn(v);
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 1, false, &size);
	server_send(b,
		(struct server_send){
			.cdb = cdb, .write = true, .length = 512, .out = other, .immediate = 512});
	for (unsigned i = 0; i < 10; i++)
		server_advance(v, LOOP_NS_PER_MS);
	assert_good(&a->results[0]);
	assert_good(&b->results[0]);
	server_read(a, 0, 1, 512);
	assert_memory_equal(v->memory, other, 512);
	server_free(v);
}

static void command_that_waits_for_its_range_is_aborted(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);
	uint8_t data[1024] = {0}, cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	cdb_compare_and_write(cdb, 0, 1, false);
	server_send(
		a, (struct server_send){.cdb = cdb, .write = true, .length = 1024, .out = data});
	server_turn(v);
	cdb_read_write(cdb, SCSI_DATA_IN, 0, 1, false, &size);
	server_send(b, (struct server_send){.cdb = cdb, .read = true, .length = 512});
	server_turn(v);
	command_abort(list_first(&b->commands, struct command, session_link));
	server_turn(v);
	assert_true(b->results[0].aborted);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_read_reads_what_every_write_wrote),
		cmocka_unit_test(six_byte_read_of_zero_is_256_blocks),
		cmocka_unit_test(beyond_the_end_is_out_of_range),
		cmocka_unit_test(longer_than_the_block_limits_is_refused),
		cmocka_unit_test(protection_bits_are_refused_and_caching_bits_taken),
		cmocka_unit_test(verify_compares_with_data_or_reads_alone),
		cmocka_unit_test(partial_write_and_verify),
		cmocka_unit_test(orwrite_sets_bits),
		cmocka_unit_test(write_is_durable_without_cache_and_with_fua),
		cmocka_unit_test(read_with_fua_is_of_the_medium),
		cmocka_unit_test(read_with_fua_fails_when_the_flush_does),
		cmocka_unit_test(read_with_fua_is_aborted_while_it_flushes),
		cmocka_unit_test(compare_and_write_when_it_is_the_same),
		cmocka_unit_test(compare_and_write_when_it_is_not),
		cmocka_unit_test(compare_and_write_of_a_wrong_length),
		cmocka_unit_test(compare_and_write_is_alone_across_loops),
		cmocka_unit_test(write_waits_for_compare_and_write),
		cmocka_unit_test(command_that_waits_for_its_range_is_aborted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

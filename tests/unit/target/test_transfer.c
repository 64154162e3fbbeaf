/* Data between initiator and medium (target/transfer.c): lengths, residuals, buffers, failures and
 * aborts, on the memory store and on a slow one. Lengths and residuals are RFC 7143 section 11.4.5.
 */
#include "tests/unit/target/device_server.h"

static const struct server_config slow = {.delay_ns = LOOP_NS_PER_MS};

static void round_trip(struct server_config config, bool mapped, uint32_t immediate)
{
	static const uint32_t sizes[] = {1, 8, 16, 17, 128, 2047, 2048, 2049, 8192, 32768};
	struct server *v = server_new_with(config);
	struct tgt_session *s = server_session(v, 0);
	struct dm_region region = {0};

	s->nexus->map_region = mapped ? &region : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint32_t length = sizes[i] * 512;
		uint8_t *data = server_pattern(length, (unsigned)i);
		uint8_t cdb[CDB_SIZE];
		unsigned size;
		struct server_result *r;

		cdb_read_write(cdb, SCSI_DATA_OUT, 3, sizes[i], false, &size);
		r = server_do(s, (struct server_send){.cdb = cdb,
					 .write = true,
					 .length = length,
					 .out = data,
					 .immediate = min_u32(immediate, length)});
		assert_good(r);
		assert_int_equal(r->transfer_length, length);
		server_read(s, 3, sizes[i], length);
		assert_memory_equal(v->memory, data, length);
		free(data);
	}
	server_free(v);
}

static void every_length_comes_back_as_written(void **state)
{
	(void)state;
	round_trip((struct server_config){0}, false, 0);
	round_trip(slow, false, 0);
}

static void mapped_memory_is_used_in_place(void **state)
{
	(void)state;
	round_trip((struct server_config){0}, true, 0);
	round_trip((struct server_config){0}, true, 8192);
}

static void immediate_data_comes_first(void **state)
{
	(void)state;
	round_trip((struct server_config){0}, false, 512);
	round_trip(slow, false, 65536);
	round_trip(slow, false, 1536 * 1024);
}

static void checksummed_data_is_copied_before_it_leaves(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	struct dm_region region = {0};
	uint8_t *data = server_pattern(4096, 1);

	(void)state;
	s->nexus->map_region = &region;
	s->conn.checksums_data = true;
	server_write(s, 0, 8, data, 4096);
	server_read(s, 0, 8, 4096);
	assert_memory_equal(v->memory, data, 4096);
	free(data);
	server_free(v);
}

static void no_blocks_are_no_transfer(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	server_read(s, 0, 0, 0);
	server_write(s, 65536, 0, NULL, 0);
	assert_int_equal(server_result_of(s, 0)->puts, 0);
	server_free(v);
}

static struct server_result *read_one(struct tgt_session *s, uint32_t blocks, uint32_t length)
{
	uint8_t cdb[CDB_SIZE];
	unsigned size;

	cdb_read_write(cdb, SCSI_DATA_IN, 0, blocks, false, &size);
	return server_in(s, cdb, length);
}

static void read_is_cut_to_what_is_expected(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	struct server_result *r;

	(void)state;
	r = read_one(s, 1, 0);
	assert_good(r);
	assert_int_equal(r->transfer_length, 512);
	assert_int_equal(r->put_end, 0);
	r = read_one(s, 1, 200);
	assert_good(r);
	assert_int_equal(r->transfer_length, 512);
	assert_int_equal(r->put_end, 200);
	r = read_one(s, 1, 10000);
	assert_good(r);
	assert_int_equal(r->transfer_length, 512);
	assert_int_equal(r->put_end, 512);
	r = read_one(s, 2, 512);
	assert_int_equal(r->transfer_length, 1024);
	assert_int_equal(r->put_end, 512);
	server_free(v);
}

static void write_shorter_than_the_cdb_leaves_the_rest(struct server_config config, bool mapped)
{
	struct server *v = server_new_with(config);
	struct tgt_session *s = server_session(v, 0);
	struct dm_region region = {0};
	uint8_t a[1024], b[1024], cdb[CDB_SIZE];
	unsigned size;

	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	s->nexus->map_region = mapped ? &region : NULL;
	for (uint32_t immediate = 0; immediate <= 200; immediate += 100) {
		struct server_result *r;

		server_write(s, 0, 2, a, 1024);
		cdb_read_write(cdb, SCSI_DATA_OUT, 0, 1, false, &size);
		r = server_do(s, (struct server_send){.cdb = cdb,
					 .write = true,
					 .length = 200,
					 .out = b,
					 .immediate = immediate});
		assert_good(r);
		assert_int_equal(r->transfer_length, 512);
		server_read(s, 0, 2, 1024);
		assert_memory_equal(v->memory, b, 200);
		assert_memory_equal(v->memory + 200, a, 824);
	}
	server_free(v);
}

/* It has read the block and waits for its data; another's WRITE of the block must not come between.
 */
static void partial_block_is_not_merged_with_what_was_there_before(void **state)
{
	struct server *v = server_new();
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);
	uint8_t old[512], whole[512], part[100], cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	memset(old, 'o', sizeof(old));
	memset(whole, 'w', sizeof(whole));
	memset(part, 'p', sizeof(part));
	server_write(a, 0, 1, old, 512);
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 1, false, &size);
	a->mover_holds = true;
	server_send(a, (struct server_send){.cdb = cdb, .write = true, .length = 100, .out = part});
	server_turn(v);
	server_send(
		b, (struct server_send){.cdb = cdb, .write = true, .length = 512, .out = whole});
	server_turn(v);
	server_let_go(a);
	server_turn(v);
	server_read(b, 0, 1, 512);
	assert_memory_equal(v->memory + 100, whole + 100, 412);
	server_free(v);
}

static void partial_block_is_merged(void **state)
{
	(void)state;
	write_shorter_than_the_cdb_leaves_the_rest((struct server_config){0}, false);
	write_shorter_than_the_cdb_leaves_the_rest((struct server_config){0}, true);
	write_shorter_than_the_cdb_leaves_the_rest(slow, false);
}

/* The arena of the test has two large buffers; eight commands of four extents each want 32. */
static void commands_wait_for_buffers_and_all_end(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t *data = server_pattern(4 * 1024 * 1024, 5), cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		cdb_read_write(cdb, SCSI_DATA_OUT, 0, 8192, false, &size);
		server_send(s, (struct server_send){.cdb = cdb,
				       .write = true,
				       .length = 4 * 1024 * 1024,
				       .out = data,
				       .immediate = 4096});
	}
	for (unsigned i = 0; i < 100; i++)
		server_advance(v, LOOP_NS_PER_MS);
	for (unsigned i = 0; i < 8; i++) {
		assert_true(s->results[i].responded);
		assert_int_equal(s->results[i].status, SCSI_GOOD);
	}
	server_read(s, 0, 8192, 4 * 1024 * 1024);
	assert_memory_equal(v->memory, data, 4 * 1024 * 1024);
	free(data);
	server_free(v);
}

static void small_commands_pass_large_ones_that_wait(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		cdb_read_write(cdb, SCSI_DATA_IN, 0, 8192, false, &size);
		server_send(s,
			(struct server_send){.cdb = cdb, .read = true, .length = 4 * 1024 * 1024});
	}
	read_one(s, 8, 4096);
	assert_int_equal(s->results[4].order, 1);
	server_free(v);
}

static void unreadable_block_fails_the_read(void **state)
{
	struct fault_config fault = {
		.rules = {{.operation = BACKEND_READ, .from = 0, .to = 512, .error = EIO}},
		.rule_count = 1,
	};
	struct server *v = server_new_with((struct server_config){.fault = &fault});
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	/* Extents behind the bad one are read before it fails, and never leave. */
	assert_sense(
		read_one(s, 8192, 4 * 1024 * 1024), SENSE_MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR);
	assert_int_equal(s->results[0].put_end, 0);
	server_free(v);
}

/* A store that does the later of two reads first. */
static struct {
	struct backend_ops ops;
	const struct backend_ops *inner;
	struct backend_request *held;
} reversing;

static void submit_reversed(struct backend_channel *c, struct backend_request *r)
{
	struct backend_request *earlier = reversing.held;

	if (r->operation == BACKEND_READ && !earlier) {
		reversing.held = r;
		return;
	}
	reversing.held = NULL;
	reversing.inner->submit(c, r);
	if (earlier)
		reversing.inner->submit(c, earlier);
}

static struct server *reversing_server(struct server_config config)
{
	struct server *v = server_new_with(config);

	reversing.inner = v->device->backend->ops;
	reversing.ops = *reversing.inner;
	reversing.ops.submit = submit_reversed;
	reversing.ops.map = NULL;
	v->device->backend->ops = &reversing.ops;
	return v;
}

/* server_put() looks at the order. */
static void reads_that_end_in_reverse_leave_in_order(void **state)
{
	uint8_t *data = server_pattern(4 * 1024 * 1024, 6);
	struct server *v = reversing_server((struct server_config){0});
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	server_write(s, 0, 8192, data, 4 * 1024 * 1024);
	server_read(s, 0, 8192, 4 * 1024 * 1024);
	assert_memory_equal(v->memory, data, 4 * 1024 * 1024);
	free(data);
	server_free(v);
}

static void failed_read_ends_though_a_later_extent_waits_for_it(void **state)
{
	struct fault_config fault = {
		.rules = {{.operation = BACKEND_READ, .from = 0, .to = 512, .error = EIO}},
		.rule_count = 1,
	};
	struct server *v = reversing_server((struct server_config){.fault = &fault});
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	assert_sense(
		read_one(s, 8192, 4 * 1024 * 1024), SENSE_MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR);
	assert_int_equal(s->results[0].put_end, 0);
	server_free(v);
}

static void broken_data_out_is_a_data_phase_error(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t data[4096] = {0}, cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	s->mover_status = -EBADMSG;
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 8, false, &size);
	assert_sense(server_out(s, cdb, data, 4096), SENSE_ABORTED_COMMAND, ASC_DATA_PHASE_ERROR);
	server_free(v);
}

static struct command *first_command(struct tgt_session *s)
{
	assert_false(list_empty(&s->commands));
	return list_first(&s->commands, struct command, session_link);
}

static void abort_while_the_store_works(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	cdb_read_write(cdb, SCSI_DATA_IN, 0, 8192, false, &size);
	server_send(s, (struct server_send){.cdb = cdb, .read = true, .length = 4 * 1024 * 1024});
	server_turn(v);
	command_abort(first_command(s));
	command_abort(first_command(s));
	server_turn(v);
	assert_false(s->results[0].aborted); /* the store still has its buffers */
	for (unsigned i = 0; i < 10; i++)
		server_advance(v, LOOP_NS_PER_MS);
	assert_true(s->results[0].aborted);
	assert_false(s->results[0].responded);
	server_free(v);
}

static void abort_while_the_mover_works(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t data[4096] = {0}, cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	s->mover_holds = true;
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 8, false, &size);
	server_send(
		s, (struct server_send){.cdb = cdb, .write = true, .length = 4096, .out = data});
	server_turn(v);
	command_abort(first_command(s));
	server_turn(v);
	assert_true(s->results[0].aborted);
	server_free(v);
}

static void abort_after_the_response_is_queued(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	s->mover_holds = true;
	cdb_read_write(cdb, SCSI_DATA_IN, 0, 8, false, &size);
	server_send(s, (struct server_send){.cdb = cdb, .read = true, .length = 4096});
	server_turn(v);
	assert_true(s->results[0].responded); /* behind the data-in, not after it */
	assert_true(first_command(s)->responded);
	command_abort(first_command(s));
	server_turn(v);
	assert_true(s->results[0].aborted);
	server_free(v);
}

static void abort_before_the_first_turn(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	cdb_test_unit_ready(cdb);
	server_send(s, (struct server_send){.cdb = cdb});
	command_abort(first_command(s));
	assert_false(s->results[0].aborted); /* from the loop, not from inside */
	server_turn(v);
	assert_true(s->results[0].aborted);
	assert_false(s->results[0].responded);
	server_free(v);
}

static void abort_while_memory_is_short(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];
	unsigned size;
	struct command *cmd, *last = NULL;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		cdb_read_write(cdb, SCSI_DATA_IN, 0, 8192, false, &size);
		server_send(s,
			(struct server_send){.cdb = cdb, .read = true, .length = 4 * 1024 * 1024});
	}
	list_for_each(cmd, &s->commands, session_link)
		last = cmd;
	assert_true(last->waits_memory);
	command_abort(last);
	server_turn(v);
	assert_true(s->results[3].aborted);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_comes_back_as_written),
		cmocka_unit_test(mapped_memory_is_used_in_place),
		cmocka_unit_test(immediate_data_comes_first),
		cmocka_unit_test(checksummed_data_is_copied_before_it_leaves),
		cmocka_unit_test(no_blocks_are_no_transfer),
		cmocka_unit_test(read_is_cut_to_what_is_expected),
		cmocka_unit_test(partial_block_is_merged),
		cmocka_unit_test(partial_block_is_not_merged_with_what_was_there_before),
		cmocka_unit_test(commands_wait_for_buffers_and_all_end),
		cmocka_unit_test(small_commands_pass_large_ones_that_wait),
		cmocka_unit_test(unreadable_block_fails_the_read),
		cmocka_unit_test(reads_that_end_in_reverse_leave_in_order),
		cmocka_unit_test(failed_read_ends_though_a_later_extent_waits_for_it),
		cmocka_unit_test(broken_data_out_is_a_data_phase_error),
		cmocka_unit_test(abort_while_the_store_works),
		cmocka_unit_test(abort_while_the_mover_works),
		cmocka_unit_test(abort_after_the_response_is_queued),
		cmocka_unit_test(abort_before_the_first_turn),
		cmocka_unit_test(abort_while_memory_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

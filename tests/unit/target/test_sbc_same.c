/* WRITE SAME (target/sbc_same.c): SBC-3 sections 5.40 and 5.41. */
#include "tests/unit/target/device_server.h"

static const struct server_config slow = {.delay_ns = LOOP_NS_PER_MS};

static void fill(struct tgt_session *s, uint8_t byte, uint32_t blocks)
{
	uint8_t *data = malloc(blocks * 512);

	memset(data, byte, blocks * 512);
	server_write(s, 0, blocks, data, blocks * 512);
	free(data);
}

static void expect(struct tgt_session *s, uint64_t lba, uint32_t blocks, const uint8_t *block)
{
	server_read(s, lba, blocks, blocks * 512);
	for (uint32_t i = 0; i < blocks; i++)
		assert_memory_equal(s->server->memory + i * 512, block, 512);
}

static void pattern_is_repeated(struct server_config config, uint32_t blocks)
{
	struct server *v = server_new_with(config);
	struct tgt_session *s = server_session(v, 0);
	uint8_t *block = server_pattern(512, 1), ones[512], cdb[CDB_SIZE];

	memset(ones, 1, sizeof(ones));
	fill(s, 1, 32768);
	cdb_write_same16(cdb, 1, blocks, false, false);
	assert_good(server_do(s,
		(struct server_send){
			.cdb = cdb, .write = true, .length = 512, .out = block, .immediate = 100}));
	expect(s, 0, 1, ones);
	expect(s, 1, blocks, block);
	expect(s, blocks + 1, 1, ones);
	free(block);
	server_free(v);
}

static void patterns_of_every_length(void **state)
{
	static const uint32_t lengths[] = {1, 2, 3, 127, 128, 129, 2048, 2049, 9000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		pattern_is_repeated((struct server_config){0}, lengths[i]);
		pattern_is_repeated(slow, lengths[i]);
	}
}

static void zeros_with_and_without_unmap(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t zeros[512] = {0}, cdb[CDB_SIZE];

	(void)state;
	for (unsigned how = 0; how < 4; how++) {
		bool unmap = how & 1, ndob = how & 2;

		fill(s, 7, 64);
		cdb_write_same16(cdb, 3, 50, unmap, ndob);
		assert_good(ndob ? server_none(s, cdb) : server_out(s, cdb, zeros, 512));
		expect(s, 3, 50, zeros);
		server_read(s, 53, 1, 512);
		assert_int_equal(v->memory[0], 7);
	}
	fill(s, 7, 64);
	cdb_write_same10(cdb, 3, 50, true);
	assert_good(server_out(s, cdb, zeros, 512));
	expect(s, 3, 50, zeros);
	server_free(v);
}

static void unmap_with_a_pattern_writes_it(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t *block = server_pattern(512, 4), cdb[CDB_SIZE];

	(void)state;
	cdb_write_same16(cdb, 0, 20, true, false);
	assert_good(server_out(s, cdb, block, 512));
	expect(s, 0, 20, block);
	free(block);
	server_free(v);
}

static void no_blocks_too_many_and_out_of_range(void **state)
{
	struct server *v = server_new_with((struct server_config){.blocks = 3u << 20});
	struct tgt_session *s = server_session(v, 0);
	uint8_t zeros[512] = {0}, cdb[CDB_SIZE];

	(void)state;
	cdb_write_same16(cdb, 0, 0, false, false); /* WSNZ */
	assert_sense(
		server_out(s, cdb, zeros, 512), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb_write_same16(cdb, 0, 65536, false, false);
	assert_sense(
		server_out(s, cdb, zeros, 512), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	cdb_write_same16(cdb, 0, 65535, false, false);
	assert_good(server_out(s, cdb, zeros, 512));
	cdb_write_same16(cdb, UINT64_MAX, 1, false, false);
	assert_sense(server_out(s, cdb, zeros, 512), SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	server_free(v);
}

static void other_than_one_block_of_data_is_refused(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t data[1024] = {0}, cdb[CDB_SIZE];

	(void)state;
	cdb_write_same16(cdb, 0, 1, true, false);
	assert_sense(server_out(s, cdb, data, 256), SENSE_ILLEGAL_REQUEST,
		ASC_INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT);
	assert_sense(server_out(s, cdb, data, 1024), SENSE_ILLEGAL_REQUEST,
		ASC_INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT);
	cdb[1] |= CDB_WRITE_SAME_ANCHOR;
	assert_sense(
		server_out(s, cdb, data, 512), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	server_free(v);
}

static void abort_while_the_pattern_is_written(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t *block = server_pattern(512, 1), cdb[CDB_SIZE];

	(void)state;
	cdb_write_same16(cdb, 0, 30000, false, false);
	server_send(s,
		(struct server_send){
			.cdb = cdb, .write = true, .length = 512, .out = block, .immediate = 512});
	server_turn(v);
	command_abort(list_first(&s->commands, struct command, session_link));
	server_advance(v, LOOP_NS_PER_MS);
	assert_true(s->results[0].aborted);
	free(block);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_of_every_length),
		cmocka_unit_test(zeros_with_and_without_unmap),
		cmocka_unit_test(unmap_with_a_pattern_writes_it),
		cmocka_unit_test(no_blocks_too_many_and_out_of_range),
		cmocka_unit_test(other_than_one_block_of_data_is_refused),
		cmocka_unit_test(abort_while_the_pattern_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* UNMAP (target/sbc_unmap.c, ranges.c): SBC-3 section 5.28. */
#include "tests/unit/target/device_server.h"

static const struct server_config slow = {.delay_ns = LOOP_NS_PER_MS};

static struct server_result *unmap(
	struct tgt_session *s, const struct unmap_extent *extents, size_t count)
{
	uint8_t list[8192], cdb[CDB_SIZE];
	size_t length = unmap_list_encode(extents, count, list, sizeof(list));

	cdb_unmap(cdb, (uint16_t)length);
	return server_out(s, cdb, list, (uint32_t)length);
}

static void extents_read_as_zeros(void **state)
{
	static const struct unmap_extent extents[] = {{8, 8}, {100, 0}, {32, 1}};
	uint8_t *data = server_pattern(64 * 512, 1), zeros[4096] = {0};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct server *v = server_new_with(i ? slow : (struct server_config){0});
		struct tgt_session *s = server_session(v, 0);

		server_write(s, 0, 64, data, 64 * 512);
		assert_good(unmap(s, extents, 3));
		server_read(s, 0, 64, 64 * 512);
		assert_memory_equal(v->memory, data, 4096);
		assert_memory_equal(v->memory + 4096, zeros, 4096);
		assert_memory_equal(v->memory + 8192, data + 8192, 8192);
		assert_memory_equal(v->memory + 32 * 512, zeros, 512);
		assert_memory_equal(v->memory + 33 * 512, data + 33 * 512, 31 * 512);
		server_free(v);
	}
	free(data);
}

static void nothing_is_unmapped_when_one_descriptor_is_wrong(void **state)
{
	static const struct unmap_extent extents[] = {{0, 8}, {65536, 1}};
	static const struct unmap_extent end[] = {{65536, 0}};
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t *data = server_pattern(4096, 1);

	(void)state;
	server_write(s, 0, 8, data, 4096);
	assert_sense(unmap(s, extents, 2), SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	server_read(s, 0, 8, 4096);
	assert_memory_equal(v->memory, data, 4096);
	assert_good(unmap(s, end, 1));
	free(data);
	server_free(v);
}

static void lists_of_no_descriptor_and_of_too_many(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	struct unmap_extent many[257] = {{0}};
	uint8_t cdb[CDB_SIZE], list[8] = {0};

	(void)state;
	cdb_unmap(cdb, 0);
	assert_good(server_none(s, cdb));
	assert_good(unmap(s, many, 0));
	assert_good(unmap(s, many, 256));
	assert_sense(unmap(s, many, 257), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	for (uint16_t n = 1; n < 8; n++) {
		cdb_unmap(cdb, n);
		assert_sense(server_out(s, cdb, list, n), SENSE_ILLEGAL_REQUEST,
			ASC_PARAMETER_LIST_LENGTH_ERROR);
	}
	server_free(v);
}

static void more_blocks_than_the_limit(void **state)
{
	static const struct unmap_extent extents[] = {{0, 1 << 19}, {0, 1 << 19}, {0, 1}};
	struct server *v = server_new_with((struct server_config){.blocks = 3u << 20});
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	assert_good(unmap(s, extents, 2));
	assert_sense(
		unmap(s, extents, 3), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_PARAMETER_LIST);
	server_free(v);
}

static void full_store_is_a_space_allocation_error(void **state)
{
	static const struct unmap_extent extents[] = {{0, 8}};
	struct fault_config fault = {
		.rules = {{.operation = BACKEND_DISCARD, .error = ENOSPC}},
		.rule_count = 1,
	};
	struct server *v = server_new_with((struct server_config){.fault = &fault});
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	assert_sense(unmap(s, extents, 1), SENSE_DATA_PROTECT,
		ASC_SPACE_ALLOCATION_FAILED_WRITE_PROTECT);
	server_free(v);
}

static void unmap_of_a_store_that_cannot(void **state)
{
	static const struct unmap_extent extents[] = {{0, 8}};
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE], zeros[512] = {0};

	(void)state;
	v->device->backend->info.discard_granularity = 0;
	assert_sense(
		unmap(s, extents, 1), SENSE_ILLEGAL_REQUEST, ASC_INVALID_COMMAND_OPERATION_CODE);
	cdb_write_same16(cdb, 0, 1, true, false);
	assert_sense(
		server_out(s, cdb, zeros, 512), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	server_free(v);
}

static void abort_between_two_descriptors(void **state)
{
	static const struct unmap_extent extents[] = {{0, 8}, {8, 8}};
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t list[64], cdb[CDB_SIZE];
	size_t length = unmap_list_encode(extents, 2, list, sizeof(list));

	(void)state;
	cdb_unmap(cdb, (uint16_t)length);
	server_send(s, (struct server_send){
			       .cdb = cdb, .write = true, .length = (uint32_t)length, .out = list});
	server_turn(v);
	command_abort(list_first(&s->commands, struct command, session_link));
	server_advance(v, LOOP_NS_PER_MS);
	assert_true(s->results[0].aborted);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extents_read_as_zeros),
		cmocka_unit_test(nothing_is_unmapped_when_one_descriptor_is_wrong),
		cmocka_unit_test(lists_of_no_descriptor_and_of_too_many),
		cmocka_unit_test(more_blocks_than_the_limit),
		cmocka_unit_test(full_store_is_a_space_allocation_error),
		cmocka_unit_test(unmap_of_a_store_that_cannot),
		cmocka_unit_test(abort_between_two_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

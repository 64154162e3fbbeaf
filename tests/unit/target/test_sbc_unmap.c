/* UNMAP (target/sbc_unmap.c): SBC-3 section 5.28. */
#include "tests/unit/target/unmap_kit.h"

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

static void unmap_where_it_is_not_offered(void **state)
{
	static const struct unmap_extent extents[] = {{0, 8}};
	struct server *v = server_new_with((struct server_config){.no_thin = true});
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE], zeros[512] = {0};

	(void)state;
	assert_sense(
		unmap(s, extents, 1), SENSE_ILLEGAL_REQUEST, ASC_INVALID_COMMAND_OPERATION_CODE);
	cdb_write_same16(cdb, 0, 1, true, false);
	assert_sense(
		server_out(s, cdb, zeros, 512), SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_unmapped_when_one_descriptor_is_wrong),
		cmocka_unit_test(lists_of_no_descriptor_and_of_too_many),
		cmocka_unit_test(more_blocks_than_the_limit),
		cmocka_unit_test(unmap_where_it_is_not_offered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

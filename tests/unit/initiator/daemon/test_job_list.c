/* What `-o list` tells of each LUN. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include "initiator/daemon/job_list.c"

static void each_lun_is_told_with_its_limits(void **state)
{
	static const struct disk_info luns[] = {
		{
			.lun = 3,
			.size = UINT64_C(1) << 41,
			.block_size = 512,
			.physical_block_size = 4096,
			.max_transfer = 1 << 20,
			.max_discard = 1 << 24,
			.max_write_zeroes = 0,
			.readonly = true,
			.fua = true,
			.vendor = "ACME",
			.product = "Disk \"9\"",
			.revision = "1.0",
			.serial = "42",
			.wwid = "naa.6001",
		},
		{.lun = 16383, .block_size = 4096, .write_cache = true},
	};
	struct json_object *o = job_list_luns(luns, 2);
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);

	(void)state;
	assert_non_null(strstr(text,
		"{\"luns\":[{\"lun\":3,\"size\":2199023255552,\"block_size\":512,"
		"\"physical_block_size\":4096,\"vendor\":\"ACME\",\"product\":\"Disk \\\"9\\\"\","
		"\"revision\":\"1.0\",\"serial\":\"42\",\"wwid\":\"naa.6001\",\"readonly\":true,"
		"\"write_cache\":false,\"fua\":true,\"max_transfer\":1048576,"
		"\"max_discard\":16777216,\"max_write_zeroes\":0},"));
	assert_non_null(strstr(text, "{\"lun\":16383,\"size\":0,\"block_size\":4096,"));
	assert_non_null(strstr(text, "\"write_cache\":true"));
	json_object_put(o);
}

static void a_target_without_disks_has_an_empty_list(void **state)
{
	struct json_object *o = job_list_luns(NULL, 0);

	(void)state;
	assert_string_equal(
		"{\"luns\":[]}", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_lun_is_told_with_its_limits),
		cmocka_unit_test(a_target_without_disks_has_an_empty_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

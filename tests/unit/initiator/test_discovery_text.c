/* The text of an answer to SendTargets (RFC 7143 appendix C and section 13.8). */
#include "initiator/discovery.h"
#include "tests/unit/initiator/fake_target.h"

static void addresses_are_taken_apart(void **state)
{
	static const struct {
		const char *text, *host;
		int port, tpgt; /* port < 0: refused */
	} cases[] = {
		{"192.0.2.1", "192.0.2.1", 3260, 0},
		{"192.0.2.1:860", "192.0.2.1", 860, 0},
		{"192.0.2.1:860,65535", "192.0.2.1", 860, 65535},
		{"192.0.2.1,7", "192.0.2.1", 3260, 7},
		{"[2001:db8::1]", "2001:db8::1", 3260, 0},
		{"[2001:db8::1]:3261,2", "2001:db8::1", 3261, 2},
		{"storage.example:3260,1", "storage.example", 3260, 1},
		{"", NULL, -1, 0},
		{"[]", NULL, -1, 0},
		{"[::1", NULL, -1, 0},
		{"a:", NULL, -1, 0},
		{"a:0", NULL, -1, 0},
		{"a:65536", NULL, -1, 0},
		{"a:1,", NULL, -1, 0},
		{"a:1,65536", NULL, -1, 0},
		{"a:1x", NULL, -1, 0},
		{"a b", NULL, -1, 0},
		{"../x", NULL, -1, 0},
		{"a/b", NULL, -1, 0},
		{"::1:3260,1", NULL, -1, 0},
		{"123456789012345678901234567890123456789012345678901234567890123x", NULL, -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint16_t port = 1, tpgt = 1;
		char host[64] = "untouched";
		int r = discovery_parse_address(cases[i].text, host, &port, &tpgt);

		if (cases[i].port < 0) {
			assert_int_equal(r, -EINVAL);
			assert_string_equal(host, "untouched");
			continue;
		}
		assert_int_equal(r, 0);
		assert_string_equal(host, cases[i].host);
		assert_int_equal(port, cases[i].port);
		assert_int_equal(tpgt, cases[i].tpgt);
	}
}

static void entries_that_cannot_be_are_passed_over(void **state)
{
	static const char text[] = "TargetAddress=192.0.2.9\0" /* of no target */
				   "TargetName=../../etc\0"
				   "TargetAddress=192.0.2.1\0" /* of the bad one */
				   "TargetName=iqn.2026-11.org.example:a\0"
				   "TargetAddress=no/address\0"
				   "TargetAddress=192.0.2.2:3260,1\0"
				   "TargetAlias=whatever";
	struct discovery_entry fallback = {.address = "192.0.2.1", .port = 3260}, entries[4];
	bool truncated;
	const char *why;
	size_t count;

	(void)state;
	assert_int_equal(discovery_parse(text, sizeof(text), &fallback, entries, 4, &count,
				 &truncated, &why),
		0);
	assert_non_null(why);
	assert_int_equal(count, 1);
	assert_string_equal(entries[0].address, "192.0.2.2");
	assert_false(truncated);
}

static void more_entries_than_there_is_room_for_are_told(void **state)
{
	static const char text[] = "TargetName=iqn.a:1\0TargetName=iqn.a:2\0TargetName=iqn.a:3";
	struct discovery_entry fallback = {.address = "192.0.2.1", .port = 3260}, entries[2];
	bool truncated;
	const char *why;
	size_t count;

	(void)state;
	assert_int_equal(discovery_parse(text, sizeof(text), &fallback, entries, 2, &count,
				 &truncated, &why),
		0);
	assert_int_equal(count, 2);
	assert_true(truncated);
	assert_int_equal(
		discovery_parse("no pair", 8, &fallback, entries, 2, &count, &truncated, &why),
		-EPROTO);
	assert_int_equal(
		discovery_parse(NULL, 0, &fallback, entries, 2, &count, &truncated, &why), 0);
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_taken_apart),
		cmocka_unit_test(entries_that_cannot_be_are_passed_over),
		cmocka_unit_test(more_entries_than_there_is_room_for_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* iseradm -m iface: the two interfaces, without asking anybody. */
#include "tests/unit/initiator/cli/mode_kit.h"

#include "initiator/cli/mode_iface.c"

static void both_are_listed_in_iscsiadms_shape(void **state)
{
	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_iface, "", NULL));
	assert_string_equal("default tcp,<empty>,<empty>,<empty>,<empty>\n"
			    "iser iser,<empty>,<empty>,<empty>,<empty>\n",
		it.out);
	assert_int_equal(STATUS_OK, iseradm(mode_iface, "--json -I tcp", NULL));
	assert_non_null(strstr(it.out, "default"));
	assert_null(strstr(it.out, "iser"));
}

static void one_is_shown_as_a_record(void **state)
{
	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_iface, "-I default -o show", NULL));
	assert_non_null(strstr(it.out, "\niface.iscsi_ifacename = default\n"));
	assert_non_null(strstr(it.out, "\niface.transport_name = tcp\n"));
	assert_int_equal(STATUS_USAGE, iseradm(mode_iface, "-I eth0", NULL));
}

static void nothing_is_made_or_changed(void **state)
{
	(void)state;
	assert_int_equal(STATUS_UNSUPPORTED,
		iseradm(mode_iface, "-I mine -o update -n iface.ipaddress -v 192.0.2.1", NULL));
	assert_non_null(strstr(it.err, "-m iface -o update: iser and tcp are all"));
	assert_int_equal(0, it.answered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODE_TEST(both_are_listed_in_iscsiadms_shape),
		MODE_TEST(one_is_shown_as_a_record),
		MODE_TEST(nothing_is_made_or_changed),
	};

	return cmocka_run_group_tests(tests, NULL, last_output_is_freed);
}

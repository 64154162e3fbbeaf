/* isertadm drop: a session is named by its TSIH or its initiator (target/cli/drop.c). */
#define CLI_KIT_TOOL
#include "tests/unit/target/cli/cli_kit.h"

#include "target/cli/drop.c"

static void the_session_is_passed_on_as_it_was_written(void **state)
{
	(void)state;
	call(verb_drop, 2, "drop", "iqn.2026-01.org.example:host");
	assert_int_equal(ran.status, EXIT_OK);
	assert_string_equal(isertd.asked, "drop session=iqn.2026-01.org.example:host");
	call(verb_drop, 2, "drop", "17");
	assert_string_equal(isertd.asked, "drop session=17");
}

static void nobody_is_dropped_without_a_name(void **state)
{
	(void)state;
	isertd.asked[0] = '\0';
	call(verb_drop, 1, "drop");
	assert_int_equal(ran.status, EXIT_USAGE);
	call(verb_drop, 3, "drop", "1", "2");
	assert_int_equal(ran.status, EXIT_USAGE);
	assert_string_equal(isertd.asked, "");
}

static void a_session_that_is_not_there_shows_in_the_status(void **state)
{
	(void)state;
	isertd.status = EXIT_NOT_FOUND;
	call(verb_drop, 2, "drop", "17");
	isertd.status = 0;
	assert_int_equal(ran.status, EXIT_NOT_FOUND);
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_session_is_passed_on_as_it_was_written),
		TEST(nobody_is_dropped_without_a_name),
		TEST(a_session_that_is_not_there_shows_in_the_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

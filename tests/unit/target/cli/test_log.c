/* isertadm log: the level is passed on (target/cli/log.c). */
#define CLI_KIT_TOOL
#include "tests/unit/target/cli/cli_kit.h"

#include "target/cli/log.c"

static void the_level_is_passed_on(void **state)
{
	(void)state;
	call(verb_log, 2, "log", "debug");
	assert_int_equal(ran.status, EXIT_OK);
	assert_string_equal(isertd.asked, "log level=debug");
}

static void a_level_is_needed(void **state)
{
	(void)state;
	call(verb_log, 1, "log");
	assert_int_equal(ran.status, EXIT_USAGE);
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_level_is_passed_on),
		TEST(a_level_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

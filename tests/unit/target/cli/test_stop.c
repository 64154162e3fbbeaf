/* isertadm stop (target/cli/stop.c). */
#define CLI_KIT_TOOL
#include "tests/unit/target/cli/cli_kit.h"

#include "target/cli/stop.c"

static void it_takes_no_words(void **state)
{
	(void)state;
	call(verb_stop, 1, "stop");
	assert_int_equal(ran.status, EXIT_OK);
	assert_string_equal(isertd.asked, "stop =");
	isertd.asked[0] = '\0';
	call(verb_stop, 2, "stop", "now");
	assert_int_equal(ran.status, EXIT_USAGE);
	assert_string_equal(isertd.asked, "");
}

static void the_daemons_refusal_is_the_status(void **state)
{
	(void)state;
	isertd.status = EXIT_REFUSED;
	call(verb_stop, 1, "stop");
	isertd.status = 0;
	assert_int_equal(ran.status, EXIT_REFUSED);
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_takes_no_words),
		TEST(the_daemons_refusal_is_the_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

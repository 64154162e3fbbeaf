/* The command line of iserd: option, then environment, then default. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "initiator/daemon/options.c"

static int parse(struct daemon_config *c, int argc, ...)
{
	char *argv[8] = {"iserd"};
	va_list arguments;

	va_start(arguments, argc);
	for (int i = 1; i <= argc; i++)
		argv[i] = va_arg(arguments, char *);
	va_end(arguments);
	return daemon_options_parse(c, argc + 1, argv);
}

static int setup(void **state)
{
	(void)state;
	unsetenv("ISERAN_STATE_DIR");
	unsetenv("ISERAN_RUNTIME_DIR");
	return 0;
}

static void defaults_are_those_of_a_system_service(void **state)
{
	struct daemon_config c;

	(void)state;
	assert_int_equal(parse(&c, 0), 0);
	assert_string_equal(c.state_directory, "/var/lib/iseran");
	assert_string_equal(c.runtime_directory, "/run/iseran");
	assert_int_equal(c.log_level, LOG_LEVEL_INFO);
	assert_false(c.no_devices);
	assert_int_equal(c.busy_poll, 0);
}

static void the_environment_comes_before_defaults_and_after_options(void **state)
{
	struct daemon_config c;

	(void)state;
	setenv("ISERAN_STATE_DIR", "/s", 1);
	setenv("ISERAN_RUNTIME_DIR", "/r", 1);
	assert_int_equal(parse(&c, 2, "--state-dir", "/mine"), 0);
	assert_string_equal(c.state_directory, "/mine");
	assert_string_equal(c.runtime_directory, "/r");
}

static void words_and_numbers_are_taken(void **state)
{
	struct daemon_config c;

	(void)state;
	assert_int_equal(
		parse(&c, 5, "--log-level=debug", "--no-devices", "--busy-poll=50", "--crc", "on"),
		0);
	assert_int_equal(c.log_level, LOG_LEVEL_DEBUG);
	assert_true(c.no_devices);
	assert_int_equal(c.busy_poll, 50);
	assert_string_equal(crc_words[c.crc], "on");
}

static void what_is_no_option_is_refused(void **state)
{
	struct daemon_config c;

	(void)state;
	assert_int_equal(parse(&c, 1, "--stat-dir=/x"), -EINVAL);
	assert_int_equal(parse(&c, 1, "start"), -EINVAL);
	assert_int_equal(parse(&c, 1, "--crc=maybe"), -EINVAL);
	assert_int_equal(parse(&c, 1, "--busy-poll=2000000"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(defaults_are_those_of_a_system_service, setup),
		cmocka_unit_test_setup(
			the_environment_comes_before_defaults_and_after_options, setup),
		cmocka_unit_test_setup(words_and_numbers_are_taken, setup),
		cmocka_unit_test_setup(what_is_no_option_is_refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

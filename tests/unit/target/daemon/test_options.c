/* The command line of isertd (target/daemon/options.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "common/base/log.h"
#include "target/daemon/options.c"

/* quick.c's part */
bool quick_wanted(const struct daemon_options *o)
{
	return o->portals.count || o->targets.count || o->luns.count;
}

static struct {
	int rc;
	struct daemon_options options;
	char *errors;
} parsed;

static void parse(int argc, ...)
{
	static char *argv[16];
	FILE *was = stderr;
	va_list arguments;
	size_t size;

	free(parsed.errors);
	argv[0] = "isertd";
	va_start(arguments, argc);
	for (int i = 1; i <= argc; i++)
		argv[i] = va_arg(arguments, char *);
	va_end(arguments);
	argv[argc + 1] = NULL;
	stderr = open_memstream(&parsed.errors, &size);
	parsed.rc = daemon_options_parse(&parsed.options, argc + 1, argv);
	fclose(stderr);
	stderr = was;
}

static int teardown(void **state)
{
	(void)state;
	free(parsed.errors);
	parsed.errors = NULL;
	return 0;
}

static void without_options_it_reads_the_file_of_the_system(void **state)
{
	(void)state;
	parse(0);
	assert_int_equal(parsed.rc, 0);
	assert_string_equal(parsed.options.config, "/etc/iseran/isertd.yaml");
	assert_int_equal(parsed.options.log_level, -1); /* the configuration's */
	assert_int_equal(parsed.options.loops, 0);
	assert_null(parsed.options.control);
	assert_false(parsed.options.check);
}

static void every_option_is_taken(void **state)
{
	(void)state;
	parse(12, "-c", "/my.yaml", "--check", "--loops=3", "--control", "/run/x", "--port-file",
		"/run/ports", "--log-level", "debug", "-f", "-V");
	assert_int_equal(parsed.rc, 0);
	assert_string_equal(parsed.options.config, "/my.yaml");
	assert_true(parsed.options.check && parsed.options.foreground && parsed.options.version);
	assert_int_equal(parsed.options.loops, 3);
	assert_string_equal(parsed.options.control, "/run/x");
	assert_string_equal(parsed.options.port_file, "/run/ports");
	assert_int_equal(parsed.options.log_level, LOG_LEVEL_DEBUG);
}

static void a_configuration_on_the_command_line(void **state)
{
	(void)state;
	parse(8, "-t", "iqn.2026-01.org.example:a", "-l", "file=/a", "-l", "7=memory=1G", "-p",
		"127.0.0.1:0");
	assert_int_equal(parsed.rc, 0);
	assert_int_equal(parsed.options.targets.count, 1);
	assert_int_equal(parsed.options.luns.count, 2);
	assert_string_equal(parsed.options.luns.values[1], "7=memory=1G");
	assert_string_equal(parsed.options.portals.values[0], "127.0.0.1:0");
}

static void two_configurations_are_refused(void **state)
{
	(void)state;
	parse(4, "--config", "/my.yaml", "--portal", "127.0.0.1");
	assert_int_equal(parsed.rc, -EINVAL);
	assert_non_null(strstr(parsed.errors, "two configurations; give one of them"));
}

static void mistakes_are_one_line(void **state)
{
	(void)state;
	parse(1, "disk.img");
	assert_int_equal(parsed.rc, -EINVAL);
	assert_string_equal(
		parsed.errors, "isertd: \"disk.img\" is not an option; see isertd --help\n");
	parse(1, "--loops=257");
	assert_int_equal(parsed.rc, -EINVAL);
	assert_non_null(strstr(parsed.errors, "256"));
	parse(1, "--log-level=loud");
	assert_int_equal(parsed.rc, -EINVAL);
	assert_non_null(strstr(parsed.errors, "warning"));
	parse(1, "--chekc");
	assert_int_equal(parsed.rc, -EINVAL);
	assert_non_null(strstr(parsed.errors, "--check"));
}

static void the_help_names_every_option(void **state)
{
	static const char *const words[] = {"--config", "--check", "--keys", "--portal", "--target",
		"--lun", "--loops", "--control", "--port-file", "--log-level", "--version"};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	daemon_options_help(f);
	daemon_version(f);
	fclose(f);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_non_null(strstr(text, words[i]));
	assert_non_null(strstr(text, "movers: tcp, iser over softiwarp"));
	free(text);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_options_it_reads_the_file_of_the_system),
		TEST(every_option_is_taken),
		TEST(a_configuration_on_the_command_line),
		TEST(two_configurations_are_refused),
		TEST(mistakes_are_one_line),
		TEST(the_help_names_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

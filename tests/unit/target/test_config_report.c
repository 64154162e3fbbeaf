/* Complaints about a configuration (target/config_report.c). */
#include "tests/unit/target/config_kit.h"

#include "target/config_schema.h"

/* A line that a terminal shows is one line, and does not change its colours. */
static void complaints_have_no_control_characters(void **state)
{
	(void)state;
	COMPLAINS("\"a\\e[31m\\nb\": 1\n", "f:1: a?[31m?b: there is no such key");
}

static void lines_have_a_place_and_warnings_say_so(void **state)
{
	struct config_report report = {0};

	(void)state;
	config_report_add(&report, false, "a.yaml", 7, "key: %s", "wrong");
	config_report_add(&report, true, "a.yaml", 0, "odd");
	assert_int_equal(report.errors, 1);
	assert_int_equal(report.warnings, 1);
	assert_string_equal(report.lines[0], "a.yaml:7: key: wrong");
	assert_string_equal(report.lines[1], "a.yaml: warning: odd");
	config_report_free(&report);
	assert_int_equal(report.count, 0);
}

/* What a person typed has no lines. */
static void a_command_line_has_no_line_numbers(void **state)
{
	struct config_report report = {.unnumbered = true};

	(void)state;
	config_report_add(&report, false, "isertd", 7, "size: wrong");
	assert_string_equal(report.lines[0], "isertd: size: wrong");
	config_report_free(&report);
}

static void a_file_of_nothing_but_mistakes_is_not_told_for_ever(void **state)
{
	struct config_report report = {0};

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		config_report_add(&report, false, "f", i + 1, "wrong");
	assert_int_equal(report.errors, 1000);
	assert_int_equal(report.count, 200);
	assert_true(report.incomplete);
	config_report_free(&report);
}

static void a_line_without_memory_is_counted(void **state)
{
	unsigned long live = alloc_live();
	struct config_report report = {0};

	(void)state;
	for (unsigned long n = 1; n <= 2; n++) {
		alloc_fail_nth(n);
		config_report_add(&report, false, "f", 1, "wrong");
		alloc_fail_nth(0);
	}
	assert_int_equal(report.errors, 2);
	assert_int_equal(report.count, 0);
	assert_true(report.incomplete);
	config_report_free(&report);
	assert_int_equal(alloc_live(), live);
}

static void a_long_line_is_cut(void **state)
{
	struct config_report report = {0};
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	config_report_add(&report, false, "f", 1, "%s", text);
	assert_true(strlen(report.lines[0]) < 1000);
	config_report_free(&report);
}

static void the_nearest_key_is_named(void **state)
{
	(void)state;
	assert_string_equal(config_nearest(config_schema_root.rows, "log_lvel"), "log_level");
	assert_string_equal(config_nearest(config_schema_root.rows, "target"), "targets");
	assert_null(config_nearest(config_schema_root.rows, "something quite different"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complaints_have_no_control_characters),
		cmocka_unit_test(lines_have_a_place_and_warnings_say_so),
		cmocka_unit_test(a_command_line_has_no_line_numbers),
		cmocka_unit_test(a_file_of_nothing_but_mistakes_is_not_told_for_ever),
		cmocka_unit_test(a_line_without_memory_is_counted),
		cmocka_unit_test(a_long_line_is_cut),
		cmocka_unit_test(the_nearest_key_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

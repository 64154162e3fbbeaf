/* The progress line of -m lun: figures, and when it is shown. */
#include "tests/unit/initiator/cli/cli_kit.h"

#include "initiator/cli/lun_progress.c"

static const char *line(uint64_t done, uint64_t total, double seconds)
{
	static char text[160];

	lun_progress_line(done, total, seconds, text, sizeof(text));
	return text;
}

static void half_a_gibibyte_in_half_a_second_has_as_long_to_go(void **state)
{
	(void)state;
	/* 536,870,912 bytes in 0.5 s are 1,073.7 MB/s; the other half takes 0.5 s, told as 1 s */
	assert_string_equal("512.0 MiB of 1.0 GiB, 50 %, 1074 MB/s, 0:01 left",
		line(512ull << 20, 1ull << 30, 0.5));
}

static void minutes_are_told_from_sixty_seconds_on(void **state)
{
	(void)state;
	/* 10 MB/s, 990 MB left: 99 s */
	assert_non_null(strstr(line(10000000, 1000000000, 1.0), "1 %, 10 MB/s, 1:39 left"));
}

static void nothing_is_guessed_before_the_first_byte(void **state)
{
	(void)state;
	assert_null(strstr(line(0, 1 << 20, 1.0), "left"));
	assert_null(strstr(line(100, 1 << 20, 0), "left"));
	assert_non_null(strstr(line(0, 1 << 20, 0), "0 %, 0 MB/s"));
}

static void more_than_all_has_nothing_left(void **state)
{
	(void)state;
	/* the last piece of an image may go beyond the file's end */
	assert_null(strstr(line(2 << 20, 1 << 20, 1.0), "left"));
	assert_non_null(strstr(line(0, 0, 1.0), "0 %"));
}

static const char *shown(struct lun_progress *p, const char *text)
{
	static char line[200];
	struct json_object *o = json(text);
	struct caught c;

	catch_output(&c);
	lun_progress_show(p, o);
	release_output(&c);
	json_object_put(o);
	assert_string_equal(c.text[0], ""); /* data may go there */
	snprintf(line, sizeof(line), "%s", c.text[1]);
	free_output(&c);
	return line;
}

static void a_terminal_has_one_line_that_is_rewritten(void **state)
{
	struct lun_progress p = {.show = true, .terminal = true, .time = true};
	struct caught c;

	(void)state;
	assert_string_equal("\r0.2 of 5.0 s\033[K", shown(&p, "{\"done\": 200, \"total\": 5000}"));
	assert_string_equal("\r0.4 of 5.0 s\033[K", shown(&p, "{\"done\": 400, \"total\": 5000}"));
	catch_output(&c);
	lun_progress_end(&p);
	release_output(&c);
	assert_string_equal("\r\033[K", c.text[1]);
	free_output(&c);
	assert_false(p.shown);
}

static void a_file_has_a_line_per_second(void **state)
{
	struct lun_progress p = {.show = true, .time = true};
	struct caught c;

	(void)state;
	assert_string_equal("0.2 of 5.0 s\n", shown(&p, "{\"done\": 200, \"total\": 5000}"));
	assert_string_equal("", shown(&p, "{\"done\": 400, \"total\": 5000}"));
	p.last_ns -= SECOND_NS;
	assert_string_equal("1.4 of 5.0 s\n", shown(&p, "{\"done\": 1400, \"total\": 5000}"));
	catch_output(&c);
	lun_progress_end(&p);
	release_output(&c);
	assert_string_equal("", c.text[1]); /* lines stay */
	free_output(&c);
}

static void nothing_is_shown_unasked_or_before_the_total_is_known(void **state)
{
	struct lun_progress p = {.show = false};

	(void)state;
	assert_string_equal("", shown(&p, "{\"done\": 200, \"total\": 5000}"));
	p.show = true;
	assert_string_equal("", shown(&p, "{\"done\": 0, \"total\": 0}"));
	lun_progress_init(&p, true, false);
	assert_true(p.show);
	assert_true(p.began_ns > 0);
	lun_progress_init(&p, false, false);
	assert_int_equal(p.show, p.terminal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_a_gibibyte_in_half_a_second_has_as_long_to_go),
		cmocka_unit_test(minutes_are_told_from_sixty_seconds_on),
		cmocka_unit_test(nothing_is_guessed_before_the_first_byte),
		cmocka_unit_test(more_than_all_has_nothing_left),
		cmocka_unit_test(a_terminal_has_one_line_that_is_rewritten),
		cmocka_unit_test(a_file_has_a_line_per_second),
		cmocka_unit_test(nothing_is_shown_unasked_or_before_the_total_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

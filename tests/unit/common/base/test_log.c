/* Log lines, and the trail that failure lines print. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/log.h"
#include "common/base/trail.h"

struct captured {
	unsigned lines;
	enum log_level level;
	char last[2048];
};

static void capture(void *arg, enum log_level level, const char *line)
{
	struct captured *c = arg;

	c->lines++;
	c->level = level;
	strncpy(c->last, line, sizeof(c->last) - 1);
}

static int setup(void **state)
{
	static struct captured c;

	c = (struct captured){0};
	log_set_sink(capture, &c);
	log_set_level(LOG_LEVEL_INFO);
	*state = &c;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_set_sink(NULL, NULL);
	return 0;
}

static void line_names_its_room(void **state)
{
	struct captured *c = *state;

	log_warning("portal", "%s is %d", "port", 3260);
	assert_int_equal(1, c->lines);
	assert_int_equal(LOG_LEVEL_WARNING, c->level);
	assert_string_equal("portal: port is 3260", c->last);
}

static void less_urgent_lines_are_left_out(void **state)
{
	struct captured *c = *state;

	log_debug("x", "no");
	assert_int_equal(0, c->lines);
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("x", "yes");
	assert_int_equal(1, c->lines);
	log_set_level(LOG_LEVEL_ERROR);
	log_warning("x", "no");
	assert_int_equal(1, c->lines);
}

static void names_from_peers_cannot_break_the_line(void **state)
{
	struct captured *c = *state;

	log_info("x", "%s", "a\nb\x1b[31m\x7f");
	assert_string_equal("x: a?b?[31m?", c->last);
	log_info("x", "%s", "a\xc2\x9bm\x9bz\xc3\xa4"); /* C1, a stray byte, a letter */
	assert_string_equal("x: a??m?z\xc3\xa4", c->last);
}

static void long_line_is_cut(void **state)
{
	struct captured *c = *state;
	char text[3000];

	memset(text, 'x', sizeof(text));
	text[2999] = '\0';
	log_info("x", "%s", text);
	assert_int_equal(1023, strlen(c->last));
}

static void errno_survives_a_line(void **state)
{
	(void)state;
	errno = ENOSPC;
	log_info("x", "y");
	assert_int_equal(ENOSPC, errno);
}

static void levels_are_words(void **state)
{
	enum log_level level;

	(void)state;
	assert_int_equal(0, log_level_parse("debug", &level));
	assert_int_equal(LOG_LEVEL_DEBUG, level);
	assert_int_equal(-EINVAL, log_level_parse("loud", &level));
}

static const char *const states[] = {"S1", NULL, "S5"};
static const char *const events[] = {"T1", "T5"};

static void trail_is_told_oldest_first(void **state)
{
	struct trail t = {.count = 0};
	char out[200];

	(void)state;
	assert_int_equal(0, trail_print(&t, states, 3, events, 2, out, sizeof(out)));
	assert_string_equal("", out);
	trail_add(&t, 1, 0, 0, 2);
	trail_add(&t, 2, 2, 1, 1);
	trail_add(&t, 3, 9, 9, 0);
	trail_print(&t, states, 3, events, 2, out, sizeof(out));
	assert_string_equal("S1 T1 S5, S5 T5 ?, ? ? S1", out);
}

static void trail_keeps_the_last_32(void **state)
{
	struct trail t = {.count = 0};
	char out[1000];

	(void)state;
	trail_add(&t, 1, 0, 0, 0);
	for (int i = 0; i < TRAIL_LENGTH; i++)
		trail_add(&t, 1, 2, 0, 2);
	trail_print(&t, states, 3, events, 2, out, sizeof(out));
	assert_null(strstr(out, "S1"));
	assert_int_equal(TRAIL_LENGTH * strlen("S5 T1 S5, ") - 2, strlen(out));
}

static void trail_is_cut_where_there_is_no_room(void **state)
{
	struct trail t = {.count = 0};
	char out[16] = "";

	(void)state;
	for (int i = 0; i < 5; i++)
		trail_add(&t, 1, 0, 0, 2);
	assert_int_equal(9, trail_print(&t, states, 3, events, 2, out, 10));
	assert_string_equal("S1 T1 S5,", out);
	assert_int_equal(0, trail_print(&t, states, 3, events, 2, out, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(line_names_its_room),
		TEST(less_urgent_lines_are_left_out),
		TEST(names_from_peers_cannot_break_the_line),
		TEST(long_line_is_cut),
		TEST(errno_survives_a_line),
		TEST(levels_are_words),
		TEST(trail_is_told_oldest_first),
		TEST(trail_keeps_the_last_32),
		TEST(trail_is_cut_where_there_is_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

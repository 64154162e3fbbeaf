/* The last transitions of an object, in words (common/base/trail.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/base/trail.h"

static const char *const states[] = {"FREE", "XPT_UP", NULL, "LOGGED_IN"};
static const char *const events[] = {"accepted", "login", "lost"};

static size_t print(const struct trail *t, char *out, size_t size)
{
	return trail_print(t, states, ARRAY_SIZE(states), events, ARRAY_SIZE(events), out, size);
}

static void transitions_are_told_oldest_first(void **state)
{
	struct trail t = {0};
	char text[200];

	(void)state;
	assert_int_equal(0, print(&t, text, sizeof(text)));
	assert_string_equal("", text);
	trail_add(&t, 1, 0, 0, 1);
	trail_add(&t, 2, 1, 1, 3);
	assert_int_equal(44, print(&t, text, sizeof(text)));
	assert_string_equal("FREE accepted XPT_UP, XPT_UP login LOGGED_IN", text);
}

static void names_that_are_not_there_are_question_marks(void **state)
{
	struct trail t = {0};
	char text[200];

	(void)state;
	trail_add(&t, 1, 2, 3, 4);
	trail_add(&t, 1, 255, 255, 255);
	print(&t, text, sizeof(text));
	assert_string_equal("? ? ?, ? ? ?", text);
}

static void only_the_last_32_are_kept(void **state)
{
	static const char *const numbers[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
	struct trail t = {0};
	char text[1000], expected[1000] = "";

	(void)state;
	for (uint32_t i = 0; i < 77; i++) {
		trail_add(&t, i, (uint8_t)(i / 10), (uint8_t)(i % 10), 0);
		if (i >= 77 - TRAIL_LENGTH)
			sprintf(expected + strlen(expected), "%s%u %u 0", i > 45 ? ", " : "",
				i / 10, i % 10);
	}
	trail_print(&t, numbers, 10, numbers, 10, text, sizeof(text));
	assert_string_equal(expected, text);
}

/* The counter of an object that lives for years wraps. */
static void counter_wraps_without_a_gap(void **state)
{
	struct trail t = {.count = UINT32_MAX};
	char text[1000];

	(void)state;
	trail_add(&t, 1, 0, 0, 1);
	trail_add(&t, 2, 1, 1, 3);
	assert_int_equal(1, t.count);
	print(&t, text, sizeof(text));
	/* What was before is not told any more than what is beyond would be. */
	assert_string_equal("XPT_UP login LOGGED_IN", text);
}

static void text_is_cut_and_ended_at_every_size(void **state)
{
	struct trail t = {0};
	char whole[200], text[200];
	size_t length;

	(void)state;
	trail_add(&t, 1, 0, 0, 1);
	trail_add(&t, 2, 1, 2, 0);
	length = print(&t, whole, sizeof(whole));
	text[0] = 'x';
	assert_int_equal(0, print(&t, text, 0));
	assert_int_equal('x', text[0]);
	for (size_t size = 1; size <= length + 1; size++) {
		memset(text, 'x', sizeof(text));
		assert_int_equal(size - 1, print(&t, text, size));
		assert_int_equal('\0', text[size - 1]);
		assert_int_equal('x', text[size]);
		assert_memory_equal(whole, text, size - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transitions_are_told_oldest_first),
		cmocka_unit_test(names_that_are_not_there_are_question_marks),
		cmocka_unit_test(only_the_last_32_are_kept),
		cmocka_unit_test(counter_wraps_without_a_gap),
		cmocka_unit_test(text_is_cut_and_ended_at_every_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

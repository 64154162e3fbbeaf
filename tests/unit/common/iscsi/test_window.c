/* The command window of RFC 7143 section 4.2.2.1, in serial arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/iscsi/window.h"

static void serial_arithmetic_wraps(void **state)
{
	(void)state;
	assert_true(sn_before(1, 2));
	assert_false(sn_before(2, 2));
	assert_true(sn_before(0xffffffff, 0));
	assert_false(sn_before(0, 0xffffffff));
	assert_true(sn_at_or_before(2, 2));
}

static void window_closes_and_opens_across_the_wrap(void **state)
{
	struct window_initiator w = {
		.cmd_sn = 0xfffffffe, .exp_cmd_sn = 0xfffffffe, .max_cmd_sn = 0xffffffff};

	(void)state;
	assert_true(window_open(&w));
	w.cmd_sn += 2;
	assert_false(window_open(&w));
	window_update(&w, 0, 1);
	assert_true(window_open(&w));
	assert_int_equal(w.exp_cmd_sn, 0);
	assert_int_equal(w.max_cmd_sn, 1);
}

static void older_values_are_ignored(void **state)
{
	struct window_initiator w = {.cmd_sn = 10, .exp_cmd_sn = 10, .max_cmd_sn = 20};

	(void)state;
	window_update(&w, 8, 18);
	assert_int_equal(w.exp_cmd_sn, 10);
	assert_int_equal(w.max_cmd_sn, 20);
}

static void max_below_exp_less_one_is_ignored_whole(void **state)
{
	struct window_initiator w = {.cmd_sn = 10, .exp_cmd_sn = 10, .max_cmd_sn = 20};

	(void)state;
	window_update(&w, 30, 28);
	assert_int_equal(w.exp_cmd_sn, 10);
	assert_int_equal(w.max_cmd_sn, 20);
	window_update(&w, 30, 29); /* a closed window, not an error */
	assert_int_equal(w.exp_cmd_sn, 30);
	assert_int_equal(w.max_cmd_sn, 29);
}

static void commands_are_delivered_kept_or_dropped(void **state)
{
	struct window_target w = {.exp_cmd_sn = 0xffffffff, .size = 4};

	(void)state;
	assert_int_equal(window_arrive(&w, 0), WINDOW_LATER);
	assert_int_equal(window_arrive(&w, 2), WINDOW_LATER);
	assert_int_equal(window_arrive(&w, 3), WINDOW_IGNORE);
	assert_int_equal(window_arrive(&w, 0xfffffffe), WINDOW_IGNORE);
	assert_int_equal(window_arrive(&w, 0xffffffff), WINDOW_NOW);
	assert_int_equal(w.exp_cmd_sn, 0);
	assert_int_equal(window_arrive(&w, 3), WINDOW_LATER);
	assert_int_equal(window_arrive(&w, 0), WINDOW_NOW);
}

static void a_window_of_nothing_drops_everything(void **state)
{
	struct window_target w = {.exp_cmd_sn = 5, .size = 0};

	(void)state;
	assert_int_equal(window_arrive(&w, 5), WINDOW_IGNORE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(serial_arithmetic_wraps),
		cmocka_unit_test(window_closes_and_opens_across_the_wrap),
		cmocka_unit_test(older_values_are_ignored),
		cmocka_unit_test(max_below_exp_less_one_is_ignored_whole),
		cmocka_unit_test(commands_are_delivered_kept_or_dropped),
		cmocka_unit_test(a_window_of_nothing_drops_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Timers, on a virtual clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "common/base/alloc.h"
#include "common/loop/loop.h"

struct alarm {
	struct loop_timer timer;
	unsigned rings;
	uint64_t rang_at;
	uint64_t again_ns;
	bool again;
	struct alarm *cancels;
};

static void alarm_expired(struct loop_timer *t)
{
	struct alarm *a = container_of(t, struct alarm, timer);

	a->rings++;
	a->rang_at = loop_now(t->loop);
	if (a->again)
		assert_int_equal(0, loop_timer_arm(t->loop, t, a->again_ns));
	if (a->cancels)
		loop_timer_cancel(&a->cancels->timer);
}

static int setup(void **state)
{
	*state = loop_new(&(struct loop_config){.virtual_clock = true});
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	loop_free(*state);
	return 0;
}

static void timer_expires_at_its_time_and_once(void **state)
{
	struct loop *l = *state;
	struct alarm a = {.timer.expired = alarm_expired};
	uint64_t start = loop_now(l);

	assert_int_equal(0, loop_timer_arm(l, &a.timer, 100));
	loop_advance(l, 99);
	assert_int_equal(0, a.rings);
	assert_true(loop_timer_armed(&a.timer));
	loop_advance(l, 1000);
	assert_int_equal(1, a.rings);
	assert_int_equal(start + 100, a.rang_at);
	assert_int_equal(start + 1099, loop_now(l));
	assert_false(loop_timer_armed(&a.timer));
}

static void periodic_timer_keeps_its_period(void **state)
{
	struct loop *l = *state;
	struct alarm a = {.timer.expired = alarm_expired, .again = true, .again_ns = 10};

	assert_int_equal(0, loop_timer_arm(l, &a.timer, 10));
	loop_advance(l, 1005);
	assert_int_equal(100, a.rings);
	loop_timer_cancel(&a.timer);
}

static void timer_that_rearms_for_at_once_waits_a_turn(void **state)
{
	struct loop *l = *state;
	struct alarm a = {.timer.expired = alarm_expired, .again = true};

	assert_int_equal(0, loop_timer_arm(l, &a.timer, 0));
	assert_true(loop_turn(l, 0));
	assert_int_equal(1, a.rings);
	assert_true(loop_turn(l, 0));
	assert_int_equal(2, a.rings);
	loop_timer_cancel(&a.timer);
}

static void timer_cancelled_by_another_due_at_the_same_time_does_not_expire(void **state)
{
	struct loop *l = *state;
	struct alarm a = {.timer.expired = alarm_expired};
	struct alarm b = {.timer.expired = alarm_expired, .cancels = &a};

	a.cancels = &b;
	assert_int_equal(0, loop_timer_arm(l, &a.timer, 5));
	assert_int_equal(0, loop_timer_arm(l, &b.timer, 5));
	loop_advance(l, 10);
	assert_int_equal(1, a.rings + b.rings);
}

static void rearmed_timer_expires_at_its_new_time_only(void **state)
{
	struct loop *l = *state;
	struct alarm a = {.timer.expired = alarm_expired};
	uint64_t start = loop_now(l);

	assert_int_equal(0, loop_timer_arm(l, &a.timer, 100));
	assert_int_equal(0, loop_timer_arm(l, &a.timer, 50));
	assert_int_equal(0, loop_timer_arm(l, &a.timer, 70));
	loop_advance(l, 200);
	assert_int_equal(1, a.rings);
	assert_int_equal(start + 70, a.rang_at);
	loop_timer_cancel(&a.timer);
}

static void endless_delay_never_expires(void **state)
{
	struct loop *l = *state;
	struct alarm a = {.timer.expired = alarm_expired};

	assert_int_equal(0, loop_timer_arm(l, &a.timer, UINT64_MAX));
	loop_advance(l, 1000 * LOOP_NS_PER_S);
	assert_int_equal(0, a.rings);
	loop_timer_cancel(&a.timer);
}

#define MANY 500

/* Random arming, re-arming and cancelling: every timer expires exactly at its time. */
static void many_timers_expire_in_order(void **state)
{
	struct loop *l = *state;
	static struct alarm alarms[MANY];
	uint64_t due[MANY] = {0};
	unsigned seed = 7;

	for (int step = 0; step < 5000; step++) {
		int i = rand_r(&seed) % MANY;
		uint64_t delay = (uint64_t)(rand_r(&seed) % 100000) + 1;

		alarms[i].timer.expired = alarm_expired;
		if (rand_r(&seed) % 4 == 0) {
			loop_timer_cancel(&alarms[i].timer);
			due[i] = 0;
		} else {
			assert_int_equal(0, loop_timer_arm(l, &alarms[i].timer, delay));
			due[i] = loop_now(l) + delay;
		}
	}
	loop_advance(l, 200000);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(due[i] != 0, alarms[i].rings);
		assert_int_equal(due[i], alarms[i].rang_at);
	}
}

static void arming_without_memory_fails_and_later_works(void **state)
{
	struct loop *l = *state;
	struct alarm a = {.timer.expired = alarm_expired};

	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, loop_timer_arm(l, &a.timer, 1));
	assert_false(loop_timer_armed(&a.timer));
	assert_int_equal(0, loop_timer_arm(l, &a.timer, 1));
	loop_advance(l, 1);
	assert_int_equal(1, a.rings);
}

static void real_clock_timer_is_not_early(void **state)
{
	struct loop *l = loop_new(NULL);
	struct alarm a = {.timer.expired = alarm_expired};
	uint64_t start;

	(void)state;
	loop_turn(l, 0);
	start = loop_now(l);
	assert_int_equal(0, loop_timer_arm(l, &a.timer, 3 * LOOP_NS_PER_MS));
	while (!a.rings)
		loop_turn(l, UINT64_MAX);
	assert_true(a.rang_at - start >= 3 * LOOP_NS_PER_MS);
	loop_free(l);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(timer_expires_at_its_time_and_once),
		TEST(periodic_timer_keeps_its_period),
		TEST(timer_that_rearms_for_at_once_waits_a_turn),
		TEST(timer_cancelled_by_another_due_at_the_same_time_does_not_expire),
		TEST(rearmed_timer_expires_at_its_new_time_only),
		TEST(endless_delay_never_expires),
		TEST(many_timers_expire_in_order),
		TEST(arming_without_memory_fails_and_later_works),
		TEST(real_clock_timer_is_not_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The turn of the loop: watches, deferred calls, flushers, pollers, and the order of it all. */
#include "tests/unit/common/loop/loop_kit.h"

struct letter {
	struct loop_call call;
	struct fixture *f;
	char name;
	struct letter *defers, *flushes, *cancels;
	bool forever;
};

static void letter_call(struct loop_call *c)
{
	struct letter *letter = container_of(c, struct letter, call);
	size_t length = strlen(letter->f->trace);

	if (length + 1 < sizeof(letter->f->trace))
		letter->f->trace[length] = letter->name;
	if (letter->defers)
		loop_defer(letter->f->loop, &letter->defers->call);
	if (letter->flushes)
		loop_defer_flush(letter->f->loop, &letter->flushes->call);
	if (letter->cancels)
		loop_call_cancel(&letter->cancels->call);
	if (letter->forever)
		loop_defer(letter->f->loop, c);
}

static struct letter letter_named(struct fixture *f, char name)
{
	return (struct letter){.call.call = letter_call, .f = f, .name = name};
}

static void flusher_comes_after_all_calls_of_the_turn(void **state)
{
	struct fixture *f = *state;
	struct letter a = letter_named(f, 'a'), b = letter_named(f, 'b');
	struct letter x = letter_named(f, 'x');

	a.defers = &b;
	a.flushes = &x;
	b.flushes = &x;
	loop_defer(f->loop, &a.call);
	assert_true(loop_turn(f->loop, 0));
	assert_string_equal("abx", f->trace);
	assert_false(loop_turn(f->loop, 0));
}

static void flusher_that_defers_makes_the_turn_go_round_again(void **state)
{
	struct fixture *f = *state;
	struct letter a = letter_named(f, 'a'), x = letter_named(f, 'x');
	struct letter y = letter_named(f, 'y');

	x.defers = &a;
	a.flushes = &y;
	loop_defer_flush(f->loop, &x.call);
	assert_true(loop_turn(f->loop, 0));
	assert_string_equal("xay", f->trace);
}

static void call_deferred_twice_runs_once(void **state)
{
	struct fixture *f = *state;
	struct letter a = letter_named(f, 'a');

	loop_defer(f->loop, &a.call);
	assert_true(loop_call_pending(&a.call));
	loop_defer(f->loop, &a.call);
	loop_turn(f->loop, 0);
	assert_string_equal("a", f->trace);
	assert_false(loop_call_pending(&a.call));
}

static void call_cancelled_by_an_earlier_one_does_not_run(void **state)
{
	struct fixture *f = *state;
	struct letter a = letter_named(f, 'a'), b = letter_named(f, 'b');

	loop_call_cancel(&b.call);
	a.cancels = &b;
	loop_defer(f->loop, &a.call);
	loop_defer(f->loop, &b.call);
	loop_turn(f->loop, 0);
	assert_string_equal("a", f->trace);
	assert_false(loop_call_pending(&b.call));
}

static void call_that_always_defers_itself_does_not_keep_flushers_and_watches_waiting(void **state)
{
	struct fixture *f = *state;
	struct letter a = letter_named(f, 'a'), x = letter_named(f, 'x');
	struct end ends[2];

	pair_open(ends);
	assert_int_equal(0, loop_watch_add(f->loop, &ends[0].watch, LOOP_WRITABLE));
	a.forever = true;
	loop_defer(f->loop, &a.call);
	x.flushes = NULL;
	loop_defer_flush(f->loop, &x.call);
	loop_turn(f->loop, 0);
	assert_false(loop_call_pending(&x.call));
	assert_true(loop_call_pending(&a.call));
	loop_turn(f->loop, 0);
	assert_int_equal(2, ends[0].calls);
	loop_call_cancel(&a.call);
	pair_close(ends);
}

struct queue {
	struct loop_poller poller;
	int entries, armed, looks;
};

static bool queue_poll(struct loop_poller *p, bool will_sleep)
{
	struct queue *q = container_of(p, struct queue, poller);
	bool found = q->entries > 0;

	q->armed += will_sleep;
	q->looks += !will_sleep;
	q->entries = 0;
	return found;
}

static void poller_with_entries_keeps_the_loop_from_sleeping(void **state)
{
	struct loop *l = loop_new(NULL);
	struct queue q = {.poller.poll = queue_poll, .entries = 1};

	(void)state;
	loop_poller_remove(&q.poller);
	loop_poller_add(l, &q.poller);
	assert_true(loop_turn(l, 60 * LOOP_NS_PER_S));
	assert_int_equal(1, q.armed);
	assert_false(loop_turn(l, LOOP_NS_PER_MS));
	assert_int_equal(2, q.armed);
	loop_poller_remove(&q.poller);
	loop_free(l);
}

struct late {
	struct loop_poller poller;
	struct loop_timer timer;
	struct loop *loop;
	bool expired;
};

static bool late_poll(struct loop_poller *p, bool will_sleep)
{
	struct late *late = container_of(p, struct late, poller);

	if (will_sleep && !late->expired)
		loop_timer_arm(late->loop, &late->timer, LOOP_NS_PER_MS);
	return false;
}

static void late_expired(struct loop_timer *t)
{
	container_of(t, struct late, timer)->expired = true;
}

/* As the verbs provider does when it arms a completion queue. */
static void timer_that_a_poller_arms_before_the_loop_sleeps_is_waited_for(void **state)
{
	struct loop *l = loop_new(NULL);
	struct late late = {.poller.poll = late_poll, .timer.expired = late_expired, .loop = l};
	struct timespec start, end;

	(void)state;
	loop_poller_add(l, &late.poller);
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (!late.expired)
		loop_turn(l, 100 * LOOP_NS_PER_S);
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true(end.tv_sec - start.tv_sec < 50);
	loop_poller_remove(&late.poller);
	loop_free(l);
}

static bool endless_poll(struct loop_poller *p, bool will_sleep)
{
	(void)p;
	(void)will_sleep;
	return true;
}

static void poller_that_always_finds_does_not_keep_watches_waiting(void **state)
{
	struct loop *l = loop_new(NULL);
	struct loop_poller p = {.poll = endless_poll};
	struct end ends[2];

	(void)state;
	pair_open(ends);
	assert_int_equal(0, loop_watch_add(l, &ends[0].watch, LOOP_READABLE));
	loop_poller_add(l, &p);
	assert_int_equal(1, write(ends[1].watch.fd, "x", 1));
	for (int turns = 0; turns < 100 && !ends[0].calls; turns++)
		assert_true(loop_turn(l, LOOP_NS_PER_S));
	assert_int_not_equal(0, ends[0].calls);
	loop_poller_remove(&p);
	pair_close(ends);
	loop_free(l);
}

static int looks_when_expected(struct loop *l, struct queue *q)
{
	q->looks = 0;
	loop_expect(l);
	loop_turn(l, LOOP_NS_PER_MS);
	return q->looks;
}

static void what_is_expected_is_looked_for_before_the_loop_sleeps(void **state)
{
	struct loop *l = loop_new(NULL);
	struct queue q = {.poller.poll = queue_poll};

	(void)state;
	loop_poller_add(l, &q.poller);
	assert_false(loop_turn(l, LOOP_NS_PER_MS));
	assert_int_equal(0, q.looks);
	q.entries = 1;
	assert_int_equal(1, looks_when_expected(l, &q));
	assert_false(loop_turn(l, LOOP_NS_PER_MS));
	assert_int_equal(1, q.looks);
	loop_free(l);
}

static void what_is_expected_in_vain_is_looked_for_ever_more_rarely(void **state)
{
	struct loop *l = loop_new(NULL);
	struct queue q = {.poller.poll = queue_poll};
	int between = 0;

	(void)state;
	loop_poller_add(l, &q.poller);
	for (int doubled = 1; doubled <= 4; doubled *= 2) {
		assert_int_not_equal(0, looks_when_expected(l, &q));
		for (between = 0; between < 2 * doubled - 1; between++)
			assert_int_equal(0, looks_when_expected(l, &q));
	}
	loop_free(l);
}

static void loop_that_spins_looks_often_before_it_sleeps(void **state)
{
	struct loop *l = loop_new(&(struct loop_config){.spin_ns = 3600 * LOOP_NS_PER_S});
	struct queue q = {.poller.poll = queue_poll, .entries = 1};

	(void)state;
	loop_poller_add(l, &q.poller);
	assert_true(loop_turn(l, LOOP_NS_PER_S)); /* busy: the spinning begins */
	q.armed = 0;
	assert_false(loop_turn(l, 2 * LOOP_NS_PER_MS)); /* shorter than spin_ns: no sleep at all */
	assert_int_equal(0, q.armed);
	loop_free(l);
}

static void loop_that_has_spun_long_enough_sleeps(void **state)
{
	struct loop *l = loop_new(&(struct loop_config){.spin_ns = 1});
	struct queue q = {.poller.poll = queue_poll, .entries = 1};

	(void)state;
	loop_poller_add(l, &q.poller);
	assert_true(loop_turn(l, LOOP_NS_PER_S));
	q.armed = 0;
	assert_false(loop_turn(l, 2 * LOOP_NS_PER_MS));
	assert_int_equal(1, q.armed);
	loop_free(l);
}

static void failed_allocation_or_call_leaves_no_loop(void **state)
{
	(void)state;
	for (unsigned long n = 1; n <= 2; n++) {
		alloc_fail_nth(n);
		assert_null(loop_new(NULL));
	}
	alloc_fail_nth(0);
	for (unsigned long n = 1; n <= 3; n++) {
		sys_fail_nth(n, EMFILE);
		assert_null(loop_new(NULL));
	}
	loop_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(flusher_comes_after_all_calls_of_the_turn),
		TEST(flusher_that_defers_makes_the_turn_go_round_again),
		TEST(call_deferred_twice_runs_once),
		TEST(call_cancelled_by_an_earlier_one_does_not_run),
		TEST(call_that_always_defers_itself_does_not_keep_flushers_and_watches_waiting),
		cmocka_unit_test(poller_with_entries_keeps_the_loop_from_sleeping),
		cmocka_unit_test(poller_that_always_finds_does_not_keep_watches_waiting),
		cmocka_unit_test(timer_that_a_poller_arms_before_the_loop_sleeps_is_waited_for),
		cmocka_unit_test(what_is_expected_is_looked_for_before_the_loop_sleeps),
		cmocka_unit_test(what_is_expected_in_vain_is_looked_for_ever_more_rarely),
		cmocka_unit_test(loop_that_spins_looks_often_before_it_sleeps),
		cmocka_unit_test(loop_that_has_spun_long_enough_sleeps),
		cmocka_unit_test(failed_allocation_or_call_leaves_no_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

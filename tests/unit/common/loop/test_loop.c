/* The turn of the loop: watches, deferred calls, flushers, pollers, and the order of it all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/loop/loop.h"

struct fixture {
	struct loop *loop;
	char trace[64];
};

static int setup(void **state)
{
	struct fixture *f = alloc_zeroed(sizeof(*f));

	f->loop = loop_new(&(struct loop_config){.virtual_clock = true});
	*state = f;
	return f->loop ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	loop_free(f->loop);
	alloc_free(f);
	return alloc_live() == 0 ? 0 : -1;
}

/* ---- watches ---- */

struct end {
	struct loop_watch watch;
	struct end *victim;
	unsigned calls, last_events;
	bool reopen;
};

static void end_ready(struct loop_watch *w, unsigned events)
{
	struct end *e = container_of(w, struct end, watch);
	char byte[16];

	e->calls++;
	e->last_events = events;
	if (events & LOOP_READABLE)
		(void)!read(w->fd, byte, sizeof(byte));
	if (e->victim) {
		struct loop *l = w->loop;

		loop_watch_remove(&e->victim->watch);
		if (e->reopen)
			assert_int_equal(0, loop_watch_add(l, &e->victim->watch, LOOP_WRITABLE));
	}
}

static void pair_open(struct end ends[2])
{
	int fds[2];

	memset(ends, 0, 2 * sizeof(*ends));
	assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
	for (int i = 0; i < 2; i++) {
		ends[i].watch.fd = fds[i];
		ends[i].watch.ready = end_ready;
	}
}

static void pair_close(struct end ends[2])
{
	for (int i = 0; i < 2; i++) {
		loop_watch_remove(&ends[i].watch);
		close(ends[i].watch.fd);
	}
}

static void readable_is_reported_while_there_is_data(void **state)
{
	struct fixture *f = *state;
	struct end ends[2];

	pair_open(ends);
	assert_int_equal(0, loop_watch_add(f->loop, &ends[0].watch, LOOP_READABLE));
	assert_false(loop_turn(f->loop, 0));
	assert_int_equal(17, write(ends[1].watch.fd, "12345678901234567", 17));
	assert_true(loop_turn(f->loop, 0));
	assert_true(loop_turn(f->loop, 0));
	assert_false(loop_turn(f->loop, 0));
	assert_int_equal(2, ends[0].calls);
	assert_int_equal(LOOP_READABLE, ends[0].last_events);
	pair_close(ends);
}

static void hangup_is_reported_though_not_asked_for(void **state)
{
	struct fixture *f = *state;
	struct end ends[2];

	pair_open(ends);
	assert_int_equal(0, loop_watch_add(f->loop, &ends[0].watch, 0));
	close(ends[1].watch.fd);
	assert_true(loop_turn(f->loop, 0));
	assert_int_equal(LOOP_HANGUP, ends[0].last_events);
	loop_watch_remove(&ends[0].watch);
	close(ends[0].watch.fd);
}

static void watch_removed_by_an_earlier_handler_of_the_turn_is_not_called(void **state)
{
	struct fixture *f = *state;
	struct end a[2], b[2];

	pair_open(a);
	pair_open(b);
	/* Both are ready in one epoll_wait(); each removes the other: exactly one is called. */
	a[0].victim = &b[0];
	b[0].victim = &a[0];
	assert_int_equal(0, loop_watch_add(f->loop, &a[0].watch, LOOP_WRITABLE));
	assert_int_equal(0, loop_watch_add(f->loop, &b[0].watch, LOOP_WRITABLE));
	assert_true(loop_turn(f->loop, 0));
	assert_int_equal(1, a[0].calls + b[0].calls);
	pair_close(a);
	pair_close(b);
}

static void watch_that_takes_a_removed_ones_slot_does_not_get_its_event(void **state)
{
	struct fixture *f = *state;
	struct end a[2], b[2];

	pair_open(a);
	pair_open(b);
	a[0].victim = &b[0];
	b[0].victim = &a[0];
	a[0].reopen = b[0].reopen = true;
	assert_int_equal(0, loop_watch_add(f->loop, &a[0].watch, LOOP_WRITABLE));
	assert_int_equal(0, loop_watch_add(f->loop, &b[0].watch, LOOP_WRITABLE));
	assert_true(loop_turn(f->loop, 0));
	assert_int_equal(1, a[0].calls + b[0].calls);
	pair_close(a);
	pair_close(b);
}

static void watch_removed_twice_or_never_added_is_harmless(void **state)
{
	struct fixture *f = *state;
	struct end ends[2];

	pair_open(ends);
	loop_watch_remove(&ends[0].watch);
	assert_int_equal(-ENOENT, loop_watch_change(&ends[0].watch, LOOP_WRITABLE));
	assert_int_equal(0, loop_watch_add(f->loop, &ends[0].watch, LOOP_READABLE));
	assert_int_equal(-EEXIST, loop_watch_add(f->loop, &ends[0].watch, LOOP_READABLE));
	loop_watch_remove(&ends[0].watch);
	loop_watch_remove(&ends[0].watch);
	pair_close(ends);
}

static void more_watches_than_the_first_table_holds(void **state)
{
	struct fixture *f = *state;
	struct end ends[200][2];

	for (int i = 0; i < 200; i++) {
		pair_open(ends[i]);
		assert_int_equal(0, loop_watch_add(f->loop, &ends[i][0].watch, LOOP_WRITABLE));
	}
	assert_true(loop_turn(f->loop, 0));
	for (int i = 0; i < 200; i++) {
		assert_int_equal(1, ends[i][0].calls);
		pair_close(ends[i]);
	}
}

static void failed_watch_can_be_added_again(void **state)
{
	struct fixture *f = *state;
	struct end ends[2];

	pair_open(ends);
	sys_fail_nth(1, ENOSPC);
	assert_int_equal(-ENOSPC, loop_watch_add(f->loop, &ends[0].watch, LOOP_READABLE));
	assert_int_equal(0, loop_watch_add(f->loop, &ends[0].watch, LOOP_READABLE));
	sys_fail_nth(1, ENOMEM);
	assert_int_equal(-ENOMEM, loop_watch_change(&ends[0].watch, LOOP_WRITABLE));
	assert_int_equal(0, loop_watch_change(&ends[0].watch, LOOP_WRITABLE));
	assert_true(loop_turn(f->loop, 0));
	assert_int_equal(LOOP_WRITABLE, ends[0].last_events);
	pair_close(ends);
}

/* ---- calls ---- */

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

/* ---- pollers ---- */

struct queue {
	struct loop_poller poller;
	int entries, armed;
};

static bool queue_poll(struct loop_poller *p, bool will_sleep)
{
	struct queue *q = container_of(p, struct queue, poller);
	bool found = q->entries > 0;

	q->armed += will_sleep;
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

static void loop_that_spins_looks_often_before_it_sleeps(void **state)
{
	struct loop *l = loop_new(&(struct loop_config){.spin_ns = 5 * LOOP_NS_PER_MS});
	struct queue q = {.poller.poll = queue_poll, .entries = 1};

	(void)state;
	loop_poller_add(l, &q.poller);
	assert_true(loop_turn(l, LOOP_NS_PER_S)); /* busy: the spinning begins */
	q.armed = 0;
	assert_false(loop_turn(l, 2 * LOOP_NS_PER_MS)); /* shorter than spin_ns: no sleep at all */
	assert_int_equal(0, q.armed);
	assert_false(loop_turn(l, 20 * LOOP_NS_PER_MS));
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

static void loop_without_pwait2_waits_in_milliseconds(void **state)
{
	struct loop *l = loop_new(NULL);
	uint64_t before;

	(void)state;
	sys_fail_nth(1, ENOSYS);
	loop_turn(l, 1);
	before = loop_now(l);
	loop_turn(l, 2 * LOOP_NS_PER_MS + 1);
	assert_true(loop_now(l) - before >= 2 * LOOP_NS_PER_MS);
	loop_free(l);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(readable_is_reported_while_there_is_data),
		TEST(hangup_is_reported_though_not_asked_for),
		TEST(watch_removed_by_an_earlier_handler_of_the_turn_is_not_called),
		TEST(watch_that_takes_a_removed_ones_slot_does_not_get_its_event),
		TEST(watch_removed_twice_or_never_added_is_harmless),
		TEST(more_watches_than_the_first_table_holds),
		TEST(failed_watch_can_be_added_again),
		TEST(flusher_comes_after_all_calls_of_the_turn),
		TEST(flusher_that_defers_makes_the_turn_go_round_again),
		TEST(call_deferred_twice_runs_once),
		TEST(call_cancelled_by_an_earlier_one_does_not_run),
		TEST(call_that_always_defers_itself_does_not_keep_flushers_and_watches_waiting),
		cmocka_unit_test(poller_with_entries_keeps_the_loop_from_sleeping),
		cmocka_unit_test(loop_that_spins_looks_often_before_it_sleeps),
		cmocka_unit_test(failed_allocation_or_call_leaves_no_loop),
		cmocka_unit_test(loop_without_pwait2_waits_in_milliseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

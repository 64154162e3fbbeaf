/* Descriptors of a loop (common/loop/watch.c). */
#include "tests/unit/common/loop/loop_kit.h"

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

static void interest_can_be_changed(void **state)
{
	struct fixture *f = *state;
	struct end ends[2];

	pair_open(ends);
	assert_int_equal(-ENOENT, loop_watch_change(&ends[0].watch, LOOP_READABLE));
	assert_int_equal(0, loop_watch_add(f->loop, &ends[0].watch, 0));
	assert_int_equal(-EEXIST, loop_watch_add(f->loop, &ends[0].watch, LOOP_READABLE));
	assert_int_equal(1, write(ends[1].watch.fd, "x", 1));
	assert_false(loop_turn(f->loop, 0));
	assert_int_equal(0, loop_watch_change(&ends[0].watch, LOOP_WRITABLE));
	assert_true(loop_turn(f->loop, 0));
	assert_int_equal(LOOP_WRITABLE, ends[0].last_events);
	assert_int_equal(0, loop_watch_change(&ends[0].watch, LOOP_READABLE | LOOP_WRITABLE));
	assert_true(loop_turn(f->loop, 0));
	assert_int_equal(LOOP_READABLE | LOOP_WRITABLE, ends[0].last_events);
	pair_close(ends);
}

/* A change that the kernel refuses has not been made: it can be asked for again. */
static void change_that_fails_can_be_made_again(void **state)
{
	struct fixture *f = *state;
	struct end ends[2];

	pair_open(ends);
	assert_int_equal(0, loop_watch_add(f->loop, &ends[0].watch, LOOP_READABLE));
	sys_fail_nth(1, ENOMEM);
	assert_int_equal(-ENOMEM, loop_watch_change(&ends[0].watch, LOOP_WRITABLE));
	assert_int_equal(0, loop_watch_change(&ends[0].watch, LOOP_WRITABLE));
	assert_true(loop_turn(f->loop, 0));
	assert_int_equal(LOOP_WRITABLE, ends[0].last_events);
	pair_close(ends);
}

/* The other end has ended its half: there is a 0 to be read, which is no hangup yet. */
static void half_closed_is_readable(void **state)
{
	struct fixture *f = *state;
	struct end ends[2];

	pair_open(ends);
	assert_int_equal(0, loop_watch_add(f->loop, &ends[0].watch, LOOP_READABLE));
	shutdown(ends[1].watch.fd, SHUT_WR);
	assert_true(loop_turn(f->loop, 0));
	assert_int_equal(LOOP_READABLE, ends[0].last_events);
	pair_close(ends);
}

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
		cmocka_unit_test(loop_without_pwait2_waits_in_milliseconds),
		TEST(interest_can_be_changed),
		TEST(change_that_fails_can_be_made_again),
		TEST(half_closed_is_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

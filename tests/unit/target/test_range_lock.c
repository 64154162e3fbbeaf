/* Ranges that one command works on alone (target/range_lock.c), on one loop and on two threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "target/range_lock.h"

#define MIB (1ull << 20)

struct holder {
	struct range_hold hold;
	unsigned woken;
};

static void count_wake(struct range_hold *h)
{
	container_of(h, struct holder, hold)->woken++;
}

static struct holder holder(struct loop *l)
{
	return (struct holder){.hold = {.loop = l, .woken = count_wake}};
}

struct fixture {
	struct loop *loop;
	struct range_lock lock;
	struct holder a, b;
};

static struct fixture *set_up(void)
{
	static struct fixture f;
	struct loop_config virtual = {.virtual_clock = true};

	f.loop = loop_new(&virtual);
	range_lock_init(&f.lock);
	f.a = holder(f.loop);
	f.b = holder(f.loop);
	return &f;
}

static void tear_down(struct fixture *f)
{
	for (unsigned i = 0; i < RANGE_STRIPES; i++)
		assert_int_equal(atomic_load(&f->lock.stripes[i].state), 0);
	assert_true(list_empty(&f->lock.waiting));
	range_lock_destroy(&f->lock);
	loop_free(f->loop);
}

static void shared_holders_do_not_wait(void **state)
{
	struct fixture *f = set_up();

	(void)state;
	assert_true(range_lock_take(&f->lock, &f->a.hold, 0, 512, false));
	assert_true(range_lock_take(&f->lock, &f->b.hold, 0, 512, false));
	range_lock_release(&f->a.hold);
	range_lock_release(&f->b.hold);
	range_lock_release(&f->b.hold);
	tear_down(f);
}

static void exclusive_waits_for_shared(void **state)
{
	struct fixture *f = set_up();

	(void)state;
	assert_true(range_lock_take(&f->lock, &f->a.hold, 0, 3 * MIB, false));
	assert_false(range_lock_take(&f->lock, &f->b.hold, 2 * MIB, 512, true));
	range_lock_release(&f->a.hold);
	loop_turn(f->loop, 0);
	assert_int_equal(f->b.woken, 1);
	assert_true(range_lock_take(&f->lock, &f->b.hold, 2 * MIB, 512, true));
	range_lock_release(&f->b.hold);
	tear_down(f);
}

static void shared_waits_for_exclusive(void **state)
{
	struct fixture *f = set_up();

	(void)state;
	assert_true(range_lock_take(&f->lock, &f->a.hold, MIB - 512, 1024, true));
	assert_false(range_lock_take(&f->lock, &f->b.hold, 0, 4 * MIB, false));
	range_lock_release(&f->a.hold);
	loop_turn(f->loop, 0);
	assert_int_equal(f->b.woken, 1);
	assert_true(range_lock_take(&f->lock, &f->b.hold, 0, 4 * MIB, false));
	range_lock_release(&f->b.hold);
	tear_down(f);
}

/* While a COMPARE AND WRITE waits for its data, which its initiator may never send. */
static void waiters_do_not_wake_each_other(void **state)
{
	struct fixture *f = set_up();
	struct holder c = holder(f->loop);

	(void)state;
	assert_true(range_lock_take(&f->lock, &f->a.hold, 0, 512, true));
	assert_false(range_lock_take(&f->lock, &f->b.hold, 0, 512, false));
	assert_false(range_lock_take(&f->lock, &c.hold, 0, 512, false));
	assert_false(loop_turn(f->loop, 0));
	assert_int_equal(f->b.woken, 0);
	range_lock_release(&f->a.hold);
	loop_turn(f->loop, 0);
	assert_int_equal(f->b.woken, 1);
	assert_int_equal(c.woken, 1);
	tear_down(f);
}

static void other_ranges_are_free(void **state)
{
	struct fixture *f = set_up();

	(void)state;
	assert_true(range_lock_take(&f->lock, &f->a.hold, 0, 512, true));
	assert_true(range_lock_take(&f->lock, &f->b.hold, MIB, 512, true));
	range_lock_release(&f->a.hold);
	range_lock_release(&f->b.hold);
	tear_down(f);
}

static void range_longer_than_all_stripes(void **state)
{
	struct fixture *f = set_up();

	(void)state;
	assert_true(range_lock_take(&f->lock, &f->a.hold, 63 * MIB, 1000 * MIB, false));
	assert_false(range_lock_take(&f->lock, &f->b.hold, 5 * MIB, 512, true));
	assert_true(range_lock_cancel(&f->b.hold));
	range_lock_release(&f->a.hold);
	assert_true(range_lock_take(&f->lock, &f->a.hold, 63 * MIB, 2 * MIB, true));
	range_lock_release(&f->a.hold);
	tear_down(f);
}

static void cancelled_wait_is_not_woken(void **state)
{
	struct fixture *f = set_up();
	struct holder c = holder(f->loop);

	(void)state;
	assert_true(range_lock_take(&f->lock, &f->a.hold, 0, 512, false));
	assert_false(range_lock_take(&f->lock, &f->b.hold, 0, 512, true));
	assert_false(range_lock_take(&f->lock, &c.hold, 0, 512, false)); /* behind b */
	assert_true(range_lock_cancel(&f->b.hold));
	loop_turn(f->loop, 0);
	assert_int_equal(f->b.woken, 0);
	assert_int_equal(c.woken, 1);
	assert_true(range_lock_take(&f->lock, &c.hold, 0, 512, false));
	range_lock_release(&c.hold);
	range_lock_release(&f->a.hold);
	tear_down(f);
}

static void wake_on_its_way_cannot_be_cancelled(void **state)
{
	struct fixture *f = set_up();

	(void)state;
	assert_true(range_lock_take(&f->lock, &f->a.hold, 0, 512, false));
	assert_false(range_lock_take(&f->lock, &f->b.hold, 0, 512, true));
	range_lock_release(&f->a.hold);
	assert_false(range_lock_cancel(&f->b.hold));
	loop_turn(f->loop, 0);
	assert_int_equal(f->b.woken, 1);
	range_lock_release(&f->b.hold); /* its claim */
	tear_down(f);
}

static void empty_range_is_no_hold(void **state)
{
	struct fixture *f = set_up();

	(void)state;
	assert_true(range_lock_take(&f->lock, &f->a.hold, 0, 0, true));
	assert_true(range_lock_take(&f->lock, &f->b.hold, 0, 0, true));
	range_lock_release(&f->a.hold);
	assert_true(range_lock_cancel(&f->b.hold));
	tear_down(f);
}

/* ---- two threads ---- */

struct racer {
	struct range_lock *lock;
	struct range_hold hold;
	unsigned long *counter; /* what the lock protects */
	unsigned left;
	struct loop *loop;
};

static void race(struct range_hold *h)
{
	struct racer *r = container_of(h, struct racer, hold);

	while (r->left) {
		bool exclusive = r->left % 3 != 0;

		if (!range_lock_take(r->lock, &r->hold, r->left % 2 * (MIB - 1), 2, exclusive))
			return;
		if (exclusive)
			*r->counter += 1;
		range_lock_release(&r->hold);
		r->left--;
	}
	loop_stop(r->loop);
}

static void *race_thread(void *arg)
{
	struct racer *r = arg;

	r->hold.loop = r->loop;
	r->hold.woken = race;
	race(&r->hold);
	if (r->left)
		loop_run(r->loop);
	return NULL;
}

static void threads_lose_no_increment(void **state)
{
	static struct range_lock lock;
	unsigned long counter = 0;
	struct racer racers[4];
	pthread_t threads[4];
	unsigned each = 30000;

	(void)state;
	range_lock_init(&lock);
	for (unsigned i = 0; i < 4; i++) {
		racers[i] = (struct racer){
			.lock = &lock, .counter = &counter, .left = each, .loop = loop_new(NULL)};
		assert_int_equal(pthread_create(&threads[i], NULL, race_thread, &racers[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 4; i++)
		loop_free(racers[i].loop);
	assert_int_equal(counter, 4 * (each - each / 3));
	range_lock_destroy(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared_holders_do_not_wait),
		cmocka_unit_test(exclusive_waits_for_shared),
		cmocka_unit_test(shared_waits_for_exclusive),
		cmocka_unit_test(waiters_do_not_wake_each_other),
		cmocka_unit_test(other_ranges_are_free),
		cmocka_unit_test(range_longer_than_all_stripes),
		cmocka_unit_test(cancelled_wait_is_not_woken),
		cmocka_unit_test(wake_on_its_way_cannot_be_cancelled),
		cmocka_unit_test(empty_range_is_no_hold),
		cmocka_unit_test(threads_lose_no_increment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is done on every worker's loop, and then on the main loop (target/daemon/broadcast.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "target/daemon/broadcast.c"

#define WORKERS 3

static struct daemon d;
static struct daemon_worker workers[WORKERS];
static struct worker inner[WORKERS];
static unsigned done_count, sum, settled, broadcasts_at_settle;

void daemon_stop_settle(struct daemon *daemon)
{
	settled++;
	broadcasts_at_settle = (unsigned)daemon->broadcasts;
}

static int setup(void **state)
{
	(void)state;
	done_count = sum = settled = 0;
	d = (struct daemon){.loop = loop_new(NULL), .workers = workers, .worker_count = WORKERS};
	for (unsigned i = 0; i < WORKERS; i++) {
		inner[i] = (struct worker){.loop = loop_new(NULL), .index = i};
		workers[i] = (struct daemon_worker){.worker = &inner[i]};
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WORKERS; i++)
		loop_free(inner[i].loop);
	loop_free(d.loop);
	return alloc_live() == 0 ? 0 : -1;
}

static void each(struct broadcast_part *p, void *arg)
{
	p->count = p->worker->worker->index + *(unsigned *)arg;
}

static void done(struct daemon *daemon, struct broadcast_part *parts, size_t count, void *arg)
{
	(void)arg;
	assert_ptr_equal(daemon, &d);
	assert_int_equal(count, WORKERS);
	assert_int_equal(d.broadcasts, 1); /* under way until done() is over */
	for (size_t i = 0; i < count; i++)
		sum += parts[i].count;
	done_count++;
}

static void done_comes_when_every_worker_has_been_there(void **state)
{
	unsigned ten = 10;

	(void)state;
	assert_int_equal(broadcast_run(&d, each, done, &ten), 0);
	assert_int_equal(d.broadcasts, 1);
	for (unsigned i = 0; i < WORKERS; i++) {
		loop_turn(d.loop, 0);
		assert_int_equal(done_count, 0);
		loop_turn(inner[i].loop, 0);
	}
	loop_turn(d.loop, 0);
	assert_int_equal(done_count, 1);
	assert_int_equal(sum, 10 + 11 + 12);
	/* A stop that waited for it may go on. */
	assert_int_equal(settled, 1);
	assert_int_equal(broadcasts_at_settle, 0);
}

static void done_may_be_left_out(void **state)
{
	unsigned zero = 0;

	(void)state;
	assert_int_equal(broadcast_run(&d, each, NULL, &zero), 0);
	for (unsigned i = 0; i < WORKERS; i++)
		loop_turn(inner[i].loop, 0);
	loop_turn(d.loop, 0);
	assert_int_equal(d.broadcasts, 0);
	assert_int_equal(settled, 1);
}

static void no_memory_calls_nobody(void **state)
{
	unsigned zero = 0;

	(void)state;
	alloc_fail_nth(1);
	assert_int_equal(broadcast_run(&d, each, done, &zero), -ENOMEM);
	alloc_fail_nth(0);
	assert_int_equal(d.broadcasts, 0);
	for (unsigned i = 0; i < WORKERS; i++)
		assert_false(loop_turn(inner[i].loop, 0));
	assert_false(loop_turn(d.loop, 0));
	assert_int_equal(done_count + settled, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(done_comes_when_every_worker_has_been_there),
		TEST(done_may_be_left_out),
		TEST(no_memory_calls_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Messages between threads: nothing is lost, each sender's order is kept, a sleeping loop wakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "common/base/alloc.h"

#include "common/loop/loop_private.h"

/* So many wake-ups fail. */
static unsigned failures;

static ssize_t failing_write(int fd, const void *data, size_t length);
#define write failing_write
#include "common/loop/message.c"
#undef write

static ssize_t failing_write(int fd, const void *data, size_t length)
{
	if (!failures)
		return write(fd, data, length);
	failures--;
	errno = EIO;
	return -1;
}

#define SENDERS 4
#define EACH 20000

struct letter {
	struct loop_message message;
	struct post *post;
	unsigned sender, number;
};

struct post {
	struct loop *loop;
	unsigned next[SENDERS];
	unsigned delivered;
	bool disorder;
};

static void letter_deliver(struct loop_message *m)
{
	struct letter *letter = container_of(m, struct letter, message);
	struct post *p = letter->post;

	p->disorder |= p->next[letter->sender]++ != letter->number;
	if (++p->delivered == SENDERS * EACH)
		loop_stop(p->loop);
	alloc_free(letter);
}

struct sender {
	struct post *post;
	unsigned number;
};

static void *sender_run(void *arg)
{
	struct sender *s = arg;

	for (unsigned i = 0; i < EACH; i++) {
		struct letter *letter = alloc_zeroed(sizeof(*letter));

		letter->message.deliver = letter_deliver;
		letter->post = s->post;
		letter->sender = s->number;
		letter->number = i;
		loop_post(s->post->loop, &letter->message);
	}
	return NULL;
}

static void post_from_threads(uint64_t spin_ns)
{
	struct post p = {.loop = loop_new(&(struct loop_config){.spin_ns = spin_ns})};
	struct sender senders[SENDERS];
	pthread_t threads[SENDERS];

	for (unsigned i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){&p, i};
		assert_int_equal(0, pthread_create(&threads[i], NULL, sender_run, &senders[i]));
	}
	loop_run(p.loop);
	for (unsigned i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(SENDERS * EACH, p.delivered);
	assert_false(p.disorder);
	loop_free(p.loop);
}

static void messages_of_many_threads_arrive_in_each_ones_order(void **state)
{
	(void)state;
	post_from_threads(0);
}

static void messages_reach_a_loop_that_spins(void **state)
{
	(void)state;
	post_from_threads(100000);
}

/* ---- two loops that wake each other, one message at a time ---- */

#define ROUNDS 2000

struct ball {
	struct loop_message message;
	struct loop *loops[2];
	unsigned hits;
};

static void ball_deliver(struct loop_message *m)
{
	struct ball *b = container_of(m, struct ball, message);

	if (++b->hits == ROUNDS) {
		loop_stop(b->loops[0]);
		loop_stop(b->loops[1]);
		return;
	}
	loop_post(b->loops[b->hits % 2], m);
}

static void *loop_thread(void *arg)
{
	loop_run(arg);
	return NULL;
}

static void sleeping_loop_is_woken_each_time(void **state)
{
	struct ball b = {.message.deliver = ball_deliver};
	pthread_t thread;

	(void)state;
	b.loops[0] = loop_new(NULL);
	b.loops[1] = loop_new(NULL);
	assert_int_equal(0, pthread_create(&thread, NULL, loop_thread, b.loops[1]));
	loop_post(b.loops[0], &b.message);
	loop_run(b.loops[0]);
	pthread_join(thread, NULL);
	assert_int_equal(ROUNDS, b.hits);
	loop_free(b.loops[0]);
	loop_free(b.loops[1]);
}

static void loop_stopped_before_it_runs_returns_at_once(void **state)
{
	struct loop *l = loop_new(NULL);

	(void)state;
	loop_stop(l);
	loop_run(l);
	loop_free(l);
}

static void nothing(struct loop_message *m)
{
	(void)m;
}

static bool is_woken(struct loop *l)
{
	uint64_t count;

	return read(l->wakeup.fd, &count, sizeof(count)) == sizeof(count);
}

static void wake_up_that_fails_is_tried_again(void **state)
{
	struct loop_message first = {.deliver = nothing}, second = {.deliver = nothing};
	struct loop *l = loop_new(NULL);

	(void)state;
	atomic_store(&l->sleeping, true);
	failures = 1;
	loop_post(l, &first);
	assert_true(is_woken(l));
	loop_turn(l, 0);
	/* At last by whoever comes next. */
	atomic_store(&l->sleeping, true);
	failures = WAKE_TRIES;
	loop_post(l, &first);
	assert_false(is_woken(l));
	loop_post(l, &second);
	assert_true(is_woken(l));
	loop_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_many_threads_arrive_in_each_ones_order),
		cmocka_unit_test(messages_reach_a_loop_that_spins),
		cmocka_unit_test(sleeping_loop_is_woken_each_time),
		cmocka_unit_test(loop_stopped_before_it_runs_returns_at_once),
		cmocka_unit_test(wake_up_that_fails_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

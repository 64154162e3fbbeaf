/* The turn of the loop: wait, handlers, messages, timers, deferred calls, flushers. One per thread,
 * run by the daemons' main() and by the workers; turned by hand in tests. */
#include "common/loop/loop_private.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"

struct loop *loop_new(const struct loop_config *config)
{
	struct loop *l = alloc_zeroed(sizeof(*l));

	if (!l)
		return NULL;
	if (config)
		l->config = *config;
	l->now_ns = LOOP_VIRTUAL_START;
	list_init(&l->calls);
	list_init(&l->flushers);
	list_init(&l->pollers);
	l->wakeup.fd = -1;
	l->epoll_fd = sys_epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0 || loop_messages_open(l) < 0)
		goto fail;
	loop_clock_update(l);
	return l;
fail:
	loop_free(l);
	return NULL;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	loop_signals_free(l->signals);
	loop_messages_close(l);
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	alloc_free(l->slots);
	alloc_free(l->heap);
	alloc_free(l);
}

static uint64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * LOOP_NS_PER_S + (uint64_t)t.tv_nsec;
}

void loop_clock_update(struct loop *l)
{
	if (!l->config.virtual_clock)
		l->now_ns = clock_now();
}

uint64_t loop_now(const struct loop *l)
{
	return l->now_ns;
}

/* ---- deferred calls ---- */

static void loop_call_queue(struct list *queue, struct loop_call *c)
{
	if (!loop_call_pending(c))
		list_append(queue, &c->link);
}

void loop_defer(struct loop *l, struct loop_call *c)
{
	loop_call_queue(&l->calls, c);
}

void loop_defer_flush(struct loop *l, struct loop_call *c)
{
	loop_call_queue(&l->flushers, c);
}

void loop_call_cancel(struct loop_call *c)
{
	if (loop_call_pending(c))
		list_remove(&c->link);
}

/* Runs what is in `queue` now. What is queued meanwhile waits for the next round; a call cancelled
 * meanwhile leaves the batch, being linked into it. */
static void loop_run_queue(struct list *queue)
{
	struct list batch, *node;

	list_init(&batch);
	list_splice(&batch, queue);
	while ((node = list_pop(&batch))) {
		struct loop_call *c = list_entry(node, struct loop_call, link);

		c->call(c);
	}
}

static bool loop_run_calls(struct loop *l)
{
	bool called = false;

	for (int round = 0; round < LOOP_ROUNDS_MAX; round++) {
		if (list_empty(&l->calls) && list_empty(&l->flushers))
			return called;
		called = true;
		loop_run_queue(list_empty(&l->calls) ? &l->flushers : &l->calls);
	}
	/* Calls are left for the next turn, which does not sleep; what is ready leaves now. */
	loop_run_queue(&l->flushers);
	return called;
}

/* ---- pollers ---- */

void loop_poller_add(struct loop *l, struct loop_poller *p)
{
	list_append(&l->pollers, &p->link);
}

void loop_poller_remove(struct loop_poller *p)
{
	if (p->link.next)
		list_remove(&p->link);
}

static bool loop_run_pollers(struct loop *l, bool will_sleep)
{
	struct loop_poller *p, *next;
	bool found = false;

	list_for_each_safe(p, next, &l->pollers, link)
		found |= p->poll(p, will_sleep);
	return found;
}

/* ---- waiting ---- */

/* How long this turn may wait: not at all when there is work already. */
static uint64_t loop_wait_time(struct loop *l, uint64_t max_wait_ns)
{
	uint64_t due = loop_timers_next(l);

	if (l->config.virtual_clock || !list_empty(&l->calls) || !list_empty(&l->flushers))
		return 0;
	if (due == UINT64_MAX)
		return max_wait_ns;
	loop_clock_update(l);
	return min_u64(max_wait_ns, due > l->now_ns ? due - l->now_ns : 0);
}

/* Sleeps for at most `wait_ns`, unless there is something to do by now. */
static int loop_sleep(struct loop *l, uint64_t wait_ns, bool *ret_polled)
{
	uint64_t due;
	int count;

	/* Whoever posts from here on sees `sleeping` and writes the eventfd; whoever posted before
	 * is seen by the look at the messages. */
	atomic_store(&l->sleeping, true);
	*ret_polled = loop_run_pollers(l, true);
	if (*ret_polled || loop_messages_pending(l) || atomic_load(&l->stopping) ||
		!list_empty(&l->calls) || !list_empty(&l->flushers))
		wait_ns = 0;
	due = loop_timers_next(l); /* pollers may have armed one */
	if (due != UINT64_MAX && !l->config.virtual_clock)
		wait_ns = min_u64(wait_ns, due > l->now_ns ? due - l->now_ns : 0);
	if (*ret_polled && ++l->unwatched < LOOP_UNWATCHED_MAX)
		count = 0;
	else
		count = loop_watches_wait(l, wait_ns);
	atomic_store(&l->sleeping, false);
	return count;
}

/* Looks without sleeping until there is something, but not beyond `until_ns`. */
static int loop_spin(struct loop *l, uint64_t until_ns, bool *ret_polled)
{
	int count;

	do {
		*ret_polled = loop_run_pollers(l, false);
		count = loop_watches_wait(l, 0);
		loop_clock_update(l);
	} while (count == 0 && !*ret_polled && !loop_messages_pending(l) &&
		 !atomic_load_explicit(&l->stopping, memory_order_relaxed) && l->now_ns < until_ns);
	return count;
}

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

void loop_expect(struct loop *l)
{
	l->linger.due = true;
}

/* Lets others have the CPU for a moment, and looks once more: what is expected is often there by
 * then, and neither a wake-up nor its system calls are needed. Where that does not help it is left
 * out for twice as many sleeps each time. True if a poller found anything. */
static bool loop_linger(struct loop *l)
{
	struct loop_linger *s = &l->linger;
	uint64_t start_ns = l->now_ns;
	bool found = false;

	if (!s->due)
		return false;
	s->due = false;
	if (s->skip) {
		s->skip--;
		return false;
	}
	for (int i = 0; i < LOOP_LINGER_ROUNDS && !found && !loop_messages_pending(l); i++) {
		sched_yield();
		cpu_relax();
		found = loop_run_pollers(l, false);
	}
	loop_clock_update(l);
	if (found && l->now_ns - start_ns < LOOP_LINGER_MAX_NS)
		s->misses = 0;
	else
		s->skip = (1u << min_u32(++s->misses, LOOP_LINGER_MISSES_MAX)) - 1;
	return found;
}

/* Spins, then sleeps; the number of events, and whether a poller found anything. */
static int loop_wait(struct loop *l, uint64_t max_wait_ns, bool *ret_polled)
{
	uint64_t wait_ns = loop_wait_time(l, max_wait_ns);
	uint64_t start_ns, spin_end_ns = l->last_busy_ns + l->config.spin_ns;
	int count;

	if (wait_ns == 0)
		return loop_spin(l, 0, ret_polled);
	if (l->config.spin_ns) {
		loop_clock_update(l);
		start_ns = l->now_ns;
		if (spin_end_ns > start_ns) {
			count = loop_spin(l,
				wait_ns < spin_end_ns - start_ns ? start_ns + wait_ns : spin_end_ns,
				ret_polled);
			if (count || *ret_polled || loop_messages_pending(l))
				return count;
			if (l->now_ns - start_ns >= wait_ns)
				return 0;
			if (wait_ns != UINT64_MAX)
				wait_ns -= l->now_ns - start_ns;
		}
	}
	*ret_polled = loop_linger(l);
	if (*ret_polled && ++l->unwatched < LOOP_UNWATCHED_MAX)
		return 0;
	count = loop_sleep(l, wait_ns, ret_polled);
	loop_clock_update(l);
	return count;
}

bool loop_turn(struct loop *l, uint64_t max_wait_ns)
{
	bool called;
	int count;

	l->in_turn = true;
	count = loop_wait(l, max_wait_ns, &called);
	called |= loop_watches_dispatch(l, count);
	called |= loop_messages_deliver(l);
	called |= loop_timers_run(l);
	called |= loop_run_calls(l);
	if (called)
		l->last_busy_ns = l->now_ns;
	l->in_turn = false;
	return called;
}

void loop_run(struct loop *l)
{
	while (!atomic_exchange(&l->stopping, false))
		loop_turn(l, UINT64_MAX);
}

void loop_stop(struct loop *l)
{
	atomic_store(&l->stopping, true);
	loop_wake(l);
}

/* Turns until nothing happens any more; bounded, since a level-triggered watch may be left ready.
 */
static void loop_settle(struct loop *l)
{
	for (int turns = 0; turns < 1000 && loop_turn(l, 0); turns++)
		;
}

void loop_advance(struct loop *l, uint64_t ns)
{
	uint64_t target_ns = l->now_ns + ns;

	for (uint64_t due = loop_timers_next(l); due <= target_ns; due = loop_timers_next(l)) {
		if (due > l->now_ns)
			l->now_ns = due;
		loop_settle(l);
	}
	l->now_ns = target_ns;
	loop_settle(l);
}

/* The only room that waits: epoll, timers, deferred calls, messages from other threads, signals.
 * One loop per thread; an object that belongs to a loop is touched on its thread alone.
 *
 * One turn: wait for descriptors (or messages, or the next timer), call their handlers, then the
 * due timers, then the deferred calls until there are none (or until they have deferred each other
 * LOOP_ROUNDS_MAX times: descriptors get their turn too), then the flushers once. Whatever became
 * ready in one turn thus leaves in one system call per connection (a flusher's writev, doorbell or
 * io_uring_submit). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"

struct loop;

#define LOOP_NS_PER_MS 1000000ull
#define LOOP_NS_PER_S 1000000000ull
#define LOOP_ROUNDS_MAX 64

struct loop_config {
	/* Time to poll without sleeping after the last event before the thread sleeps, in
	 * nanoseconds. 0: sleep at once. */
	uint64_t spin_ns;
	/* A virtual clock for tests: time stands still but for loop_advance(), and loop_turn()
	 * never sleeps. */
	bool virtual_clock;
};

/* `config` may be NULL (no spinning, real clock). NULL when there is no memory or descriptor:
 * errno says which. */
struct loop *loop_new(const struct loop_config *config);
/* Everything that was added must have been removed before. NULL is allowed. */
void loop_free(struct loop *l);
/* Turns until loop_stop(). */
void loop_run(struct loop *l);
/* Makes loop_run() return after this turn. From any thread. */
void loop_stop(struct loop *l);
/* One turn, which sleeps at most `max_wait_ns`; true if anything was called. */
bool loop_turn(struct loop *l, uint64_t max_wait_ns);
/* Virtual clock: moves time forward by `ns`, turning at each timer on the way. */
void loop_advance(struct loop *l, uint64_t ns);
/* CLOCK_MONOTONIC in nanoseconds as of the start of this turn: no system call. */
uint64_t loop_now(const struct loop *l);

/* ---- descriptors ---- */

enum loop_events {
	LOOP_READABLE = 1,
	LOOP_WRITABLE = 2,
	LOOP_HANGUP = 4, /* reported whether asked for or not */
};

/* Caller-owned. The handler may remove, and free, its own or any other watch: one that was removed
 * is not called any more, not even in this turn. */
struct loop_watch {
	int fd;
	unsigned events; /* asked for */
	void (*ready)(struct loop_watch *w, unsigned events);
	/* the loop's own: */
	struct loop *loop;
	uint32_t slot;
};

/* `fd` and `ready` are set by the caller. Level-triggered. 0 or negative errno. */
int loop_watch_add(struct loop *l, struct loop_watch *w, unsigned events);
int loop_watch_change(struct loop_watch *w, unsigned events); /* -ENOENT: it is not added */
/* Harmless for a watch that is not added (zeroed, or removed before). Does not close the fd. */
void loop_watch_remove(struct loop_watch *w);

/* ---- timers ---- */

struct loop_timer {
	void (*expired)(struct loop_timer *t);
	/* the loop's own: */
	struct loop *loop;
	uint64_t due_ns;
	size_t heap_index; /* 1-based; 0: not armed */
};

/* Arms, or re-arms, for `delay_ns` from now. -ENOMEM. `expired` is set by the caller; it may
 * re-arm. */
int loop_timer_arm(struct loop *l, struct loop_timer *t, uint64_t delay_ns);
void loop_timer_cancel(struct loop_timer *t); /* harmless when not armed */
static inline bool loop_timer_armed(const struct loop_timer *t)
{
	return t->heap_index != 0;
}

/* ---- deferred calls: how a completion is delivered, so that no room is re-entered ---- */

struct loop_call {
	void (*call)(struct loop_call *c);
	struct list link; /* zeroed, or in the loop's list */
};

/* Runs `call` once, later in this turn (or in the next, if called outside a turn). A call that is
 * already deferred is not deferred twice. */
void loop_defer(struct loop *l, struct loop_call *c);
void loop_call_cancel(struct loop_call *c); /* harmless when not deferred */
static inline bool loop_call_pending(const struct loop_call *c)
{
	return c->link.next && c->link.next != &c->link;
}

/* Runs once at the end of this turn, after all deferred calls; for doorbells. A flusher may defer
 * calls: the turn then goes round again. */
void loop_defer_flush(struct loop *l, struct loop_call *c);

/* ---- pollers: queues in memory (an RDMA completion queue, a ring) looked at without a system call
 * ---- */

struct loop_poller {
	/* Handles what is there; true if there was anything. Called at least once per turn, and
	 * again and again while the loop spins. `will_sleep`: the loop is about to sleep, so arm
	 * the descriptor that tells of the next entry, then look once more. */
	bool (*poll)(struct loop_poller *p, bool will_sleep);
	struct list link; /* the loop's own */
};

/* A poller's: the next thing to be found is likely to come soon. The loop looks a few times more,
 * giving way to others, before it next sleeps. */
void loop_expect(struct loop *l);

void loop_poller_add(struct loop *l, struct loop_poller *p);
void loop_poller_remove(
	struct loop_poller *p); /* harmless when not added; not from another poller */

/* ---- messages from other threads ---- */

/* Caller-owned until `deliver` is called on the loop's thread. */
struct loop_message {
	void (*deliver)(struct loop_message *m);
	struct loop_message *next; /* the loop's own */
};

/* From any thread, in order per sender. The loop must outlive the message. */
void loop_post(struct loop *l, struct loop_message *m);

/* ---- signals ---- */

/* Calls `handler` on this loop for every one of `signals` (ended by 0), which are blocked in the
 * calling thread: call it before other threads are started, so that they inherit the mask.
 * One set of signals per loop. 0 or negative errno. */
int loop_signals(
	struct loop *l, const int *signals, void (*handler)(void *arg, int signal), void *arg);

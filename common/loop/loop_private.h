/* The inside of a loop, for the files of this room alone. */
#pragma once

#include <stdatomic.h>
#include <sys/epoll.h>

#include "common/loop/loop.h"

/* Events fetched per epoll_wait(): enough for a turn with many busy connections, small enough to
 * stay in the first-level cache (12 bytes each). What does not fit is reported by the next one. */
#define LOOP_EVENTS_MAX 256
/* Turns in a row for which the finds of pollers keep the loop from looking at descriptors: that
 * would cost a system call each, as much as such a turn itself. */
#define LOOP_UNWATCHED_MAX 16
/* A request's round trip over RDMA: some 10 us, in which so many looks fit. */
#define LOOP_LINGER_ROUNDS 16
/* If the CPU was given back only after that, others compute on it, and being woken up is faster. */
#define LOOP_LINGER_MAX_NS (2 * LOOP_NS_PER_MS)
#define LOOP_LINGER_MISSES_MAX 8
/* Where virtual time begins: not at 0, which some objects use for "never". */
#define LOOP_VIRTUAL_START LOOP_NS_PER_S

/* A watch's place. epoll carries (generation, slot) instead of a pointer, so that an event reported
 * for a watch that was removed in the same turn finds another generation, not freed memory. */
struct loop_slot {
	struct loop_watch *watch; /* NULL: free */
	uint32_t generation;
	uint32_t next_free; /* slot number + 1; 0: the last */
};

struct loop_linger {
	bool due; /* loop_expect() was called since the last time */
	uint32_t misses, skip;
};

struct loop_signals;

struct loop {
	struct loop_config config;
	int epoll_fd;
	bool no_pwait2; /* the kernel is older than 5.11 */
	bool in_turn;
	unsigned unwatched; /* turns since the descriptors were looked at */
	struct loop_linger linger;
	uint64_t now_ns, last_busy_ns;

	struct epoll_event events[LOOP_EVENTS_MAX];
	struct loop_slot *slots;
	uint32_t slot_count, free_slot; /* as next_free */

	struct loop_timer **heap; /* heap[1..timer_count], the earliest at 1 */
	size_t timer_count, heap_size;

	struct list calls, flushers, pollers;

	/* Other threads push here; the loop takes all at once and turns the order round. */
	_Atomic(struct loop_message *) messages;
	/* Set just before sleeping: whoever clears it writes the eventfd. */
	atomic_bool sleeping;
	atomic_bool stopping;
	struct loop_watch wakeup; /* the eventfd */

	struct loop_signals *signals;
};

/* Reads the clock (the real one) into now_ns; nothing for a virtual clock. */
void loop_clock_update(struct loop *l);
/* When the earliest timer is due; UINT64_MAX without timers. */
uint64_t loop_timers_next(const struct loop *l);
/* Calls what is due; true if anything was. */
bool loop_timers_run(struct loop *l);
/* Calls the handlers for events[0..count); true if any was called. */
bool loop_watches_dispatch(struct loop *l, int count);
/* Waits for at most `timeout_ns` and fills events[]; the number of events. */
int loop_watches_wait(struct loop *l, uint64_t timeout_ns);
/* Delivers what other threads posted; true if there was anything. */
bool loop_messages_deliver(struct loop *l);
bool loop_messages_pending(struct loop *l);
int loop_messages_open(struct loop *l);
void loop_messages_close(struct loop *l);
void loop_wake(struct loop *l);
void loop_signals_free(struct loop_signals *s); /* NULL is allowed */

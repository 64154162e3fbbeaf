/* Descriptors of a loop: epoll, level-triggered, with slots that tell a removed watch from a live
 * one. Called by every object that owns a descriptor, and by the loop's turn. */
#include "common/loop/loop_private.h"

#include <errno.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"

#define SLOTS_AT_FIRST 64

/* epoll's bits for ours. A half-closed peer is readable (the read returns 0), not hung up. */
static uint32_t watch_epoll_bits(unsigned events)
{
	return (events & LOOP_READABLE ? (uint32_t)EPOLLIN : 0) |
	       (events & LOOP_WRITABLE ? (uint32_t)EPOLLOUT : 0);
}

static unsigned watch_events(uint32_t bits)
{
	return (bits & EPOLLIN ? LOOP_READABLE : 0u) | (bits & EPOLLOUT ? LOOP_WRITABLE : 0u) |
	       (bits & (EPOLLHUP | EPOLLERR) ? LOOP_HANGUP : 0u);
}

static int slots_grow(struct loop *l)
{
	uint32_t count = l->slot_count ? 2 * l->slot_count : SLOTS_AT_FIRST;
	struct loop_slot *slots = alloc_resize(l->slots, count * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = l->slot_count; i < count; i++)
		slots[i] = (struct loop_slot){.next_free = i + 1 < count ? i + 2 : 0};
	l->slots = slots;
	l->free_slot = l->slot_count + 1;
	l->slot_count = count;
	return 0;
}

static int watch_control(struct loop_watch *w, int operation)
{
	struct epoll_event e = {
		.events = watch_epoll_bits(w->events),
		.data.u64 = (uint64_t)w->loop->slots[w->slot].generation << 32 | w->slot,
	};

	return sys_epoll_ctl(w->loop->epoll_fd, operation, w->fd, &e) < 0 ? -errno : 0;
}

/* Gives the slot back; its next user has another generation. */
static void watch_release(struct loop_watch *w)
{
	struct loop *l = w->loop;
	struct loop_slot *slot = &l->slots[w->slot];

	slot->watch = NULL;
	slot->generation++;
	slot->next_free = l->free_slot;
	l->free_slot = w->slot + 1;
	w->loop = NULL;
}

int loop_watch_add(struct loop *l, struct loop_watch *w, unsigned events)
{
	int rc;

	if (w->loop)
		return -EEXIST;
	rc = l->free_slot ? 0 : slots_grow(l);
	if (rc < 0)
		return rc;
	w->loop = l;
	w->slot = l->free_slot - 1;
	w->events = events;
	l->free_slot = l->slots[w->slot].next_free;
	l->slots[w->slot].watch = w;
	rc = watch_control(w, EPOLL_CTL_ADD);
	if (rc < 0)
		watch_release(w);
	return rc;
}

int loop_watch_change(struct loop_watch *w, unsigned events)
{
	unsigned before = w->events;
	int rc;

	if (!w->loop)
		return -ENOENT;
	if (events == before)
		return 0;
	w->events = events;
	rc = watch_control(w, EPOLL_CTL_MOD);
	if (rc < 0)
		w->events = before;
	return rc;
}

void loop_watch_remove(struct loop_watch *w)
{
	if (!w->loop)
		return;
	/* It fails only if the descriptor was closed before, and then epoll has forgotten it. */
	epoll_ctl(w->loop->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	watch_release(w);
}

static int wait_pwait2(struct loop *l, uint64_t timeout_ns)
{
	struct timespec t = {
		.tv_sec = (time_t)min_u64(timeout_ns / LOOP_NS_PER_S, INT32_MAX),
		.tv_nsec = (long)(timeout_ns % LOOP_NS_PER_S),
	};

	return sys_epoll_pwait2(l->epoll_fd, l->events, LOOP_EVENTS_MAX,
		timeout_ns == UINT64_MAX ? NULL : &t, NULL);
}

/* In milliseconds, rounded up: a timer may be late, but a turn before it is due would be for
 * nothing. */
static int wait_milliseconds(struct loop *l, uint64_t timeout_ns)
{
	uint64_t ms = timeout_ns / LOOP_NS_PER_MS + (timeout_ns % LOOP_NS_PER_MS != 0);
	int timeout = timeout_ns == UINT64_MAX ? -1 : (int)min_u64(ms, INT32_MAX);

	return sys_epoll_wait(l->epoll_fd, l->events, LOOP_EVENTS_MAX, timeout);
}

int loop_watches_wait(struct loop *l, uint64_t timeout_ns)
{
	int count;

	l->unwatched = 0;
	if (timeout_ns == 0 || l->no_pwait2) {
		count = wait_milliseconds(l, timeout_ns);
	} else {
		count = wait_pwait2(l, timeout_ns);
		if (count < 0 && errno == ENOSYS) {
			l->no_pwait2 = true;
			count = wait_milliseconds(l, timeout_ns);
		}
	}
	/* Interrupted: nothing is lost, the next turn waits again. */
	return count < 0 ? 0 : count;
}

bool loop_watches_dispatch(struct loop *l, int count)
{
	bool called = false;

	for (int i = 0; i < count; i++) {
		uint64_t key = l->events[i].data.u64;
		/* Looked up anew each time: a handler may have made the table move. */
		struct loop_slot *slot = &l->slots[(uint32_t)key];

		if (!slot->watch || slot->generation != key >> 32)
			continue;
		called = true;
		slot->watch->ready(slot->watch, watch_events(l->events[i].events));
	}
	return called;
}

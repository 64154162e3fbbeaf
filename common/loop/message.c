/* Messages from other threads: a list that many push on and the loop takes as a whole, and an
 * eventfd that is written only when the loop sleeps. Called by the file backend's threads, by
 * sessions that span loops, and by loop_stop(). */
#include "common/loop/loop_private.h"

#include <errno.h>
#include <unistd.h>

#include "common/base/sys.h"

#define WAKE_TRIES 16

static void wakeup_ready(struct loop_watch *w, unsigned events)
{
	uint64_t count;

	(void)events;
	/* Only to make it unreadable; the messages themselves are looked at in every turn. */
	if (read(w->fd, &count, sizeof(count)) < 0)
		return;
}

int loop_messages_open(struct loop *l)
{
	l->wakeup.fd = sys_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wakeup.fd < 0)
		return -errno;
	l->wakeup.ready = wakeup_ready;
	return loop_watch_add(l, &l->wakeup, LOOP_READABLE);
}

void loop_messages_close(struct loop *l)
{
	loop_watch_remove(&l->wakeup);
	if (l->wakeup.fd >= 0)
		close(l->wakeup.fd);
}

void loop_wake(struct loop *l)
{
	uint64_t one = 1;

	if (!atomic_exchange(&l->sleeping, false))
		return;
	/* The counter is far from full: nothing but a fault of the kernel comes between. */
	for (int tries = 0; tries < WAKE_TRIES; tries++)
		if (write(l->wakeup.fd, &one, sizeof(one)) == sizeof(one))
			return;
	/* Whoever posts next tries again. */
	atomic_store(&l->sleeping, true);
}

void loop_post(struct loop *l, struct loop_message *m)
{
	m->next = atomic_load_explicit(&l->messages, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&l->messages, &m->next, m))
		;
	/* From here on `m` may be delivered and gone. */
	loop_wake(l);
}

bool loop_messages_pending(struct loop *l)
{
	return atomic_load(&l->messages) != NULL;
}

bool loop_messages_deliver(struct loop *l)
{
	struct loop_message *newest, *oldest = NULL;

	if (!atomic_load_explicit(&l->messages, memory_order_relaxed))
		return false;
	newest = atomic_exchange(&l->messages, NULL);
	while (newest) {
		struct loop_message *m = newest;

		newest = m->next;
		m->next = oldest;
		oldest = m;
	}
	while (oldest) {
		struct loop_message *m = oldest;

		oldest = m->next;
		m->deliver(m);
	}
	return true;
}

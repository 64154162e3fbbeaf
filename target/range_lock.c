/* Ranges that one command works on alone: see range_lock.h. */
#include "target/range_lock.h"

#include "common/base/bytes.h"

#define STRIPE_EXCLUSIVE 0x80000000u

void range_lock_init(struct range_lock *l)
{
	for (unsigned i = 0; i < RANGE_STRIPES; i++)
		atomic_init(&l->stripes[i].state, 0);
	pthread_mutex_init(&l->mutex, NULL);
	list_init(&l->waiting);
}

void range_lock_destroy(struct range_lock *l)
{
	pthread_mutex_destroy(&l->mutex);
}

/* The stripes that a range of at least one byte lies in. */
static uint64_t range_mask(uint64_t offset, uint64_t length)
{
	uint64_t first = offset >> RANGE_STRIPE_SHIFT;
	uint64_t count = ((offset + length - 1) >> RANGE_STRIPE_SHIFT) - first + 1;
	unsigned at = first % RANGE_STRIPES;
	uint64_t ones;

	if (count >= RANGE_STRIPES)
		return UINT64_MAX;
	ones = (1ull << count) - 1;
	return at ? ones << at | ones >> (RANGE_STRIPES - at) : ones;
}

static _Atomic uint32_t *stripe_of(struct range_lock *l, uint64_t mask)
{
	return &l->stripes[__builtin_ctzll(mask)].state;
}

static void deliver(struct loop_message *m)
{
	struct range_hold *h = container_of(m, struct range_hold, message);

	h->state = RANGE_FREE;
	h->woken(h);
}

static void wake(struct range_hold *h)
{
	list_remove(&h->link);
	h->state = RANGE_WOKEN;
	h->message.deliver = deliver;
	loop_post(h->loop, &h->message);
}

/* Everybody tries again: waits are rare, and a waiter's turn need not be kept. */
static void wake_all(struct range_lock *l)
{
	while (!list_empty(&l->waiting))
		wake(list_first(&l->waiting, struct range_hold, link));
}

/* A shared hold less is news to those alone who wait for shared holds to go. To wake the others
 * would be no end: each of their attempts, given up, is a shared hold less. */
static void wake_claimants(struct range_lock *l)
{
	struct range_hold *h, *next;

	list_for_each_safe(h, next, &l->waiting, link)
		if (h->claimed)
			wake(h);
}

static bool wait_for_wake(struct range_lock *l, struct range_hold *h)
{
	h->state = RANGE_WAITING;
	list_append(&l->waiting, &h->link);
	return false;
}

/* ---- shared ---- */

static void drop_shared(struct range_lock *l, uint64_t mask)
{
	bool last = false;

	for (; mask; mask &= mask - 1)
		if (atomic_fetch_sub(stripe_of(l, mask), 1) == (STRIPE_EXCLUSIVE | 1))
			last = true;
	if (!last)
		return;
	pthread_mutex_lock(&l->mutex);
	wake_claimants(l);
	pthread_mutex_unlock(&l->mutex);
}

static bool try_shared(struct range_lock *l, uint64_t mask)
{
	for (uint64_t left = mask; left; left &= left - 1)
		if (atomic_fetch_add(stripe_of(l, left), 1) & STRIPE_EXCLUSIVE) {
			drop_shared(l, mask & ~(left & (left - 1)));
			return false;
		}
	return true;
}

static bool any_state(struct range_lock *l, uint64_t mask, uint32_t bits)
{
	for (; mask; mask &= mask - 1)
		if (atomic_load(stripe_of(l, mask)) & bits)
			return true;
	return false;
}

static bool take_shared(struct range_lock *l, struct range_hold *h)
{
	while (!try_shared(l, h->mask)) {
		bool waits;

		pthread_mutex_lock(&l->mutex);
		/* The flags change under the mutex alone: if one is still set, its owner will wake
		 * us. */
		waits = any_state(l, h->mask, STRIPE_EXCLUSIVE);
		if (waits)
			wait_for_wake(l, h);
		pthread_mutex_unlock(&l->mutex);
		if (waits)
			return false;
	}
	h->state = RANGE_HELD;
	return true;
}

/* ---- exclusive ---- */

/* From the claim on nobody new comes in; then the shared holders that are there are waited for. */
static bool take_exclusive(struct range_lock *l, struct range_hold *h)
{
	bool held = false;

	pthread_mutex_lock(&l->mutex);
	if (!h->claimed && !any_state(l, h->mask, STRIPE_EXCLUSIVE)) {
		for (uint64_t left = h->mask; left; left &= left - 1)
			atomic_fetch_or(stripe_of(l, left), STRIPE_EXCLUSIVE);
		h->claimed = true;
	}
	if (h->claimed)
		held = !any_state(l, h->mask, ~STRIPE_EXCLUSIVE);
	if (held)
		h->state = RANGE_HELD;
	else
		wait_for_wake(l, h);
	pthread_mutex_unlock(&l->mutex);
	return held;
}

static void unclaim(struct range_lock *l, struct range_hold *h)
{
	for (uint64_t left = h->mask; left; left &= left - 1)
		atomic_fetch_and(stripe_of(l, left), ~STRIPE_EXCLUSIVE);
	h->claimed = false;
	wake_all(l);
}

/* ---- both ---- */

bool range_lock_take(struct range_lock *l, struct range_hold *h, uint64_t offset, uint64_t length,
	bool exclusive)
{
	if (!length)
		return true;
	h->lock = l;
	h->exclusive = exclusive;
	h->mask = range_mask(offset, length);
	return exclusive ? take_exclusive(l, h) : take_shared(l, h);
}

void range_lock_release(struct range_hold *h)
{
	if (h->claimed) {
		pthread_mutex_lock(&h->lock->mutex);
		unclaim(h->lock, h);
		pthread_mutex_unlock(&h->lock->mutex);
	} else if (h->state == RANGE_HELD) {
		drop_shared(h->lock, h->mask);
	}
	h->state = RANGE_FREE;
}

bool range_lock_cancel(struct range_hold *h)
{
	bool done = true;

	if (!h->lock)
		return true;
	pthread_mutex_lock(&h->lock->mutex);
	if (h->state == RANGE_WAITING) {
		list_remove(&h->link);
		h->state = RANGE_FREE;
		if (h->claimed)
			unclaim(h->lock, h);
	}
	done = h->state != RANGE_WOKEN;
	pthread_mutex_unlock(&h->lock->mutex);
	return done;
}

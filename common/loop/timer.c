/* Timers of a loop: a binary heap by due time, in which every timer knows its place, so that arming
 * and cancelling cost O(log n) and no allocation once the heap has grown. */
#include "common/loop/loop_private.h"

#include <errno.h>

#include "common/base/alloc.h"

#define HEAP_AT_FIRST 64

static void heap_set(struct loop *l, size_t index, struct loop_timer *t)
{
	l->heap[index] = t;
	t->heap_index = index;
}

/* Puts `t` at `index` or above it, where its parent is not later. */
static void heap_rise(struct loop *l, size_t index, struct loop_timer *t)
{
	for (; index > 1 && l->heap[index / 2]->due_ns > t->due_ns; index /= 2)
		heap_set(l, index, l->heap[index / 2]);
	heap_set(l, index, t);
}

/* Puts `t` at `index` or below it, where no child is earlier. */
static void heap_sink(struct loop *l, size_t index, struct loop_timer *t)
{
	for (size_t child = 2 * index; child <= l->timer_count; child = 2 * index) {
		if (child < l->timer_count && l->heap[child + 1]->due_ns < l->heap[child]->due_ns)
			child++;
		if (l->heap[child]->due_ns >= t->due_ns)
			break;
		heap_set(l, index, l->heap[child]);
		index = child;
	}
	heap_set(l, index, t);
}

static void heap_place(struct loop *l, size_t index, struct loop_timer *t)
{
	if (index > 1 && l->heap[index / 2]->due_ns > t->due_ns)
		heap_rise(l, index, t);
	else
		heap_sink(l, index, t);
}

static int heap_reserve(struct loop *l)
{
	size_t size = l->heap_size ? 2 * l->heap_size : HEAP_AT_FIRST;
	struct loop_timer **heap;

	if (l->timer_count + 1 < l->heap_size)
		return 0;
	heap = alloc_resize(l->heap, size * sizeof(struct loop_timer *));
	if (!heap)
		return -ENOMEM;
	l->heap = heap;
	l->heap_size = size;
	return 0;
}

int loop_timer_arm(struct loop *l, struct loop_timer *t, uint64_t delay_ns)
{
	int rc = t->heap_index ? 0 : heap_reserve(l);

	if (rc < 0)
		return rc;
	/* Between turns the loop's time may be old, and the timer would be too early. */
	if (!l->in_turn)
		loop_clock_update(l);
	t->loop = l;
	t->due_ns = delay_ns > UINT64_MAX - 1 - l->now_ns ? UINT64_MAX - 1 : l->now_ns + delay_ns;
	heap_place(l, t->heap_index ? t->heap_index : ++l->timer_count, t);
	return 0;
}

void loop_timer_cancel(struct loop_timer *t)
{
	struct loop *l = t->loop;
	size_t index = t->heap_index;
	struct loop_timer *last;

	if (!index)
		return;
	t->heap_index = 0;
	last = l->heap[l->timer_count--];
	if (last != t)
		heap_place(l, index, last);
}

uint64_t loop_timers_next(const struct loop *l)
{
	return l->timer_count ? l->heap[1]->due_ns : UINT64_MAX;
}

bool loop_timers_run(struct loop *l)
{
	/* Not more than there are now: one that re-arms itself for "at once" waits a turn. */
	size_t left = l->timer_count;
	bool called = false;

	for (; left > 0 && loop_timers_next(l) <= l->now_ns; left--) {
		struct loop_timer *t = l->heap[1];

		loop_timer_cancel(t);
		t->expired(t);
		called = true;
	}
	return called;
}

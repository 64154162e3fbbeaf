/* Buffers of three sizes out of one range of memory: see worker.h. A class that is empty borrows
 * from the next larger, never from a smaller one: what is set apart for
 * small buffers stays theirs. */
#include <sys/mman.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/base/poison.h"
#include "target/worker.h"

enum {
	ARENA_CLASSES = 3,
	ARENA_ALIGNMENT = 2 * 1024 * 1024, /* a huge page */
	ARENA_MINIMUM = 4 * 1024 * 1024,   /* still two large buffers */
};

struct free_buffer {
	struct free_buffer *next;
};

struct arena_class {
	uint32_t size;
	uint8_t *start, *end;
	struct free_buffer *free;
	size_t free_count;
};

struct arena {
	uint8_t *memory;
	size_t size;
	struct arena_class classes[ARENA_CLASSES]; /* ascending */
};

static void arena_put_into(struct arena_class *c, void *buffer)
{
	struct free_buffer *b = buffer;

	b->next = c->free;
	c->free = b;
	c->free_count++;
	poison(b + 1, c->size - sizeof(*b));
}

/* Last buffer first, so that they are given out from the front. */
static void arena_fill(struct arena_class *c, uint8_t *start, uint32_t size, size_t count)
{
	c->size = size;
	c->start = start;
	c->end = start + size * count;
	for (size_t i = count; i-- > 0;)
		arena_put_into(c, start + i * size);
}

struct arena *arena_new(size_t size)
{
	struct arena *a = alloc_zeroed(sizeof(*a));
	size_t small, medium;

	if (!a)
		return NULL;
	a->size = round_up(size < ARENA_MINIMUM ? ARENA_MINIMUM : size, ARENA_ALIGNMENT);
	a->memory = alloc_aligned(ARENA_ALIGNMENT, a->size);
	if (!a->memory) {
		alloc_free(a);
		return NULL;
	}
	/* Only a hint: without huge pages the arena works as well. */
	madvise(a->memory, a->size, MADV_HUGEPAGE);
	/* Of 64 MiB: 1024 small, 256 medium, 40 large buffers. */
	small = a->size / 8 / WORKER_SMALL_BUFFER;
	medium = a->size / 4 / WORKER_MEDIUM_BUFFER;
	arena_fill(&a->classes[0], a->memory, WORKER_SMALL_BUFFER, small);
	arena_fill(&a->classes[1], a->classes[0].end, WORKER_MEDIUM_BUFFER, medium);
	arena_fill(&a->classes[2], a->classes[1].end, WORKER_LARGE_BUFFER,
		(size_t)(a->memory + a->size - a->classes[1].end) / WORKER_LARGE_BUFFER);
	return a;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	unpoison(a->memory, a->size);
	alloc_free(a->memory);
	alloc_free(a);
}

void *arena_get(struct arena *a, size_t size, uint32_t *ret_capacity)
{
	return arena_get_sparing(a, size, 0, ret_capacity);
}

void *arena_get_sparing(struct arena *a, size_t size, size_t spare, uint32_t *ret_capacity)
{
	for (unsigned i = 0; i < ARENA_CLASSES; i++) {
		struct arena_class *c = &a->classes[i];
		struct free_buffer *b = c->free;

		if (c->size < size || !b)
			continue;
		if (i == ARENA_CLASSES - 1 && c->free_count <= spare)
			break;
		c->free = b->next;
		c->free_count--;
		unpoison(b, c->size);
		*ret_capacity = c->size;
		return b;
	}
	return NULL;
}

void arena_put(struct arena *a, void *buffer)
{
	uint8_t *b = buffer;

	if (!b)
		return;
	for (unsigned i = 0; i < ARENA_CLASSES; i++)
		if (b >= a->classes[i].start && b < a->classes[i].end) {
			arena_put_into(&a->classes[i], b);
			return;
		}
}

void *arena_memory(const struct arena *a, size_t *ret_length)
{
	*ret_length = a->size;
	return a->memory;
}

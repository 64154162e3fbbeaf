/* Fixed pools: one block of memory and a stack of what is free in it. The stack gives back the
 * object that was put last, which is the likeliest to be in the cache. Called by every loop's data
 * path. */
#include "common/base/pool.h"

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/base/poison.h"

#define POOL_ALIGNMENT 64

struct pool {
	char *memory;
	size_t stride, count;
	size_t free_count;
	void *free[]; /* free[0..free_count) */
};

struct pool *pool_new(size_t count, size_t size)
{
	struct pool *p;
	size_t total, stride = round_up(size ? size : 1, POOL_ALIGNMENT);

	if (stride < size || __builtin_mul_overflow(count, stride, &total) ||
		count > (SIZE_MAX - sizeof(*p)) / sizeof(p->free[0]))
		return NULL;
	p = alloc_zeroed(sizeof(*p) + count * sizeof(p->free[0]));
	if (!p)
		return NULL;
	p->stride = stride;
	p->count = p->free_count = count;
	p->memory = alloc_aligned(POOL_ALIGNMENT, total);
	if (!p->memory)
		goto fail;
	for (size_t i = 0; i < count; i++)
		p->free[i] = p->memory + (count - 1 - i) * stride;
	poison(p->memory, total);
	return p;
fail:
	pool_free(p);
	return NULL;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	if (p->memory)
		unpoison(p->memory, p->count * p->stride);
	alloc_free(p->memory);
	alloc_free(p);
}

void *pool_get(struct pool *p)
{
	void *object;

	if (p->free_count == 0)
		return NULL;
	object = p->free[--p->free_count];
	unpoison(object, p->stride);
	return object;
}

void pool_put(struct pool *p, void *object)
{
	poison(object, p->stride);
	p->free[p->free_count++] = object;
}

size_t pool_available(const struct pool *p)
{
	return p->free_count;
}

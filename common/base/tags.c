/* Tag tables. Called by sessions for task tags and by the software iWARP provider for STags: what
 * peers send back in these fields is only believed if it is found here. */
#include "common/base/tags.h"

#include <errno.h>

#include "common/base/alloc.h"

#define TAGS_NONE UINT32_MAX

struct tags_entry {
	void *object;	    /* NULL: free */
	uint32_t tag;	    /* the current or the last one of this place */
	uint32_t next_free; /* index, TAGS_NONE at the end */
};

struct tags {
	uint32_t capacity, count;
	unsigned generation_bits;
	uint32_t first_free, last_free;
	struct tags_entry entries[];
};

struct tags *tags_new(uint32_t capacity, unsigned generation_bits)
{
	struct tags *t;

	/* Index 0 and the all-ones index are not used, so no tag is 0 or 0xffffffff. */
	if (generation_bits < 1 || generation_bits > 16 || capacity == 0 ||
		capacity > (UINT32_MAX >> generation_bits) - 1)
		return NULL;
	t = alloc_zeroed(sizeof(*t) + capacity * sizeof(t->entries[0]));
	if (!t)
		return NULL;
	t->capacity = capacity;
	t->generation_bits = generation_bits;
	t->last_free = capacity - 1;
	for (uint32_t i = 0; i < capacity; i++) {
		t->entries[i].tag = (i + 1) << generation_bits;
		t->entries[i].next_free = i + 1 < capacity ? i + 1 : TAGS_NONE;
	}
	return t;
}

void tags_free(struct tags *t)
{
	alloc_free(t);
}

/* The same index with the next generation. */
static uint32_t tags_next(const struct tags *t, uint32_t tag)
{
	uint32_t mask = (1u << t->generation_bits) - 1;

	return (tag & ~mask) | ((tag + 1) & mask);
}

int tags_add(struct tags *t, void *object, uint32_t *ret_tag)
{
	struct tags_entry *e;

	if (t->first_free == TAGS_NONE)
		return -ENOSPC;
	e = &t->entries[t->first_free];
	t->first_free = e->next_free;
	if (t->first_free == TAGS_NONE)
		t->last_free = TAGS_NONE;
	e->tag = tags_next(t, e->tag);
	e->object = object;
	t->count++;
	*ret_tag = e->tag;
	return 0;
}

/* The index of a live tag, or TAGS_NONE. */
static uint32_t tags_index(const struct tags *t, uint32_t tag)
{
	uint32_t index = (tag >> t->generation_bits) - 1; /* 0 wraps to a huge one */

	if (index >= t->capacity || !t->entries[index].object || t->entries[index].tag != tag)
		return TAGS_NONE;
	return index;
}

void *tags_find(const struct tags *t, uint32_t tag)
{
	uint32_t index = tags_index(t, tag);

	return index == TAGS_NONE ? NULL : t->entries[index].object;
}

void *tags_remove(struct tags *t, uint32_t tag)
{
	uint32_t index = tags_index(t, tag);
	void *object;

	if (index == TAGS_NONE)
		return NULL;
	object = t->entries[index].object;
	t->entries[index].object = NULL;
	t->entries[index].next_free = TAGS_NONE;
	if (t->last_free == TAGS_NONE)
		t->first_free = index;
	else
		t->entries[t->last_free].next_free = index;
	t->last_free = index;
	t->count--;
	return object;
}

uint32_t tags_count(const struct tags *t)
{
	return t->count;
}

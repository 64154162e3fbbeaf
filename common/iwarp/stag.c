/* The STag table: see stag.h. Free indexes form a queue, not a stack, and new indexes are taken
 * while fewer than REST of them lie in it: a key then comes back only after REST * 256 uses at the
 * least, so that a stale tag is told from the one in its place. Entries never used are never
 * touched, and cost no memory. */
#include "common/iwarp/stag.h"

#include <errno.h>
#include <stdbool.h>

#include "common/base/alloc.h"

#define REST 64
#define NONE UINT32_MAX
#define KEY_BITS 8

struct entry {
	const void *domain; /* NULL: free */
	uint8_t *data;
	uint32_t length;
	uint8_t rights, key;
	uint32_t next_free;
};

struct stag_table {
	uint32_t capacity, fresh, count;  /* entries from `fresh` on were never used */
	uint32_t oldest, newest, resting; /* the queue of free ones */
	struct entry entries[];
};

struct stag_table *stag_table_new(uint32_t capacity)
{
	struct stag_table *t;

	if (!capacity || capacity > STAG_CAPACITY_MAX)
		return NULL;
	t = alloc_zeroed(sizeof(*t) + capacity * sizeof(t->entries[0]));
	if (!t)
		return NULL;
	t->capacity = capacity;
	t->oldest = t->newest = NONE;
	return t;
}

void stag_table_free(struct stag_table *t)
{
	alloc_free(t);
}

uint32_t stag_table_count(const struct stag_table *t)
{
	return t->count;
}

static uint32_t stag_of(const struct stag_table *t, const struct entry *e)
{
	return (uint32_t)(e - t->entries) << KEY_BITS | e->key;
}

/* At most 2^31 << 32: adding a length of 32 bits cannot wrap. */
static uint64_t offset_of(uint32_t stag)
{
	return (uint64_t)stag << 32;
}

static struct entry *entry_take(struct stag_table *t)
{
	struct entry *e;

	if (t->fresh < t->capacity && t->resting < REST)
		return &t->entries[t->fresh++];
	if (t->oldest == NONE)
		return NULL;
	e = &t->entries[t->oldest];
	t->oldest = e->next_free;
	if (t->oldest == NONE)
		t->newest = NONE;
	t->resting--;
	return e;
}

static void entry_release(struct stag_table *t, struct entry *e)
{
	uint32_t index = (uint32_t)(e - t->entries);

	e->domain = NULL;
	e->next_free = NONE;
	if (t->newest == NONE)
		t->oldest = index;
	else
		t->entries[t->newest].next_free = index;
	t->newest = index;
	t->resting++;
	t->count--;
}

static const struct entry *entry_find(const struct stag_table *t, uint32_t stag)
{
	uint32_t index = stag >> KEY_BITS;
	const struct entry *e;

	if (index >= t->fresh)
		return NULL;
	e = &t->entries[index];
	return e->domain && e->key == (uint8_t)stag ? e : NULL;
}

int stag_add(struct stag_table *t, const void *domain, void *data, uint32_t length, unsigned rights,
	uint32_t *ret_stag, uint64_t *ret_offset)
{
	struct entry *e = entry_take(t);

	if (!e)
		return -ENOSPC;
	*e = (struct entry){
		.domain = domain,
		.data = data,
		.length = length,
		.rights = (uint8_t)rights,
		.key = (uint8_t)(e->key + 1),
	};
	/* iSER takes STag 0 for "none"; index 0 begins with key 1 and must not come to 0. */
	if (!stag_of(t, e))
		e->key = 1;
	t->count++;
	*ret_stag = stag_of(t, e);
	*ret_offset = offset_of(*ret_stag);
	return 0;
}

int stag_remove(struct stag_table *t, const void *domain, uint32_t stag)
{
	const struct entry *e = entry_find(t, stag);

	if (!e || e->domain != domain)
		return -ENOENT;
	entry_release(t, &t->entries[stag >> KEY_BITS]);
	return 0;
}

enum stag_verdict stag_check(const struct stag_table *t, const void *domain, uint32_t stag,
	unsigned right, uint64_t offset, uint32_t length, uint8_t **ret_data)
{
	const struct entry *e = entry_find(t, stag);
	uint64_t at = offset - offset_of(stag);

	if (!e)
		return STAG_UNKNOWN;
	if (e->domain != domain)
		return STAG_FOREIGN;
	if (!(e->rights & right))
		return STAG_FORBIDDEN;
	if (offset + length < offset)
		return STAG_WRAPS;
	if (offset < offset_of(stag) || at > e->length || length > e->length - at)
		return STAG_OUT_OF_BOUNDS;
	*ret_data = e->data + at;
	return STAG_OK;
}

void stag_remove_all(struct stag_table *t, const void *domain)
{
	for (uint32_t i = 0; i < t->fresh && t->count; i++)
		if (t->entries[i].domain == domain)
			entry_release(t, &t->entries[i]);
}

/* Tables that turn a 32-bit tag (a task tag, an STag, a slot's number) into an object. A table does
 * not lock: it belongs to one loop. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A tag is index << generation bits | generation (the first index is 1), so that a stale tag is
 * told from the one that has taken its place. Places are reused in turn, the longest free one
 * first. */
struct tags;

/* For up to `capacity` objects at a time, with the low `generation_bits` (1..16) of each tag
 * counting how often its place was used. NULL when there is no memory, or when `capacity` is 0 or
 * more than 2^(32 - generation_bits) - 2, which is what the index has room for. */
struct tags *tags_new(uint32_t capacity, unsigned generation_bits);
void tags_free(struct tags *t); /* NULL is allowed */
/* -ENOSPC when `capacity` objects are in the table. Never gives 0 or 0xffffffff. */
int tags_add(struct tags *t, void *object, uint32_t *ret_tag);
/* NULL for a tag that is not, or no longer, in the table. */
void *tags_find(const struct tags *t, uint32_t tag);
/* As tags_find(), and the tag becomes invalid. */
void *tags_remove(struct tags *t, uint32_t tag);
uint32_t tags_count(const struct tags *t);

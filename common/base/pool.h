/* Fixed pools of equal objects, and tables that turn a 32-bit tag into an object. Neither locks:
 * each belongs to one loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `count` objects of `size` bytes, allocated once. */
struct pool;

/* Objects are aligned to 64 bytes (a cache line). NULL when there is no memory. */
struct pool *pool_new(size_t count, size_t size);
void pool_free(struct pool *p); /* NULL is allowed; objects still out become invalid */
/* An object with undefined content, or NULL when all are out. */
void *pool_get(struct pool *p);
void pool_put(struct pool *p, void *object);
size_t pool_available(const struct pool *p);

/* A table from tags to objects. A tag is index << generation bits | generation, so that a stale
 * tag is told from the one that has taken its place. */
struct tags;

/* For up to `capacity` objects at a time, with the low `generation_bits` (1..16) of each tag
struct tags *tags_new(uint32_t capacity, unsigned generation_bits);
void tags_free(struct tags *t); /* NULL is allowed */
/* -ENOSPC when `capacity` objects are in the table. Never gives 0 or 0xffffffff. */
int tags_add(struct tags *t, void *object, uint32_t *ret_tag);
/* NULL for a tag that is not, or no longer, in the table. */
void *tags_find(const struct tags *t, uint32_t tag);
/* As tags_find(), and the tag becomes invalid. */
void *tags_remove(struct tags *t, uint32_t tag);
uint32_t tags_count(const struct tags *t);

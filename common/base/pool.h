/* Fixed pools of equal objects: what the data path needs is made at start. A pool does not lock: it
 * belongs to one loop. */
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

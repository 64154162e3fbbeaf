/* What the SCSI device server needs of a store: one interface, several stores (file, memory, null)
 * and two that stack on any of them (delay, fault). A backend is shared by all loops; each loop
 * opens a channel on it, through which its requests go and complete, on that loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"

struct loop;
struct backend;
struct backend_channel;

enum backend_operation {
	BACKEND_READ,
	BACKEND_WRITE,
	BACKEND_FLUSH,	 /* everything that was written is on stable storage when done (all of the
			    backend, whichever channel wrote it) */
	BACKEND_DISCARD, /* the range may lose its content; reads as zeros afterwards */
	BACKEND_WRITE_ZEROES, /* the range reads as zeros; allocated or not as the store likes */
};

/* Caller-owned, the backend's until `done`. offset and length are bytes and lie in the backend's
 * size (the caller checks); for READ and WRITE `data` holds `length` bytes. */
struct backend_request {
	enum backend_operation operation;
	uint64_t offset, length;
	void *data;
	bool fua; /* WRITE, DISCARD, WRITE_ZEROES: on stable storage when done */
	/* 0 or negative errno (-EIO, -ENOSPC, -EROFS, ...). Always from the loop, never from inside
	 * backend_submit(). A short read or write never gets here: the store goes on or fails. */
	void (*done)(struct backend_request *r, int status);
	struct list link; /* the backend's own, as below */
	void *backend_private[6];
};

struct backend_info {
	uint64_t size;	     /* bytes, a multiple of block_size */
	uint32_t block_size; /* preferred logical block: 512 or 4096 */
	uint32_t physical_block_size;
	uint32_t discard_granularity; /* bytes; 0: no discard */
	bool readonly;
	bool volatile_cache; /* a write may be lost before FLUSH unless fua */
	bool rotational;
};

struct backend_ops {
	const char *name; /* "file", "memory", "null", "delay", "fault" */
	void (*free)(struct backend *b);
	int (*open_channel)(struct backend *b, struct loop *l, struct backend_channel **ret);
	void (*close_channel)(struct backend_channel *c); /* nothing is under way on it */
	void (*submit)(struct backend_channel *c, struct backend_request *r);
	/* The content's own memory where there is such (memory), so that it can be sent from and
	 * received into without a copy; else NULL, as is the pointer to the function. */
	void *(*map)(struct backend *b, uint64_t offset, uint64_t length);
	/* All of the memory that map() gives pieces of, to be registered once; else NULL. */
	void *(*memory)(struct backend *b, size_t *ret_length);
	/* To be called before memory() is registered with a device that keeps the pages it has seen
	 * (ibv_reg_mr): from then on none of them may be given back to the kernel, or the device
	 * and the processor would see different ones. May be NULL. */
	void (*pin)(struct backend *b);
	/* Memory whose pieces will be `data` of many requests (the loop's arena), so that it can be
	 * registered with the kernel once. May be NULL. */
	int (*register_arena)(struct backend_channel *c, void *address, size_t length);
	/* Looks at the size again (a grown file), and sets info.size, which only the caller reads:
	 * loops go by the device's. May be NULL. */
	int (*refresh)(struct backend *b);
};

struct backend { /* first member of each backend's own */
	const struct backend_ops *ops;
	struct backend_info info;
};

struct backend_channel { /* likewise */
	struct backend *backend;
	struct loop *loop;
};

static inline void backend_free(struct backend *b)
{
	if (b)
		b->ops->free(b);
}

static inline int backend_open_channel(
	struct backend *b, struct loop *l, struct backend_channel **ret)
{
	return b->ops->open_channel(b, l, ret);
}

static inline void backend_close_channel(struct backend_channel *c)
{
	if (c)
		c->backend->ops->close_channel(c);
}

static inline void backend_submit(struct backend_channel *c, struct backend_request *r)
{
	c->backend->ops->submit(c, r);
}

static inline void *backend_map(struct backend *b, uint64_t offset, uint64_t length)
{
	return b->ops->map ? b->ops->map(b, offset, length) : NULL;
}

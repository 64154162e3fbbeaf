/* The inside of the file store: an open file, and two engines that move its bytes. For the files
 * file*.c of this room alone. */
#pragma once

#include <stdatomic.h>
#include <sys/uio.h>

#include "target/backend/backend.h"
#include "target/backend/stores.h"

struct file_backend {
	struct backend backend; /* first member */
	int fd;
	char *path;
	uint64_t wanted_size; /* from the configuration; 0: all there is */
	enum file_engine engine;
	unsigned threads;
	bool block_device;
	bool direct;
	bool write_cache;
	/* With `direct`: what offsets, lengths and addresses must be multiples of. */
	uint32_t alignment;
	/* The page cache may be asked without waiting (RWF_NOWAIT). */
	atomic_bool try_cache;
	/* file_sync.c: the first failure of a write-back, negative errno; 0: none */
	_Atomic int lost;
};

static inline struct file_backend *file_of(struct backend *b)
{
	return container_of(b, struct file_backend, backend);
}

/* RWF_DSYNC where the request must be durable when it is done, else 0. */
static inline int file_write_flags(const struct file_backend *f, const struct backend_request *r)
{
	return r->fua || !f->write_cache ? RWF_DSYNC : 0;
}

/* With `direct`: whether `data` can be given to the kernel as it is. */
static inline bool file_aligned(const struct file_backend *f, const void *data)
{
	return !f->direct || (uintptr_t)data % f->alignment == 0;
}

/* ---- file_probe.c: what there is at a path ---- */

/* Opens, locks and measures `config->path` into `f` (fd, flags, info). 0 or negative errno, with
 * the line for a person in `why`. */
int file_probe(
	struct file_backend *f, const struct file_config *config, char *why, size_t why_size);
/* The size now, in bytes. 0 or negative errno. */
int file_measure(const struct file_backend *f, uint64_t *ret_size);

/* ---- file_execute.c: one request by blocking calls ---- */

/* Aligned memory for what cannot go directly, and zeros; one per thread. */
#define FILE_SCRATCH_SIZE (256u * 1024)

struct file_scratch {
	uint8_t *bounce, *zeros; /* FILE_SCRATCH_SIZE each */
};

int file_scratch_make(struct file_scratch *s); /* 0 or -ENOMEM, with nothing left behind */
void file_scratch_free(struct file_scratch *s);
int file_execute(
	struct file_backend *f, const struct backend_request *r, const struct file_scratch *s);

/* ---- file_sync.c: what must be durable, and may not be ---- */

/* What `r` ends with, whose calls have ended with `status` (0 or negative errno): that; or, where
 * it must be durable, the failure of an earlier write-back through the page cache, which the kernel
 * tells of once. From any thread. */
int file_sync_result(struct file_backend *f, const struct backend_request *r, int status);

/* ---- file_threads.c: a few threads that execute ---- */

struct file_threads;

/* `count` threads whose requests complete on `l`. */
int file_threads_new(
	struct file_backend *f, struct loop *l, unsigned count, struct file_threads **ret);
void file_threads_free(struct file_threads *t); /* nothing is under way; NULL is allowed */
void file_threads_submit(struct file_threads *t, struct backend_request *r);

/* ---- file_uring.c: io_uring ---- */

struct file_uring;

/* -EPERM, -ENOSYS, -ENOMEM, ...: the kernel, or the container, does not allow it. `helpers` (not
 * owned) execute what the ring is no good for. */
int file_uring_new(struct file_backend *f, struct loop *l, struct file_threads *helpers,
	struct file_uring **ret);
void file_uring_free(struct file_uring *u); /* nothing is under way; NULL is allowed */
void file_uring_submit(struct file_uring *u, struct backend_request *r);
int file_uring_register_arena(struct file_uring *u, void *address, size_t length);

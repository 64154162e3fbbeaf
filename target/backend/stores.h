/* The constructors of the stores; named only by the daemon's main and by tests. On failure a
 * negative errno, and in `why` (of `why_size` bytes) one line for a person: what, where, what would
 * be right. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/backend/backend.h"

enum file_engine {
	FILE_ENGINE_AUTO, /* io_uring, or threads where the kernel refuses it */
	FILE_ENGINE_URING,
	FILE_ENGINE_THREADS,
};

struct file_config {
	const char *path;    /* a regular file or a block device; it must exist */
	uint64_t size;	     /* bytes to export; 0: all. A file shorter than this is refused */
	uint32_t block_size; /* 512 or 4096; 0: what the device says, 512 for files */
	bool direct;	     /* O_DIRECT */
	bool readonly;
	/* true: WRITE is done when the kernel has it, FLUSH and fua make it durable. false: every
	 * WRITE is durable when done (RWF_DSYNC). */
	bool write_cache;
	enum file_engine engine;
	unsigned threads; /* per channel, FILE_ENGINE_THREADS; 0: 4 */
	/* Only to see whether it could be exported: others may be using
	 * it, and are not disturbed. */
	bool look;
};

int file_backend_new(
	const struct file_config *config, struct backend **ret, char *why, size_t why_size);

struct memory_config {
	uint64_t size;	     /* bytes, a multiple of block_size */
	uint32_t block_size; /* 512 or 4096; 0: 512 */
	bool readonly;
};

/* Anonymous memory, allocated on demand (huge pages where there are any). Gone with the process. */
int memory_backend_new(
	const struct memory_config *config, struct backend **ret, char *why, size_t why_size);
/* Reads zeros, takes and forgets writes. */
int null_backend_new(
	const struct memory_config *config, struct backend **ret, char *why, size_t why_size);

struct delay_config {
	uint64_t read_ns, write_ns, flush_ns; /* added to each request's completion */
};

/* Owns `under`, also on failure. */
int delay_backend_new(struct backend *under, const struct delay_config *config,
	struct backend **ret, char *why, size_t why_size);

struct fault_rule {
	enum backend_operation operation;
	bool every_operation; /* else only `operation` */
	uint64_t from, to; /* bytes; a request that touches [from, to) is hit; to 0: everywhere */
	uint64_t after;	   /* the first `after` hits pass */
	uint64_t count;	   /* then so many fail; 0: all */
	int error;	   /* positive errno: EIO, ENOSPC, EROFS, ... */
};

struct fault_config {
	struct fault_rule rules[16];
	size_t rule_count;
};

/* Owns `under`, also on failure. */
int fault_backend_new(struct backend *under, const struct fault_config *config,
	struct backend **ret, char *why, size_t why_size);

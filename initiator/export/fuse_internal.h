/* What the files of the FUSE exporter share: fuse.c (life of an export), fuse_requests.c (the
 * kernel's requests as disk I/O), fuse_loop.c (the loop device, which is attached and detached by a
 * thread). */
#pragma once

#define FUSE_USE_VERSION 314

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/loop/loop.h"
#include "initiator/disk.h"
#include "initiator/export/export.h"

/* Requests of one device under way at a time. The loop driver's own queue is 128 deep; 64 keep the
 * target busy at 4 KiB, and are what 70 MiB of address space hold at the largest request. */
#define FUSE_SLOTS 64
#define FUSE_MAX_IO                                                                                \
	(1024 * 1024) /* bytes of one READ or WRITE: FUSE's own limit with 256 pages               \
		       */
/* A request is received with its data: the data and libfuse's header page, rounded up to 64 KiB. */
#define FUSE_SLOT_SIZE (FUSE_MAX_IO + 65536)
#define FUSE_WHY_SIZE 256

/* One request of the kernel, and the memory that it was received in. */
struct fuse_slot {
	struct list link; /* in fuse_export.idle */
	struct fuse_export *export;
	uint8_t *memory; /* FUSE_SLOT_SIZE bytes, page-aligned */
	fuse_req_t request;
	struct disk_io io;
};

/* Work that must not be done on the loop, since it waits for requests that the loop serves. */
struct loop_device_job {
	struct loop_message message;
	struct fuse_export *export;
	pthread_t thread;
	void (*work)(struct loop_device_job *j);     /* on the thread */
	void (*finished)(struct loop_device_job *j); /* on the loop */
	bool running, force;
	int status;
	char why[FUSE_WHY_SIZE];
};

struct fuse_export {
	struct export base;
	struct disk *disk;
	struct loop *loop;
	char *file; /* the mount point: a regular file that FUSE is mounted over */
	struct fuse_session *session;
	struct loop_watch watch;
	bool mounted, stopping;
	struct loop_timer retry; /* the device could not be read, or not be watched */
	bool failing;		 /* and that has been told */
	uint8_t *memory;	 /* of all slots */
	struct dm_region *region;
	struct fuse_slot slots[FUSE_SLOTS];
	struct list idle;
	unsigned busy;		   /* slots whose disk I/O is under way */
	struct fuse_slot *current; /* the request that is being taken from the kernel */
	char device[32];	   /* "/dev/loop3", or "" */
	struct loop_device_job job;
	void (*ready)(void *owner, int status, const char *why);
	void *ready_owner;
	void (*stopped)(void *owner, int status);
	void *stopped_owner;
};

/* fuse_requests.c */
extern const struct fuse_lowlevel_ops fuse_requests;
/* Takes what the kernel has for us, until it has no more or no slot is idle. */
void fuse_requests_receive(struct fuse_export *e);
/* How libfuse reads requests and writes replies. */
extern const struct fuse_custom_io fuse_requests_io;
/* `retry` of an export has expired. */
void fuse_requests_retry(struct loop_timer *t);
/* All slots are idle and the export is stopping: fuse.c ends it. */
void fuse_export_idle(struct fuse_export *e);

/* fuse_loop.c: each starts the thread; `finished` of the job follows on the loop. Negative errno
 * when there is no thread. */
int loop_device_attach(struct fuse_export *e, void (*finished)(struct loop_device_job *j));
int loop_device_detach(
	struct fuse_export *e, bool force, void (*finished)(struct loop_device_job *j));
int loop_device_resize(struct fuse_export *e, void (*finished)(struct loop_device_job *j));
/* Whether the device leads to our file still; true also where the kernel does not tell. */
bool loop_device_is_ours(const struct fuse_export *e);

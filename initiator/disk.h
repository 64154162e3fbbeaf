/* One LUN seen as a disk: bytes in, bytes out. What exporters (initiator/export) and `iseradm -m
 * lun` use. A disk belongs to its session's loop. I/O that is under way when the connection is lost
 * is held and issued again after the new login; it fails only after
 * node.session.timeo.replacement_timeout. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/datamover/datamover.h"

struct disk;
struct ini_session;
struct loop;

enum disk_operation {
	DISK_READ,
	DISK_WRITE,
	DISK_FLUSH,
	DISK_DISCARD,
	DISK_WRITE_ZEROES,
};

/* Caller-owned, the disk's until `done`. */
struct disk_io {
	enum disk_operation operation;
	uint64_t offset; /* bytes, a multiple of the block size */
	/* bytes, likewise; longer than max_transfer is cut into several commands */
	uint64_t length;
	void *data; /* READ, WRITE */
	/* that `data` lies in (disk_register()); NULL: the mover may copy */
	struct dm_region *region;
	bool fua;	/* WRITE, WRITE_ZEROES */
	bool may_unmap; /* WRITE_ZEROES: where that reads as zeroes (same_unmaps) */
	/* 0 or negative errno: -EIO, -ENOSPC (space allocation), -EROFS (write protected), -ENODATA
	 * (medium error), -EBADE (reservation conflict), -ETIMEDOUT (replacement time-out),
	 * -ENODEV, -EILSEQ (miscompare). Never from inside disk_submit(). */
	void (*done)(struct disk_io *io, int status);
	struct list link; /* the disk's own, as below */
	void *disk_private[8];
};

struct disk_info {
	uint16_t lun;
	uint64_t size; /* bytes */
	uint32_t block_size, physical_block_size;
	uint32_t max_transfer;	   /* bytes per command: VPD B0h against our own limit */
	uint32_t max_discard;	   /* bytes per command; 0: no UNMAP */
	uint32_t max_write_zeroes; /* bytes per WRITE SAME; 0: zeroes are written */
	bool readonly, write_cache, rotational;
	bool fua;	   /* DPOFUA: WRITE takes the FUA bit; else a flush follows */
	bool unmap_zeroes; /* LBPRZ: what was unmapped reads as zeroes */
	/* LBPWS, too: WRITE SAME unmaps what it can, and writes the rest. UNMAP may leave blocks as
	 * they are. */
	bool same_unmaps;
	uint32_t optimal_io_size; /* bytes; 0: not told */
	char vendor[9], product[17], revision[5], serial[64];
	/* designator of VPD 83h, "naa.…", "eui.…", "t10.…" or "name.…"; whole, for two may differ
	 * at the end: at most 255 bytes, in hexadecimal where they cannot be printed */
	char wwid[5 + 2 * 255 + 1];
};

/* What a disk tells its owner, from the loop. */
struct disk_events {
	void (*resized)(void *owner); /* disk_info()->size is another */
	/* After a reconnect the LUN was another device, or none: every I/O fails with -ENODEV from
	 * now on. `why` is one line. */
	void (*gone)(void *owner, const char *why);
};

struct disk_statistics {
	uint64_t reads, writes, flushes, discards, write_zeroes; /* I/Os done well */
	uint64_t bytes_read, bytes_written;
	uint64_t errors; /* I/Os that failed */
	uint64_t commands, retries;
	uint32_t in_flight; /* commands now */
};

/* A disk for what a scan found (scan.h). The session must outlive it. `events` may be NULL. Its
 * commands are allocated here: queue_depth of the session's configuration. 0, -ENOMEM, -EINVAL. */
int disk_new(struct ini_session *s, const struct disk_info *info, const struct disk_events *events,
	void *owner, struct disk **ret);
/* I/O that is left fails with -ESHUTDOWN, from the loop, before `freed` (may be NULL) is called;
 * the disk must not be used any more. NULL is allowed (then `freed` is not called). */
void disk_free(struct disk *d, void (*freed)(void *owner), void *owner);
/* The disk's present properties. */
const struct disk_info *disk_info(const struct disk *d);
/* Takes over what a later scan found: size, limits, flags. -ENODEV when it is another device. */
int disk_update(struct disk *d, const struct disk_info *info);
/* Checks alignment, range and read-only (done with -EINVAL, -ENOSPC beyond the end, -EROFS). */
void disk_submit(struct disk *d, struct disk_io *io);
/* Memory that many I/Os will use, registered once with the session's
 * mover. It outlives reconnects. */
int disk_register(struct disk *d, void *address, size_t length, struct dm_region **ret);
void disk_unregister(struct disk *d, struct dm_region *r);
struct loop *disk_loop(const struct disk *d);
/* For raw SCSI commands: ini_session_submit() with disk_info()->lun. */
struct ini_session *disk_session(const struct disk *d);
void disk_get_statistics(const struct disk *d, struct disk_statistics *ret);

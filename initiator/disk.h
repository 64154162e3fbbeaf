/* One LUN seen as a disk: bytes in, bytes out. What exporters (initiator/export) and `iseradm -m lun` use.
 * A disk belongs to its session's loop. I/O that is under way when the connection is lost is held and
 * issued again after the new login; it fails only after node.session.timeo.replacement_timeout. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/datamover/datamover.h"

struct disk;
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
	uint64_t length; /* bytes, likewise; longer than max_transfer is cut into several commands */
	void *data; /* READ, WRITE */
	struct dm_region *region; /* that `data` lies in (disk_register()); NULL: the mover may copy */
	bool fua; /* WRITE, WRITE_ZEROES */
	/* 0 or negative errno: -EIO, -ENOSPC (space allocation), -EROFS (write protected), -ENODATA
	 * (medium error), -EBADE (reservation conflict), -ETIMEDOUT (replacement time-out), -ENODEV,
	 * -EILSEQ (miscompare). Never from inside disk_submit(). */
	void (*done)(struct disk_io *io, int status);
	struct list link; /* the disk's own, as below */
	void *disk_private[8];
};

struct disk_info {
	uint16_t lun;
	uint64_t size; /* bytes */
	uint32_t block_size, physical_block_size;
	uint32_t max_transfer; /* bytes per command: VPD B0h against our own limit */
	uint32_t max_discard; /* bytes per command; 0: no UNMAP */
	uint32_t max_write_zeroes; /* bytes per WRITE SAME; 0: zeroes are written */
	bool readonly, write_cache, rotational;
	char vendor[9], product[17], revision[5], serial[64];
	char wwid[80]; /* designator of VPD 83h, "naa.…", "eui.…", "t10.…" or "name.…" */
};

/* The disk's present properties. */
const struct disk_info *disk_info(const struct disk *d);
/* Checks alignment, range and read-only (done with -EINVAL, -ENOSPC beyond the end, -EROFS). */
void disk_submit(struct disk *d, struct disk_io *io);
/* Memory that many I/Os will use, registered once with the session's mover. It outlives reconnects. */
int disk_register(struct disk *d, void *address, size_t length, struct dm_region **ret);
void disk_unregister(struct disk *d, struct dm_region *r);
struct loop *disk_loop(const struct disk *d);
/* A raw SCSI command, for `iseradm` and tests: as the session's submit, see session.h. */

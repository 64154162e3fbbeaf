/* How a disk becomes a block device: one interface for fuse (file and loop device), and later ublk
 * and nbd. An export belongs to its disk's loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct disk;
struct export;

struct export_config {
	const char *runtime_directory; /* files, sockets and by-path links live below it */
	const char *name;	       /* unique: "ip-<portal>-iscsi-<iqn>-lun-<n>" */
};

struct export_ops {
	const char *name; /* "fuse" */
	/* 0, or negative errno with one line for a person in `why`: where /dev/fuse or loop devices
	 * are missing, -ENODEV. `ready` is called once, from the loop, when the device can be used
	 * (0) or cannot (negative errno). */
	int (*start)(struct disk *d, const struct export_config *config,
		void (*ready)(void *owner, int status, const char *why), void *owner,
		struct export **ret, char *why, size_t why_size);
	/* Takes the device away; `stopped` is called from the loop when it is gone, or with -EBUSY,
	 * and nothing changed, when it is in use (mounted, opened) and `force` is false. */
	void (*stop)(struct export *e, bool force, void (*stopped)(void *owner, int status),
		void *owner);
	/* The disk's size changed. */
	void (*resized)(struct export *e);
	/* "/dev/loop3", or NULL while there is none. */
	const char *(*device)(const struct export *e);
	/* False once somebody else has taken the device off the disk (losetup -d): it is no way to
	 * the disk any more, and may be another's by now. */
	bool (*attached)(const struct export *e);
};

struct export
{ /* first member of each exporter's own */
	const struct export_ops *ops;
};

extern const struct export_ops export_fuse;

/* At start, before any export: takes away the mounts and loop devices below `runtime_directory`
 * that a daemon which was killed has left. Returns how many there were. */
unsigned export_fuse_clean(const char *runtime_directory);

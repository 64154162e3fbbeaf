/* A disk from the inside: what disk.c (I/Os), disk_command.c (SCSI commands) and disk_check.c
 * (identity after a reconnect) share. */
#pragma once

#include "common/loop/loop.h"
#include "common/scsi/cdb.h"
#include "initiator/probe.h"

/* FLUSH, UNMAP and WRITE SAME may move much data inside the target. */
#define DISK_SLOW_TIMEOUT_NS (120 * LOOP_NS_PER_S)
#define DISK_ZEROES_SIZE (64 * 1024) /* bytes per WRITE where the target has no WRITE SAME */

/* How far an I/O is, kept in struct disk_io.disk_private. */
struct io_progress {
	struct disk *disk;
	uint64_t next;	      /* bytes handed to commands so far */
	uint32_t outstanding; /* commands under way */
	int error;	      /* the first */
	bool flush;	      /* a flush must follow, in place of FUA */
	bool queued;	      /* in disk->pending */
};
_Static_assert(sizeof(struct io_progress) <= sizeof(((struct disk_io *)0)->disk_private),
	"an I/O's progress must fit in what it has for it");

/* A target that has just been started may not have all its LUNs yet: one that is missing after a
 * reconnect is looked for this often before the disk is given up. Other LUNs wait meanwhile. */
#define DISK_ABSENT_PROBES 6
#define DISK_ABSENT_DELAY_NS (500 * LOOP_NS_PER_MS)

struct disk_command {
	struct list link; /* in disk->idle, or in disk->busy */
	struct disk *disk;
	struct disk_io *io;
	uint64_t offset; /* bytes, of the disk */
	uint32_t length; /* bytes of the I/O that this command does */
	uint32_t left;	 /* bytes behind it that this command still has to write zeroes to */
	bool same;	 /* WRITE SAME: where it is unknown, zeroes are written instead */
	struct ini_task task;
	uint8_t list[UNMAP_HEADER_SIZE + UNMAP_DESCRIPTOR_SIZE];
};

struct disk {
	struct ini_session *session;
	struct disk_info info;
	struct disk_events events;
	void *owner;
	struct disk_command *commands;
	struct list idle, busy; /* commands */
	struct list pending;	/* I/Os that still have something to hand out */
	struct list failed;	/* I/Os whose `done` is deferred */
	struct loop_call fail_call, free_call;
	struct ini_session_check check;
	struct probe *probe; /* of the check */
	bool probing, again; /* under way; the connection was lost meanwhile */
	unsigned absent;     /* probes of this check that found nothing there */
	struct loop_timer absent_timer;
	bool gone; /* another device is there */
	bool freeing;
	void (*freed)(void *owner);
	void *freed_owner;
	struct disk_statistics statistics;
};

static inline struct io_progress *io_progress(struct disk_io *io)
{
	return (struct io_progress *)io->disk_private;
}

/* ---- disk.c ---- */

/* A command of the I/O is over. */
void disk_command_done(struct disk_command *c, int error);
/* Every I/O that is not on the wire fails. */
void disk_fail_pending(struct disk *d, int error);
/* When it is being freed and nothing is left under way: frees it, from the loop. */
void disk_free_if_idle(struct disk *d);

/* ---- disk_command.c ---- */

/* Makes the next command of the I/O (which has something left) and issues it. */
void disk_command_issue(struct disk_command *c, struct disk_io *io);
/* A SYNCHRONIZE CACHE behind the I/O's other commands. */
void disk_command_flush(struct disk_command *c, struct disk_io *io);
/* Whether the I/O has something left to hand out. */
bool disk_io_left(const struct disk *d, struct disk_io *io);

/* ---- disk_check.c ---- */

int disk_check_init(struct disk *d);
void disk_check_free(struct disk *d);

/* SAM-5 objects of the target: a logical unit, and the I_T_L nexus through which one session sees
 * it. A logical unit is shared by all loops; what commands touch on the data path is read-only or
 * atomic, everything else is under its mutex. A nexus belongs to its session's loop; aborts reach
 * it from other loops by message, unit attentions by a queue under the
 * device's mutex and a flag. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/loop/loop.h"
#include "target/backend/backend.h"
#include "target/range_lock.h"

struct dm_region;
struct mode_pages;
struct reservation;

#define DEVICE_LUNS_MAX 16384	/* single-level LUNs 0..16383 (SAM-5 section 4.7) */
#define DEVICE_ATTENTIONS_MAX 8 /* of one nexus; the oldest gives way */

struct device_config {
	uint16_t lun;
	const char *vendor, *product, *revision; /* 8, 16 and 4 characters at most; NULL: ours */
	const char *serial;  /* NULL: made from target name and LUN, the same at every start */
	uint32_t block_size; /* 512 or 4096; 0: the backend's */
	bool readonly, write_cache, rotational;
	bool thin; /* UNMAP is offered, where the backend can discard */
};

/* One logical unit. Fields that a command reads without the mutex are const after device_new(), or
 * atomic. */
struct device {
	uint16_t lun;
	struct backend *backend; /* owned */
	char vendor[9], product[17], revision[5], serial[64];
	char target_name[224];
	char designator[256]; /* "<target name>,L,0x<lun>", the SCSI name string of VPD 83h */
	uint8_t naa[8];	      /* NAA locally assigned (3h), from a hash of the designator */
	uint32_t block_size;
	_Atomic uint64_t block_count;
	bool readonly, rotational;
	bool thin;		      /* LBPME: blocks may be unmapped, and read as zeros then */
	_Atomic bool write_cache;     /* WCE, changed by MODE SELECT */
	_Atomic bool write_protected; /* SWP, changed by MODE SELECT */
	_Atomic bool stopped;	      /* START STOP UNIT with START = 0 */
	_Atomic bool reserved; /* a reservation of any kind exists: the slow path must look */
	/* the owner, and messages between loops that name the device */
	_Atomic unsigned references;
	struct range_lock ranges; /* COMPARE AND WRITE against everything else */

	pthread_mutex_t lock; /* what is below */
	struct list nexuses;
	uint64_t next_nexus_id;
	struct reservation *reservation; /* reservations.c */
	struct mode_pages *modes;	 /* current and default values, modes.c */
	uint64_t failures;		 /* of the store, in all */
	uint64_t failures_told, told_ns; /* as of the last line about them, and when; 0: none yet */
};

/* How one session sees one logical unit. */
struct nexus {
	struct device *device;
	uint64_t id; /* unique in the device: a message from another loop may outlive the nexus */
	struct backend_channel *channel; /* of the session's loop */
	struct loop *loop;
	void *session;		  /* struct tgt_session, opaque here */
	struct list device_link;  /* in device->nexuses */
	char initiator_port[256]; /* "<initiator name>,i,0x<isid>": who reserves */
	/* The backend's memory (backend_ops.memory) as the session's mover knows it, so that data
	 * goes straight from and to it; NULL: it is copied. Set by the
	 * session after nexus_new(). */
	struct dm_region *map_region;
	/* What the initiator is told as MAXIMUM TRANSFER LENGTH, bytes; 0: all that is taken. Set
	 * by the session after nexus_new(). */
	uint32_t advised_transfer;
	/* on the session's loop only: */
	uint16_t attentions[DEVICE_ATTENTIONS_MAX]; /* enum scsi_additional_sense, oldest first */
	unsigned attention_count;
	struct list commands; /* of this nexus, struct command.nexus_link, oldest first */
	uint64_t next_serial;
	unsigned barriers; /* commands with ORDERED or HEAD OF QUEUE that are not done */
	unsigned waiting_turn;
	struct list abort_parts; /* abort.c: who waits for aborted commands to be at rest */
	/* fence: requests of older sessions of the same I_T nexus that are still in the backend;
	 * medium access waits until it is 0 */
	_Atomic unsigned fence;
	/* established by other loops, under the device's mutex, and not yet taken over: */
	_Atomic bool attention_posted;
	uint16_t posted[DEVICE_ATTENTIONS_MAX];
	unsigned posted_count;
};

/* Owns `backend` from here on, also on failure. -ENOMEM, -EINVAL. */
int device_new(const struct device_config *config, const char *target_name, struct backend *backend,
	struct device **ret);
void device_free(struct device *d); /* no nexus is left; NULL is allowed */

/* The nexus gets POWER ON, RESET OR BUS DEVICE RESET OCCURRED (29h/00h) as its first attention. */
int nexus_new(struct device *d, struct loop *l, struct backend_channel *channel, void *session,
	const char *initiator_port, struct nexus **ret);
void nexus_free(struct nexus *n);
/* Establishes a unit attention (`code`: enum scsi_additional_sense) for one nexus (on its loop), or
 * for all of a device but `except` (from any loop; `except` may be NULL). */
void nexus_attention(struct nexus *n, uint16_t code);
void device_attention(struct device *d, const struct nexus *except, uint16_t code);
/* The same for one nexus from any loop; the device's mutex is held. */
void nexus_attention_post(struct nexus *n, uint16_t code);
/* The oldest unit attention, taken out; false when there is none. On the nexus's loop. */
bool nexus_attention_take(struct nexus *n, uint16_t *ret_code);
/* One that need not be reported any more; harmless when it is not pending. On the nexus's loop. */
void nexus_attention_drop(struct nexus *n, uint16_t code);
static inline bool nexus_has_attention(struct nexus *n)
{
	return n->attention_count ||
	       atomic_load_explicit(&n->attention_posted, memory_order_acquire);
}

/* The store failed a command: a line in the log, at most one in ten seconds for a device.
 * `command`: its name, as "READ(10)"; `error`: errno; `now_ns`: of the caller's loop. */
void device_store_failed(struct device *d, const char *command, int error, uint64_t now_ns);
/* One more holder of the device, and one less; device_free() gives up the owner's. */
void device_hold(struct device *d);
void device_release(struct device *d);

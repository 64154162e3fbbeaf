/* SAM-5 objects of the target: a logical unit, and the I_T_L nexus through which one session sees it.
 * A logical unit is shared by all loops; what commands touch on the data path is read-only or atomic,
 * everything else is under its mutex. A nexus belongs to its session's loop; unit attentions reach
 * it from other loops by message. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/loop/loop.h"
#include "target/backend/backend.h"

#define DEVICE_LUNS_MAX 16384 /* single-level LUNs 0..16383 (SAM-5 section 4.7) */
#define DEVICE_ATTENTIONS_MAX 8 /* of one nexus; the oldest gives way */

struct device_config {
	uint16_t lun;
	const char *vendor, *product, *revision; /* 8, 16 and 4 characters at most; NULL: ours */
	const char *serial; /* NULL: made from target name and LUN, the same at every start */
	uint32_t block_size; /* 512 or 4096; 0: the backend's */
	bool readonly, write_cache, thin, rotational;
};

/* One logical unit. Fields that a command reads without the mutex are const after device_new(), or
 * atomic. */
struct device {
	uint16_t lun;
	struct backend *backend; /* owned */
	char vendor[9], product[17], revision[5], serial[64];
	char designator[256]; /* "<target name>,L,0x<lun>", the SCSI name string of VPD 83h */
	uint8_t naa[8]; /* NAA locally assigned (3h), from a hash of the designator */
	uint32_t block_size;
	_Atomic uint64_t block_count;
	bool readonly, thin, rotational;
	_Atomic bool write_cache; /* WCE, changed by MODE SELECT */
	_Atomic bool stopped; /* START STOP UNIT with START = 0 */
	_Atomic uint32_t reset_count; /* LUN resets so far: commands of an older count are aborted */
	_Atomic bool reserved; /* a reservation of any kind exists: the slow path must look */

	pthread_mutex_t lock; /* what is below */
	struct list nexuses;
	struct reservation *reservation; /* reservations.c; NULL: none */
	struct mode_pages *modes; /* current and default values, spc.c */
};

struct nexus_attention {
	uint8_t asc, ascq;
};

/* How one session sees one logical unit. */
struct nexus {
	struct device *device;
	struct backend_channel *channel; /* of the session's loop */
	struct loop *loop;
	void *session; /* struct tgt_session, opaque here */
	struct list device_link; /* in device->nexuses */
	char initiator_port[256]; /* "<initiator name>,i,0x<isid>": who reserves */
	/* on the session's loop only: */
	struct nexus_attention attentions[DEVICE_ATTENTIONS_MAX];
	unsigned attention_count;
	struct list commands; /* of this nexus, struct command.nexus_link, oldest first */
	/* fence: requests of older sessions of the same I_T nexus that are still in the backend; medium
	 * access waits until it is 0 */
	_Atomic unsigned fence;
};

/* Owns `backend` from here on, also on failure. -ENOMEM, -EINVAL. */
int device_new(const struct device_config *config, const char *target_name, struct backend *backend,
	struct device **ret);
void device_free(struct device *d); /* no nexus is left; NULL is allowed */

/* The nexus gets POWER ON, RESET OR BUS DEVICE RESET OCCURRED (29h/00h) as its first attention. */
int nexus_new(struct device *d, struct loop *l, struct backend_channel *channel, void *session,
	const char *initiator_port, struct nexus **ret);
void nexus_free(struct nexus *n);
/* Establishes a unit attention for one nexus (on its loop), or for all of a device but `except`
 * (from any loop, by message; `except` may be NULL). */
void nexus_attention(struct nexus *n, uint8_t asc, uint8_t ascq);
void device_attention(struct device *d, const struct nexus *except, uint8_t asc, uint8_t ascq);

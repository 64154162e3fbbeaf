/* What one LUN is: INQUIRY, VPD pages 00h 80h 83h B0h B1h B2h, READ CAPACITY, MODE SENSE (SPC-4
 * section 6, SBC-3 sections 5 and 6), one after the other. Used by scan.c for what is there, and by
 * disk_check.c for whether it is still the same. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/scsi/inquiry.h"
#include "initiator/disk.h"
#include "initiator/session.h"

/* VPD 83h of a target with many ports is the longest; a cut one still has the designators of the
 * logical unit, which come first everywhere */
#define PROBE_BUFFER_SIZE 1024
/* bytes; more per command gains nothing, and holds up others */
#define PROBE_MAX_TRANSFER (4 * 1024 * 1024)
/* a target that really writes them must end in time */
#define PROBE_MAX_WRITE_ZEROES (64 * 1024 * 1024)
#define PROBE_MAX_DISCARD (1024 * 1024 * 1024)

struct probe { /* caller-owned while it runs */
	struct ini_session *session;
	uint16_t lun;
	bool urgent; /* as in struct ini_task */
	void *owner;
	/* From the loop. 0: `info` is complete. -ENODEV: no disk there (no LUN, or another type of
	 * device). -EIO and others: what a required command failed with; `why` is one line. */
	void (*done)(struct probe *p, int error);

	/* ---- its own; info and why are valid in done() ---- */
	struct disk_info info;
	char why[200];
	size_t step;
	struct ini_task task;
	uint8_t pages[64]; /* VPD 00h as received */
	size_t pages_length;
	struct vpd_block_limits limits;
	struct vpd_provisioning provisioning;
	uint8_t buffer[PROBE_BUFFER_SIZE] __attribute__((aligned(64)));
};

/* Begins, with the fields up to `done` set and the rest anything. */
void probe_start(struct probe *p);
/* `done` follows with -ECANCELED, or with what came first. */
void probe_cancel(struct probe *p);
/* Whether two results are of the same logical unit: the designator, or where there is none, vendor,
 * product and serial number. */
bool probe_same_device(const struct disk_info *a, const struct disk_info *b);

/* What a task that was answered means: 0 or negative errno of scsi_sense_to_errno(), -EBADE
 * (reservation conflict), -EBUSY, -EIO. `why` (may be NULL) gets one line
 * of at most `size` bytes. */
int task_result(const struct ini_task *t, char *why, size_t size);

/* The LUN scan of a session: REPORT LUNS, and for each LUN INQUIRY, VPD pages 00h 80h 83h B0h B1h
 * B2h, READ CAPACITY and MODE SENSE (SPC-4, SBC-3). Used by iserd after login and on --rescan. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "initiator/disk.h"

struct ini_session;
struct ini_scan;

#define SCAN_LUNS_MAX ISCSI_LUNS

/* Begins. `done` is called once, from the loop; the array is valid during the call, ascending by
 * LUN, and the scan is gone when it returns. `error`: 0, or negative errno when REPORT LUNS and LUN
 * 0 both could not be asked. LUNs that are no disks (other device types) are left out, as are those
 * that cannot be read (logged, one line each). 0 or negative errno (then no `done`). */
int ini_scan_start(struct ini_session *s,
	void (*done)(void *owner, int error, const struct disk_info *luns, size_t count),
	void *owner, struct ini_scan **ret);
/* Gives up: `done` follows with -ECANCELED. */
void ini_scan_cancel(struct ini_scan *scan);

/* One session of iserd with its devices: login, scan, disks, exports, links; and all that back.
 * Called by the verbs, autologin.c and stop.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/loop/loop.h"
#include "initiator/daemon/daemon.h"
#include "initiator/disk.h"
#include "initiator/export/export.h"
#include "initiator/records.h"
#include "initiator/scan.h"
#include "initiator/session.h"

#define SESSION_WHY_SIZE 512
#define LUN_NAME_SIZE 256 /* NAME_MAX and NUL */

struct daemon_session;

enum lun_state {
	LUN_IDLE,     /* no export */
	LUN_STARTING, /* the export is being made: waits for `ready` */
	LUN_READY,
	LUN_STOPPING, /* waits for `stopped` */
	LUN_FLUSHING, /* no export, and the disk's cache is being written */
	LUN_FREEING,  /* waits for the disk's I/O to end */
};

/* One LUN: a disk, and its device where there is one. */
struct daemon_lun {
	struct daemon_session *session;
	struct list link; /* in daemon_session.luns, ascending by number */
	unsigned number;
	enum lun_state state;
	struct disk *disk;
	struct export *export;
	char name[LUN_NAME_SIZE];   /* of the export, its file and its link */
	char why[SESSION_WHY_SIZE]; /* no device: why not; or "" */
	bool gone;		    /* another device, or none, is there now: I/O fails */
	bool leaving;		    /* to be taken away, the session staying */
	bool seen;		    /* by the scan that has just ended */
	bool flushed;		    /* before the logout */
	bool failed;		    /* the export did not become ready: to be taken away */
	bool tried;		    /* and is not to be tried again before a rescan */
	struct disk_io flush;
};

enum session_phase {
	SESSION_LOGIN,	/* the first login */
	SESSION_SCAN,	/* the first scan, then the first devices */
	SESSION_UP,	/* the login has been told as done */
	SESSION_ENDING, /* see sessions.c: session_end_step() */
};

/* What a caller waits for; called once. status: enum ini_status, with one line where not 0. */
struct session_waiter {
	void (*done)(void *owner, struct daemon_session *s, int status, const char *error);
	void *owner;
	/* a login's attempt failed, and another follows: one line; may be NULL */
	void (*waiting)(void *owner, const char *line);
};

struct daemon_session {
	struct daemon *daemon;
	struct list link; /* in daemon.sessions */
	unsigned number;
	struct node_record record; /* without secrets once the session is made */
	char portal[ADDRESS_TEXT_SIZE];
	const char *suffix; /* of names, where another session has the plain ones */
	struct ini_session *ini;
	enum session_phase phase;
	bool resolving; /* waits for the portal's address */
	bool ended;	/* `ended` has come, or will not: nothing goes to the target any more */
	bool unscanned; /* the last scan failed: again after the next login */
	bool refused;	/* ENDING: a device is in use after all, or a cache not written */
	bool force;	/* ENDING: devices in use are not spared */
	bool rescan;	/* LUNs may be others: scan once the present scan is over */
	bool deferred;	/* a rescan had to wait until an old device was away */
	struct ini_scan *scan;
	struct list luns;
	struct loop_call step;
	struct loop_timer retry; /* a forced stop of an export that was at work */
	struct session_waiter login, logout, rescanned;
	unsigned attempts; /* of the first login that failed so far */
	int end_status;	   /* of a first login that failed */
	/* why that failed, or why a logout is refused; why the connection was lost the last time */
	char end_why[SESSION_WHY_SIZE], lost_why[160];
};

/* Begins to log in. `done` is called once, from the loop: with status 0 when devices are ready (or
 * cannot be: daemon_lun.why), else the session is gone when it returns. 0, or an exit status and
 * one line (then no `done`); STATUS_EXISTS: there is one already. */
int session_login(struct daemon *d, const struct node_record *r, const struct session_waiter *done,
	char why[SESSION_WHY_SIZE]);
/* Begins to log out. Devices in use are refused, with who uses them, unless `force`. `done` as
 * above; the session is gone when it returns, unless it was refused. `done` may be NULL. */
int session_logout(struct daemon_session *s, bool force, const struct session_waiter *done,
	char why[SESSION_WHY_SIZE]);
/* Scans again: new LUNs appear, lost ones go, sizes change. */
int session_rescan(
	struct daemon_session *s, const struct session_waiter *done, char why[SESSION_WHY_SIZE]);
struct daemon_session *session_find(struct daemon *d, const struct node_record *r);
/* Any to that target; one that has logged in before others. NULL: none. */
struct daemon_session *session_find_target(struct daemon *d, const char *target_name);
bool session_matches(const struct daemon_session *s, const struct request_filter *f);
/* As people and iscsiadm call it: "LOGGED_IN", "REOPEN", "FAILED" ... */
const char *session_state_name(const struct daemon_session *s);
/* Runs the session's next step from the loop: something that it waits for has happened. */
void session_proceed(struct daemon_session *s);

/* ---- luns.c ---- */

/* Takes over the outcome of a scan: new disks, changed ones, and those to be taken away. */
void luns_take_scan(struct daemon_session *s, const struct disk_info *found, size_t count);
/* Makes the exports that are missing. */
void luns_start(struct daemon_session *s);
/* Takes one step with LUNs that leave. */
void luns_leave_step(struct daemon_session *s);
/* An export is being made, or taken away. */
bool luns_busy(const struct daemon_session *s);
bool luns_have_devices(const struct daemon_session *s);
/* The first device that is in use, and who uses it, into `why`; false if there is none. */
bool luns_in_use(const struct daemon_session *s, char why[SESSION_WHY_SIZE]);
/* Toward no LUNs, each to be called until it says true. Exports are taken away (one that is in use
 * sets `refused`, or is tried again where `force`); caches are written (or `refused` is set); and
 * disks are freed. */
bool luns_stop(struct daemon_session *s);
bool luns_flush(struct daemon_session *s);
bool luns_free(struct daemon_session *s);

/* ---- usage.c ---- */

/* Who uses a block device ("/dev/loop3"), as one phrase: "mounted on /mnt", "open in process 12
 * (dd)". False if nobody does that we can see. Reads /proc and /sys, never the device. */
bool usage_find(const char *device, char *out, size_t size);

/* A session of the initiator: one I_T nexus with one connection (RFC 7143 section 4.3). It logs in,
 * numbers commands and honours the window, matches responses to tasks, pings, ends tasks that take
 * too long, and makes a lost connection again. It knows its transport only as a datamover.
 *
 * It belongs to one loop. No upcall (done, events) is made from inside a call to it: all come from
 * the loop.
 *
 * Life:   ini_session_new → ini_session_start → logged_in … (lost, logged_in)* … → ended →
 * ini_session_free
 *
 * A connection that is lost does not end the session: tasks that were under way are held, and
 * issued again in their order after the new login (same ISID: session reinstatement), unless they
 * may not be repeated. They fail with -ETIMEDOUT when the replacement time-out passes first; the
 * session goes on trying until it is logged out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/datamover/datamover.h"
#include "common/iscsi/login.h"
#include "common/loop/address.h"

struct ini_session;
struct loop;
struct node_record;

#define INI_SENSE_MAX 252 /* SPC-4 section 4.5.1: sense data are at most 252 bytes */
#define INI_FOREVER UINT64_MAX

struct ini_session_config {
	struct loop *loop;
	struct dm_mover *mover;
	struct address portal;
	const char *initiator_name, *initiator_alias; /* alias may be NULL */
	const char *target_name;
	/* unique per session of one initiator name and target portal group */
	struct iscsi_isid isid;
	struct login_auth auth;
	/* Session-wide keys to offer (iscsi_params_default() and what the record says); those that
	 * the mover owns are asked from it. */
	struct iscsi_params offer;
	/* Narrow the mover's offer; 0: as the mover has them. Without meaning on iSER. */
	unsigned header_digest, data_digest;   /* set of enum iscsi_digest */
	uint32_t max_recv_data_segment_length; /* bytes */
	uint32_t cmds_max;		       /* tasks on the wire at most; 0: 128 */
	uint32_t queue_depth;	 /* of one LUN: commands that a disk has under way; 0: 32 */
	uint32_t max_transfer;	 /* bytes per command toward a target without a limit of its own; 0:
				    512 KiB,   which is what tgt and LIO over iSER take at most */
	unsigned login_attempts; /* of the first login, for errors that may pass; 0: 4 */
	uint64_t login_timeout_ns;			/* 0: 15 s */
	uint64_t logout_timeout_ns;			/* 0: 15 s */
	uint64_t noop_interval_ns, noop_timeout_ns;	/* 0: no pings */
	uint64_t replacement_timeout_ns;		/* INI_FOREVER; 0: held I/O fails at once */
	uint64_t task_timeout_ns;			/* 0: 30 s */
	uint64_t abort_timeout_ns, lu_reset_timeout_ns; /* 0: 15 s, 30 s */
};

/* Fills in what the record says; strings point into `r`, which must live until ini_session_new().
 * The caller adds loop, mover, portal, initiator_name (where it is NULL) and isid. -EINVAL
 * (chap_algs). */
int ini_session_config_from_record(const struct node_record *r, struct ini_session_config *ret);
/* The same for a discovery record's CHAP settings: auth only. */
int ini_auth_from_settings(unsigned authmethod, const char *username, const char *password,
	const char *username_in, const char *password_in, const char *chap_algs,
	struct login_auth *ret);

/* An ISID of the "random" kind (RFC 7143 section 11.12.5), the same at every start for the same
 * names, portal and index: after a crash of this host's daemon the new session reinstates the old.
 * `index` tells the sessions to one portal apart (node.session.nr_sessions), 0 to 255. */
void ini_isid_make(const char *initiator_name, const char *target_name, const char *portal,
	unsigned index, struct iscsi_isid *ret);

enum ini_session_state {
	INI_SESSION_FREE,	/* made, not started */
	INI_SESSION_CONNECTING, /* the first login: waits for the target */
	INI_SESSION_LOGGED_IN,	/* full-feature phase; with checks after a reconnect still under way
				   too */
	INI_SESSION_RECOVERING, /* lost; a new login is under way, or waits for its delay; I/O is
				   held */
	INI_SESSION_FAILED,	/* as before, but the replacement time-out has passed: I/O fails */
	INI_SESSION_LOGGING_OUT, /* Logout sent: waits for the response or the time-out */
	INI_SESSION_CLOSING,	 /* waits for the mover's last upcall */
	INI_SESSION_CLOSED,	 /* `ended` has been or is about to be called */
};

/* "LOGGED_IN", "FAILED", ... as people are shown. */
const char *ini_session_state_name(enum ini_session_state state);

struct ini_session_events {
	/* The full-feature phase is reached: the first time, and again after each loss. May be
	 * NULL, as all but `ended`. */
	void (*logged_in)(void *owner);
	/* The connection is lost, or an attempt to make it again has failed; `login_status` is 0 or
	 * what the target refused with. */
	void (*lost)(void *owner, int error, unsigned login_status, const char *why);
	/* The target told, by a unit attention (3Fh/0Eh) or after a reconnect, that its LUNs may be
	 * others than before: scan again. */
	void (*luns_changed)(void *owner);
	/* The last: the session is CLOSED and may be freed, also from inside this call. 0 after a
	 * logout or ini_session_close(); else why the first login failed: -EACCES (authentication,
	 * authorization), -ENOENT (no such target), -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT,
	 * -EPROTO ... */
	void (*ended)(void *owner, int error, unsigned login_status, const char *why);
};

/* Copies what it needs of `config` (strings too). 0, -ENOMEM, -EINVAL. */
int ini_session_new(const struct ini_session_config *config,
	const struct ini_session_events *events, void *owner, struct ini_session **ret);
/* Begins the first login. Outcome by `logged_in` or `ended`. */
void ini_session_start(struct ini_session *s);
/* Logs out: waits for no task (those under way fail with -ESHUTDOWN); `ended` follows. */
void ini_session_logout(struct ini_session *s);
/* The same without asking the target. */
void ini_session_close(struct ini_session *s);
/* NULL is allowed. Only before ini_session_start(), or from `ended` on. */
void ini_session_free(struct ini_session *s);
/* Drops the connection and makes it again, as if the network had failed. */
void ini_session_recover(struct ini_session *s, const char *reason);

struct ini_session_info {
	enum ini_session_state state;
	/* where it is connected, which a redirect may have changed */
	char portal[ADDRESS_TEXT_SIZE];
	const char *target_name, *initiator_name; /* live as long as the session */
	struct iscsi_isid isid;
	uint16_t tsih;
	struct iscsi_params params; /* outcome of the last login */
	bool connected;		    /* conn is valid */
	struct dm_conn_info conn;
	uint32_t tasks_on_wire, tasks_queued, tasks_held;
	uint64_t tasks_done, tasks_failed, tasks_repeated, aborts, resets, logins;
	uint64_t connected_since_ns, lost_since_ns; /* loop_now() */
	uint32_t cmd_sn, exp_cmd_sn, max_cmd_sn, exp_stat_sn;
	char last_error[160]; /* why the connection was lost the last time, or "" */
};

void ini_session_get_info(const struct ini_session *s, struct ini_session_info *ret);
struct loop *ini_session_loop(const struct ini_session *s);
const struct ini_session_config *ini_session_config(const struct ini_session *s);
/* Memory for many tasks, with the session's mover; outlives reconnects. */
int ini_session_register(
	struct ini_session *s, void *address, size_t length, struct dm_region **ret);
void ini_session_unregister(struct ini_session *s, struct dm_region *r);

/* ---- tasks ---- */

enum ini_task_state {
	INI_TASK_IDLE,	     /* the caller's */
	INI_TASK_QUEUED,     /* waits for the window, or for a free slot */
	INI_TASK_ON_WIRE,    /* waits for its SCSI Response */
	INI_TASK_ABORTING,   /* on the wire, and a task management function for it too */
	INI_TASK_DELAYED,    /* BUSY or TASK SET FULL: waits to be issued again */
	INI_TASK_HELD,	     /* the connection is lost: waits for the next login */
	INI_TASK_COMPLETING, /* its `done` is deferred */
};

/* One SCSI task. Caller-owned, the session's from ini_session_submit() until `done`; its buffers
 * likewise. Zero it before the fields below are set. */
struct ini_task {
	/* ---- set by the caller ---- */
	uint16_t lun;
	uint8_t cdb[ISCSI_CDB_SIZE]; /* unused bytes 0 */
	uint8_t attribute;	     /* enum iscsi_task_attribute; 0 is taken as SIMPLE */
	struct dm_buffer read,
		write; /* at most one has a length: bidirectional tasks are refused (-EINVAL) */
	/* May be issued again after a lost connection, BUSY or a unit attention though it may have
	 * been executed: READ, WRITE, SYNCHRONIZE CACHE, INQUIRY ...; not COMPARE AND WRITE,
	 * PERSISTENT RESERVE OUT, XDWRITE and the like, which fail with -EIO (unless they had not
	 * left yet). */
	bool repeatable;
	bool urgent;	     /* goes out before the checks after a reconnect are over; never held */
	uint64_t timeout_ns; /* on the wire; 0: the session's */
	/* 0: the target answered; see status. Negative errno: it did not: -ETIMEDOUT, -EIO,
	 * -ESHUTDOWN, -ECANCELED, -ENODEV, -ENOTCONN (urgent tasks). The buffers are the caller's
	 * again. From the loop. */
	void (*done)(struct ini_task *t, int error);

	/* ---- valid in done(t, 0) ---- */
	uint8_t status; /* SAM-5: 00h GOOD, 02h CHECK CONDITION, 08h BUSY, 18h RESERVATION CONFLICT
			   ... */
	uint8_t response; /* enum iscsi_response: not 0 means target failure, told as error -EIO */
	bool underflow, overflow;
	uint32_t residual; /* bytes not transferred (underflow), or that would not fit (overflow) */
	uint32_t received; /* bytes of read data that are there, by residual and by what the mover
			      counted */
	uint8_t sense[INI_SENSE_MAX]; /* for common/scsi/sense.h */
	uint8_t sense_length;

	/* ---- the session's own ---- */
	enum ini_task_state state;
	struct ini_session *session;
	struct list link;
	struct dm_task dm;
	uint32_t itt, cmd_sn;	/* while on the wire */
	uint64_t due_ns;	/* when it has taken too long, or (delayed) may go again */
	uint64_t order;		/* of submission, for issuing again */
	uint64_t held_since_ns; /* when it was lost with its connection the first time; 0: never */
	unsigned attempts, timeouts;
	int error; /* of `completing`; on the wire: what it was aborted for */
};

/* Issues the task as soon as the window allows. Never calls `done` from inside. */
void ini_session_submit(struct ini_session *s, struct ini_task *t);
/* Aborts it (ABORT TASK if it is on the wire): `done` follows with -ECANCELED, or with its status
 * if that came first. */
void ini_session_abort(struct ini_session *s, struct ini_task *t);
/* All tasks of the LUN that are not on the wire fail with `error` (a device that is gone). */
void ini_session_fail_lun(struct ini_session *s, uint16_t lun, int error);
/* LOGICAL UNIT RESET; `done` gets the response (enum iscsi_tmf_response) or negative errno. -EBUSY
 * while another task management function is under way. Tasks of the LUN that were on the wire are
 * issued again. */
int ini_session_reset_lun(
	struct ini_session *s, uint16_t lun, void (*done)(void *arg, int response), void *arg);

/* ---- checks after a reconnect ---- */

/* Whoever must look at the target before held tasks are issued again (a disk makes sure that it is
 * still the same device). Caller-owned while added. */
struct ini_session_check {
	/* The connection has been made again: submit urgent tasks, then call
	 * ini_session_check_done(). May be called again without that when the connection was lost
	 * meanwhile. From the loop. */
	void (*begin)(struct ini_session_check *c);
	struct list link; /* the session's own, as below */
	bool pending;
};

void ini_session_add_check(struct ini_session *s, struct ini_session_check *c);
void ini_session_remove_check(struct ini_session *s, struct ini_session_check *c);
void ini_session_check_done(struct ini_session *s, struct ini_session_check *c);
/* REPORT LUNS gave this 8-byte LUN: its number is sent in the same form from now on. Forms that are
 * not a plain number are passed over. */
void ini_session_lun_seen(struct ini_session *s, uint64_t wire);
/* A disk or a scan has seen a unit attention that says REPORTED LUNS DATA HAS CHANGED. */
void ini_session_luns_changed(struct ini_session *s);

/* A session from the inside: what session.c (life, PDUs), task.c (SCSI tasks), tmf.c (task
 * management and time-outs), keepalive.c (pings) and recovery.c (losing and making connections)
 * share. */
#pragma once

#include "common/base/tags.h"
#include "common/iscsi/window.h"
#include "common/loop/loop.h"
#include "initiator/conn.h"
#include "initiator/session.h"

/* of every new session; any value will do (RFC 7143 section 4.2.2.1) */
#define SESSION_FIRST_CMD_SN 1
/* 2^20 tags at a time; a stale one is told from 4096 successors */
#define SESSION_TAG_GENERATION_BITS 12
/* ping, task management, logout: one each at a time, so that no more than two immediate PDUs are
 * ever unanswered (tgt has no room for more) */
#define SESSION_SPECIAL_TAGS 3

/* The clock of all time-outs. None needs to be finer than a quarter of a second. */
#define SESSION_TICK_NS (250 * LOOP_NS_PER_MS)
/* Reconnect: doubling from the first to the last. 100 ms finds a daemon that was restarted; 8 s
 * keeps a thousand initiators from flooding a target that comes back. */
#define SESSION_DELAY_FIRST_NS (100 * LOOP_NS_PER_MS)
#define SESSION_DELAY_LAST_NS (8 * LOOP_NS_PER_S)
/* the longest before a first login is tried again where nobody listens: whoever asked for it waits
 * for the answer, and a portal that refuses at once will not for being asked more rarely */
#define SESSION_DELAY_REFUSED_NS (250 * LOOP_NS_PER_MS)
#define SESSION_REDIRECTS_MAX 4 /* in a row: more are a circle */
/* BUSY and TASK SET FULL: 100 ms, 200 ms ... 1 s; about half a minute in all. */
#define TASK_BUSY_DELAY_NS (100 * LOOP_NS_PER_MS)
#define TASK_BUSY_DELAY_LAST_NS LOOP_NS_PER_S
#define TASK_BUSY_ATTEMPTS 32
/* Unit attentions (a nexus may have several queued), ABORTED COMMAND, time-outs. */
#define TASK_ATTEMPTS 12
#define TASK_TIMEOUTS 3

enum session_special { /* what an ITT that is no SCSI task's belongs to */
	SESSION_PING,
	SESSION_TMF,
	SESSION_LOGOUT,
	SESSION_SPECIALS
};

struct session_request {
	bool active;
	uint32_t itt;
	uint64_t due_ns;
};

struct session_tmf {
	uint8_t function; /* enum iscsi_tmf */
	uint16_t lun;
	/* whose time-out or abort it is for; NULL: a reset that was asked for */
	struct ini_task *task;
	void (*done)(void *arg, int response);
	void *arg;
};

struct ini_session {
	struct ini_session_config config; /* its strings are copies */
	struct ini_session_events events;
	void *owner;
	enum ini_session_state state;

	struct ini_conn *conn; /* NULL: none */
	/* where to connect next: config.portal, or where a redirect pointed */
	struct address portal;
	struct window_initiator window;
	struct iscsi_params params;
	uint16_t tsih;

	struct tags *tags;
	struct list urgent, waiting; /* in the order of their submission */
	struct list on_wire;	     /* in the order of issue */
	struct list delayed;	     /* TASK_DELAYED */
	struct list completing;	     /* `done` is deferred */
	uint32_t on_wire_count;
	uint64_t next_order;

	struct session_request special[SESSION_SPECIALS];
	struct session_tmf tmf;

	uint8_t luns_in_other_form[ISCSI_LUNS / 8]; /* one bit a number, see luns.c */
	struct list checks;
	unsigned checks_pending; /* held tasks wait until it is 0 */
	bool healed; /* logged in, and the checks are over: what was held has been issued again */

	struct loop_timer tick;
	struct loop_call complete_call, connect_call, end_call, luns_call;
	uint64_t received_ns; /* when the last PDU came */
	uint64_t shut_ns;  /* since when the window keeps everything from being issued; 0: it does
			      not */
	uint64_t retry_ns; /* when to connect; 0: not waiting to */
	uint64_t delay_ns;
	uint32_t random;	      /* xorshift, for jitter */
	unsigned attempts, redirects; /* since the last login that went well */

	int end_error;
	unsigned end_status;
	char why[160]; /* the last loss */

	uint64_t tasks_done, tasks_failed, tasks_repeated, aborts, resets, logins;
	uint64_t connected_since_ns, lost_since_ns;
};

/* ---- session.c ---- */

uint64_t session_now(const struct ini_session *s);
/* Makes sure that the tick comes within `delay_ns`. */
void session_wake(struct ini_session *s, uint64_t delay_ns);
/* The session is over: every task fails with -ESHUTDOWN, `ended` follows from the loop. */
void session_end(struct ini_session *s, int error, unsigned login_status, const char *why);
/* A tag for a ping, a task management function or a logout; -EBUSY while it is active. */
int session_special_begin(struct ini_session *s, enum session_special which, uint64_t timeout_ns);
void session_special_end(struct ini_session *s, enum session_special which);
const struct ini_conn_upcalls *session_conn_upcalls(void);

/* ---- luns.c ---- */

/* The LUN as the target wrote it, or in the usual form if it never did. */
uint64_t session_lun_wire(const struct ini_session *s, uint16_t lun);

/* ---- session_config.c ---- */

/* Copies the strings too; to be freed also after -ENOMEM. */
int session_config_copy(const struct ini_session_config *from, struct ini_session_config *ret);
void session_config_free(struct ini_session_config *c);

/* ---- task.c ---- */

/* Issues what may be issued now. */
void session_kick(struct ini_session *s);
void session_response(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data);
/* Takes a task off the wire: its tag and the mover's hold on its buffers end. */
void session_task_retire(struct ini_session *s, struct ini_task *t);
/* Off the wire or out of a list, into `completing`: `done` follows from the loop. */
void session_task_fail(struct ini_session *s, struct ini_task *t, int error);
/* Off the wire, unanswered, to be issued again in its place. */
void session_task_requeue(struct ini_session *s, struct ini_task *t);
/* All tasks in every list but those on the wire. */
void session_fail_waiting(struct ini_session *s, int error);
/* Delayed tasks whose time has come. */
void session_delayed_tick(struct ini_session *s, uint64_t now);
/* Calls the `done` of everything in `completing`. */
void session_complete_now(struct ini_session *s);
void session_complete_call(struct loop_call *c);
void session_luns_call(struct loop_call *c);
/* The SCSI task of an ITT that came from the wire, or NULL. */
struct ini_task *session_task_find(struct ini_session *s, uint32_t itt);

/* ---- tmf.c ---- */

void session_tmf_tick(struct ini_session *s, uint64_t now);
void session_tmf_response(struct ini_session *s, int response);
/* The connection is lost. */
void session_tmf_drop(struct ini_session *s);

/* ---- keepalive.c ---- */

void session_ping_tick(struct ini_session *s, uint64_t now);
void session_nop_in(struct ini_session *s, const struct iscsi_pdu *pdu);

/* ---- notices.c ---- */

void session_async(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data);
void session_reject(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data);
/* Sends a Logout Request that closes the session. */
void session_send_logout(struct ini_session *s);
void session_logout_response(struct ini_session *s, const struct iscsi_pdu *pdu);

/* ---- recovery.c ---- */

void session_connect_call(struct loop_call *c);
void session_recovery_tick(struct ini_session *s, uint64_t now);
void session_logged_in(void *owner, const struct iscsi_pdu *last);
void session_lost(void *owner, const struct ini_conn_loss *loss);

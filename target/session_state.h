/* The inside of a session and of its connection, shared by the files that drive them: portal.c,
 * conn.c, login_policy.c, session.c, session_luns.c, text.c, nop.c, logout.c. Everything here
 * belongs to the worker's loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/iscsi/conn_fsm.h"
#include "common/iscsi/login.h"
#include "common/iscsi/window.h"
#include "target/session.h"
#include "target/target_set.h"
#include "target/worker.h"

struct command;

/* One connection, from the transport's accept to connection_terminate_notify(). */
struct tgt_conn {
	struct list worker_link; /* worker->conns */
	struct worker_mover *mover;
	struct dm_conn *dm;
	struct conn_fsm fsm;
	struct dm_sequence sequence;
	char peer[64];
	/* in login: its time-out; later: the ping; in logout: the clean-up */
	struct loop_timer timer;

	/* login phase */
	struct login *login;
	struct config *config;	   /* held: the login uses its secrets */
	struct tgt_target *target; /* held */
	bool counted;		   /* in target_set->logins */
	char refusal[160];	   /* why login_policy.c refused */

	struct tgt_session *session; /* from the end of the login on */
	uint16_t cid;
	bool terminated;   /* dm_terminate() was called: what comes is ignored */
	bool seen_request; /* the first request of the full-feature phase has come */
	struct tgt_ping {
		uint32_t ttt; /* of the ping under way; 0: none */
		uint32_t last_ttt;
		uint64_t heard_ns;		  /* when the last PDU came */
		uint64_t interval_ns, timeout_ns; /* of the configuration at login; 0: no ping */
	} ping;
	struct {
		uint32_t itt; /* of the Logout Request that waits for the clean-up */
	} logout;
};

/* A request whose CmdSN is not the next: it waits here for its turn. */
struct tgt_early {
	struct list link; /* ascending CmdSN */
	struct iscsi_pdu pdu;
	uint8_t bhs[ISCSI_BHS_SIZE];
	int decode_error;
	struct dm_task *task;
	size_t size; /* of what follows: AHS, then data */
	uint8_t bytes[];
};

/* One request as control_notify() brought it. */
struct tgt_request {
	const struct iscsi_pdu *pdu;
	const uint8_t *bhs;
	int decode_error;
	const void *ahs, *data;
	struct dm_task *task;
};

/* How the session sees one LUN; the nexus is made at its first use. */
struct tgt_path {
	struct list link;    /* session->retired, once a reload has removed the LUN */
	struct tgt_lun *lun; /* held, and its channel */
	struct nexus *nexus;
};

struct tgt_slot {
	uint16_t number;
	struct tgt_lun *lun;   /* held */
	struct tgt_path *path; /* NULL until used */
};

struct tgt_text {
	uint32_t ttt; /* of the exchange under way; 0: none */
	char *in;     /* a request that comes in pieces (C bit), at most ISCSI_TEXT_MAX */
	size_t in_length;
	char *out; /* the answer, and how much of it has left */
	size_t out_length, out_sent;
};

struct tgt_session {
	struct list worker_link; /* worker->sessions */
	struct worker *worker;
	struct worker_mover *mover;
	struct tgt_conn *conn; /* NULL once it is gone: the session only waits for its backends */
	struct tgt_target *target; /* held; NULL in a discovery session */
	struct registry_entry entry;
	char initiator_name[ISCSI_NAME_MAX + 1], initiator_alias[ISCSI_VALUE_MAX + 1];
	char port[256]; /* "<name>,i,0x<isid>" */
	char peer[64];
	uint64_t since_ns;
	struct iscsi_params params;

	struct window_target window;
	uint32_t depth;	      /* commands that the initiator may have under way */
	uint32_t outstanding; /* commands that have arrived and not ended */
	struct list early;    /* struct tgt_early */
	size_t early_bytes;

	struct list commands;	/* struct command.session_link, kept by command.c */
	unsigned tmfs;		/* task management functions under way */
	struct tgt_slot *slots; /* ascending */
	size_t slot_count;
	struct list retired;   /* struct tgt_path */
	unsigned predecessors; /* older sessions of this nexus whose requests are not back yet */
	uint32_t advised_transfer; /* see struct nexus */
	bool closing;		   /* no new requests */
	bool draining;		   /* the daemon stops: no new commands; closed once at rest */
	bool finished;		   /* left the registry, waits for its last mail */
	struct loop_call settle;

	struct tgt_text text;
	struct tgt_session_counters counters;
};

/* ---- conn.c ---- */

/* The one way to fail: a log line with peer, initiator and trail, then the mover terminates. */
void tgt_conn_fail(struct tgt_conn *c, enum conn_event event, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* One transition of its state machine. -EPROTO: the state does not have
 * it; the connection fails. */
int tgt_conn_step(struct tgt_conn *c, enum conn_event event);
/* Ends the connection in order: what was handed over leaves first. */
void tgt_conn_close(struct tgt_conn *c, enum conn_event event);
/* Numbers and sends one PDU that carries status (StatSN moves on). An error has failed the
 * connection. */
int tgt_conn_send(
	struct tgt_conn *c, struct iscsi_pdu *pdu, const void *data, struct dm_task *task);
/* The same without moving StatSN (NOP-In as a ping). */
int tgt_conn_send_unnumbered(struct tgt_conn *c, struct iscsi_pdu *pdu);
/* The largest data segment that the peer takes in the full-feature phase. */
uint32_t tgt_conn_data_limit(const struct tgt_conn *c);
/* "192.0.2.7:41234 (iqn...)" */
const char *tgt_conn_name(const struct tgt_conn *c, char *out, size_t size);
uint64_t tgt_conn_now(const struct tgt_conn *c);

/* ---- login_policy.c ---- */

unsigned login_policy_identify(void *owner, const struct login_identity *who,
	struct login_auth *ret_auth, struct iscsi_params *params);
unsigned login_policy_establish(void *owner, const struct login_identity *who, uint16_t *ret_tsih);

/* ---- session.c ---- */

/* A session in the registry, without its connection's parameters yet. -ENOMEM, -EMFILE, -EUSERS. */
int tgt_session_new(struct tgt_conn *c, const struct login_identity *who,
	const struct registry_limits *limits, struct tgt_session **ret);
/* The full-feature phase begins. */
void tgt_session_start(struct tgt_session *s, const struct iscsi_params *params);
void tgt_session_receive(struct tgt_session *s, const struct tgt_request *r);
/* The connection is gone, or will answer nothing more: every task is aborted. */
void tgt_session_detach(struct tgt_session *s);
/* Aborts every task (logout); tgt_session_at_rest() tells when they are over. */
void tgt_session_abort_all(struct tgt_session *s);
bool tgt_session_at_rest(const struct tgt_session *s);
/* Something has ended: looks, from the loop, at what waited for it. */
void tgt_session_settle(struct tgt_session *s);
/* Reject (RFC 7143 section 11.17) with the header of the PDU. */
void tgt_session_reject(struct tgt_session *s, const uint8_t *bhs, uint8_t reason);
/* The window as the peer shall know it, into the connection's sequence numbers. */
void tgt_session_update_window(struct tgt_session *s);

/* ---- session_early.c ---- */

int tgt_early_hold(struct tgt_session *s, const struct tgt_request *r);
/* The held request with the expected CmdSN, taken out; NULL. Free with tgt_early_free(). */
struct tgt_early *tgt_early_next(struct tgt_session *s);
void tgt_early_free(struct tgt_session *s, struct tgt_early *e);
void tgt_early_drop(struct tgt_session *s);

/* ---- session_luns.c ---- */

/* The LUNs that the initiator may see now, from the target set. -ENOMEM
 * leaves them as they were. */
int tgt_session_load_luns(struct tgt_session *s);
void tgt_session_free_luns(struct tgt_session *s);
/* Frees the nexuses of removed LUNs whose commands are over. */
void tgt_session_sweep_luns(struct tgt_session *s);
/* So many predecessors have come to rest. */
void tgt_session_lower_fence(struct tgt_session *s, unsigned count);
/* After a reload: closes the session where its target or its right is gone, else loads its LUNs
 * anew. */
void tgt_session_reload(struct tgt_session *s);

/* ---- what is no SCSI command ---- */

void tgt_nop_receive(struct tgt_session *s, const struct tgt_request *r);
void tgt_ping_start(struct tgt_conn *c);
void tgt_ping_heard(struct tgt_conn *c);
void tgt_ping_expired(struct tgt_conn *c);
/* overdue.c: whether a transfer of one of its commands has not moved on for longer than any
 * initiator waits. */
bool tgt_data_overdue(const struct tgt_session *s, uint64_t now_ns);
void tgt_text_receive(struct tgt_session *s, const struct tgt_request *r);
void tgt_text_reset(struct tgt_session *s);
void tgt_logout_receive(struct tgt_session *s, const struct tgt_request *r);
/* Sends the Logout Response once the tasks are over. */
void tgt_logout_settle(struct tgt_session *s);
void tgt_logout_expired(struct tgt_conn *c);
/* Async: asks the initiator to log out within `seconds`. */
void tgt_logout_ask(struct tgt_conn *c, uint16_t seconds);

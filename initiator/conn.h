/* One connection of the initiator (RFC 7143 section 8.1): from the transport connect through the
 * login to its end. Used by session.c (normal sessions) and discovery.c (discovery sessions), which
 * own what is said in the full-feature phase. Belongs to one loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/datamover/datamover.h"
#include "common/iscsi/conn_fsm.h"
#include "common/iscsi/login.h"
#include "common/loop/address.h"
#include "common/loop/loop.h"

#define INI_CONN_WHY_SIZE 240

/* Strings must live as long as the connection. */
struct ini_conn_config {
	struct loop *loop;
	struct dm_mover *mover;
	struct address portal;
	const char *initiator_name, *initiator_alias;
	const char *target_name; /* NULL: a discovery session */
	struct iscsi_isid isid;
	struct login_auth auth;
	struct iscsi_params offer;
	unsigned header_digest, data_digest;   /* 0: the mover's */
	uint32_t max_recv_data_segment_length; /* 0: the mover's */
	uint32_t cmd_sn;		       /* the first command's */
	uint64_t timeout_ns;		       /* for connect and login together */
};

struct ini_conn_loss {
	int error;	       /* 0: closed in order by ini_conn_close(); else negative errno */
	unsigned login_status; /* enum login_status if the target refused the login; else 0 */
	const char *why;       /* one line */
	const char *redirect;  /* TargetAddress of a LOGIN_MOVED_* answer, or NULL */
};

struct ini_conn_upcalls {
	/* Full-feature phase. `last` is the final Login Response. */
	void (*logged_in)(void *owner, const struct iscsi_pdu *last);
	/* A PDU of the full-feature phase that could be decoded. StatSN
	 * has been taken account of. */
	void (*received)(
		void *owner, const struct iscsi_pdu *pdu, const void *data, struct dm_task *task);
	/* The last upcall; the mover's connection may be used (dm_deallocate_task_resources())
	 * until it returns, then the ini_conn is gone. */
	void (*lost)(void *owner, const struct ini_conn_loss *loss);
};

struct ini_conn {
	struct ini_conn_config config;
	const struct ini_conn_upcalls *up;
	void *owner;
	struct dm_conn *dm;
	struct conn_fsm fsm;
	struct dm_sequence sequence;
	bool stat_sn_known;
	struct login *login;	    /* until the full-feature phase */
	struct iscsi_params params; /* the outcome */
	uint16_t tsih;
	struct loop_timer timer; /* connect and login */
	bool ending;		 /* dm_terminate() was called: waits for the mover's last upcall */
	int error;
	unsigned login_status;
	char why[INI_CONN_WHY_SIZE];
	char redirect[ISCSI_VALUE_MAX + 1];
	char portal[ADDRESS_TEXT_SIZE]; /* for log lines */
};

/* Begins to connect. 0, -ENOMEM, or what the mover says; then there is no upcall. */
int ini_conn_new(const struct ini_conn_config *config, const struct ini_conn_upcalls *up,
	void *owner, struct ini_conn **ret);
/* Sends a PDU, with the present ExpStatSN. -ENOTCONN once the connection is ending; any other
 * failure of the mover's fails the connection. */
int ini_conn_send(
	struct ini_conn *c, struct iscsi_pdu *pdu, const void *data, struct dm_task *task);
/* The one way to fail: log line, state step, terminate. `lost` follows from the loop. Harmless when
 * the connection is ending already. */
void ini_conn_fail(struct ini_conn *c, enum conn_event event, int error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The end that was wanted: what was sent leaves first. `event` is CONN_EVENT_LOGOUT_DONE or
 * _SESSION_CLOSED. */
void ini_conn_close(struct ini_conn *c, enum conn_event event);
/* One transition of its state machine. -EPROTO: the state does not have
 * it; the connection fails. */
int ini_conn_step(struct ini_conn *c, enum conn_event event);
/* In the full-feature phase, and not ending. */
bool ini_conn_usable(const struct ini_conn *c);
/* What a refused login means: -EACCES, -ENOENT, -EBUSY (may pass), -EPROTO, -EREMCHG (moved). */
int ini_conn_login_errno(unsigned login_status);

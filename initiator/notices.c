/* What a target says of its own accord, and the logout: Asynchronous Message, Reject, Logout
 * Response (RFC 7143 sections 11.9, 11.17, 11.14 and 11.15). Called by session.c. */
#include "initiator/session_private.h"

#include <errno.h>
#include <string.h>

#include "common/base/log.h"
#include "common/scsi/sense.h"

/* ---- logout ---- */

void session_send_logout(struct ini_session *s)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_LOGOUT_REQUEST,
		.immediate = true,
		.final = true,
		.cmd_sn = s->window.cmd_sn,
		.logout = {.reason = ISCSI_LOGOUT_SESSION},
	};

	if (session_special_begin(s, SESSION_LOGOUT, s->config.logout_timeout_ns) < 0)
		return; /* one is under way */
	pdu.itt = s->special[SESSION_LOGOUT].itt;
	if (ini_conn_send(s->conn, &pdu, NULL, NULL) == 0)
		ini_conn_step(s->conn, CONN_EVENT_LOGOUT);
}

void session_logout_response(struct ini_session *s, const struct iscsi_pdu *pdu)
{
	const struct session_request *logout = &s->special[SESSION_LOGOUT];

	if (!logout->active || logout->itt != pdu->itt)
		ini_conn_fail(
			s->conn, CONN_EVENT_DROP, -EPROTO, "a Logout Response came for no request");
	else if (pdu->logout_response.response != ISCSI_LOGOUT_CLOSED)
		ini_conn_fail(s->conn, CONN_EVENT_LOGOUT_FAILED, -EPROTO,
			"the target could not log out (%u)", pdu->logout_response.response);
	else
		ini_conn_close(s->conn, CONN_EVENT_LOGOUT_DONE);
}

/* ---- Asynchronous Message ---- */

static void async_scsi(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	struct bytes_reader r = bytes_reader(data, data ? pdu->data_length : 0);
	size_t length = bytes_read_be16(&r);
	struct scsi_sense sense;
	char text[160];

	if (scsi_sense_parse(r.at, min_size(length, r.left), &sense) < 0)
		return;
	log_info("session", "%s: the target reports: %s", s->config.target_name,
		scsi_sense_print(&sense, text, sizeof(text)));
	if (sense.key == SENSE_UNIT_ATTENTION)
		ini_session_luns_changed(s);
}

/* Logged out as asked for, and in again: the session goes on, its tasks are held meanwhile. */
static void async_logout(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	(void)pdu;
	(void)data;
	log_info("session", "%s: the target asks for a logout", s->config.target_name);
	if (ini_conn_step(s->conn, CONN_EVENT_LOGOUT_REQUESTED) == 0)
		session_send_logout(s);
}

static void async_drop(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	(void)data;
	ini_conn_fail(s->conn, CONN_EVENT_DROP, -ECONNRESET, "the target drops the %s",
		pdu->async.event == ISCSI_ASYNC_SESSION_DROP ? "session" : "connection");
}

/* Tasks were ended that will never be answered: the next session issues them again. */
static void async_terminated(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	(void)pdu;
	(void)data;
	ini_conn_fail(s->conn, CONN_EVENT_DROP, -ECONNRESET, "the target has terminated tasks");
}

/* Asks for a negotiation within some seconds. Nothing that was agreed may change here, so there is
 * nothing to say; a target that insists will ask for a logout. */
static void async_negotiate(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	(void)pdu;
	(void)data;
	log_info("session", "%s: the target asks for a negotiation, which is passed over",
		s->config.target_name);
}

static const struct {
	uint8_t event;
	void (*act)(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data);
} asyncs[] = {
	{ISCSI_ASYNC_SCSI, async_scsi},
	{ISCSI_ASYNC_LOGOUT_REQUESTED, async_logout},
	{ISCSI_ASYNC_CONNECTION_DROP, async_drop},
	{ISCSI_ASYNC_SESSION_DROP, async_drop},
	{ISCSI_ASYNC_NEGOTIATE, async_negotiate},
	{ISCSI_ASYNC_TASKS_TERMINATED, async_terminated},
};

void session_async(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	for (size_t i = 0; i < ARRAY_SIZE(asyncs); i++)
		if (asyncs[i].event == pdu->async.event) {
			asyncs[i].act(s, pdu, data);
			return;
		}
	log_info("session", "%s: the target sent event %u, which is passed over",
		s->config.target_name, pdu->async.event);
}

/* ---- Reject ---- */

static void reject_special(struct ini_session *s, enum session_special which)
{
	if (which == SESSION_TMF)
		session_tmf_response(s, ISCSI_TMF_REJECTED);
	else if (which == SESSION_PING)
		session_special_end(s, SESSION_PING); /* an answer of a kind: it is alive */
	else
		ini_conn_close(s->conn, CONN_EVENT_SESSION_CLOSED);
}

/* A rejected command was not taken (RFC 7143 section 11.17), and nobody knows whether its CmdSN
 * was: only a new session puts that right. A command that is rejected
 * again and again is given up. */
static void reject_task(struct ini_session *s, struct ini_task *t, uint8_t reason)
{
	if (t && ++t->timeouts > TASK_TIMEOUTS)
		session_task_fail(s, t, -EIO);
	ini_conn_fail(s->conn, CONN_EVENT_DROP, -EPROTO, "the target rejected %s: %s",
		t ? "a command" : "a PDU", iscsi_reject_name(reason));
}

void session_reject(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	struct iscsi_pdu rejected = {.itt = ISCSI_TAG_NONE};

	if (pdu->reject.reason == ISCSI_REJECT_WAITING_FOR_LOGOUT)
		return;
	if (data && pdu->data_length >= ISCSI_BHS_SIZE)
		iscsi_pdu_decode(data, &rejected);
	for (size_t i = 0; i < SESSION_SPECIALS; i++)
		if (s->special[i].active && s->special[i].itt == rejected.itt) {
			reject_special(s, (enum session_special)i);
			return;
		}
	reject_task(s, session_task_find(s, rejected.itt), pdu->reject.reason);
}

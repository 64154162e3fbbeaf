/* Logout (RFC 7143 sections 11.14 and 11.15): by the initiator, for its session or its one
 * connection; and the request for it by this end (Async, section 11.9) when the daemon stops.
 * Called by session.c, drain.c and the connection's timer. */
#include <errno.h>

#include "common/base/log.h"
#include "target/session_state.h"

/* A backend that does not give requests back shall not hold the initiator longer than this. */
#define CLEANUP_NS (5 * LOOP_NS_PER_S)

static void respond(struct tgt_conn *c, uint32_t itt, uint8_t response)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_LOGOUT_RESPONSE,
		.final = true,
		.itt = itt,
		/* Nothing is kept: the initiator may come back at once. */
		.logout_response = {.response = response},
	};

	tgt_conn_send(c, &pdu, NULL, NULL);
}

/* What cannot be done, or ISCSI_LOGOUT_CLOSED. */
static uint8_t judge(const struct tgt_conn *c, const struct iscsi_pdu *pdu)
{
	if (pdu->logout.reason == ISCSI_LOGOUT_SESSION)
		return ISCSI_LOGOUT_CLOSED;
	if (pdu->logout.reason == ISCSI_LOGOUT_RECOVERY)
		return ISCSI_LOGOUT_NO_RECOVERY;
	return pdu->logout.cid == c->cid ? ISCSI_LOGOUT_CLOSED : ISCSI_LOGOUT_NO_CID;
}

void tgt_logout_receive(struct tgt_session *s, const struct tgt_request *r)
{
	struct tgt_conn *c = s->conn;
	uint8_t response = judge(c, r->pdu);

	if (r->pdu->logout.reason > ISCSI_LOGOUT_RECOVERY) {
		tgt_session_reject(s, r->bhs, ISCSI_REJECT_INVALID_PDU_FIELD);
		return;
	}
	/* Section 4.3: a discovery session takes no Logout but that of the session. */
	if (s->entry.discovery && r->pdu->logout.reason != ISCSI_LOGOUT_SESSION) {
		tgt_session_reject(s, r->bhs, ISCSI_REJECT_PROTOCOL_ERROR);
		return;
	}
	if (response != ISCSI_LOGOUT_CLOSED) {
		respond(c, r->pdu->itt, response);
		return;
	}
	if (tgt_conn_step(c, CONN_EVENT_LOGOUT) < 0)
		return;
	c->logout.itt = r->pdu->itt;
	if (loop_timer_arm(c->mover->worker->loop, &c->timer, CLEANUP_NS) < 0)
		tgt_conn_fail(c, CONN_EVENT_DROP, "no memory for its timer");
	tgt_session_abort_all(s);
}

void tgt_logout_settle(struct tgt_session *s)
{
	struct tgt_conn *c = s->conn;

	if (c->fsm.state != CONN_IN_LOGOUT || c->terminated)
		return;
	respond(c, c->logout.itt, ISCSI_LOGOUT_CLOSED);
	log_info("session", "%s: logged out", s->port);
	tgt_conn_close(c, CONN_EVENT_LOGOUT_DONE);
}

void tgt_logout_expired(struct tgt_conn *c)
{
	respond(c, c->logout.itt, ISCSI_LOGOUT_CLEANUP_FAILED);
	log_warning(
		"session", "%s: logged out, but commands are still in a backend", c->session->port);
	tgt_conn_close(c, CONN_EVENT_LOGOUT_FAILED);
}

void tgt_logout_ask(struct tgt_conn *c, uint16_t seconds)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_ASYNC,
		.final = true,
		.itt = ISCSI_TAG_NONE,
		.async = {.event = ISCSI_ASYNC_LOGOUT_REQUESTED, .parameter3 = seconds},
	};

	if (tgt_conn_step(c, CONN_EVENT_LOGOUT_REQUESTED) == 0)
		tgt_conn_send(c, &pdu, NULL, NULL);
}

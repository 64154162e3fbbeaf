/* Pings of both directions (RFC 7143 sections 11.18 and 11.19). A connection on which nothing has
 * come for the interval is asked; one that does not answer in time has
 * failed. Called by session.c. */
#include "initiator/session_private.h"

#include <errno.h>

static void ping_send(struct ini_session *s)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_NOP_OUT,
		.immediate = true,
		.final = true,
		.cmd_sn = s->window.cmd_sn,
		.nop = {.ttt = ISCSI_TAG_NONE},
	};

	if (session_special_begin(s, SESSION_PING, s->config.noop_timeout_ns) < 0)
		return;
	pdu.itt = s->special[SESSION_PING].itt;
	ini_conn_send(s->conn, &pdu, NULL, NULL);
}

void session_ping_tick(struct ini_session *s, uint64_t now)
{
	const struct session_request *ping = &s->special[SESSION_PING];

	if (!s->config.noop_interval_ns || s->state != INI_SESSION_LOGGED_IN || !s->conn ||
		!ini_conn_usable(s->conn))
		return;
	if (ping->active && now >= ping->due_ns)
		ini_conn_fail(s->conn, CONN_EVENT_TRANSPORT_LOST, -ETIMEDOUT,
			"the target did not answer a ping within %llu s",
			(unsigned long long)(s->config.noop_timeout_ns / LOOP_NS_PER_S));
	else if (!ping->active && now - s->received_ns >= s->config.noop_interval_ns)
		ping_send(s);
}

/* The answer to a ping of the target: no data, no answer expected. */
static void pong_send(struct ini_session *s, const struct iscsi_pdu *ping)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_NOP_OUT,
		.immediate = true,
		.final = true,
		.lun = ping->lun,
		.itt = ISCSI_TAG_NONE,
		.cmd_sn = s->window.cmd_sn,
		.nop = {.ttt = ping->nop.ttt},
	};

	ini_conn_send(s->conn, &pdu, NULL, NULL);
}

void session_nop_in(struct ini_session *s, const struct iscsi_pdu *pdu)
{
	const struct session_request *ping = &s->special[SESSION_PING];

	if (pdu->itt == ISCSI_TAG_NONE) {
		/* with no TTT it only tells sequence numbers (tgt pings so) */
		if (pdu->nop.ttt != ISCSI_TAG_NONE)
			pong_send(s, pdu);
	} else if (ping->active && ping->itt == pdu->itt) {
		session_special_end(s, SESSION_PING);
	} else {
		ini_conn_fail(
			s->conn, CONN_EVENT_DROP, -EPROTO, "a NOP-In came for no ping of ours");
	}
}

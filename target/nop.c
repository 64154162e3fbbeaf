/* NOP-Out and NOP-In (RFC 7143 sections 11.18 and 11.19): the initiator's ping is answered; a
 * silent initiator is pinged, and dropped when it does not answer, or leaves its data alone. Called
 * by session.c and by the connection's timer. */
#include <errno.h>
#include <string.h>

#include "target/session_state.h"

/* An initiator that has not posted its receives yet (iSER) must not be pinged before its first
 * request; one that never sends any is dropped after so many intervals. */
#define SILENT_INTERVALS 10
/* How often a connection is looked at, at least (overdue.c). */
#define LOOK_NS (30 * LOOP_NS_PER_S)

static void answer(struct tgt_session *s, const struct tgt_request *r)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_NOP_IN,
		.final = true,
		.lun = r->pdu->lun,
		.itt = r->pdu->itt,
		.data_length = min_u32(r->pdu->data_length, tgt_conn_data_limit(s->conn)),
		.nop = {.ttt = ISCSI_TAG_NONE},
	};

	tgt_conn_send(s->conn, &pdu, r->data, NULL);
}

void tgt_nop_receive(struct tgt_session *s, const struct tgt_request *r)
{
	/* No ITT: the answer to our ping, or nothing but an ExpStatSN (section 11.18.1). */
	if (r->pdu->itt != ISCSI_TAG_NONE)
		answer(s, r);
}

static void arm(struct tgt_conn *c, uint64_t delay_ns)
{
	if (loop_timer_arm(c->mover->worker->loop, &c->timer, delay_ns) < 0)
		tgt_conn_fail(c, CONN_EVENT_DROP, "no memory for its timer");
}

/* Until the next look, also where nobody is pinged. */
static void arm_look(struct tgt_conn *c, uint64_t delay_ns)
{
	arm(c, delay_ns ? min_u64(delay_ns, LOOK_NS) : LOOK_NS);
}

void tgt_ping_start(struct tgt_conn *c)
{
	struct target_set *set = c->mover->worker->targets;

	pthread_mutex_lock(&set->lock);
	c->ping.interval_ns = set->config->ping_interval_ns;
	c->ping.timeout_ns = set->config->ping_timeout_ns;
	pthread_mutex_unlock(&set->lock);
	c->ping.heard_ns = tgt_conn_now(c);
	arm_look(c, c->ping.interval_ns); /* in place of the login's */
}

void tgt_ping_heard(struct tgt_conn *c)
{
	c->ping.heard_ns = tgt_conn_now(c);
	c->ping.ttt = 0;
}

static void ping(struct tgt_conn *c)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_NOP_IN,
		.final = true,
		.itt = ISCSI_TAG_NONE,
	};

	do {
		c->ping.ttt = ++c->ping.last_ttt;
	} while (!c->ping.ttt || c->ping.ttt == ISCSI_TAG_NONE);
	pdu.nop.ttt = c->ping.ttt;
	if (tgt_conn_send_unnumbered(c, &pdu) == 0)
		arm(c, c->ping.timeout_ns);
}

/* Neither a discovery session nor one without a first request has a receive for a ping. */
static void wait_unpinged(struct tgt_conn *c, uint64_t silence_ns)
{
	if (silence_ns >= SILENT_INTERVALS * c->ping.interval_ns)
		tgt_conn_fail(c, CONN_EVENT_DROP, "it has logged in and says nothing");
	else
		arm_look(c, c->ping.interval_ns);
}

void tgt_ping_expired(struct tgt_conn *c)
{
	uint64_t silence_ns = tgt_conn_now(c) - c->ping.heard_ns;

	if (tgt_data_overdue(c->session, tgt_conn_now(c)))
		tgt_conn_fail(c, CONN_EVENT_DROP, "the data of a command do not move");
	else if (!c->ping.interval_ns)
		arm_look(c, 0);
	else if (c->ping.ttt)
		tgt_conn_fail(c, CONN_EVENT_DROP, "it does not answer a ping (NOP-In) after %u s",
			(unsigned)(c->ping.timeout_ns / LOOP_NS_PER_S));
	else if (silence_ns < c->ping.interval_ns)
		arm_look(c, c->ping.interval_ns - silence_ns);
	else if (!c->seen_request || c->session->entry.discovery)
		wait_unpinged(c, silence_ns);
	else
		ping(c);
}

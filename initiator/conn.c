/* A connection of the initiator: connect, login, full-feature phase, end (RFC 7143 sections 6, 8.1
 * and 10). Login PDUs come from common/iscsi/login.h; states from common/iscsi/conn_fsm.h. Called
 * by session.c, recovery.c and discovery.c. */
#include "initiator/conn.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/iscsi/window.h"

/* ---- the end ---- */

static void conn_free(struct ini_conn *c)
{
	loop_timer_cancel(&c->timer);
	login_free(c->login);
	alloc_free(c);
}

static const char *conn_peer_name(const struct ini_conn *c)
{
	return c->config.target_name ? c->config.target_name : "discovery";
}

/* The owner is told, and tells a person; how it came to this is for those who look closer. */
static void conn_log_end(struct ini_conn *c)
{
	char trail[512];

	conn_fsm_print(&c->fsm, trail, sizeof(trail));
	log_debug("conn", "%s at %s: %s; %s", conn_peer_name(c), c->portal, c->why, trail);
}

/* The last step of a connection that is ending: whatever its state, it ends. */
static void conn_step_last(struct ini_conn *c, enum conn_event event)
{
	conn_fsm_step(&c->fsm, event, loop_now(c->config.loop));
}

int ini_conn_step(struct ini_conn *c, enum conn_event event)
{
	if (conn_fsm_step(&c->fsm, event, loop_now(c->config.loop)) == 0)
		return 0;
	ini_conn_fail(c, CONN_EVENT_DROP, -EPROTO, "\"%s\" does not belong to state %s",
		conn_fsm_event_name(event), conn_fsm_state_name(c->fsm.state));
	return -EPROTO;
}

void ini_conn_fail(struct ini_conn *c, enum conn_event event, int error, const char *format, ...)
{
	va_list arguments;

	if (c->ending)
		return;
	c->ending = true;
	c->error = error;
	va_start(arguments, format);
	vsnprintf(c->why, sizeof(c->why), format, arguments);
	va_end(arguments);
	conn_step_last(c, event);
	conn_log_end(c);
	loop_timer_cancel(&c->timer);
	dm_terminate(c->dm, false);
}

void ini_conn_close(struct ini_conn *c, enum conn_event event)
{
	if (c->ending)
		return;
	c->ending = true;
	conn_step_last(c, event);
	loop_timer_cancel(&c->timer);
	dm_terminate(c->dm, true);
}

bool ini_conn_usable(const struct ini_conn *c)
{
	return !c->ending && conn_fsm_carries_commands(&c->fsm);
}

/* ---- sending ---- */

int ini_conn_send(struct ini_conn *c, struct iscsi_pdu *pdu, const void *data, struct dm_task *task)
{
	int r;

	if (c->ending)
		return -ENOTCONN;
	pdu->exp_stat_sn = c->sequence.exp_stat_sn;
	r = dm_send_control(c->dm, pdu, NULL, data, task);
	if (r < 0)
		ini_conn_fail(c, CONN_EVENT_TRANSPORT_LOST, r, "cannot send a %s: %s",
			iscsi_opcode_name(pdu->opcode), strerror(-r));
	return r;
}

/* ---- login ---- */

static const struct {
	unsigned status;
	int error;
} login_errnos[] = {
	{LOGIN_MOVED_TEMPORARILY, -EREMCHG},
	{LOGIN_MOVED_PERMANENTLY, -EREMCHG},
	{LOGIN_AUTHENTICATION_FAILURE, -EACCES},
	{LOGIN_AUTHORIZATION_FAILURE, -EACCES},
	{LOGIN_NOT_FOUND, -ENOENT},
	{LOGIN_TARGET_REMOVED, -ENOENT},
	{LOGIN_TARGET_ERROR, -EBUSY},
	{LOGIN_SERVICE_UNAVAILABLE, -EBUSY},
	{LOGIN_OUT_OF_RESOURCES, -EBUSY},
};

int ini_conn_login_errno(unsigned login_status)
{
	for (size_t i = 0; i < ARRAY_SIZE(login_errnos); i++)
		if (login_errnos[i].status == login_status)
			return login_errnos[i].error;
	return -EPROTO;
}

/* The target refused (`pdu` has its status), or this end did: for an answer that cannot be, which
 * will be no other the next time, or because the target did not prove itself. */
static void conn_login_refused(struct ini_conn *c, const struct iscsi_pdu *pdu)
{
	const char *why = "", *redirect = login_redirect(c->login);
	unsigned status = login_failure(c->login, &why);
	int error = ini_conn_login_errno(status);

	if (pdu && pdu->login_response.status_class)
		c->login_status = status;
	else if (error != -EACCES)
		error = -EPROTO;
	if (redirect)
		snprintf(c->redirect, sizeof(c->redirect), "%s", redirect);
	ini_conn_fail(c, CONN_EVENT_LOGIN_FAILED, error, "login failed: %s", why);
}

static void conn_login_send(struct ini_conn *c, bool last)
{
	const void *data;
	struct iscsi_pdu pdu = *login_out(c->login, &data);
	int r = 0;

	/* the target may send as soon as it has this request: all that it may send then must be
	 * receivable by now */
	if (last)
		r = dm_allocate_connection_resources(c->dm, login_params(c->login));
	if (r < 0)
		ini_conn_fail(c, CONN_EVENT_DROP, r, "no resources for the full-feature phase: %s",
			strerror(-r));
	else
		ini_conn_send(c, &pdu, data, NULL);
}

static void conn_login_done(struct ini_conn *c, const struct iscsi_pdu *last)
{
	int r;

	c->params = *login_params(c->login);
	c->tsih = login_tsih(c->login);
	r = dm_enable(c->dm, &c->params);
	if (r < 0) {
		ini_conn_fail(c, CONN_EVENT_DROP, r, "cannot enter the full-feature phase: %s",
			strerror(-r));
		return;
	}
	login_free(c->login);
	c->login = NULL;
	loop_timer_cancel(&c->timer);
	if (ini_conn_step(c, CONN_EVENT_LOGIN_DONE) < 0)
		return;
	c->up->logged_in(c->owner, last);
}

static void conn_login_advance(
	struct ini_conn *c, enum login_step step, const struct iscsi_pdu *pdu)
{
	switch (step) {
	case LOGIN_SEND:
	case LOGIN_SEND_LAST:
		conn_login_send(c, step == LOGIN_SEND_LAST);
		break;
	case LOGIN_DONE:
		conn_login_done(c, pdu);
		break;
	case LOGIN_FAILED:
		conn_login_refused(c, pdu);
		break;
	}
}

static struct iscsi_params conn_offer(const struct ini_conn *c)
{
	struct iscsi_params offer = c->config.offer;

	dm_declare_keys(c->dm, &offer);
	if (c->dm->rdma)
		return offer;
	if (c->config.header_digest)
		offer.header_digest = c->config.header_digest;
	if (c->config.data_digest)
		offer.data_digest = c->config.data_digest;
	if (c->config.max_recv_data_segment_length)
		offer.max_recv_data_segment_length = min_u32(
			offer.max_recv_data_segment_length, c->config.max_recv_data_segment_length);
	return offer;
}

static void conn_connected(void *owner)
{
	struct ini_conn *c = owner;
	struct login_initiator_config login = {
		.initiator_name = c->config.initiator_name,
		.initiator_alias = c->config.initiator_alias,
		.target_name = c->config.target_name,
		.isid = c->config.isid,
		.cmd_sn = c->config.cmd_sn,
		.auth = c->config.auth,
		.rdma = c->dm->rdma,
	};

	if (c->ending)
		return;
	if (ini_conn_step(c, CONN_EVENT_LOGIN) < 0)
		return;
	login.offer = conn_offer(c);
	c->login = login_initiator_new(&login);
	if (!c->login)
		ini_conn_fail(c, CONN_EVENT_DROP, -ENOMEM, "no memory for the login");
	else
		conn_login_advance(c, login_initiator_start(c->login), NULL);
}

static void conn_timed_out(struct loop_timer *t)
{
	struct ini_conn *c = container_of(t, struct ini_conn, timer);

	ini_conn_fail(c, CONN_EVENT_TIMEOUT, -ETIMEDOUT, "%s within %llu s",
		c->login ? "the login did not end" : "no answer",
		(unsigned long long)(c->config.timeout_ns / LOOP_NS_PER_S));
}

/* ---- receiving ---- */

/* Which PDUs have a StatSN of their own (RFC 7143 section 4.2.2.2): all that carry status. A NOP-In
 * that nobody asked for only shows the next one. */
static bool pdu_advances_stat_sn(const struct iscsi_pdu *pdu)
{
	return pdu->opcode != ISCSI_NOP_IN || pdu->itt != ISCSI_TAG_NONE;
}

static void conn_take_stat_sn(struct ini_conn *c, const struct iscsi_pdu *pdu)
{
	uint32_t next = pdu->stat_sn + 1;

	if (!pdu_advances_stat_sn(pdu))
		return;
	/* the first Login Response begins the numbering */
	if (c->stat_sn_known && !sn_before(c->sequence.exp_stat_sn, next))
		return;
	c->stat_sn_known = true;
	c->sequence.exp_stat_sn = next;
}

static void conn_login_receive(struct ini_conn *c, const struct iscsi_pdu *pdu, const void *data)
{
	if (pdu->opcode != ISCSI_LOGIN_RESPONSE) {
		ini_conn_fail(c, CONN_EVENT_DROP, -EPROTO, "a %s came in the login phase",
			iscsi_opcode_name(pdu->opcode));
		return;
	}
	conn_login_advance(c, login_initiator_receive(c->login, pdu, data, pdu->data_length), pdu);
}

static void conn_control_notify(void *owner, const struct iscsi_pdu *pdu, const uint8_t *bhs,
	int decode_error, const void *ahs, const void *data, struct dm_task *task)
{
	struct ini_conn *c = owner;

	(void)bhs;
	(void)ahs; /* no PDU from a target has one that matters */
	if (c->ending)
		return;
	if (decode_error < 0) {
		ini_conn_fail(c, CONN_EVENT_DROP, -EPROTO,
			"the target sent a malformed %s (0x%02x)", iscsi_opcode_name(pdu->opcode),
			pdu->opcode);
		return;
	}
	conn_take_stat_sn(c, pdu);
	if (c->fsm.state == CONN_IN_LOGIN && c->login)
		conn_login_receive(c, pdu, data);
	else
		c->up->received(c->owner, pdu, data, task);
}

static void conn_terminated(void *owner, int error, const char *reason)
{
	struct ini_conn *c = owner;
	struct ini_conn_loss loss;

	if (!c->ending) {
		c->ending = true;
		c->error = error < 0 ? error : -ECONNRESET;
		snprintf(c->why, sizeof(c->why), "%s",
			reason && *reason ? reason : "the target closed the connection");
		conn_step_last(c, CONN_EVENT_TRANSPORT_LOST);
		conn_log_end(c);
	}
	loss = (struct ini_conn_loss){
		.error = c->error,
		.login_status = c->login_status,
		.why = c->why,
		.redirect = *c->redirect ? c->redirect : NULL,
	};
	c->up->lost(c->owner, &loss);
	conn_free(c);
}

static const struct dm_upcalls conn_upcalls = {
	.control_notify = conn_control_notify,
	.connected = conn_connected,
	.connection_terminate_notify = conn_terminated,
};

/* ---- the beginning ---- */

int ini_conn_new(const struct ini_conn_config *config, const struct ini_conn_upcalls *up,
	void *owner, struct ini_conn **ret)
{
	struct ini_conn *c = alloc_zeroed(sizeof(*c));
	int r = -ENOMEM;

	if (!c)
		return r;
	c->config = *config;
	c->up = up;
	c->owner = owner;
	c->timer.expired = conn_timed_out;
	address_print(&config->portal, c->portal);
	conn_fsm_init(&c->fsm, CONN_INITIATOR);
	r = loop_timer_arm(config->loop, &c->timer, config->timeout_ns);
	if (r < 0)
		goto fail;
	r = dm_connect(
		config->mover, &config->portal, config->timeout_ns, &conn_upcalls, c, &c->dm);
	if (r < 0)
		goto fail;
	dm_conn_set_sequence(c->dm, &c->sequence);
	conn_fsm_step(&c->fsm, CONN_EVENT_CONNECT, loop_now(config->loop));
	*ret = c;
	return 0;
fail:
	conn_free(c);
	return r;
}

/* A session of the initiator: its life, and where each PDU of the full-feature phase goes (RFC 7143
 * sections 4.3 and 11). Tasks are in task.c, their time-outs in tmf.c, connections in recovery.c.
 * Called by disk.c, scan.c and iserd. */
#include "initiator/session_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/crc32c.h"
#include "common/base/log.h"

static const char *const state_names[] = {
	[INI_SESSION_FREE] = "FREE",
	[INI_SESSION_CONNECTING] = "CONNECTING",
	[INI_SESSION_LOGGED_IN] = "LOGGED_IN",
	[INI_SESSION_RECOVERING] = "RECOVERING",
	[INI_SESSION_FAILED] = "FAILED",
	[INI_SESSION_LOGGING_OUT] = "LOGGING_OUT",
	[INI_SESSION_CLOSING] = "CLOSING",
	[INI_SESSION_CLOSED] = "CLOSED",
};

const char *ini_session_state_name(enum ini_session_state state)
{
	return state < ARRAY_SIZE(state_names) ? state_names[state] : "?";
}

uint64_t session_now(const struct ini_session *s)
{
	return loop_now(s->config.loop);
}

void ini_isid_make(const char *initiator_name, const char *target_name, const char *portal,
	unsigned index, struct iscsi_isid *ret)
{
	uint32_t hash = crc32c_update(0, initiator_name, strlen(initiator_name));

	hash = crc32c_update(hash, target_name, strlen(target_name));
	hash = crc32c_update(hash, portal, strlen(portal));
	ret->bytes[0] = 0x80; /* T = 10b: random format; 24 bits of it, then a 16-bit qualifier */
	put_be24(&ret->bytes[1], hash >> 8);
	put_be16(&ret->bytes[4], (uint16_t)(index + (hash & 0xff) * 256));
}

/* ---- PDUs of the full-feature phase ---- */

static void receive_scsi_response(
	struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	session_response(s, pdu, data);
}

static void receive_nop_in(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	(void)data; /* not compared: LIO does not echo it */
	session_nop_in(s, pdu);
}

static void receive_tmf_response(
	struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	const struct session_request *tmf = &s->special[SESSION_TMF];

	(void)data;
	if (!tmf->active || tmf->itt != pdu->itt)
		ini_conn_fail(s->conn, CONN_EVENT_DROP, -EPROTO,
			"a Task Management Response came for no request");
	else
		session_tmf_response(s, pdu->tmf_response.response);
}

static void receive_logout_response(
	struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	(void)data;
	session_logout_response(s, pdu);
}

static const struct {
	uint8_t opcode;
	void (*receive)(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data);
} receivers[] = {
	{ISCSI_SCSI_RESPONSE, receive_scsi_response},
	{ISCSI_NOP_IN, receive_nop_in},
	{ISCSI_TMF_RESPONSE, receive_tmf_response},
	{ISCSI_ASYNC, session_async},
	{ISCSI_REJECT, session_reject},
	{ISCSI_LOGOUT_RESPONSE, receive_logout_response},
};

static void session_received(
	void *owner, const struct iscsi_pdu *pdu, const void *data, struct dm_task *task)
{
	struct ini_session *s = owner;

	(void)task; /* found by its ITT, as all others */
	s->received_ns = session_now(s);
	window_update(&s->window, pdu->exp_cmd_sn, pdu->max_cmd_sn);
	for (size_t i = 0; i < ARRAY_SIZE(receivers); i++) {
		if (receivers[i].opcode != pdu->opcode)
			continue;
		receivers[i].receive(s, pdu, data);
		session_kick(s);
		return;
	}
	ini_conn_fail(s->conn, CONN_EVENT_DROP, -EPROTO,
		"a %s (0x%02x) came, which no request asked for", iscsi_opcode_name(pdu->opcode),
		pdu->opcode);
}

static const struct ini_conn_upcalls conn_upcalls = {
	.logged_in = session_logged_in,
	.received = session_received,
	.lost = session_lost,
};

const struct ini_conn_upcalls *session_conn_upcalls(void)
{
	return &conn_upcalls;
}

/* ---- tags that are no task's ---- */

int session_special_begin(struct ini_session *s, enum session_special which, uint64_t timeout_ns)
{
	struct session_request *request = &s->special[which];
	int r;

	if (request->active)
		return -EBUSY;
	r = tags_add(s->tags, request, &request->itt);
	if (r < 0)
		return r;
	request->active = true;
	request->due_ns = session_now(s) + timeout_ns;
	return 0;
}

void session_special_end(struct ini_session *s, enum session_special which)
{
	if (s->special[which].active)
		tags_remove(s->tags, s->special[which].itt);
	s->special[which].active = false;
}

/* ---- time ---- */

static void session_logout_tick(struct ini_session *s, uint64_t now)
{
	const struct session_request *logout = &s->special[SESSION_LOGOUT];

	if (logout->active && s->conn && now >= logout->due_ns)
		ini_conn_fail(
			s->conn, CONN_EVENT_LOGOUT_FAILED, -ETIMEDOUT, "no answer to the logout");
}

static void session_ticked(struct loop_timer *t)
{
	struct ini_session *s = container_of(t, struct ini_session, tick);
	uint64_t now = session_now(s);

	/* its place in the loop's heap has just become free: this cannot fail */
	loop_timer_arm(s->config.loop, t, SESSION_TICK_NS);
	session_recovery_tick(s, now);
	session_delayed_tick(s, now);
	session_tmf_tick(s, now);
	session_ping_tick(s, now);
	session_logout_tick(s, now);
}

void session_wake(struct ini_session *s, uint64_t delay_ns)
{
	if (!loop_timer_armed(&s->tick) || s->tick.due_ns > session_now(s) + delay_ns)
		loop_timer_arm(s->config.loop, &s->tick, delay_ns);
}

/* ---- the end ---- */

static void session_ended(struct loop_call *c)
{
	struct ini_session *s = container_of(c, struct ini_session, end_call);

	session_complete_now(s); /* no `done` comes after `ended` */
	s->events.ended(s->owner, s->end_error, s->end_status, s->why);
}

void session_end(struct ini_session *s, int error, unsigned login_status, const char *why)
{
	s->state = INI_SESSION_CLOSED;
	s->end_error = error;
	s->end_status = login_status;
	if (why != s->why)
		snprintf(s->why, sizeof(s->why), "%s", why);
	loop_timer_cancel(&s->tick);
	loop_call_cancel(&s->connect_call);
	session_fail_waiting(s, error < 0 ? error : -ESHUTDOWN);
	loop_defer(s->config.loop, &s->end_call);
}

void ini_session_logout(struct ini_session *s)
{
	if (s->state >= INI_SESSION_LOGGING_OUT)
		return;
	if (s->state != INI_SESSION_LOGGED_IN || !s->conn || !ini_conn_usable(s->conn)) {
		ini_session_close(s);
		return;
	}
	s->state = INI_SESSION_LOGGING_OUT;
	session_fail_waiting(s, -ESHUTDOWN);
	session_send_logout(s);
}

void ini_session_close(struct ini_session *s)
{
	if (s->state >= INI_SESSION_CLOSING)
		return;
	s->state = INI_SESSION_CLOSING;
	loop_call_cancel(&s->connect_call);
	session_fail_waiting(s, -ESHUTDOWN);
	if (s->conn)
		ini_conn_close(s->conn, CONN_EVENT_SESSION_CLOSED);
	else
		session_end(s, 0, 0, "");
}

void ini_session_free(struct ini_session *s)
{
	if (!s)
		return;
	loop_timer_cancel(&s->tick);
	loop_call_cancel(&s->complete_call);
	loop_call_cancel(&s->connect_call);
	loop_call_cancel(&s->end_call);
	loop_call_cancel(&s->luns_call);
	tags_free(s->tags);
	session_config_free(&s->config);
	alloc_free(s);
}

/* ---- the beginning ---- */

static void session_defaults(struct ini_session_config *c)
{
#define DEFAULT(field, value) c->field = c->field ? c->field : (value)
	DEFAULT(cmds_max, 128);
	DEFAULT(queue_depth, 32);
	DEFAULT(max_transfer, 512 * 1024);
	DEFAULT(login_attempts, 4);
	DEFAULT(login_timeout_ns, 15 * LOOP_NS_PER_S);
	DEFAULT(logout_timeout_ns, 15 * LOOP_NS_PER_S);
	DEFAULT(task_timeout_ns, 30 * LOOP_NS_PER_S);
	DEFAULT(abort_timeout_ns, 15 * LOOP_NS_PER_S);
	DEFAULT(lu_reset_timeout_ns, 30 * LOOP_NS_PER_S);
#undef DEFAULT
	if (c->noop_interval_ns && !c->noop_timeout_ns)
		c->noop_timeout_ns = c->noop_interval_ns;
}

static void session_init(struct ini_session *s)
{
	list_init(&s->urgent);
	list_init(&s->waiting);
	list_init(&s->on_wire);
	list_init(&s->delayed);
	list_init(&s->completing);
	list_init(&s->checks);
	s->tick.expired = session_ticked;
	s->complete_call.call = session_complete_call;
	s->connect_call.call = session_connect_call;
	s->end_call.call = session_ended;
	s->luns_call.call = session_luns_call;
	s->delay_ns = SESSION_DELAY_FIRST_NS;
	s->random = get_be32(&s->config.isid.bytes[2]) ^ (uint32_t)session_now(s);
	s->random |= 1; /* xorshift stays at 0 */
}

int ini_session_new(const struct ini_session_config *config,
	const struct ini_session_events *events, void *owner, struct ini_session **ret)
{
	struct ini_session *s;
	int r = -ENOMEM;

	if (!config->loop || !config->mover || !config->initiator_name || !config->target_name ||
		!events->ended)
		return -EINVAL;
	s = alloc_zeroed(sizeof(*s));
	if (!s)
		return r;
	s->events = *events;
	s->owner = owner;
	r = session_config_copy(config, &s->config);
	if (r < 0)
		goto fail;
	session_defaults(&s->config);
	s->portal = config->portal;
	session_init(s);
	r = -ENOMEM;
	s->tags = tags_new(s->config.cmds_max + SESSION_SPECIAL_TAGS, SESSION_TAG_GENERATION_BITS);
	if (!s->tags)
		goto fail;
	*ret = s;
	return 0;
fail:
	ini_session_free(s);
	return r;
}

void ini_session_start(struct ini_session *s)
{
	if (s->state != INI_SESSION_FREE)
		return;
	s->state = INI_SESSION_CONNECTING;
	if (loop_timer_arm(s->config.loop, &s->tick, SESSION_TICK_NS) < 0)
		session_end(s, -ENOMEM, 0, "no memory for a timer");
	else
		loop_defer(s->config.loop, &s->connect_call);
}

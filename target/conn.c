/* A connection of the target: the datamover's upcalls, the login phase, and the one way to fail
 * (RFC 7143 sections 6 and 8.1). Made by portal.c's acceptor; hands requests of the full-feature
 * phase to session.c. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/loop/address.h"
#include "common/loop/loop.h"
#include "target/command.h"
#include "target/portal.h"
#include "target/session_state.h"

/* ib_iser and libiscsi post receives of 128 bytes of data for the full-feature phase, whatever
 * InitiatorRecvDataSegmentLength they declare. */
#define ISER_DATA_MAX 128

static struct target_set *conn_set(const struct tgt_conn *c)
{
	return c->mover->worker->targets;
}

uint64_t tgt_conn_now(const struct tgt_conn *c)
{
	return loop_now(c->mover->worker->loop);
}

const char *tgt_conn_name(const struct tgt_conn *c, char *out, size_t size)
{
	const struct login_identity *who = c->login ? login_identity(c->login) : NULL;
	const char *name = c->session			? c->session->initiator_name
			   : who && who->initiator_name ? who->initiator_name
							: "";

	snprintf(out, size, "%s%s%s%s", c->peer, name[0] ? " (" : "", name, name[0] ? ")" : "");
	return out;
}

/* ---- ends ---- */

static void leave_login(struct tgt_conn *c)
{
	if (c->counted)
		atomic_fetch_sub(&conn_set(c)->logins, 1);
	c->counted = false;
	login_free(c->login);
	c->login = NULL;
	config_release(c->config);
	c->config = NULL;
}

static void terminate(struct tgt_conn *c, enum conn_event event, bool graceful)
{
	conn_fsm_step(&c->fsm, event, tgt_conn_now(c));
	c->terminated = true;
	loop_timer_cancel(&c->timer);
	dm_terminate(c->dm, graceful);
}

static void log_end(struct tgt_conn *c, const char *reason)
{
	char name[320], trail[512];

	conn_fsm_print(&c->fsm, trail, sizeof(trail));
	log_warning("conn", "%s: %s; %s", tgt_conn_name(c, name, sizeof(name)), reason, trail);
}

void tgt_conn_fail(struct tgt_conn *c, enum conn_event event, const char *format, ...)
{
	char reason[256];
	va_list arguments;

	if (c->terminated)
		return;
	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	terminate(c, event, false);
	log_end(c, reason);
}

int tgt_conn_step(struct tgt_conn *c, enum conn_event event)
{
	if (conn_fsm_step(&c->fsm, event, tgt_conn_now(c)) == 0)
		return 0;
	tgt_conn_fail(c, CONN_EVENT_DROP, "\"%s\" does not belong to state %s",
		conn_fsm_event_name(event), conn_fsm_state_name(c->fsm.state));
	return -EPROTO;
}

void tgt_conn_close(struct tgt_conn *c, enum conn_event event)
{
	if (!c->terminated)
		terminate(c, event, true);
}

static void connection_terminate_notify(void *owner, int error, const char *reason)
{
	struct tgt_conn *c = owner;
	struct worker *w = c->mover->worker;

	if (!c->terminated) {
		conn_fsm_step(&c->fsm, CONN_EVENT_TRANSPORT_LOST, tgt_conn_now(c));
		if (error || c->session)
			log_end(c, reason ? reason : "the initiator closed the connection");
	}
	loop_timer_cancel(&c->timer);
	if (c->session)
		tgt_session_detach(c->session);
	leave_login(c);
	tgt_target_release(c->target);
	list_remove(&c->worker_link);
	alloc_free(c);
	worker_settle(w);
}

/* ---- sending ---- */

uint32_t tgt_conn_data_limit(const struct tgt_conn *c)
{
	const struct iscsi_params *p = &c->session->params;
	uint32_t limit = min_u32(p->peer_max_recv_data_segment_length, ISCSI_TEXT_MAX);

	if (!c->dm->rdma)
		return limit;
	return c->session->entry.discovery ? ISCSI_TEXT_MAX : ISER_DATA_MAX;
}

static int send_pdu(
	struct tgt_conn *c, struct iscsi_pdu *pdu, const void *data, struct dm_task *task)
{
	int err;

	if (c->terminated)
		return -ENOTCONN;
	pdu->stat_sn = c->sequence.stat_sn;
	pdu->exp_cmd_sn = c->sequence.exp_cmd_sn;
	pdu->max_cmd_sn = c->sequence.max_cmd_sn;
	err = dm_send_control(c->dm, pdu, NULL, data, task);
	if (err < 0)
		tgt_conn_fail(c, CONN_EVENT_DROP, "cannot send a %s: %s",
			iscsi_opcode_name(pdu->opcode), strerror(-err));
	return err;
}

int tgt_conn_send(struct tgt_conn *c, struct iscsi_pdu *pdu, const void *data, struct dm_task *task)
{
	int err = send_pdu(c, pdu, data, task);

	if (err == 0)
		c->sequence.stat_sn++;
	return err;
}

int tgt_conn_send_unnumbered(struct tgt_conn *c, struct iscsi_pdu *pdu)
{
	return send_pdu(c, pdu, NULL, NULL);
}

/* ---- login phase ---- */

static struct iscsi_params login_offer(const struct config *config)
{
	struct iscsi_params p;

	iscsi_params_default(&p);
	p.max_connections = 1;
	p.error_recovery_level = 0;
	/* Nothing of a lost connection is kept that an initiator would have to wait for; the result
	 * is the larger of both (section 13.15), so that it still has its say. */
	p.default_time2wait = 0;
	p.immediate_data = config->immediate_data;
	p.max_burst_length = (uint32_t)config->max_burst;
	p.first_burst_length = (uint32_t)config->first_burst;
	return p;
}

static int login_begin(struct tgt_conn *c)
{
	struct target_set *set = conn_set(c);
	struct login_target_config config = {
		.policy =
			{
				.identify = login_policy_identify,
				.establish = login_policy_establish,
				.owner = c,
			},
		.rdma = c->dm->rdma,
	};

	pthread_mutex_lock(&set->lock);
	config.offer = login_offer(set->config);
	config.require_rdma_extensions = set->config->require_rdma_extensions;
	pthread_mutex_unlock(&set->lock);
	dm_declare_keys(c->dm, &config.offer);
	c->login = login_target_new(&config);
	return c->login ? 0 : -ENOMEM;
}

static int login_send(struct tgt_conn *c)
{
	const void *data;
	struct iscsi_pdu pdu = *login_out(c->login, &data);

	return tgt_conn_send(c, &pdu, data, NULL);
}

static void login_failed(struct tgt_conn *c)
{
	const char *why;
	unsigned status = login_failure(c->login, &why);
	char name[320];

	log_warning("login", "%s: refused with %04x: %s", tgt_conn_name(c, name, sizeof(name)),
		status, c->refusal[0] ? c->refusal : why);
	login_send(c);
	tgt_conn_close(c, CONN_EVENT_LOGIN_FAILED);
}

/* The mover must be ready for whatever the initiator sends once it has the last response. */
static int login_enter_full_feature(struct tgt_conn *c, const struct iscsi_params *params)
{
	int err = dm_allocate_connection_resources(c->dm, params);

	if (err == 0)
		err = login_send(c);
	if (err == 0)
		err = dm_enable(c->dm, params);
	return err;
}

static void log_login(const struct tgt_conn *c)
{
	struct dm_conn_info info;
	char name[320];

	dm_conn_get_info(c->dm, &info);
	log_info("login", "%s: %s%s over %s/%s", tgt_conn_name(c, name, sizeof(name)),
		c->target ? "logged in to " : "discovery session", c->target ? c->target->name : "",
		info.mover, info.provider);
}

static void login_done(struct tgt_conn *c)
{
	const struct iscsi_params params = *login_params(c->login);
	int err;

	c->cid = login_identity(c->login)->cid;
	err = login_enter_full_feature(c, &params);
	if (err < 0) {
		tgt_conn_fail(c, CONN_EVENT_DROP, "cannot begin the full-feature phase: %s",
			strerror(-err));
		return;
	}
	if (tgt_conn_step(c, CONN_EVENT_LOGIN_DONE) < 0)
		return;
	leave_login(c);
	log_login(c);
	tgt_session_start(c->session, &params);
	tgt_ping_start(c);
}

static void login_step(struct tgt_conn *c, enum login_step step)
{
	switch (step) {
	case LOGIN_SEND:
		login_send(c);
		break;
	case LOGIN_SEND_LAST:
		login_done(c);
		break;
	default:
		login_failed(c);
	}
}

/* CmdSN of the first Login Request begins the session's numbering (RFC 7143 section 11.12.7). */
static int login_first(struct tgt_conn *c, const struct iscsi_pdu *pdu)
{
	struct target_set *set = conn_set(c);

	if (tgt_conn_step(c, CONN_EVENT_LOGIN) < 0)
		return -EPROTO;
	pthread_mutex_lock(&set->lock);
	c->sequence.max_cmd_sn = pdu->cmd_sn + (uint32_t)set->config->queue_depth - 1;
	pthread_mutex_unlock(&set->lock);
	c->sequence.exp_cmd_sn = pdu->cmd_sn;
	c->sequence.stat_sn = 1;
	return 0;
}

/* Section 6.3: what comes in place of the first Login Request ends the connection at once; what
 * comes among later ones is refused with a status. */
static void login_receive(struct tgt_conn *c, const struct tgt_request *r)
{
	bool request = r->pdu->opcode == ISCSI_LOGIN_REQUEST;

	if (c->fsm.state == CONN_XPT_UP) {
		if (!request || r->decode_error < 0) {
			tgt_conn_fail(c, CONN_EVENT_DROP,
				"it begins with something else than a Login Request");
			return;
		}
		if (login_first(c, r->pdu) < 0)
			return;
	}
	if (r->decode_error < 0)
		login_step(c, login_target_refuse(c->login,
				      request ? LOGIN_INITIATOR_ERROR : LOGIN_INVALID_DURING_LOGIN,
				      "a malformed PDU in the login phase"));
	else
		login_step(c, login_target_receive(c->login, r->pdu, r->data, r->pdu->data_length));
}

/* ---- upcalls ---- */

static void control_notify(void *owner, const struct iscsi_pdu *pdu, const uint8_t *bhs,
	int decode_error, const void *ahs, const void *data, struct dm_task *task)
{
	struct tgt_conn *c = owner;
	const struct tgt_request r = {pdu, bhs, decode_error, ahs, data, task};

	if (c->terminated) {
		if (task)
			dm_deallocate_task_resources(c->dm, task);
		return;
	}
	if (c->login) {
		login_receive(c, &r);
		return;
	}
	tgt_ping_heard(c);
	tgt_session_receive(c->session, &r);
}

static void task_failed(void *owner, struct dm_task *task, const char *reason)
{
	struct tgt_conn *c = owner;
	char name[320];

	log_warning("conn", "%s: task 0x%08x: %s", tgt_conn_name(c, name, sizeof(name)), task->itt,
		reason);
	if (task->owner)
		command_data_failed(task->owner);
	else
		tgt_conn_fail(c, CONN_EVENT_DROP, "data of a command that waits for its turn: %s",
			reason);
}

static const struct dm_upcalls upcalls = {
	.control_notify = control_notify,
	.connection_terminate_notify = connection_terminate_notify,
	.task_failed = task_failed,
};

static void timer_expired(struct loop_timer *t)
{
	struct tgt_conn *c = container_of(t, struct tgt_conn, timer);

	if (c->login)
		tgt_conn_fail(c, CONN_EVENT_TIMEOUT, "the login takes too long");
	else if (c->fsm.state == CONN_IN_LOGOUT)
		tgt_logout_expired(c);
	else
		tgt_ping_expired(c);
}

/* ---- accept ---- */

/* Why a new connection is not wanted, or NULL. */
static const char *refusal(struct target_set *set, uint64_t max_logins)
{
	if (atomic_load(&set->draining))
		return "refused: the target is stopping";
	if (atomic_load(&set->logins) >= max_logins)
		return "refused: too many connections are logging in (max_logins)";
	return NULL;
}

static struct tgt_conn *conn_new(
	struct worker_mover *mover, struct dm_conn *dm, const struct address *peer)
{
	struct tgt_conn *c = alloc_zeroed(sizeof(*c));

	if (!c)
		return NULL;
	c->mover = mover;
	c->dm = dm;
	c->timer.expired = timer_expired;
	address_print(peer, c->peer);
	conn_fsm_init(&c->fsm, CONN_TARGET);
	conn_fsm_step(&c->fsm, CONN_EVENT_ACCEPTED, tgt_conn_now(c));
	list_append(&mover->worker->conns, &c->worker_link);
	dm_conn_set_owner(dm, &upcalls, c);
	dm_conn_set_sequence(dm, &c->sequence);
	return c;
}

/* Nobody listens to a connection that could not be made. */
static void refused_control(void *owner, const struct iscsi_pdu *pdu, const uint8_t *bhs,
	int decode_error, const void *ahs, const void *data, struct dm_task *task)
{
	(void)owner, (void)pdu, (void)bhs, (void)decode_error, (void)ahs, (void)data, (void)task;
}

static void refused_gone(void *owner, int error, const char *reason)
{
	(void)owner, (void)error, (void)reason;
}

static const struct dm_upcalls refused_upcalls = {
	.control_notify = refused_control,
	.connection_terminate_notify = refused_gone,
};

void tgt_conn_accept(struct worker_mover *mover, struct dm_conn *dm, const struct address *peer)
{
	struct target_set *set = mover->worker->targets;
	struct tgt_conn *c = conn_new(mover, dm, peer);
	uint64_t timeout, max_logins;
	const char *why;

	if (!c) {
		log_error("conn", "a connection is dropped: no memory");
		dm_conn_set_owner(dm, &refused_upcalls, NULL);
		dm_terminate(dm, false);
		return;
	}
	pthread_mutex_lock(&set->lock);
	timeout = set->config->login_timeout_ns;
	max_logins = set->config->max_logins;
	pthread_mutex_unlock(&set->lock);
	why = refusal(set, max_logins);
	if (!why &&
		(login_begin(c) < 0 || loop_timer_arm(mover->worker->loop, &c->timer, timeout) < 0))
		why = "refused: no memory";
	if (why) {
		tgt_conn_fail(c, CONN_EVENT_DROP, "%s", why);
		return;
	}
	c->counted = true;
	atomic_fetch_add(&set->logins, 1);
}

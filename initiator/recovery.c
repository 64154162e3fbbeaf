/* Losing connections and making them (RFC 7143 sections 6.3.5, session reinstatement, and 7.5,
 * error recovery level 0): delays, redirects, what becomes of tasks, the replacement time-out, and
 * the checks that come before held tasks are issued again. Called by session.c. */
#include "initiator/session_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "initiator/discovery.h"

/* ---- delays ---- */

static uint32_t random_next(struct ini_session *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 17;
	s->random ^= s->random << 5;
	return s->random;
}

/* The present delay, plus or minus a quarter, so that many sessions do not come back in step; and
 * no less than what the target asked for by DefaultTime2Wait. */
static uint64_t delay_next(struct ini_session *s)
{
	uint64_t delay =
		s->delay_ns - s->delay_ns / 4 + s->delay_ns / 2 * (random_next(s) % 1024) / 1024;
	uint64_t wait = s->attempts == 0 ? s->params.default_time2wait * LOOP_NS_PER_S : 0;

	s->delay_ns = min_u64(s->delay_ns * 2, SESSION_DELAY_LAST_NS);
	return delay < wait ? wait : delay;
}

static void schedule(struct ini_session *s, uint64_t delay_ns)
{
	s->retry_ns = session_now(s) + (delay_ns ? delay_ns : 1); /* 0 is "not waiting" */
	session_wake(s, delay_ns);
}

/* ---- connecting ---- */

static struct ini_conn_config conn_config(const struct ini_session *s)
{
	const struct ini_session_config *c = &s->config;

	return (struct ini_conn_config){
		.loop = c->loop,
		.mover = c->mover,
		.portal = s->portal,
		.initiator_name = c->initiator_name,
		.initiator_alias = c->initiator_alias,
		.target_name = c->target_name,
		.isid = c->isid,
		.auth = c->auth,
		.offer = c->offer,
		.header_digest = c->header_digest,
		.data_digest = c->data_digest,
		.max_recv_data_segment_length = c->max_recv_data_segment_length,
		.cmd_sn = SESSION_FIRST_CMD_SN,
		.timeout_ns = c->login_timeout_ns,
	};
}

static void attempt_failed(struct ini_session *s, const struct ini_conn_loss *loss);

static void session_connect(struct ini_session *s)
{
	struct ini_conn_config config = conn_config(s);
	struct ini_conn_loss loss = {0};
	char why[96], portal[ADDRESS_TEXT_SIZE];

	s->retry_ns = 0;
	loss.error = ini_conn_new(&config, session_conn_upcalls(), s, &s->conn);
	if (loss.error == 0)
		return;
	s->conn = NULL;
	snprintf(why, sizeof(why), "cannot connect to %s: %s", address_print(&s->portal, portal),
		strerror(-loss.error));
	loss.why = why;
	attempt_failed(s, &loss);
}

void session_connect_call(struct loop_call *c)
{
	session_connect(container_of(c, struct ini_session, connect_call));
}

/* ---- checks ---- */

static void checks_begin(struct ini_session *s)
{
	struct ini_session_check *c, *next;

	s->checks_pending = 0;
	list_for_each(c, &s->checks, link) {
		c->pending = true;
		s->checks_pending++;
	}
	list_for_each_safe(c, next, &s->checks, link)
		c->begin(c);
}

void ini_session_add_check(struct ini_session *s, struct ini_session_check *c)
{
	c->pending = false;
	list_append(&s->checks, &c->link);
}

void ini_session_check_done(struct ini_session *s, struct ini_session_check *c)
{
	if (!c->pending)
		return;
	c->pending = false;
	if (--s->checks_pending > 0 || s->state != INI_SESSION_LOGGED_IN)
		return;
	s->healed = true;
	ini_session_luns_changed(s); /* LUNs may have come or gone meanwhile */
	session_kick(s);
}

void ini_session_remove_check(struct ini_session *s, struct ini_session_check *c)
{
	list_remove(&c->link);
	ini_session_check_done(s, c);
}

/* ---- logged in ---- */

void session_logged_in(void *owner, const struct iscsi_pdu *last)
{
	struct ini_session *s = owner;
	bool again = s->logins > 0;

	s->window = (struct window_initiator){
		.cmd_sn = SESSION_FIRST_CMD_SN,
		.exp_cmd_sn = SESSION_FIRST_CMD_SN,
		.max_cmd_sn = SESSION_FIRST_CMD_SN - 1, /* shut, until the target tells */
	};
	window_update(&s->window, last->exp_cmd_sn, last->max_cmd_sn);
	s->params = s->conn->params;
	s->tsih = s->conn->tsih;
	s->state = INI_SESSION_LOGGED_IN;
	s->logins++;
	s->attempts = 0;
	s->redirects = 0;
	s->connected_since_ns = s->received_ns = session_now(s);
	log_info("session", "%s: logged in at %s", s->config.target_name, s->conn->portal);
	s->healed = !again || list_empty(&s->checks);
	if (again)
		checks_begin(s);
	if (s->events.logged_in)
		s->events.logged_in(s->owner);
	session_kick(s);
}

/* ---- lost ---- */

/* What was on the wire: no buffer is touched by the peer any more, then each task is held for the
 * next login, or fails. */
static int lost_error(struct ini_session *s, struct ini_task *t)
{
	uint64_t now = session_now(s);

	if (t->error < 0)
		return t->error;
	if (s->state >= INI_SESSION_LOGGING_OUT)
		return -ESHUTDOWN;
	if (t->urgent)
		return -ENOTCONN;
	if (!t->repeatable)
		return -EIO;
	if (!t->held_since_ns)
		t->held_since_ns = now;
	/* a task that takes its connection down each time is not repeated for ever */
	return now - t->held_since_ns > s->config.replacement_timeout_ns ? -ETIMEDOUT : 0;
}

static void hold_tasks(struct ini_session *s)
{
	struct ini_task *t, *next;

	list_for_each_safe(t, next, &s->on_wire, link) {
		int error = lost_error(s, t);

		session_task_retire(s, t);
		t->state = INI_TASK_QUEUED;
		if (error < 0)
			session_task_fail(s, t, error);
		else
			session_task_requeue(s, t);
	}
	while (!list_empty(&s->urgent))
		session_task_fail(s, list_first(&s->urgent, struct ini_task, link), -ENOTCONN);
	list_for_each_safe(t, next, &s->delayed, link) {
		list_remove(&t->link);
		session_task_requeue(s, t);
	}
}

static bool error_may_pass(int error)
{
	return error != -EACCES && error != -ENOENT && error != -EPROTO && error != -EREMCHG;
}

/* Resolving a host name would stop the loop. */
static bool host_is_numeric(const char *host)
{
	unsigned char address[sizeof(struct in6_addr)];
	char bare[64];

	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(host, "%"), host);
	return inet_pton(AF_INET, bare, address) == 1 || inet_pton(AF_INET6, bare, address) == 1;
}

/* Where a LOGIN_MOVED_* answer points to (RFC 7143 section 11.13.5). */
static bool follow_redirect(struct ini_session *s, const struct ini_conn_loss *loss)
{
	char host[64], text[96];
	uint16_t port, tpgt;
	struct address to;
	const char *why = "not a numeric address";

	if (!loss->redirect || s->redirects >= SESSION_REDIRECTS_MAX)
		return false;
	if (discovery_parse_address(loss->redirect, host, &port, &tpgt) < 0 ||
		!host_is_numeric(host))
		goto refuse;
	address_print_named(host, port, text, sizeof(text));
	if (address_parse(text, port, &to, &why) < 0)
		goto refuse;
	log_info("session", "%s: the target has moved to %s", s->config.target_name, text);
	s->portal = to;
	if (loss->login_status == LOGIN_MOVED_PERMANENTLY)
		s->config.portal = to;
	s->redirects++;
	schedule(s, 0);
	return true;
refuse:
	log_warning("session", "%s: cannot follow the target to \"%.80s\": %s",
		s->config.target_name, loss->redirect, why);
	return false;
}

static void tell_lost(struct ini_session *s, const struct ini_conn_loss *loss)
{
	snprintf(s->why, sizeof(s->why), "%s", loss->why ? loss->why : "");
	if (s->events.lost)
		s->events.lost(s->owner, loss->error, loss->login_status, s->why);
}

/* Connecting or logging in did not work. The first login ends with an error that will not pass;
 * later ones are tried until somebody logs out, but told. */
static void attempt_failed(struct ini_session *s, const struct ini_conn_loss *loss)
{
	bool first = s->state == INI_SESSION_CONNECTING;

	if (follow_redirect(s, loss))
		return;
	s->attempts++;
	s->redirects = 0;
	s->portal = s->config.portal;
	if (first && (!error_may_pass(loss->error) || s->attempts >= s->config.login_attempts)) {
		session_end(s, loss->error, loss->login_status, loss->why);
		return;
	}
	if (first && loss->error == -ECONNREFUSED)
		s->delay_ns = min_u64(s->delay_ns, SESSION_DELAY_REFUSED_NS);
	schedule(s, delay_next(s));
	tell_lost(s, loss);
}

static void give_up_held(struct ini_session *s)
{
	if (s->state == INI_SESSION_RECOVERING)
		s->state = INI_SESSION_FAILED;
	log_error("session", "%s: not back within the replacement time-out: I/O fails from now on",
		s->config.target_name);
	session_fail_waiting(s, -ETIMEDOUT);
}

static void connection_lost(struct ini_session *s, const struct ini_conn_loss *loss)
{
	uint64_t now = session_now(s);

	/* one that lived long is made again at once; one that did not, later and later */
	if (now - s->connected_since_ns >= SESSION_DELAY_LAST_NS)
		s->delay_ns = SESSION_DELAY_FIRST_NS;
	if (s->healed)
		s->lost_since_ns = now;
	s->healed = false;
	s->state = INI_SESSION_RECOVERING;
	s->portal = s->config.portal;
	schedule(s, delay_next(s));
	if (s->config.replacement_timeout_ns == 0)
		give_up_held(s);
	tell_lost(s, loss);
}

void session_lost(void *owner, const struct ini_conn_loss *loss)
{
	struct ini_session *s = owner;

	hold_tasks(s);
	session_tmf_drop(s);
	session_special_end(s, SESSION_PING);
	session_special_end(s, SESSION_LOGOUT);
	s->conn = NULL;
	if (s->state >= INI_SESSION_LOGGING_OUT)
		session_end(s, 0, 0, "");
	else if (s->state == INI_SESSION_LOGGED_IN)
		connection_lost(s, loss);
	else
		attempt_failed(s, loss);
}

void ini_session_recover(struct ini_session *s, const char *reason)
{
	if (s->conn)
		ini_conn_fail(s->conn, CONN_EVENT_DROP, -ECONNRESET, "%s", reason);
}

/* ---- time ---- */

void session_recovery_tick(struct ini_session *s, uint64_t now)
{
	bool held = s->state == INI_SESSION_RECOVERING ||
		    (s->state == INI_SESSION_LOGGED_IN && !s->healed && !list_empty(&s->waiting));

	if (held && now - s->lost_since_ns >= s->config.replacement_timeout_ns)
		give_up_held(s);
	if (!s->retry_ns || s->conn || s->state >= INI_SESSION_LOGGING_OUT)
		return;
	if (now >= s->retry_ns)
		session_connect(s);
	else
		session_wake(s, s->retry_ns - now);
}

/* Tasks that take too long, and task management (RFC 7143 sections 11.5 and 11.6, SAM-5 section 7):
 * ABORT TASK, then LOGICAL UNIT RESET, then a new connection. One function is under way at a time.
 * Called by session.c; ini_session_reset_lun() by iserd. */
#include "initiator/session_private.h"

#include <errno.h>

#include "common/base/log.h"

static int tmf_send(struct ini_session *s, const struct session_tmf *tmf, uint64_t timeout_ns)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_TMF_REQUEST,
		.immediate = true,
		.final = true,
		.lun = session_lun_wire(s, tmf->lun),
		.cmd_sn = s->window.cmd_sn,
		.tmf = {.function = tmf->function, .referenced_tag = ISCSI_TAG_NONE},
	};
	int r = session_special_begin(s, SESSION_TMF, timeout_ns);

	if (r < 0)
		return r;
	s->tmf = *tmf;
	pdu.itt = s->special[SESSION_TMF].itt;
	if (tmf->function == ISCSI_TMF_ABORT_TASK) {
		pdu.tmf.referenced_tag = tmf->task->itt;
		pdu.tmf.ref_cmd_sn = tmf->task->cmd_sn;
	}
	return ini_conn_send(s->conn, &pdu, NULL, NULL);
}

/* Off the wire without an answer, by a function of ours: again, unless it was to end, or may not be
 * repeated. `late`: it was its own time-out. */
static void task_end_unanswered(struct ini_session *s, struct ini_task *t, bool late)
{
	int error = t->error;

	session_task_retire(s, t);
	t->state = INI_TASK_QUEUED;
	if (late && error == 0)
		t->timeouts++;
	if (error == 0 && (!t->repeatable || t->timeouts > TASK_TIMEOUTS))
		error = t->repeatable || late ? -ETIMEDOUT : -EIO;
	if (error < 0)
		session_task_fail(s, t, error);
	else
		session_task_requeue(s, t);
}

static void tasks_end_of_lun(struct ini_session *s, uint16_t lun, const struct ini_task *late)
{
	struct ini_task *t, *next;

	list_for_each_safe(t, next, &s->on_wire, link)
		if (t->lun == lun)
			task_end_unanswered(s, t, t == late);
}

/* ABORT TASK is answered. "Task does not exist" is as good: it is not executed any more. */
static void abort_answered(struct ini_session *s, const struct session_tmf *tmf, int response)
{
	struct session_tmf reset = {
		.function = ISCSI_TMF_LUN_RESET, .lun = tmf->lun, .task = tmf->task};

	if (!tmf->task) /* its own answer was faster */
		return;
	if (response == ISCSI_TMF_COMPLETE || response == ISCSI_TMF_NO_TASK) {
		s->aborts++;
		task_end_unanswered(s, tmf->task, true);
		return;
	}
	log_warning("session", "%s: ABORT TASK did not work (%d), resetting LUN %u",
		s->config.target_name, response, tmf->lun);
	tmf_send(s, &reset, s->config.lu_reset_timeout_ns);
}

static void reset_answered(struct ini_session *s, const struct session_tmf *tmf, int response)
{
	if (response == ISCSI_TMF_COMPLETE) {
		s->resets++;
		tasks_end_of_lun(s, tmf->lun, tmf->task);
	} else if (!tmf->done) {
		ini_conn_fail(s->conn, CONN_EVENT_DROP, -ETIMEDOUT,
			"LUN %u does not answer, and its reset did not work (%d)", tmf->lun,
			response);
	}
	if (tmf->done)
		tmf->done(tmf->arg, response);
}

static struct ini_task *task_overdue(struct ini_session *s, uint64_t now)
{
	struct ini_task *t;

	list_for_each(t, &s->on_wire, link)
		if (t->state == INI_TASK_ON_WIRE && now >= t->due_ns)
			return t;
	return NULL;
}

void session_tmf_response(struct ini_session *s, int response)
{
	struct session_tmf tmf = s->tmf;

	session_special_end(s, SESSION_TMF);
	s->tmf = (struct session_tmf){0};
	if (tmf.function == ISCSI_TMF_ABORT_TASK)
		abort_answered(s, &tmf, response);
	else
		reset_answered(s, &tmf, response);
	if (task_overdue(s, session_now(s)))
		session_wake(s, 0); /* it waited for its turn */
	session_kick(s);	    /* what waited for the end of a reset */
}

void session_tmf_drop(struct ini_session *s)
{
	struct session_tmf tmf = s->tmf;

	session_special_end(s, SESSION_TMF);
	s->tmf = (struct session_tmf){0};
	if (tmf.done)
		tmf.done(tmf.arg, -ENOTCONN);
}

static void abort_overdue(struct ini_session *s, uint64_t now)
{
	struct ini_task *t = task_overdue(s, now);
	struct session_tmf abort = {.function = ISCSI_TMF_ABORT_TASK, .task = t};

	if (!t)
		return;
	abort.lun = t->lun;
	if (t->error == 0)
		log_warning("session",
			"%s: LUN %u did not answer command 0x%02x in time, aborting it",
			s->config.target_name, t->lun, t->cdb[0]);
	t->state = INI_TASK_ABORTING;
	tmf_send(s, &abort, s->config.abort_timeout_ns);
}

/* A target that has answered everything and yet takes nothing new will
 * not be waited for for ever. */
static void window_tick(struct ini_session *s, uint64_t now)
{
	bool shut = s->on_wire_count == 0 && !window_open(&s->window) &&
		    !(list_empty(&s->waiting) && list_empty(&s->urgent));

	if (!shut)
		s->shut_ns = 0;
	else if (!s->shut_ns)
		s->shut_ns = now;
	else if (now - s->shut_ns >= s->config.task_timeout_ns)
		ini_conn_fail(s->conn, CONN_EVENT_DROP, -ETIMEDOUT,
			"the target keeps its command window shut");
}

void session_tmf_tick(struct ini_session *s, uint64_t now)
{
	const struct session_request *request = &s->special[SESSION_TMF];

	if (!s->conn || !ini_conn_usable(s->conn))
		return;
	if (request->active && now >= request->due_ns)
		session_tmf_response(s, -ETIMEDOUT);
	if (!request->active && ini_conn_usable(s->conn))
		abort_overdue(s, now);
	window_tick(s, now);
}

int ini_session_reset_lun(
	struct ini_session *s, uint16_t lun, void (*done)(void *arg, int response), void *arg)
{
	struct session_tmf reset = {
		.function = ISCSI_TMF_LUN_RESET, .lun = lun, .done = done, .arg = arg};

	if (s->state != INI_SESSION_LOGGED_IN || !s->conn || !ini_conn_usable(s->conn))
		return -ENOTCONN;
	if (s->special[SESSION_TMF].active)
		return -EBUSY;
	/* a failure of the connection is told by `done`, through session_tmf_drop() */
	tmf_send(s, &reset, s->config.lu_reset_timeout_ns);
	return 0;
}

/* SCSI tasks of a session: queued, issued within the command window, answered, issued again (RFC
 * 7143 sections 4.2.2 and 11.3, 11.4; SAM-5 section 5.3). Called by session.c, recovery.c and
 * tmf.c, and by disk.c and scan.c through session.h. */
#include "initiator/session_private.h"

#include <errno.h>
#include <string.h>

#include "common/scsi/sense.h"

/* ---- completing ---- */

static void task_finish(struct ini_session *s, struct ini_task *t, int error)
{
	t->state = INI_TASK_IDLE;
	if (error < 0)
		s->tasks_failed++;
	else
		s->tasks_done++;
	t->done(t, error);
}

void session_complete_now(struct ini_session *s)
{
	struct list *node;

	while ((node = list_pop(&s->completing))) {
		struct ini_task *t = list_entry(node, struct ini_task, link);

		task_finish(s, t, t->error);
	}
}

void session_complete_call(struct loop_call *c)
{
	session_complete_now(container_of(c, struct ini_session, complete_call));
}

void session_task_retire(struct ini_session *s, struct ini_task *t)
{
	/* before anything else: from here on the peer cannot reach the buffers */
	dm_deallocate_task_resources(s->conn->dm, &t->dm);
	tags_remove(s->tags, t->itt);
	list_remove(&t->link);
	s->on_wire_count--;
	if (s->tmf.task == t)
		s->tmf.task = NULL;
}

static bool task_on_wire(const struct ini_task *t)
{
	return t->state == INI_TASK_ON_WIRE || t->state == INI_TASK_ABORTING;
}

void session_task_fail(struct ini_session *s, struct ini_task *t, int error)
{
	if (task_on_wire(t))
		session_task_retire(s, t);
	else
		list_remove(&t->link);
	t->state = INI_TASK_COMPLETING;
	t->error = error;
	list_append(&s->completing, &t->link);
	loop_defer(s->config.loop, &s->complete_call);
}

static void fail_list(struct ini_session *s, struct list *l, int error)
{
	while (!list_empty(l))
		session_task_fail(s, list_first(l, struct ini_task, link), error);
}

void session_fail_waiting(struct ini_session *s, int error)
{
	fail_list(s, &s->urgent, error);
	fail_list(s, &s->waiting, error);
	fail_list(s, &s->delayed, error);
}

static void fail_list_lun(struct ini_session *s, struct list *l, uint16_t lun, int error)
{
	struct ini_task *t, *next;

	list_for_each_safe(t, next, l, link)
		if (t->lun == lun)
			session_task_fail(s, t, error);
}

void ini_session_fail_lun(struct ini_session *s, uint16_t lun, int error)
{
	fail_list_lun(s, &s->urgent, lun, error);
	fail_list_lun(s, &s->waiting, lun, error);
	fail_list_lun(s, &s->delayed, lun, error);
}

/* ---- queueing ---- */

/* In the order of submission, which a task that is issued again keeps. */
static void insert_ordered(struct list *l, struct ini_task *t)
{
	struct list *at = l;

	while (at->prev != l && list_entry(at->prev, struct ini_task, link)->order > t->order)
		at = at->prev;
	list_insert_before(at, &t->link);
}

static void task_queue(struct ini_session *s, struct ini_task *t)
{
	t->state = s->state == INI_SESSION_LOGGED_IN ? INI_TASK_QUEUED : INI_TASK_HELD;
	insert_ordered(t->urgent ? &s->urgent : &s->waiting, t);
}

void session_task_requeue(struct ini_session *s, struct ini_task *t)
{
	s->tasks_repeated++;
	task_queue(s, t);
}

/* Why a task cannot even wait; 0 if it can. */
static int submit_error(const struct ini_session *s, const struct ini_task *t)
{
	if (t->read.length && t->write.length)
		return -EINVAL;
	if (s->state == INI_SESSION_FREE)
		return -ENOTCONN;
	if (s->state >= INI_SESSION_LOGGING_OUT)
		return -ESHUTDOWN;
	if (t->urgent && s->state != INI_SESSION_LOGGED_IN)
		return -ENOTCONN;
	return s->state == INI_SESSION_FAILED ? -ETIMEDOUT : 0;
}

void ini_session_submit(struct ini_session *s, struct ini_task *t)
{
	int error = submit_error(s, t);

	t->session = s;
	t->order = s->next_order++;
	t->attempts = 0;
	t->timeouts = 0;
	t->held_since_ns = 0;
	t->error = 0;
	list_init(&t->link);
	task_queue(s, t);
	if (error < 0)
		session_task_fail(s, t, error);
	else
		session_kick(s);
}

/* ---- issuing ---- */

static struct iscsi_pdu task_command(const struct ini_session *s, const struct ini_task *t)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_SCSI_COMMAND,
		.final = true, /* no unsolicited Data-Out follows, unless the mover clears it */
		.lun = session_lun_wire(s, t->lun),
		.itt = t->itt,
		.cmd_sn = s->window.cmd_sn,
		.command =
			{
				.read = t->read.length > 0,
				.write = t->write.length > 0,
				.attribute = t->attribute ? t->attribute : ISCSI_ATTR_SIMPLE,
				.expected_length =
					t->write.length ? t->write.length : t->read.length,
			},
	};

	memcpy(pdu.command.cdb, t->cdb, sizeof(pdu.command.cdb));
	return pdu;
}

/* The mover did not take it: the connection is failing, and the task is held for the next. */
static void task_take_back(struct ini_session *s, struct ini_task *t)
{
	session_task_retire(s, t); /* the mover may have got as far as knowing it */
	task_queue(s, t);
	if (t->urgent)
		session_task_fail(s, t, -ENOTCONN);
}

static int task_issue(struct ini_session *s, struct ini_task *t)
{
	struct iscsi_pdu pdu;
	int r = tags_add(s->tags, t, &t->itt);

	if (r < 0)
		return r;
	list_remove(&t->link);
	list_append(&s->on_wire, &t->link);
	s->on_wire_count++;
	t->state = INI_TASK_ON_WIRE;
	t->due_ns = session_now(s) + (t->timeout_ns ? t->timeout_ns : s->config.task_timeout_ns);
	t->dm = (struct dm_task){.owner = t, .itt = t->itt, .read = t->read, .write = t->write};
	pdu = task_command(s, t);
	t->cmd_sn = s->window.cmd_sn++;
	r = ini_conn_send(s->conn, &pdu, NULL, &t->dm);
	if (r < 0)
		task_take_back(s, t);
	return r;
}

/* The mover's limit too: it has room for so many responses (iSER). */
static bool has_slot(const struct ini_session *s)
{
	uint32_t most = s->conn->dm->tasks_max;

	return s->on_wire_count < s->config.cmds_max && (!most || s->on_wire_count < most);
}

static bool may_issue(const struct ini_session *s)
{
	return s->state == INI_SESSION_LOGGED_IN && s->conn && ini_conn_usable(s->conn) &&
	       s->conn->fsm.state == CONN_LOGGED_IN && window_open(&s->window) && has_slot(s);
}

/* A LUN that is being reset gets nothing new: the target need not count it among what it resets,
 * and it would run on beside its own repetition. */
static bool is_being_reset(const struct ini_session *s, uint16_t lun)
{
	return s->tmf.function == ISCSI_TMF_LUN_RESET && s->tmf.lun == lun;
}

static void kick_list(struct ini_session *s, struct list *l)
{
	struct ini_task *t, *next;

	list_for_each_safe(t, next, l, link) {
		if (!may_issue(s))
			return;
		if (!is_being_reset(s, t->lun) && task_issue(s, t) < 0)
			return;
	}
}

void session_kick(struct ini_session *s)
{
	kick_list(s, &s->urgent);
	if (!s->checks_pending)
		kick_list(s, &s->waiting);
}

/* ---- answers ---- */

struct ini_task *session_task_find(struct ini_session *s, uint32_t itt)
{
	void *object = tags_find(s->tags, itt);

	for (size_t i = 0; i < SESSION_SPECIALS; i++)
		if (object == &s->special[i])
			return NULL;
	return object;
}

/* Sense is behind its length (RFC 7143 section 11.4.7.1); a peer may say more than it sent. */
static void take_sense(struct ini_task *t, const struct iscsi_pdu *pdu, const uint8_t *data)
{
	struct bytes_reader r = bytes_reader(data, data ? pdu->data_length : 0);
	size_t length = bytes_read_be16(&r);

	t->sense_length = (uint8_t)min_size(min_size(length, r.left), INI_SENSE_MAX);
	if (t->sense_length)
		memcpy(t->sense, r.at, t->sense_length);
}

/* How much read data is there: what the residual leaves, and no more than the mover has seen. */
static uint32_t read_received(const struct ini_task *t)
{
	uint32_t missing = t->underflow ? min_u32(t->residual, t->read.length) : 0;

	return min_u32(t->read.length - missing, t->dm.received);
}

static void take_result(struct ini_task *t, const struct iscsi_pdu *pdu, const void *data)
{
	t->status = pdu->response.status;
	t->response = pdu->response.response;
	t->underflow = pdu->response.underflow;
	t->overflow = pdu->response.overflow;
	t->residual = pdu->response.residual;
	t->received = read_received(t);
	t->sense_length = 0;
	if (t->status == SCSI_CHECK_CONDITION && pdu->data_length)
		take_sense(t, pdu, data);
}

enum verdict {
	VERDICT_DONE,
	VERDICT_NOW,   /* issue it again */
	VERDICT_LATER, /* after a delay */
};

static enum verdict judge_sense(struct ini_session *s, const struct ini_task *t)
{
	struct scsi_sense sense;
	unsigned code;

	if (scsi_sense_parse(t->sense, t->sense_length, &sense) < 0)
		return VERDICT_DONE;
	code = (unsigned)(sense.asc << 8 | sense.ascq);
	if (sense.key == SENSE_UNIT_ATTENTION && (code == ASC_REPORTED_LUNS_DATA_HAS_CHANGED ||
							 code == ASC_CAPACITY_DATA_HAS_CHANGED))
		ini_session_luns_changed(s);
	if (!t->repeatable || t->attempts >= TASK_ATTEMPTS ||
		scsi_sense_to_errno(&sense) != -EAGAIN)
		return VERDICT_DONE;
	return sense.key == SENSE_UNIT_ATTENTION ? VERDICT_NOW : VERDICT_LATER;
}

static enum verdict judge(struct ini_session *s, const struct ini_task *t)
{
	if (t->response != ISCSI_RESPONSE_COMPLETED || t->error < 0)
		return VERDICT_DONE;
	if (t->status == SCSI_CHECK_CONDITION)
		return judge_sense(s, t);
	/* not begun by the target: any task may be issued again */
	if (t->status == SCSI_BUSY || t->status == SCSI_TASK_SET_FULL)
		return t->attempts < TASK_BUSY_ATTEMPTS ? VERDICT_LATER : VERDICT_DONE;
	if (t->status == SCSI_TASK_ABORTED && t->repeatable && t->attempts < TASK_ATTEMPTS)
		return VERDICT_LATER;
	return VERDICT_DONE;
}

static void task_delay(struct ini_session *s, struct ini_task *t)
{
	uint64_t delay = TASK_BUSY_DELAY_NS << min_u32(t->attempts - 1, 4);

	delay = min_u64(delay, TASK_BUSY_DELAY_LAST_NS);
	t->due_ns = session_now(s) + delay;
	t->state = INI_TASK_DELAYED;
	list_append(&s->delayed, &t->link);
	session_wake(s, delay);
}

void session_delayed_tick(struct ini_session *s, uint64_t now)
{
	struct ini_task *t, *next;
	uint64_t soonest = SESSION_TICK_NS;

	list_for_each_safe(t, next, &s->delayed, link) {
		if (t->due_ns > now) {
			soonest = min_u64(soonest, t->due_ns - now);
			continue;
		}
		list_remove(&t->link);
		session_task_requeue(s, t);
	}
	if (!list_empty(&s->delayed))
		session_wake(s, soonest);
	session_kick(s);
}

void session_response(struct ini_session *s, const struct iscsi_pdu *pdu, const void *data)
{
	struct ini_task *t = session_task_find(s, pdu->itt);
	enum verdict verdict;

	if (!t) {
		ini_conn_fail(s->conn, CONN_EVENT_DROP, -EPROTO,
			"a SCSI Response came for no command (ITT 0x%08x)", pdu->itt);
		return;
	}
	session_task_retire(s, t);
	take_result(t, pdu, data);
	verdict = judge(s, t);
	if (verdict == VERDICT_DONE) {
		task_finish(s, t, t->response == ISCSI_RESPONSE_COMPLETED ? 0 : -EIO);
		return;
	}
	t->attempts++;
	if (verdict == VERDICT_NOW)
		session_task_requeue(s, t);
	else
		task_delay(s, t);
}

void ini_session_abort(struct ini_session *s, struct ini_task *t)
{
	if (task_on_wire(t)) {
		t->error = -ECANCELED;
		t->due_ns = 0; /* tmf.c takes it up */
		session_wake(s, 0);
	} else if (t->state != INI_TASK_IDLE && t->state != INI_TASK_COMPLETING) {
		session_task_fail(s, t, -ECANCELED);
	}
}

void session_luns_call(struct loop_call *c)
{
	struct ini_session *s = container_of(c, struct ini_session, luns_call);

	if (s->events.luns_changed && s->state == INI_SESSION_LOGGED_IN)
		s->events.luns_changed(s->owner);
}

/* Deferred: many tasks may see the same, and it may be said inside a call to the session. */
void ini_session_luns_changed(struct ini_session *s)
{
	loop_defer(s->config.loop, &s->luns_call);
}

/* Sessions of the target in the full-feature phase (RFC 7143 sections 4.2.2 and 4.3): requests in
 * CmdSN order, responses, and the end of a session, which waits for its backends even when the
 * connection is long gone. Called by conn.c, command.c and tmf.c on the session's loop. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "target/command.h"
#include "target/session_state.h"

/* Immediate requests are outside the command window; so many may be under way beside it. */
#define IMMEDIATE_MAX 32

/* ---- what command.c and tmf.c ask ---- */

struct worker *tgt_session_worker(const struct tgt_session *s)
{
	return s->worker;
}

struct worker_mover *tgt_session_mover(const struct tgt_session *s)
{
	return s->mover;
}

struct tgt_target *tgt_session_target(const struct tgt_session *s)
{
	return s->target;
}

const char *tgt_session_initiator_port(const struct tgt_session *s)
{
	return s->port;
}

struct list *tgt_session_commands(struct tgt_session *s)
{
	return &s->commands;
}

/* ---- the window ---- */

/* MaxCmdSN moves by one for each command that ends. It never goes back, also when immediate
 * commands take places, and what was once promised is kept. */
void tgt_session_update_window(struct tgt_session *s)
{
	struct dm_sequence *q = s->conn ? &s->conn->sequence : NULL;
	uint32_t room = s->outstanding < s->depth ? s->depth - s->outstanding : 0;
	uint32_t max = s->window.exp_cmd_sn + room - 1;

	if (!q)
		return;
	if (s->closing || sn_before(max, q->max_cmd_sn))
		max = q->max_cmd_sn;
	q->exp_cmd_sn = s->window.exp_cmd_sn;
	q->max_cmd_sn = max;
	s->window.size = max - s->window.exp_cmd_sn + 1;
}

static void command_ended(struct tgt_session *s)
{
	s->outstanding--;
	tgt_session_update_window(s);
	if (s->closing || s->draining || !list_empty(&s->retired))
		tgt_session_settle(s);
}

/* ---- responses ---- */

/* Residual: what the CDB asks for against what the initiator expects (section 11.4.5). */
static void response_residual(struct iscsi_pdu *pdu, const struct command *cmd)
{
	uint64_t expected = cmd->expected_length, actual = cmd->transfer_length;
	uint64_t difference = actual > expected ? actual - expected : expected - actual;

	pdu->response.overflow = actual > expected;
	pdu->response.underflow = actual < expected;
	pdu->response.residual = (uint32_t)min_u64(difference, UINT32_MAX);
}

/* SenseLength and sense (section 11.4.7.2); the length of both. */
static uint32_t response_sense(const struct command *cmd, uint8_t out[2 + SENSE_FIXED_SIZE])
{
	if (cmd->status != SCSI_CHECK_CONDITION)
		return 0;
	put_be16(out, SENSE_FIXED_SIZE);
	scsi_sense_put_fixed(&cmd->sense, out + 2);
	return 2 + SENSE_FIXED_SIZE;
}

static void count_response(struct tgt_session *s, const struct command *cmd)
{
	uint64_t moved = min_u64(cmd->transfer_length, cmd->expected_length);

	s->counters.commands++;
	if (cmd->status == SCSI_CHECK_CONDITION)
		s->counters.errors++;
	else if (cmd->reads)
		s->counters.read_bytes += moved;
	else if (cmd->writes)
		s->counters.written_bytes += moved;
}

void tgt_session_respond(struct tgt_session *s, struct command *cmd)
{
	uint8_t sense[2 + SENSE_FIXED_SIZE];
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_SCSI_RESPONSE,
		.final = true,
		.itt = cmd->itt,
		.response = {.response = ISCSI_RESPONSE_COMPLETED, .status = cmd->status},
	};

	response_residual(&pdu, cmd);
	pdu.data_length = response_sense(cmd, sense);
	count_response(s, cmd);
	/* The window opens with this very response. */
	command_ended(s);
	if (s->conn)
		tgt_conn_send(s->conn, &pdu, pdu.data_length ? sense : NULL, cmd->task);
}

void tgt_session_command_aborted(struct tgt_session *s, struct command *cmd)
{
	if (!cmd->responded)
		s->outstanding--;
	tgt_session_update_window(s);
	tgt_session_settle(s);
}

void tgt_session_tmf_respond(struct tgt_session *s, uint32_t itt, uint8_t response)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_TMF_RESPONSE,
		.final = true,
		.itt = itt,
		.tmf_response = {.response = response},
	};

	s->tmfs--;
	if (s->conn)
		tgt_conn_send(s->conn, &pdu, NULL, NULL);
	tgt_session_settle(s);
}

void tgt_session_reject(struct tgt_session *s, const uint8_t *bhs, uint8_t reason)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_REJECT,
		.final = true,
		.itt = ISCSI_TAG_NONE,
		.data_length = ISCSI_BHS_SIZE,
		.reject = {.reason = reason},
	};

	log_info("session", "%s: %s rejected: %s", s->port, iscsi_opcode_name(bhs[0] & 0x3f),
		iscsi_reject_name(reason));
	tgt_conn_send(s->conn, &pdu, bhs, NULL);
}

/* ---- requests ---- */

static void give_task_back(struct tgt_session *s, const struct tgt_request *r)
{
	if (r->task && s->conn)
		dm_deallocate_task_resources(s->conn->dm, r->task);
}

static void refuse(struct tgt_session *s, const struct tgt_request *r, uint8_t reason)
{
	give_task_back(s, r);
	tgt_session_reject(s, r->bhs, reason);
}

static void receive_command(struct tgt_session *s, const struct tgt_request *r)
{
	if (s->draining) {
		/* The initiator issues it again when it has logged in anew. */
		give_task_back(s, r);
		return;
	}
	if (r->pdu->immediate && s->outstanding >= s->depth + IMMEDIATE_MAX) {
		refuse(s, r, ISCSI_REJECT_TOO_MANY_IMMEDIATE);
		return;
	}
	s->outstanding++;
	tgt_session_update_window(s);
	command_arrive(s, s->conn->dm, r->task, r->pdu, r->ahs, r->data);
}

static void receive_tmf(struct tgt_session *s, const struct tgt_request *r)
{
	if (s->tmfs >= IMMEDIATE_MAX) {
		tgt_session_reject(s, r->bhs, ISCSI_REJECT_TOO_MANY_IMMEDIATE);
		return;
	}
	s->tmfs++;
	tmf_start(s, r->pdu);
}

/* SNACK belongs to error recovery levels above 0 (section 11.16). */
static void receive_snack(struct tgt_session *s, const struct tgt_request *r)
{
	tgt_session_reject(s, r->bhs, ISCSI_REJECT_SNACK);
}

struct request_row {
	void (*receive)(struct tgt_session *s, const struct tgt_request *r);
	bool numbered;	/* carries a CmdSN that counts, unless it is immediate */
	bool discovery; /* also in a discovery session, which has no others (section 4.3) */
};

static const struct request_row rows[] = {
	[ISCSI_NOP_OUT] = {tgt_nop_receive, true, false},
	[ISCSI_SCSI_COMMAND] = {receive_command, true, false},
	[ISCSI_TMF_REQUEST] = {receive_tmf, true, false},
	[ISCSI_TEXT_REQUEST] = {tgt_text_receive, true, true},
	[ISCSI_LOGOUT_REQUEST] = {tgt_logout_receive, true, true},
	[ISCSI_SNACK_REQUEST] = {receive_snack, false, false},
};

static const struct request_row *row_of(const struct iscsi_pdu *pdu)
{
	if (pdu->opcode >= ARRAY_SIZE(rows) || !rows[pdu->opcode].receive)
		return NULL;
	return &rows[pdu->opcode];
}

static void dispatch(struct tgt_session *s, const struct tgt_request *r)
{
	const struct request_row *row = row_of(r->pdu);

	if (r->decode_error == -EOPNOTSUPP || !row)
		refuse(s, r, ISCSI_REJECT_NOT_SUPPORTED);
	else if (r->decode_error < 0)
		refuse(s, r, ISCSI_REJECT_INVALID_PDU_FIELD);
	else if (s->entry.discovery && !row->discovery)
		refuse(s, r, ISCSI_REJECT_PROTOCOL_ERROR);
	else
		row->receive(s, r);
}

static void dispatch_early(struct tgt_session *s)
{
	struct tgt_early *e;

	while (s->conn && !s->closing && (e = tgt_early_next(s))) {
		const struct tgt_request r = {&e->pdu, e->bhs, e->decode_error,
			e->pdu.ahs_words ? e->bytes : NULL, e->bytes + (size_t)e->pdu.ahs_words * 4,
			e->task};

		tgt_session_update_window(s);
		dispatch(s, &r);
		tgt_early_free(s, e);
	}
}

static void hold(struct tgt_session *s, const struct tgt_request *r)
{
	int err = tgt_early_hold(s, r);

	if (err < 0)
		give_task_back(s, r);
	if (err < 0 && err != -EEXIST)
		tgt_conn_fail(s->conn, CONN_EVENT_DROP, "CmdSN %u came before %u, and %s",
			r->pdu->cmd_sn, s->window.exp_cmd_sn,
			err == -ENOMEM ? "there is no memory for it" : "too much waits");
}

static bool is_numbered(const struct tgt_request *r)
{
	const struct request_row *row = row_of(r->pdu);

	return row && row->numbered && !r->pdu->immediate;
}

void tgt_session_receive(struct tgt_session *s, const struct tgt_request *r)
{
	enum window_verdict verdict = WINDOW_NOW;

	if (s->closing) {
		give_task_back(s, r);
		return;
	}
	s->conn->seen_request = true;
	if (r->pdu->opcode == ISCSI_LOGIN_REQUEST) {
		give_task_back(s, r);
		tgt_conn_fail(
			s->conn, CONN_EVENT_DROP, "a Login Request in the full-feature phase");
		return;
	}
	if (is_numbered(r))
		verdict = window_arrive(&s->window, r->pdu->cmd_sn);
	if (verdict == WINDOW_LATER) {
		hold(s, r);
	} else if (verdict == WINDOW_IGNORE) {
		log_debug("session", "%s: CmdSN %u is outside of the window", s->port,
			r->pdu->cmd_sn);
		give_task_back(s, r);
	} else {
		tgt_session_update_window(s);
		dispatch(s, r);
		dispatch_early(s);
	}
}

/* ---- the end ---- */

bool tgt_session_at_rest(const struct tgt_session *s)
{
	return list_empty(&s->commands) && !s->tmfs;
}

void tgt_session_abort_all(struct tgt_session *s)
{
	struct command *cmd, *next;

	s->closing = true;
	tgt_early_drop(s);
	list_for_each_safe(cmd, next, &s->commands, session_link)
		command_abort(cmd);
	tgt_session_settle(s);
}

void tgt_session_detach(struct tgt_session *s)
{
	tgt_session_abort_all(s);
	s->conn->session = NULL;
	s->conn = NULL;
}

static void add_counters(struct tgt_session_counters *sum, const struct tgt_session_counters *c)
{
	sum->commands += c->commands;
	sum->errors += c->errors;
	sum->read_bytes += c->read_bytes;
	sum->written_bytes += c->written_bytes;
}

static void session_free(struct tgt_session *s)
{
	struct worker *w = s->worker;

	add_counters(&w->counters, &s->counters);
	loop_call_cancel(&s->settle);
	tgt_text_reset(s);
	tgt_target_release(s->target);
	list_remove(&s->worker_link);
	alloc_free(s);
	worker_settle(w);
}

/* Its last request has come back: successors may go on. */
static void session_finish(struct tgt_session *s)
{
	s->finished = true;
	tgt_session_free_luns(s);
	if (registry_remove(&s->entry))
		session_free(s);
}

static void settle(struct loop_call *call)
{
	struct tgt_session *s = container_of(call, struct tgt_session, settle);

	if (s->finished)
		return;
	tgt_session_sweep_luns(s);
	if (!(s->closing || s->draining) || !tgt_session_at_rest(s))
		return;
	if (s->conn && !s->closing)
		tgt_conn_close(s->conn, CONN_EVENT_SESSION_CLOSED);
	else if (s->conn)
		tgt_logout_settle(s);
	else
		session_finish(s);
}

void tgt_session_settle(struct tgt_session *s)
{
	loop_defer(s->worker->loop, &s->settle);
}

static void deliver(struct registry_entry *e, const struct registry_mail *mail)
{
	struct tgt_session *s = container_of(e, struct tgt_session, entry);

	if (mail->last) {
		session_free(s);
		return;
	}
	if (mail->released)
		tgt_session_lower_fence(s, mail->released);
	if (mail->superseded && s->conn)
		tgt_conn_fail(s->conn, CONN_EVENT_SESSION_CLOSED,
			"the initiator has logged in anew: its old session ends");
	else if (mail->reset && s->conn)
		tgt_conn_close(s->conn, CONN_EVENT_SESSION_CLOSED);
}

void tgt_session_reset_target(struct tgt_session *s)
{
	log_warning("session", "%s: target cold reset: all sessions with %s end", s->port,
		s->entry.target_name);
	registry_reset_target(s->entry.registry, s->entry.target_name);
}

/* ---- the beginning ---- */

static void set_names(struct tgt_session *s, const struct login_identity *who)
{
	const uint8_t *b = who->isid.bytes;

	snprintf(s->initiator_name, sizeof(s->initiator_name), "%s", who->initiator_name);
	snprintf(s->initiator_alias, sizeof(s->initiator_alias), "%s",
		who->initiator_alias ? who->initiator_alias : "");
	snprintf(s->port, sizeof(s->port), "%s,i,0x%02x%02x%02x%02x%02x%02x", s->initiator_name,
		b[0], b[1], b[2], b[3], b[4], b[5]);
	s->entry.initiator_name = s->initiator_name;
	s->entry.target_name = s->target ? s->target->name : "";
	s->entry.isid = who->isid;
	s->entry.discovery = who->discovery;
	s->entry.loop = s->worker->loop;
	s->entry.deliver = deliver;
}

static struct tgt_session *session_alloc(struct tgt_conn *c)
{
	struct tgt_session *s = alloc_zeroed(sizeof(*s));

	if (!s)
		return NULL;
	s->worker = c->mover->worker;
	s->mover = c->mover;
	s->settle.call = settle;
	s->since_ns = tgt_conn_now(c);
	memcpy(s->peer, c->peer, sizeof(s->peer));
	list_init(&s->early);
	list_init(&s->commands);
	list_init(&s->retired);
	if (c->target)
		s->target = tgt_target_hold(c->target);
	list_append(&s->worker->sessions, &s->worker_link);
	return s;
}

/* libiscsi 1.19 has one buffer of 256 KiB for each command over iSER, and crashes on more; QEMU,
 * which is built on it, keeps to what the unit advises. It is known by leaving out the security
 * stage, as over iSER no other initiator does. */
static uint32_t advised_transfer(const struct tgt_conn *c, const struct login_identity *who)
{
	return c->dm->rdma && who->operational_first ? 256 << 10 : 0;
}

int tgt_session_new(struct tgt_conn *c, const struct login_identity *who,
	const struct registry_limits *limits, struct tgt_session **ret)
{
	struct tgt_session *s = session_alloc(c);
	int err = s ? 0 : -ENOMEM;

	if (s) {
		set_names(s, who);
		err = s->target ? tgt_session_load_luns(s) : 0;
	}
	if (err == 0)
		err = registry_add(&s->worker->targets->registry, &s->entry, who->tsih, limits);
	if (err < 0) {
		if (s) {
			tgt_session_free_luns(s);
			session_free(s);
		}
		return err;
	}
	s->advised_transfer = advised_transfer(c, who);
	s->predecessors = s->entry.predecessors;
	s->depth = c->sequence.max_cmd_sn - c->sequence.exp_cmd_sn + 1;
	s->window.exp_cmd_sn = c->sequence.exp_cmd_sn;
	s->conn = c;
	*ret = s;
	return 0;
}

void tgt_session_start(struct tgt_session *s, const struct iscsi_params *params)
{
	s->params = *params;
	tgt_session_update_window(s);
}

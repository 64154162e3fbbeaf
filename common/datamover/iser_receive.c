/* Sends of the peer: RFC 7145 sections 7.3 (Control-Type PDUs), 9.2-9.4 (headers), 10 (errors).
 * Every length that a peer says is checked against what was received here, in control_parse() and
 * nowhere else. Called by the provider through iser_receive.rdma.work.done. */
#include <errno.h>

#include "common/datamover/iser_internal.h"

struct received {
	struct iser_header header;
	struct iscsi_pdu pdu;
	int decode_error;
	const uint8_t *bhs, *ahs, *data;
};

/* libiscsi 1.19 declares immediate data and sends none: only the headers are there, and its write
 * address is the buffer's start. Nothing came, so nothing is taken as come. */
static void immediate_data_forgive(struct received *p, uint32_t after_headers)
{
	if (p->pdu.opcode == ISCSI_SCSI_COMMAND && after_headers == 0)
		p->pdu.data_length = 0;
}

/* Fills in *p from `length` bytes; NULL, or what is wrong. */
static const char *control_parse(const uint8_t *bytes, uint32_t length, struct received *p)
{
	uint32_t left, ahs;

	if (length < ISER_HEADERS_SIZE)
		return "a PDU shorter than its headers";
	p->bhs = bytes + ISER_HEADER_SIZE;
	p->decode_error = iscsi_pdu_decode(p->bhs, &p->pdu);
	left = length - ISER_HEADERS_SIZE;
	ahs = p->pdu.ahs_words * 4u;
	if (ahs > left)
		return "an AHS longer than the PDU";
	p->ahs = ahs ? bytes + ISER_HEADERS_SIZE : NULL;
	p->data = bytes + ISER_HEADERS_SIZE + ahs;
	left -= ahs;
	immediate_data_forgive(p, left);
	if (p->pdu.data_length > left)
		return "a data segment longer than the PDU";
	/* Padding may be there or not; ib_iser itself allows 4 bytes more. */
	if (left - p->pdu.data_length > 4)
		return "a PDU longer than its header says";
	return NULL;
}

/* The R and W bits decide the direction; the tags only say where. A bidirectional command's EDTL is
 * that of its write. */
static bool command_fill(struct iser_command *cmd, const struct received *p)
{
	const struct iscsi_pdu *pdu = &p->pdu;
	bool both = pdu->command.read && pdu->command.write;

	if (pdu->data_length &&
		(!pdu->command.write || pdu->data_length > pdu->command.expected_length))
		return false;
	cmd->header = p->header;
	cmd->expected_length = pdu->command.expected_length;
	cmd->task.itt = pdu->itt;
	cmd->task.immediate_length = pdu->data_length;
	cmd->task.can_get = pdu->command.write && p->header.write_valid;
	cmd->task.can_put = pdu->command.read && p->header.read_valid && !both;
	return true;
}

static void notify(struct iser_conn *c, const struct received *p, struct dm_task *task)
{
	c->base.up->control_notify(
		c->base.owner, &p->pdu, p->bhs, p->decode_error, p->ahs, p->data, task);
}

static void target_receive(
	struct iser_conn *c, const struct rdma_receive *r, const struct received *p)
{
	struct iser_command *cmd;

	if (r->invalidated) {
		iser_conn_fail(c, -EPROTO, "the initiator invalidated a tag of the target");
		return;
	}
	if (p->pdu.opcode == ISCSI_DATA_OUT) {
		iser_conn_fail(c, -EPROTO, "unsolicited Data-Out in spite of InitialR2T=Yes");
		return;
	}
	if (p->pdu.opcode != ISCSI_SCSI_COMMAND || p->decode_error ||
		c->phase != ISER_FULL_FEATURE) {
		notify(c, p, NULL);
		return;
	}
	cmd = iser_command_get(c);
	if (!cmd) {
		iser_conn_fail(c, -EPROTO, "more commands than the command window allows");
		return;
	}
	if (!command_fill(cmd, p)) {
		iser_command_put(cmd);
		iser_conn_fail(c, -EPROTO, "immediate data that the command does not expect");
		return;
	}
	notify(c, p, &cmd->task);
}

/* Send with Invalidate is right on a task's SCSI Response, with a tag of that task, if it was
 * allowed: anything else would have taken away memory that is in use (RFC 7145 section 7.3.2). */
static bool invalidation_is_right(
	const struct iser_conn *c, const struct rdma_receive *r, struct dm_task *task)
{
	return c->remote_invalidate && task && iser_task_invalidated(task, r->invalidated_stag);
}

static void initiator_receive(
	struct iser_conn *c, const struct rdma_receive *r, const struct received *p)
{
	struct dm_task *task = NULL;

	if (p->pdu.opcode == ISCSI_DATA_IN || p->pdu.opcode == ISCSI_R2T) {
		iser_conn_fail(c, -EPROTO, "a Data-In or R2T, which iSER does not have");
		return;
	}
	if (p->pdu.opcode == ISCSI_SCSI_RESPONSE)
		task = iser_task_find(c, p->pdu.itt);
	if (r->invalidated && !invalidation_is_right(c, r, task)) {
		iser_conn_fail(c, -EPROTO, "the target invalidated a tag that it must not");
		return;
	}
	if (task)
		task->received = task->read.length;
	notify(c, p, task);
}

/* RFC 7145 section 5.1.3. The reply is a message of its own, without a PDU. */
static void hello_answer(struct iser_conn *c, const uint8_t *bytes)
{
	struct iser_hello hello;
	struct iser_hello_reply reply;
	struct iser_send *s;

	if (c->initiator || iser_hello_decode(bytes, &hello) < 0) {
		iser_conn_fail(c, -EPROTO, "an iSER Hello that is out of place");
		return;
	}
	s = iser_send_get(c, ISER_HEADER_SIZE);
	if (!s) {
		iser_conn_fail(c, -ENOBUFS, "more iSER Hellos than are answered at a time");
		return;
	}
	reply = iser_hello_answer(&hello, ISER_READS);
	iser_hello_reply_encode(&reply, s->rdma.sge[0].data);
	s->rdma.invalidate = false;
	iser_send_queue(c, s, ISER_HEADER_SIZE);
}

static void message_receive(struct iser_conn *c, const struct rdma_receive *r)
{
	const uint8_t *bytes = r->sge.data;
	struct received p = {.decode_error = 0};
	const char *wrong = NULL;

	if (r->length < ISER_HEADER_SIZE || iser_header_decode(bytes, &p.header) < 0)
		wrong = "a message without an iSER header";
	else if (p.header.opcode == ISER_HELLO_REPLY)
		wrong = "an iSER HelloReply that nobody asked for";
	else if (p.header.opcode == ISER_CONTROL)
		wrong = control_parse(bytes, r->length, &p);
	if (wrong)
		iser_conn_fail(c, -EPROTO, wrong);
	else if (p.header.opcode == ISER_HELLO)
		hello_answer(c, bytes);
	else if (c->initiator)
		initiator_receive(c, r, &p);
	else
		target_receive(c, r, &p);
}

void iser_receive_done(struct rdma_work *w, int status)
{
	struct rdma_receive *rdma = container_of(w, struct rdma_receive, work);
	struct iser_conn *c = container_of(rdma, struct iser_receive, rdma)->conn;

	if (status < 0) {
		if (status != -ECANCELED)
			iser_conn_fail(c, status, "a PDU longer than was declared");
		return;
	}
	if (!iser_conn_carries(c))
		return;
	c->pdus_received++;
	message_receive(c, rdma);
	if (!iser_conn_carries(c))
		return;
	status = rdma_post_receive(c->rdma, rdma);
	if (status < 0 && status != -ENOTCONN)
		iser_conn_fail(c, status, "a receive could not be posted again");
}

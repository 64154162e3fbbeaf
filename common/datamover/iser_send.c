/* Send_Control: every PDU that leaves is one Send (RFC 7145 section 7.3), with the iSER header and,
 * at the initiator, the tags or the immediate data of its task. And the pump that posts what was
 * queued. */
#include <errno.h>
#include <string.h>

#include "common/datamover/iser_internal.h"

/* ---- buffers ---- */

struct iser_send *iser_send_get(struct iser_conn *c, size_t size)
{
	struct list *node = NULL;

	if (size <= ISER_SMALL_SEND)
		node = list_pop(&c->free_small);
	if (!node)
		node = list_pop(&c->free_large);
	return node ? list_entry(node, struct iser_send, link) : NULL;
}

void iser_send_put(struct iser_send *s)
{
	list_prepend(s->home, &s->link); /* the warmest is used next */
}

void iser_send_queue(struct iser_conn *c, struct iser_send *s, uint32_t length)
{
	s->rdma.sge[0].length = length;
	s->rdma.sge_count = 1;
	s->rdma.signalled = true;
	s->ticket = c->ticket++;
	list_append(&c->pending_sends, &s->link);
	c->pdus_sent++;
	iser_pump_schedule(c);
}

void iser_send_done(struct rdma_work *w, int status)
{
	struct iser_send *s =
		container_of(container_of(w, struct rdma_send, work), struct iser_send, rdma);
	struct iser_conn *c = s->conn;
	uint64_t ticket = s->ticket;

	c->credit++;
	iser_send_put(s);
	if (status == 0)
		iser_transfers_retire(c, ticket);
	else if (status != -ECANCELED)
		iser_conn_fail(c, status, "a Send failed");
	if (!list_empty(&c->pending_sends) || !list_empty(&c->pending_transfers))
		iser_pump_schedule(c);
}

/* ---- composing ---- */

/* The bytes of the PDU: iSER header, BHS, AHS, data. Not padded: every peer takes it so. */
static uint32_t pdu_compose(uint8_t *out, const struct iser_header *header,
	const struct iscsi_pdu *pdu, const void *ahs, const void *data)
{
	uint32_t length = ISER_HEADERS_SIZE;

	iser_header_encode(header, out);
	iscsi_pdu_encode(pdu, out + ISER_HEADER_SIZE);
	if (pdu->ahs_words)
		memcpy(out + length, ahs, pdu->ahs_words * 4u);
	length += pdu->ahs_words * 4u;
	if (pdu->data_length)
		memcpy(out + length, data, pdu->data_length);
	return length + pdu->data_length;
}

static size_t pdu_size(const struct iscsi_pdu *pdu)
{
	return ISER_HEADERS_SIZE + pdu->ahs_words * 4u + pdu->data_length;
}

/* A write goes whole with its command, or not at all. */
static uint32_t immediate_length(
	const struct iser_conn *c, const struct iscsi_pdu *pdu, const struct dm_task *task)
{
	uint32_t n = task->write.length;

	if (n > c->immediate_limit || n + pdu->ahs_words * 4u > ISER_DATA_MAX)
		return 0;
	return n;
}

static int command_send(
	struct iser_conn *c, const struct iscsi_pdu *pdu, const void *ahs, struct dm_task *task)
{
	struct iser_header header = {.opcode = ISER_CONTROL};
	struct iscsi_pdu copy = *pdu;
	struct iser_send *s;
	int r;

	copy.final = true; /* nothing unsolicited follows */
	copy.data_length = immediate_length(c, pdu, task);
	s = iser_send_get(c, pdu_size(&copy));
	if (!s && copy.data_length) { /* the target fetches it instead */
		copy.data_length = 0;
		s = iser_send_get(c, pdu_size(&copy));
	}
	if (!s)
		return -ENOBUFS;
	task->itt = pdu->itt;
	r = iser_task_advertise(c, task, copy.data_length, &header);
	if (r < 0) {
		iser_send_put(s);
		return r;
	}
	task->immediate_length = copy.data_length;
	s->rdma.invalidate = false;
	iser_send_queue(
		c, s, pdu_compose(s->rdma.sge[0].data, &header, &copy, ahs, task->write.data));
	return 0;
}

/* What a target may send in full-feature phase. Sense data begins with its own length (RFC 7143
 * section 11.4.7.2), which must stay true; a Text Response answers a peer that has posted room for
 * it. */
static void response_shorten(struct iscsi_pdu *pdu, uint8_t *data)
{
	if (pdu->opcode == ISCSI_TEXT_RESPONSE || pdu->data_length <= ISER_RESPONSE_DATA_MAX)
		return;
	pdu->data_length = ISER_RESPONSE_DATA_MAX;
	if (pdu->opcode == ISCSI_SCSI_RESPONSE && get_be16(data) > ISER_RESPONSE_DATA_MAX - 2)
		put_be16(data, ISER_RESPONSE_DATA_MAX - 2);
}

/* The tag that the Send of this response may take away: one, of this task,
 * that no read still uses. */
static void response_invalidate(
	const struct iser_conn *c, struct rdma_send *s, const struct iser_command *cmd)
{
	if (!c->remote_invalidate || cmd->reads)
		return;
	if (cmd->header.read_valid)
		s->invalidate_stag = cmd->header.read_stag;
	else if (cmd->header.write_valid)
		s->invalidate_stag = cmd->header.write_stag;
	s->invalidate = cmd->header.read_valid || cmd->header.write_valid;
}

static int pdu_send(struct iser_conn *c, const struct iscsi_pdu *pdu, const void *ahs,
	const void *data, struct dm_task *task)
{
	static const struct iser_header header = {.opcode = ISER_CONTROL};
	struct iscsi_pdu copy = *pdu;
	struct iser_send *s = iser_send_get(c, pdu_size(pdu));
	uint8_t *out;

	if (!s)
		return -ENOBUFS;
	out = s->rdma.sge[0].data;
	pdu_compose(out, &header, &copy, ahs, data);
	if (!c->initiator && c->phase == ISER_FULL_FEATURE) {
		response_shorten(&copy, out + ISER_HEADERS_SIZE + copy.ahs_words * 4u);
		iscsi_pdu_encode(&copy, out + ISER_HEADER_SIZE);
	}
	s->rdma.invalidate = false;
	if (!c->initiator && task && pdu->opcode == ISCSI_SCSI_RESPONSE) {
		iser_command_of(task)->responded = true;
		response_invalidate(c, &s->rdma, iser_command_of(task));
	}
	iser_send_queue(c, s, (uint32_t)pdu_size(&copy));
	return 0;
}

int iser_send_control(struct dm_conn *base, const struct iscsi_pdu *pdu, const void *ahs,
	const void *data, struct dm_task *task)
{
	struct iser_conn *c = iser_conn_of(base);
	int r;

	if (!iser_conn_carries(c))
		return -ENOTCONN;
	if (pdu->data_length > ISER_DATA_MAX)
		return -EMSGSIZE;
	if (c->initiator && task && pdu->opcode == ISCSI_SCSI_COMMAND)
		r = command_send(c, pdu, ahs, task);
	else
		r = pdu_send(c, pdu, ahs, data, task);
	if (r == -ENOBUFS)
		iser_conn_fail(c, r, "the peer has stopped taking what is queued");
	return r;
}

/* ---- posting ---- */

void iser_pump_schedule(struct iser_conn *c)
{
	loop_defer_flush(c->mover->loop, &c->pump);
}

/* Posts whichever was queued first; false when nothing is left. */
static bool pump_one(struct iser_conn *c, int *ret_error)
{
	struct iser_send *s = list_first(&c->pending_sends, struct iser_send, link);
	struct dm_transfer *t = list_first(&c->pending_transfers, struct dm_transfer, link);
	bool sends = !list_empty(&c->pending_sends);
	bool transfers = !list_empty(&c->pending_transfers);

	if (!sends && !transfers)
		return false;
	if (transfers && (!sends || iser_transfer_ticket(t) < s->ticket)) {
		/* The last of a batch tells of those before it. */
		*ret_error = iser_transfer_post(c, !sends || c->credit == 1);
	} else {
		list_remove(&s->link);
		*ret_error = rdma_post_send(c->rdma, &s->rdma);
		if (*ret_error < 0)
			iser_send_put(s);
	}
	if (*ret_error == 0)
		c->credit--;
	return true;
}

void iser_pump(struct loop_call *call)
{
	struct iser_conn *c = container_of(call, struct iser_conn, pump);
	int error = 0;

	if (c->phase == ISER_ENDING)
		return;
	while (error == 0 && c->credit && pump_one(c, &error))
		;
	if (error < 0 && error != -ENOTCONN) {
		iser_conn_fail(c, error, "a request could not be posted");
		return;
	}
	rdma_flush(c->rdma);
	if (c->phase == ISER_DRAINING && !c->disconnected && list_empty(&c->pending_sends) &&
		list_empty(&c->pending_transfers)) {
		c->disconnected = true;
		rdma_disconnect(c->rdma, true);
	}
}

/* Put_Data: Data-In PDUs (RFC 7143 section 11.7), cut to the initiator's MaxRecvDataSegmentLength
 * and to MaxBurstLength, and the status that travels in the last of them. Called through the table
 * of tcp.c and by tcp_tx.c. */
#include <errno.h>

#include "common/datamover/tcp_internal.h"

/* The Data-Ins that `length` bytes make. */
static uint32_t put_count(const struct tcp_conn *c, uint32_t length)
{
	uint32_t burst = c->params.max_burst_length, send = c->max_send;
	uint32_t per_burst = burst / send + (burst % send != 0);
	uint32_t rest = length % burst;

	return length / burst * per_burst + rest / send + (rest % send != 0);
}

static void status_put(const struct tcp_item *item, struct iscsi_pdu *pdu)
{
	pdu->stat_sn = item->put.stat_sn;
	pdu->data_in.has_status = true;
	pdu->data_in.overflow = item->put.overflow;
	pdu->data_in.underflow = item->put.underflow;
	pdu->data_in.residual = item->put.residual;
}

static bool put_next(struct tcp_conn *c, struct tcp_item *item, struct iscsi_pdu *pdu,
	const void **ret_ahs, const void **ret_data, uint32_t *ret_length)
{
	struct tcp_task *task = tcp_task_of(item->task);
	uint32_t left = item->length - item->progress;
	uint32_t burst_left =
		c->params.max_burst_length - item->progress % c->params.max_burst_length;
	uint32_t n = min_u32(min_u32(left, burst_left), c->max_send);
	bool last = n == left;

	(void)ret_ahs;
	pdu->opcode = ISCSI_DATA_IN;
	pdu->final = last || n == burst_left;
	pdu->itt = item->task->itt;
	pdu->exp_cmd_sn = c->dm.sequence->exp_cmd_sn;
	pdu->max_cmd_sn = c->dm.sequence->max_cmd_sn;
	pdu->data_in.ttt = ISCSI_TAG_NONE;
	pdu->data_in.data_sn = item->data_sn++;
	pdu->data_in.offset = item->offset + item->progress;
	if (last && item->put.has_status)
		status_put(item, pdu);
	if (last && task->last_put == item)
		task->last_put = NULL;
	*ret_data = (const uint8_t *)item->put.transfer->data + item->progress;
	*ret_length = n;
	item->progress += n;
	return last;
}

static void put_over(struct tcp_conn *c, struct tcp_item *item)
{
	struct tcp_task *task = tcp_task_of(item->task);
	int status = c->error ? c->error : -ECONNRESET;

	if (task->last_put == item)
		task->last_put = NULL;
	if (c->phase != TCP_DEAD)
		status = item->cancelled ? -ECANCELED : 0;
	tcp_transfer_finish(c, item->put.transfer, status);
}

const struct tcp_item_ops tcp_put_ops = {put_next, put_over};

int tcp_put_data(struct dm_conn *dm, struct dm_task *task, struct dm_transfer *t)
{
	struct tcp_conn *c = tcp_conn_of(dm);
	struct tcp_task *owner = tcp_task_of(task);
	struct tcp_item *item;

	if (!tcp_conn_open(c))
		return -ENOTCONN;
	item = tcp_item_new(c, TCP_ITEM_PUT);
	if (!item)
		return -ENOMEM;
	item->task = task;
	item->offset = t->offset;
	item->length = t->length;
	item->data_sn = owner->next_sn;
	item->put.transfer = t;
	owner->next_sn += put_count(c, t->length);
	owner->last_put = item;
	t->task = task;
	*tcp_transfer_of(t) = (struct tcp_transfer){.item = item};
	list_append(&owner->transfers, &t->link);
	tcp_item_queue(c, item);
	return 0;
}

bool tcp_put_collapse(struct tcp_conn *c, struct tcp_task *task, const struct iscsi_pdu *pdu)
{
	struct tcp_item *item = task->last_put;

	if (!item || item->put.has_status || item->sequence < c->status_sequence)
		return false;
	if (pdu->opcode != ISCSI_SCSI_RESPONSE || pdu->data_length || pdu->response.response ||
		pdu->response.status)
		return false;
	if (pdu->response.bidi_overflow || pdu->response.bidi_underflow)
		return false;
	task->responded = true;
	item->put.has_status = true;
	item->put.overflow = pdu->response.overflow;
	item->put.underflow = pdu->response.underflow;
	item->put.residual = pdu->response.residual;
	item->put.stat_sn = pdu->stat_sn;
	c->status_sequence = item->sequence;
	return true;
}

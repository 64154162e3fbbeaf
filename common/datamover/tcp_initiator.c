/* Tasks of the initiator: immediate data, Data-In, R2T and responses in, Data-Out out (RFC 7143
 * sections 11.3, 11.4, 11.7, 11.8). Everything that the target says of a task's memory is checked
 * against what the task has; a target that breaks the rules loses the connection, since at error
 * recovery level 0 there is no other way to get the data. */
#include <errno.h>

#include "common/base/alloc.h"
#include "common/datamover/tcp_internal.h"

int tcp_initiator_init(struct tcp_conn *c)
{
	c->buckets = alloc_array(TCP_BUCKETS, sizeof(*c->buckets));
	if (!c->buckets)
		return -ENOMEM;
	for (size_t i = 0; i < TCP_BUCKETS; i++)
		list_init(&c->buckets[i]);
	return 0;
}

/* Tags that count up, in their low or in their high bits, spread alike (Fibonacci hashing). */
static struct list *bucket_of(const struct tcp_conn *c, uint32_t itt)
{
	return &c->buckets[itt * 0x9e3779b1u >> 24];
}
_Static_assert(TCP_BUCKETS == 1 << 8, "the hash keeps the upper 8 bits");

static struct dm_task *task_find(const struct tcp_conn *c, uint32_t itt)
{
	struct list *bucket = bucket_of(c, itt), *link;

	for (link = bucket->next; link != bucket; link = link->next) {
		struct tcp_initiator_task *own =
			container_of(link, struct tcp_initiator_task, link);
		struct dm_task *task = container_of((void *)own, struct dm_task, mover_private);

		if (task->itt == itt)
			return task;
	}
	return NULL;
}

static void task_forget(struct tcp_initiator_task *own)
{
	if (own->known)
		list_remove(&own->link);
	own->known = false;
}

void tcp_initiator_forget(struct tcp_conn *c)
{
	struct list *link;

	for (size_t i = 0; i < TCP_BUCKETS; i++)
		while ((link = list_pop(&c->buckets[i])) != NULL)
			container_of(link, struct tcp_initiator_task, link)->known = false;
}

void tcp_initiator_command(struct tcp_conn *c, struct dm_task *task, struct tcp_item *item)
{
	struct tcp_initiator_task *own = tcp_initiator_task_of(task);
	uint32_t limit = min_u32(c->mover->config.immediate_limit,
		min_u32(c->params.first_burst_length, c->max_send));
	bool immediate = c->params.immediate_data && task->write.length &&
			 task->write.length <= limit && !item->length;

	*own = (struct tcp_initiator_task){.known = true};
	task->itt = item->control.pdu.itt;
	task->received = 0;
	task->immediate_length = immediate ? task->write.length : 0;
	list_append(bucket_of(c, task->itt), &own->link);
	/* No unsolicited Data-Out follows, whatever InitialR2T allows: the target asks for the
	 * data, and it is received in place. */
	item->control.pdu.final = true;
	if (!immediate)
		return;
	item->task = task;
	item->length = task->write.length;
	item->control.data = task->write.data;
	own->items++;
}

static bool burst_next(struct tcp_conn *c, struct tcp_item *item, struct iscsi_pdu *pdu,
	const void **ret_ahs, const void **ret_data, uint32_t *ret_length)
{
	uint32_t left = item->length - item->progress;
	uint32_t n = min_u32(left, c->max_send);

	(void)ret_ahs;
	pdu->opcode = ISCSI_DATA_OUT;
	pdu->final = n == left;
	pdu->lun = item->burst.lun;
	pdu->itt = item->burst.itt;
	pdu->exp_stat_sn = c->dm.sequence->exp_stat_sn;
	pdu->data_out.ttt = item->burst.ttt;
	pdu->data_out.data_sn = item->data_sn++;
	pdu->data_out.offset = item->offset + item->progress;
	*ret_data = (const uint8_t *)item->task->write.data + item->offset + item->progress;
	*ret_length = n;
	item->progress += n;
	if (pdu->final)
		tcp_initiator_task_of(item->task)->r2ts--;
	return pdu->final;
}

static void burst_over(struct tcp_conn *c, struct tcp_item *item)
{
	(void)c;
	if (item->task)
		tcp_initiator_task_of(item->task)->items--;
}

const struct tcp_item_ops tcp_burst_ops = {burst_next, burst_over};

static const char *r2t_fault(
	const struct tcp_conn *c, const struct iscsi_pdu *pdu, const struct dm_task *task)
{
	const struct tcp_initiator_task *own;

	if (!task)
		return "R2T for an unknown task";
	own = (const void *)task->mover_private;
	if (pdu->r2t.offset > task->write.length ||
		pdu->r2t.length > task->write.length - pdu->r2t.offset)
		return "R2T beyond the task's data";
	if (pdu->r2t.length > c->params.max_burst_length)
		return "R2T longer than MaxBurstLength";
	if (pdu->r2t.r2t_sn != own->next_sn)
		return "R2T with a wrong R2TSN";
	if (own->r2ts >= c->params.max_outstanding_r2t)
		return "more R2Ts than MaxOutstandingR2T";
	return NULL;
}

void tcp_initiator_r2t(struct tcp_conn *c)
{
	const struct iscsi_pdu *pdu = &c->rx.pdu;
	struct dm_task *task = c->rx.decode_error ? NULL : task_find(c, pdu->itt);
	const char *fault = r2t_fault(c, pdu, task);
	struct tcp_item *item;

	if (fault) {
		tcp_conn_fail(c, -EPROTO, fault);
		return;
	}
	item = tcp_item_new(c, TCP_ITEM_BURST);
	if (!item) {
		tcp_conn_fail(c, -ENOMEM, "no memory to answer an R2T");
		return;
	}
	item->task = task;
	item->offset = pdu->r2t.offset;
	item->length = pdu->r2t.length;
	item->burst.ttt = pdu->r2t.ttt;
	item->burst.itt = pdu->itt;
	item->burst.lun = pdu->lun;
	tcp_initiator_task_of(task)->next_sn++;
	tcp_initiator_task_of(task)->r2ts++;
	tcp_initiator_task_of(task)->items++;
	tcp_item_queue(c, item);
}

static const char *data_in_fault(
	const struct tcp_conn *c, const struct iscsi_pdu *pdu, const struct dm_task *task)
{
	const struct tcp_initiator_task *own;

	if (c->rx.decode_error)
		return "Data-In with an invalid field";
	if (!task)
		return "Data-In for an unknown task";
	own = (const void *)task->mover_private;
	if (pdu->data_in.offset > task->read.length ||
		pdu->data_length > task->read.length - pdu->data_in.offset)
		return "Data-In beyond the task's data";
	if (pdu->data_in.data_sn != own->next_sn)
		return "Data-In with a wrong DataSN";
	if (pdu->data_length && pdu->data_in.offset != task->received)
		return "Data-In out of order";
	return NULL;
}

void tcp_data_in_header(struct tcp_conn *c)
{
	struct dm_task *task = task_find(c, c->rx.pdu.itt);
	const char *fault = data_in_fault(c, &c->rx.pdu, task);

	c->rx_task = NULL;
	if (fault) {
		tcp_conn_fail(c, -EPROTO, fault);
		return;
	}
	c->rx_task = task;
	if (c->rx.pdu.data_length)
		iscsi_rx_place(&c->rx, (uint8_t *)task->read.data + c->rx.pdu.data_in.offset);
}

/* The status of a Data-In, as the SCSI Response that it stands for (section 11.7.3). */
static void data_in_status(struct tcp_conn *c, struct dm_task *task)
{
	const struct iscsi_pdu *in = &c->rx.pdu;
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_SCSI_RESPONSE,
		.final = true,
		.itt = in->itt,
		.stat_sn = in->stat_sn,
		.exp_cmd_sn = in->exp_cmd_sn,
		.max_cmd_sn = in->max_cmd_sn,
	};

	pdu.response.status = in->data_in.status;
	pdu.response.overflow = in->data_in.overflow;
	pdu.response.underflow = in->data_in.underflow;
	pdu.response.residual = in->data_in.residual;
	pdu.response.exp_data_sn = in->data_in.data_sn + 1;
	c->dm.up->control_notify(c->dm.owner, &pdu, c->rx.header, 0, NULL, NULL, task);
}

void tcp_data_in_done(struct tcp_conn *c)
{
	struct dm_task *task = c->rx_task;

	c->rx_task = NULL;
	if (!task)
		return;
	task->received += c->rx.pdu.data_length;
	tcp_initiator_task_of(task)->next_sn++;
	if (c->rx.pdu.data_in.has_status)
		data_in_status(c, task);
}

void tcp_initiator_response(struct tcp_conn *c)
{
	struct dm_task *task = task_find(c, c->rx.pdu.itt);

	if (!task)
		tcp_conn_fail(c, -EPROTO, "SCSI Response for an unknown task");
	else
		tcp_rx_notify(c, &c->rx.pdu, c->rx.decode_error, task);
}

/* Commands keep their place in the CmdSN order, with a copy of the data; Data-Outs that no one
 * waits for any more are not sent, but the one that is half sent. */
static int item_disown(struct tcp_conn *c, struct tcp_item *item)
{
	int error = tcp_item_detach(c, item);

	if (error)
		return error;
	tcp_initiator_task_of(item->task)->items--;
	item->task = NULL;
	if (item->kind == TCP_ITEM_BURST)
		tcp_item_cancel(c, item);
	return 0;
}

/* The next item that refers to `task`, queued or in the stream. */
static struct tcp_item *item_of(const struct tcp_conn *c, const struct dm_task *task)
{
	const struct iscsi_tx_pdu *tx;
	struct tcp_item *item;

	list_for_each(item, &c->out, link)
		if (item->task == task)
			return item;
	list_for_each(tx, &c->tx.queue, link) {
		item = container_of(tx, struct tcp_pdu, tx)->item;
		if (item->task == task)
			return item;
	}
	return NULL;
}

void tcp_initiator_deallocate(struct tcp_conn *c, struct dm_task *task)
{
	struct tcp_initiator_task *own = tcp_initiator_task_of(task);

	if (!own->known)
		return;
	task_forget(own);
	if (c->rx_task == task) {
		c->rx_task = NULL;
		iscsi_rx_place(&c->rx, NULL);
	}
	while (own->items) {
		struct tcp_item *item = item_of(c, task);

		if (item && !item_disown(c, item))
			continue;
		/* No memory for the copy: nothing is sent any more, so nothing is read. */
		tcp_conn_fail(c, -ENOMEM, "no memory for the rest of a write");
		tcp_tx_drop(c);
		return;
	}
}

/* Get_Data: R2T out (RFC 7143 section 11.8) and Data-Out in (section 11.7), straight into the
 * transfer's memory. Every Data-Out is checked against the R2T that asked for it; one that breaks
 * the order fails its task, never the connection. One that nobody asked for (a stale or unknown
 * Target Transfer Tag, or unsolicited data, which InitialR2T=Yes forbids)
 * is read and thrown away. */
#include <errno.h>

#include "common/datamover/tcp_internal.h"

static bool r2t_next(struct tcp_conn *c, struct tcp_item *item, struct iscsi_pdu *pdu,
	const void **ret_ahs, const void **ret_data, uint32_t *ret_length)
{
	const struct tcp_r2t *r = item->r2t;

	(void)ret_ahs, (void)ret_data, (void)ret_length;
	pdu->opcode = ISCSI_R2T;
	pdu->final = true;
	pdu->lun = r->task->lun;
	pdu->itt = r->task->dm.itt;
	pdu->stat_sn = c->dm.sequence->stat_sn;
	pdu->exp_cmd_sn = c->dm.sequence->exp_cmd_sn;
	pdu->max_cmd_sn = c->dm.sequence->max_cmd_sn;
	pdu->r2t.ttt = r->ttt;
	pdu->r2t.r2t_sn = r->r2t_sn;
	pdu->r2t.offset = r->offset;
	pdu->r2t.length = r->length;
	return true;
}

static void r2t_over(struct tcp_conn *c, struct tcp_item *item)
{
	(void)c;
	if (item->r2t)
		item->r2t->item = NULL;
}

const struct tcp_item_ops tcp_r2t_ops = {r2t_next, r2t_over};

static void r2t_free(struct tcp_conn *c, struct tcp_r2t *r)
{
	tags_remove(c->tags, r->ttt);
	list_remove(&r->link);
	r->task->r2t_count--;
	if (c->rx_r2t == r) {
		c->rx_r2t = NULL;
		iscsi_rx_place(&c->rx, NULL);
	}
	tcp_slab_put(&c->mover->r2ts, r);
}

void tcp_get_cancel(struct tcp_conn *c, struct tcp_r2t *r)
{
	struct tcp_item *item = r->item;

	if (item) {
		item->r2t = NULL;
		tcp_item_cancel(c, item);
	}
	r2t_free(c, r);
}

/* Asks for the next burst of `t`. */
static int r2t_send(struct tcp_conn *c, struct tcp_task *task, struct dm_transfer *t)
{
	struct tcp_transfer *own = tcp_transfer_of(t);
	struct tcp_r2t *r = tcp_slab_get(&c->mover->r2ts);
	struct tcp_item *item = tcp_item_new(c, TCP_ITEM_R2T);

	if (r)
		*r = (struct tcp_r2t){.task = task, .transfer = t, .item = item};
	if (!r || !item || tags_add(c->tags, r, &r->ttt)) {
		if (item)
			tcp_slab_put(&c->mover->items, item);
		if (r)
			tcp_slab_put(&c->mover->r2ts, r);
		return -ENOMEM;
	}
	r->r2t_sn = task->next_sn++;
	r->offset = t->offset + own->requested;
	r->length = min_u32(t->length - own->requested, c->params.max_burst_length);
	own->requested += r->length;
	item->r2t = r;
	list_append(&task->r2ts, &r->link);
	task->r2t_count++;
	tcp_item_queue(c, item);
	return 0;
}

/* Sends as many R2Ts as may be outstanding, in the order of the transfers. */
static int get_advance(struct tcp_conn *c, struct tcp_task *task)
{
	uint32_t most = min_u32(c->params.max_outstanding_r2t, TCP_R2TS_PER_TASK);
	struct dm_transfer *t;

	list_for_each(t, &task->transfers, link) {
		const struct tcp_transfer *own = tcp_transfer_of(t);

		while (own->get && own->requested < t->length && task->r2t_count < most)
			if (r2t_send(c, task, t))
				return -ENOMEM;
	}
	return 0;
}

static void get_withdraw(struct tcp_conn *c, struct tcp_task *task, struct dm_transfer *t)
{
	struct tcp_r2t *r, *next;

	list_for_each_safe(r, next, &task->r2ts, link)
		if (r->transfer == t)
			tcp_get_cancel(c, r);
	list_remove(&t->link);
}

int tcp_get_data(struct dm_conn *dm, struct dm_task *task, struct dm_transfer *t)
{
	struct tcp_conn *c = tcp_conn_of(dm);
	struct tcp_task *owner = tcp_task_of(task);

	if (!tcp_conn_open(c))
		return -ENOTCONN;
	t->task = task;
	t->progress = 0;
	*tcp_transfer_of(t) = (struct tcp_transfer){.get = true};
	list_append(&owner->transfers, &t->link);
	if (get_advance(c, owner)) {
		get_withdraw(c, owner, t);
		return -ENOMEM;
	}
	return 0;
}

static const char *data_out_fault(const struct tcp_r2t *r, const struct iscsi_pdu *pdu)
{
	uint32_t left = r->length - r->received;

	if (pdu->data_out.data_sn != r->data_sn)
		return "Data-Out with a wrong DataSN";
	if (pdu->data_out.offset != r->offset + r->received)
		return "Data-Out with a wrong Buffer Offset";
	if (pdu->data_length > left)
		return "Data-Out beyond its R2T";
	if (pdu->final != (pdu->data_length == left))
		return "Data-Out with a wrong F bit";
	return NULL;
}

void tcp_data_out_header(struct tcp_conn *c)
{
	const struct iscsi_pdu *pdu = &c->rx.pdu;
	struct tcp_r2t *r = c->tags ? tags_find(c->tags, pdu->data_out.ttt) : NULL;
	const char *fault;

	/* A tag with another task's ITT, or whose R2T has not left whole, is as unknown as one that
	 * was never given. */
	if (!r || r->item || r->task->dm.itt != pdu->itt || c->rx.decode_error)
		return;
	fault = data_out_fault(r, pdu);
	if (fault) {
		tcp_target_fail_task(c, r->task, fault);
		return;
	}
	c->rx_r2t = r;
	iscsi_rx_place(&c->rx,
		(uint8_t *)r->transfer->data + (r->offset - r->transfer->offset) + r->received);
}

void tcp_data_out_done(struct tcp_conn *c)
{
	struct tcp_r2t *r = c->rx_r2t;
	struct tcp_task *task;
	struct dm_transfer *t;

	/* Without tags the connection is still in its login, and the machine above refuses. */
	if (!c->tags)
		c->dm.up->control_notify(
			c->dm.owner, &c->rx.pdu, c->rx.header, -EPROTO, NULL, NULL, NULL);
	if (!r)
		return;
	c->rx_r2t = NULL;
	task = r->task;
	t = r->transfer;
	if (c->rx.data_digest_bad) {
		tcp_target_fail_task(c, task, "Data-Out with a bad data digest");
		return;
	}
	r->data_sn++;
	r->received += c->rx.pdu.data_length;
	t->progress += c->rx.pdu.data_length;
	if (r->received < r->length)
		return;
	tcp_get_cancel(c, r);
	if (t->progress == t->length)
		tcp_transfer_finish(c, t, 0);
	if (get_advance(c, task))
		tcp_conn_fail(c, -ENOMEM, "no memory for an R2T");
}

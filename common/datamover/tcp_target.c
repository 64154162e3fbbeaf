/* Tasks of the target: a SCSI Command comes in and becomes a record that its transfers hang on,
 * until Deallocate_Task_Resources (RFC 5047 section 7.1.9). Called by tcp_rx.c and through the
 * table of tcp.c. */
#include <errno.h>

#include "common/datamover/tcp_internal.h"

/* Immediate data that was not negotiated, or is more than was (RFC 7143 sections 13.11 and 13.14),
 * or more than the command wants to write. */
static bool immediate_fault(const struct tcp_conn *c, const struct iscsi_pdu *pdu)
{
	if (!pdu->data_length)
		return false;
	return !pdu->command.write || !c->params.immediate_data ||
	       pdu->data_length > c->params.first_burst_length ||
	       pdu->data_length > pdu->command.expected_length;
}

static struct tcp_task *task_new(struct tcp_conn *c, const struct iscsi_pdu *pdu)
{
	struct tcp_task *t = tcp_slab_get(&c->mover->tasks);

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->dm.itt = pdu->itt;
	t->dm.immediate_length = pdu->data_length;
	t->dm.can_get = pdu->command.write;
	t->dm.can_put = pdu->command.read;
	t->lun = pdu->lun;
	list_init(&t->failed_link);
	list_init(&t->transfers);
	list_init(&t->r2ts);
	list_append(&c->tasks, &t->link);
	c->task_count++;
	return t;
}

void tcp_target_command(struct tcp_conn *c)
{
	const struct iscsi_pdu *pdu = &c->rx.pdu;
	struct tcp_task *t;
	int error = c->rx.decode_error;

	if (!error && immediate_fault(c, pdu))
		error = -EPROTO;
	/* Without tags the connection is still in its login, and the machine above refuses. */
	if (error || !c->tags) {
		tcp_rx_notify(c, pdu, error ? error : -EPROTO, NULL);
		return;
	}
	t = c->task_count < TCP_TASKS_MAX ? task_new(c, pdu) : NULL;
	if (!t) {
		tcp_conn_fail(c, -ENOBUFS, "more commands than the window allows");
		return;
	}
	tcp_rx_notify(c, pdu, 0, &t->dm);
}

void tcp_target_gets_cancel(struct tcp_conn *c, struct tcp_task *task, int status)
{
	struct dm_transfer *t, *next;
	struct tcp_r2t *r, *next_r2t;

	list_for_each_safe(r, next_r2t, &task->r2ts, link)
		tcp_get_cancel(c, r);
	list_for_each_safe(t, next, &task->transfers, link)
		if (tcp_transfer_of(t)->get)
			tcp_transfer_finish(c, t, status);
}

void tcp_target_fail_task(struct tcp_conn *c, struct tcp_task *task, const char *reason)
{
	tcp_target_gets_cancel(c, task, -EBADMSG);
	if (task->failure)
		return;
	task->failure = reason;
	list_append(&c->failed, &task->failed_link);
	loop_defer(c->mover->loop, &c->finish);
}

/* A put whose PDU is half sent keeps the record until that has left: the item refers to it. So do
 * the puts of a task whose response is queued behind them, or in the last of them: a GOOD status
 * must not arrive without its data. */
static void puts_cancel(struct tcp_conn *c, struct tcp_task *task)
{
	struct dm_transfer *t, *next;

	list_for_each_safe(t, next, &task->transfers, link)
		tcp_item_cancel(c, tcp_transfer_of(t)->item);
}

void tcp_target_deallocate(struct tcp_conn *c, struct dm_task *dm)
{
	struct tcp_task *task = tcp_task_of(dm);
	bool open = c->phase != TCP_DEAD;

	list_remove(&task->failed_link);
	tcp_target_gets_cancel(c, task, open || !c->error ? -ECANCELED : c->error);
	if (!task->responded)
		puts_cancel(c, task);
	task->released = true;
	tcp_target_settle(c, task);
}

void tcp_target_settle(struct tcp_conn *c, struct tcp_task *task)
{
	if (!task->released || !list_empty(&task->transfers) || task->finishing)
		return;
	list_remove(&task->link);
	c->task_count--;
	tcp_slab_put(&c->mover->tasks, task);
}

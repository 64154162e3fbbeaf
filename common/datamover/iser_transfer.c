/* Put_Data and Get_Data (target): RDMA Write into the initiator's read buffer, RDMA Read from its
 * write buffer (RFC 7145 section 7.3.5 and 7.3.6; there is no Data-In and no R2T on the wire). */
#include <errno.h>

#include "common/base/alloc.h"
#include "common/datamover/iser_internal.h"

enum { /* dm_transfer.mover_private */
	PRIVATE_TICKET,
	PRIVATE_READ,
};

uint64_t iser_transfer_ticket(const struct dm_transfer *t)
{
	return (uintptr_t)t->mover_private[PRIVATE_TICKET];
}

/* As many as may be posted at a time; the rest waits in pending_transfers. */
int iser_transfers_make(struct iser_conn *c)
{
	uint32_t n = c->mover->limits.send_depth;
	/* One per receive that can bring a command; the upper layer holds
	 * no more than its window. */
	uint32_t commands = c->mover->limits.receive_depth;

	c->transfers = alloc_array(n, sizeof(*c->transfers));
	c->commands = alloc_array(commands, sizeof(*c->commands));
	if (!c->transfers || !c->commands)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		c->transfers[i].conn = c;
		list_append(&c->free_transfers, &c->transfers[i].link);
	}
	for (uint32_t i = 0; i < commands; i++) {
		c->commands[i].conn = c;
		list_append(&c->free_commands, &c->commands[i].link);
	}
	return 0;
}

/* ---- the end of a transfer ---- */

static void user_finish(struct dm_transfer *t, int status)
{
	struct iser_command *cmd = iser_command_of(t->task);
	bool canceled = cmd->released && !cmd->responded;

	cmd->transfers--;
	if (t->mover_private[PRIVATE_READ])
		cmd->reads--;
	if (cmd->released && cmd->transfers == 0)
		iser_command_put(cmd);
	t->done(t, canceled ? -ECANCELED : status);
}

static void transfer_finish(struct iser_transfer *x, int status)
{
	struct dm_transfer *user = x->user;

	x->conn->credit++;
	list_remove(&x->link);
	list_prepend(&x->conn->free_transfers, &x->link);
	user_finish(user, status);
}

void iser_transfers_retire(struct iser_conn *c, uint64_t ticket)
{
	while (!list_empty(&c->unsignalled)) {
		struct iser_transfer *x = list_first(&c->unsignalled, struct iser_transfer, link);

		if (x->ticket > ticket)
			return;
		transfer_finish(x, 0);
	}
}

static void transfer_done(struct rdma_work *w, int status)
{
	struct rdma_transfer *rdma = container_of(w, struct rdma_transfer, work);
	struct iser_transfer *x = container_of(rdma, struct iser_transfer, rdma);
	struct iser_conn *c = x->conn;
	uint64_t ticket = x->ticket;
	bool read = x->read;

	if (status < 0 && status != -ECANCELED)
		iser_conn_fail(c, status, read ? "an RDMA Read failed" : "an RDMA Write failed");
	transfer_finish(x, status);
	if (status == 0 && !read)
		iser_transfers_retire(c, ticket);
	if (!list_empty(&c->pending_sends) || !list_empty(&c->pending_transfers))
		iser_pump_schedule(c);
}

/* ---- its beginning ---- */

static int transfer_start(
	struct dm_conn *base, struct dm_task *task, struct dm_transfer *t, bool read)
{
	struct iser_conn *c = iser_conn_of(base);
	struct iser_command *cmd = iser_command_of(task);
	uint32_t end;

	if (c->phase != ISER_FULL_FEATURE)
		return -ENOTCONN;
	if (!t->region || !t->length || __builtin_add_overflow(t->offset, t->length, &end) ||
		end > cmd->expected_length)
		return -EINVAL;
	t->task = task;
	t->mover_private[PRIVATE_TICKET] = (void *)(uintptr_t)c->ticket++;
	t->mover_private[PRIVATE_READ] = read ? t : NULL;
	list_append(&c->pending_transfers, &t->link);
	cmd->transfers++;
	cmd->reads += read;
	iser_pump_schedule(c);
	return 0;
}

int iser_put_data(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t)
{
	return task->can_put ? transfer_start(c, task, t, false) : -EINVAL;
}

int iser_get_data(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t)
{
	if (!task->can_get || t->offset < task->immediate_length)
		return -EINVAL;
	return transfer_start(c, task, t, true);
}

/* The write address that was advertised already counts the immediate data: it is where the byte
 * behind it lies. */
static void remote_fill(struct rdma_transfer *r, const struct dm_transfer *t, bool read)
{
	const struct iser_command *cmd = container_of(t->task, const struct iser_command, task);
	const struct iser_header *h = &cmd->header;

	r->remote_stag = read ? h->write_stag : h->read_stag;
	r->remote_address = read ? h->write_address + (t->offset - t->task->immediate_length)
				 : h->read_address + t->offset;
}

int iser_transfer_post(struct iser_conn *c, bool signalled)
{
	struct dm_transfer *t =
		list_entry(list_pop(&c->pending_transfers), struct dm_transfer, link);
	struct iser_transfer *x =
		list_entry(list_pop(&c->free_transfers), struct iser_transfer, link);
	int r;

	x->user = t;
	x->ticket = iser_transfer_ticket(t);
	x->read = t->mover_private[PRIVATE_READ];
	x->rdma.work.done = transfer_done;
	x->rdma.signalled = signalled || x->read;
	x->rdma.local = (struct rdma_sge){t->data, t->length, t->region->mover_handle};
	remote_fill(&x->rdma, t, x->read);
	r = x->read ? rdma_post_read(c->rdma, &x->rdma) : rdma_post_write(c->rdma, &x->rdma);
	if (r < 0) { /* the connection is failing: iser_transfers_abandon() tells it */
		list_prepend(&c->free_transfers, &x->link);
		list_prepend(&c->pending_transfers, &t->link);
		return r;
	}
	if (!x->rdma.signalled)
		list_append(&c->unsignalled, &x->link);
	return 0;
}

/* ---- cancelling ---- */

/* What was posted cannot be called back and is told when it is done; what was not is told soon, or
 * when the connection is over. */
void iser_transfers_cancel(struct iser_conn *c, struct iser_command *cmd)
{
	struct dm_transfer *t, *next;

	list_for_each_safe(t, next, &c->pending_transfers, link) {
		if (t->task != &cmd->task)
			continue;
		list_remove(&t->link);
		list_append(&c->canceled, &t->link);
	}
	if (!list_empty(&c->canceled) && c->phase != ISER_ENDING)
		loop_defer(c->mover->loop, &c->cancel);
}

static void list_cancel(struct list *transfers)
{
	struct list *node;

	while ((node = list_pop(transfers)))
		user_finish(list_entry(node, struct dm_transfer, link), -ECANCELED);
}

void iser_transfers_cancel_call(struct loop_call *call)
{
	list_cancel(&container_of(call, struct iser_conn, cancel)->canceled);
}

void iser_transfers_abandon(struct iser_conn *c)
{
	while (!list_empty(&c->unsignalled))
		transfer_finish(
			list_first(&c->unsignalled, struct iser_transfer, link), -ECANCELED);
	list_cancel(&c->pending_transfers);
	list_cancel(&c->canceled);
}

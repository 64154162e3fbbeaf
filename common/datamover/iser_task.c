/* What a SCSI task holds: at the initiator its advertised buffers (RFC 7145 section 7.3.1,
 * and 7.3.12 for their end), at the target the tags that came with the command. */
#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/datamover/iser_internal.h"

/* ---- initiator: tasks by ITT ---- */

int iser_tasks_make(struct iser_conn *c)
{
	uint32_t n = 1;

	while (n < c->mover->receives)
		n *= 2;
	c->buckets = alloc_array(n, sizeof(struct dm_task *));
	if (!c->buckets)
		return -ENOMEM;
	c->bucket_count = n;
	return 0;
}

/* Tags are made of an index and a generation in any order of their halves: fold both in. */
static struct dm_task **bucket_of(const struct iser_conn *c, uint32_t itt)
{
	return &c->buckets[(itt * 2654435761u >> 16) & (c->bucket_count - 1)];
}

struct dm_task *iser_task_find(const struct iser_conn *c, uint32_t itt)
{
	struct dm_task *t = c->buckets ? *bucket_of(c, itt) : NULL;

	while (t && t->itt != itt)
		t = iser_task_of(t)->next;
	return t;
}

static void task_insert(struct iser_conn *c, struct dm_task *task)
{
	struct dm_task **bucket = bucket_of(c, task->itt);

	iser_task_of(task)->conn = c;
	iser_task_of(task)->next = *bucket;
	*bucket = task;
	c->task_count++;
}

static void task_remove(struct iser_conn *c, struct dm_task *task)
{
	struct dm_task **at = bucket_of(c, task->itt);

	while (*at && *at != task)
		at = &iser_task_of(*at)->next;
	if (*at)
		*at = iser_task_of(task)->next;
	c->task_count--;
	iser_task_of(task)->conn = NULL;
}

/* ---- initiator: advertised buffers ---- */

/* A buffer that lies in no region is registered for this task alone: the slow way, for what is not
 * an exporter's I/O. */
static int buffer_expose(struct iser_conn *c, const struct dm_buffer *b, uint32_t skip,
	unsigned access, struct rdma_region **own, uint32_t *ret_stag, uint64_t *ret_address)
{
	struct rdma_region *region = b->region ? b->region->mover_handle : NULL;
	uint8_t *data = b->data;
	int r;

	if (!region) {
		r = rdma_register(c->mover->provider, data, b->length, own);
		if (r < 0)
			return r;
		region = *own;
	}
	r = rdma_expose(
		c->rdma, region, data + skip, b->length - skip, access, ret_stag, ret_address);
	if (r < 0) {
		rdma_unregister(c->mover->provider, *own);
		*own = NULL;
	}
	return r;
}

static int read_advertise(struct iser_conn *c, struct dm_task *task, struct iser_header *h)
{
	struct iser_task *t = iser_task_of(task);
	int r;

	if (!task->read.length)
		return 0;
	r = buffer_expose(c, &task->read, 0, RDMA_REMOTE_WRITE, &t->read_region, &t->read_stag,
		&h->read_address);
	if (r < 0)
		return r;
	t->read_exposed = true;
	h->read_valid = true;
	h->read_stag = t->read_stag;
	return 0;
}

/* The address counts the immediate data; where all of the data is
 * immediate there is no tag at all. */
static int write_advertise(
	struct iser_conn *c, struct dm_task *task, uint32_t immediate, struct iser_header *h)
{
	struct iser_task *t = iser_task_of(task);
	int r;

	if (task->write.length <= immediate)
		return 0;
	r = buffer_expose(c, &task->write, immediate, RDMA_REMOTE_READ, &t->write_region,
		&t->write_stag, &h->write_address);
	if (r < 0)
		return r;
	t->write_exposed = true;
	h->write_valid = true;
	h->write_stag = t->write_stag;
	return 0;
}

static void task_conceal(struct iser_conn *c, struct iser_task *t)
{
	if (t->read_exposed && c->rdma)
		rdma_revoke(c->rdma, t->read_stag);
	if (t->write_exposed && c->rdma)
		rdma_revoke(c->rdma, t->write_stag);
	t->read_exposed = t->write_exposed = false;
	rdma_unregister(c->mover->provider, t->read_region);
	rdma_unregister(c->mover->provider, t->write_region);
	t->read_region = t->write_region = NULL;
}

int iser_task_advertise(
	struct iser_conn *c, struct dm_task *task, uint32_t immediate, struct iser_header *header)
{
	struct iser_task *t = iser_task_of(task);
	int r;

	if (!c->buckets)
		return -ENOTCONN; /* a command in the login phase */
	if (c->task_count >= c->mover->receives)
		return -ENOBUFS; /* their responses would find no receive */
	memset(t, 0, sizeof(*t));
	r = read_advertise(c, task, header);
	if (r == 0)
		r = write_advertise(c, task, immediate, header);
	if (r < 0) {
		task_conceal(c, t);
		return r;
	}
	task_insert(c, task);
	return 0;
}

bool iser_task_invalidated(struct dm_task *task, uint32_t stag)
{
	struct iser_task *t = iser_task_of(task);

	if (t->read_exposed && t->read_stag == stag)
		t->read_exposed = false;
	else if (t->write_exposed && t->write_stag == stag)
		t->write_exposed = false;
	else
		return false;
	return true;
}

void iser_tasks_abandon(struct iser_conn *c)
{
	for (uint32_t i = 0; i < c->bucket_count; i++) {
		while (c->buckets[i]) {
			struct dm_task *task = c->buckets[i];

			task_conceal(c, iser_task_of(task));
			task_remove(c, task);
		}
	}
}

/* ---- target: commands ---- */

struct iser_command *iser_command_get(struct iser_conn *c)
{
	struct list *node = list_pop(&c->free_commands);
	struct iser_command *cmd;

	if (!node)
		return NULL;
	cmd = list_entry(node, struct iser_command, link);
	*cmd = (struct iser_command){.conn = c};
	list_init(&cmd->link);
	return cmd;
}

void iser_command_put(struct iser_command *cmd)
{
	list_prepend(&cmd->conn->free_commands, &cmd->link);
}

/* A status must not arrive without its data: puts that are queued before
 * the response still leave. */
static void command_release(struct iser_command *cmd)
{
	if (cmd->released)
		return;
	cmd->released = true;
	if (!cmd->transfers)
		iser_command_put(cmd);
	else if (!cmd->responded)
		iser_transfers_cancel(cmd->conn, cmd);
}

void iser_deallocate_task_resources(struct dm_conn *base, struct dm_task *task)
{
	struct iser_conn *c = iser_conn_of(base);

	if (!c->initiator) {
		command_release(iser_command_of(task));
		return;
	}
	if (iser_task_of(task)->conn != c)
		return; /* never sent, or given back before */
	task_conceal(c, iser_task_of(task));
	task_remove(c, task);
}

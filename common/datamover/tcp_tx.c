/* Bytes out: the queue of items, PDUs made from its front, and one sendmsg for all that a turn of
 * the loop has queued. RFC 7143 section 11 for the PDUs; used by the files beside it. */
#include <errno.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/datamover/tcp_internal.h"

static const struct tcp_item_ops *const item_ops[TCP_ITEM_KINDS] = {
	[TCP_ITEM_CONTROL] = &tcp_control_ops,
	[TCP_ITEM_PUT] = &tcp_put_ops,
	[TCP_ITEM_R2T] = &tcp_r2t_ops,
	[TCP_ITEM_BURST] = &tcp_burst_ops,
};

struct tcp_item *tcp_item_new(struct tcp_conn *c, enum tcp_item_kind kind)
{
	struct tcp_item *item = tcp_slab_get(&c->mover->items);

	if (!item)
		return NULL;
	memset(item, 0, sizeof(*item));
	list_init(&item->link);
	item->kind = kind;
	return item;
}

void tcp_item_queue(struct tcp_conn *c, struct tcp_item *item)
{
	item->sequence = ++c->next_sequence;
	list_append(&c->out, &item->link);
	loop_defer_flush(c->mover->loop, &c->flush);
}

/* Frees the item once nothing more will come of it. */
static void item_settle(struct tcp_conn *c, struct tcp_item *item)
{
	if (!item->made || item->pdus)
		return;
	item_ops[item->kind]->over(c, item);
	tcp_slab_put(&c->mover->items, item);
}

static void pdu_free(struct tcp_pdu *p)
{
	struct tcp_conn *c = p->conn;

	alloc_free(p->copy);
	p->item->pdus--;
	c->pdus--;
	tcp_slab_put(&c->mover->pdus, p);
}

static void pdu_sent(struct iscsi_tx_pdu *tx)
{
	struct tcp_pdu *p = container_of(tx, struct tcp_pdu, tx);
	struct tcp_conn *c = p->conn;
	struct tcp_item *item = p->item;

	c->pdus_sent++;
	pdu_free(p);
	item_settle(c, item);
}

void tcp_item_cancel(struct tcp_conn *c, struct tcp_item *item)
{
	struct iscsi_tx_pdu *tx, *next;

	item->made = item->cancelled = true;
	list_remove(&item->link);
	list_for_each_safe(tx, next, &c->tx.queue, link) {
		struct tcp_pdu *p = container_of(tx, struct tcp_pdu, tx);

		if (p->item != item || iscsi_tx_begun(&c->tx, tx))
			continue;
		iscsi_tx_remove(&c->tx, tx);
		pdu_free(p);
	}
	item_settle(c, item);
}

static void *copy_of(const void *data, uint32_t length)
{
	void *copy = alloc_zeroed(length);

	if (copy)
		memcpy(copy, data, length);
	return copy;
}

static int pdu_detach(struct tcp_conn *c, struct tcp_pdu *p)
{
	if (p->item->kind == TCP_ITEM_BURST && !iscsi_tx_begun(&c->tx, &p->tx))
		return 0;
	if (p->copy || !p->tx.data_length)
		return 0;
	p->copy = copy_of(p->tx.data, p->tx.data_length);
	if (!p->copy)
		return -ENOMEM;
	p->tx.data = p->copy;
	return 0;
}

int tcp_item_detach(struct tcp_conn *c, struct tcp_item *item)
{
	struct iscsi_tx_pdu *tx;
	int error = 0;

	if (item->kind == TCP_ITEM_CONTROL && !item->made && item->length) {
		item->control.copy = copy_of(item->control.data, item->length);
		item->control.data = item->control.copy;
		return item->control.copy ? 0 : -ENOMEM;
	}
	list_for_each(tx, &c->tx.queue, link) {
		struct tcp_pdu *p = container_of(tx, struct tcp_pdu, tx);

		if (p->item == item && !error)
			error = pdu_detach(c, p);
	}
	return error;
}

/* One PDU of the front item. False when there is no memory for it (the connection has failed). */
static bool pdu_make(struct tcp_conn *c, struct tcp_item *item)
{
	struct tcp_pdu *p = tcp_slab_get(&c->mover->pdus);
	const void *ahs = NULL, *data = NULL;
	struct iscsi_pdu pdu = {0};
	uint32_t length = 0;

	if (!p) {
		tcp_conn_fail(c, -ENOMEM, "no memory for a PDU to send");
		return false;
	}
	p->tx.sent = pdu_sent;
	p->conn = c;
	p->item = item;
	p->copy = NULL;
	item->made = item_ops[item->kind]->next(c, item, &pdu, &ahs, &data, &length);
	item->pdus++;
	c->pdus++;
	if (item->made)
		list_remove(&item->link);
	iscsi_tx_queue(&c->tx, &p->tx, &pdu, ahs, data, length);
	return true;
}

void tcp_tx_fill(struct tcp_conn *c)
{
	while (c->pdus < TCP_PDUS_MAX && !list_empty(&c->out))
		if (!pdu_make(c, list_first(&c->out, struct tcp_item, link)))
			return;
}

/* Watches for room in the socket, or no more; a system call only when it changes. */
static void watch_writable(struct tcp_conn *c, bool wanted)
{
	unsigned events =
		(c->watch.events & ~(unsigned)LOOP_WRITABLE) | (wanted ? LOOP_WRITABLE : 0);
	int error = events == c->watch.events ? 0 : loop_watch_change(&c->watch, events);

	if (error)
		tcp_conn_fail(c, error, "cannot watch the socket");
}

/* One sendmsg. True when all that was offered has left. */
static bool tx_send(struct tcp_conn *c, int count, size_t bytes)
{
	struct msghdr m = {.msg_iov = c->mover->iov, .msg_iovlen = (size_t)count};
	ssize_t n = sys_sendmsg(c->watch.fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		tcp_conn_fail(c, -errno, "cannot send to the peer");
		return false;
	}
	if (n > 0) {
		c->bytes_sent += (uint64_t)n;
		iscsi_tx_sent(&c->tx, (size_t)n);
	}
	return n == (ssize_t)bytes;
}

/* In one turn a connection sends so much: others of the loop wait for theirs. */
#define TURN_BYTES (4u * 1024 * 1024)

void tcp_tx_ready(struct tcp_conn *c)
{
	bool all = true;
	size_t sent = 0;

	while (all && (c->phase == TCP_OPEN || c->phase == TCP_FLUSHING)) {
		size_t bytes;
		int count;

		tcp_tx_fill(c);
		if (c->phase == TCP_DEAD)
			return;
		count = iscsi_tx_have(&c->tx, c->mover->iov, TCP_IOVECS, &bytes);
		if (!count)
			break;
		sent += bytes;
		all = tx_send(c, count, bytes) && sent < TURN_BYTES;
	}
	if (c->phase != TCP_OPEN && c->phase != TCP_FLUSHING)
		return;
	watch_writable(c, !all);
	if (all && c->phase == TCP_FLUSHING)
		tcp_conn_flushed(c);
}

void tcp_tx_flush(struct loop_call *call)
{
	struct tcp_conn *c = container_of(call, struct tcp_conn, flush);

	/* While the socket is full its readiness calls, not every turn. */
	if (!(c->watch.events & LOOP_WRITABLE))
		tcp_tx_ready(c);
}

void tcp_tx_drop(struct tcp_conn *c)
{
	struct list *link;

	while ((link = list_pop(&c->tx.queue)) != NULL) {
		struct tcp_pdu *p = container_of(link, struct tcp_pdu, tx.link);
		struct tcp_item *item = p->item;

		pdu_free(p);
		item_settle(c, item);
	}
	while ((link = list_pop(&c->out)) != NULL) {
		struct tcp_item *item = container_of(link, struct tcp_item, link);

		item->made = true;
		item_settle(c, item);
	}
}

/* Requests into the queues of a connection. Posting only appends to a list; what can leave is given
 * to the device in one chain at the end of the turn, with one doorbell, and the last of a chain is
 * always signalled: the places of those before it come back with it. What the send queue has no
 * room for waits in the list, in order. Transfers longer than the device's message are cut. */
#include "common/rdma/verbs_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { /* rdma_work.provider_private; [0] is the kind, [2] the status (verbs_complete.c) */
	PRIVATE_KIND,
	PRIVATE_PROGRESS, /* bytes posted; a work that was posted at all is in `posted` when all are
			   */
};

struct chain {
	struct ibv_send_wr wr[VERBS_BATCH];
	struct ibv_sge sge[VERBS_BATCH][RDMA_MAX_SGE];
	unsigned count;
	bool awaited; /* somebody waits for the end of one of them */
};

/* A write of more holds memory that others may wait for. */
#define LINGERING_WRITE (64u * 1024)

/* ---- one request ---- */

/* Checked when it was posted by its owner. */
static struct ibv_sge sge_make(const struct verbs_conn *c, const struct rdma_sge *s)
{
	const struct ibv_mr *mr = verbs_region_find(c->device, s->region, s->data, s->length);

	return (struct ibv_sge){
		.addr = (uintptr_t)s->data, .length = s->length, .lkey = mr ? mr->lkey : 0};
}

static void send_fill(
	struct verbs_conn *c, struct rdma_send *s, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	uint32_t length = 0;

	for (unsigned i = 0; i < s->sge_count; i++) {
		sge[i] = sge_make(c, &s->sge[i]);
		length += s->sge[i].length;
	}
	wr->num_sge = (int)s->sge_count;
	wr->opcode = IBV_WR_SEND;
	/* Where a device cannot, the peer's initiator invalidates for itself: it always looks. */
	if (s->invalidate && c->device->caps.send_invalidate) {
		wr->opcode = IBV_WR_SEND_WITH_INV;
		wr->invalidate_rkey = s->invalidate_stag;
	}
	if (s->signalled)
		wr->send_flags |= IBV_SEND_SIGNALED;
	if (s->solicited)
		wr->send_flags |= IBV_SEND_SOLICITED;
	if (length <= c->max_inline)
		wr->send_flags |= IBV_SEND_INLINE;
	c->bytes_sent += length;
}

/* The next part of it; true when it is the last. */
static bool transfer_fill(struct verbs_conn *c, struct rdma_transfer *t, bool read,
	struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	uint32_t done = (uint32_t)(uintptr_t)t->work.provider_private[PRIVATE_PROGRESS];
	uint32_t part = verbs_part(&c->device->caps, t->local.length, done);
	bool last = done + part == t->local.length;

	*sge = sge_make(c, &t->local);
	sge->addr += done;
	sge->length = part;
	wr->num_sge = 1;
	wr->opcode = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	wr->wr.rdma.remote_addr = t->remote_address + done;
	wr->wr.rdma.rkey = t->remote_stag;
	if (last && (read || t->signalled))
		wr->send_flags |= IBV_SEND_SIGNALED;
	if (!read && part <= c->max_inline)
		wr->send_flags |= IBV_SEND_INLINE;
	if (!read)
		c->bytes_sent += part;
	t->work.provider_private[PRIVATE_PROGRESS] = (void *)(uintptr_t)(done + part);
	return last;
}

static void window_fill(struct verbs_window *w, bool bind, struct ibv_send_wr *wr)
{
	if (bind) {
		wr->opcode = IBV_WR_BIND_MW;
		wr->bind_mw.mw = w->mw;
		wr->bind_mw.rkey = w->rkey;
		wr->bind_mw.bind_info = w->bind;
	} else {
		wr->opcode = IBV_WR_LOCAL_INV;
		wr->invalidate_rkey = w->rkey;
		wr->send_flags |= IBV_SEND_SIGNALED;
	}
}

/* True when all of the work is in the chain. */
static bool work_fill(
	struct verbs_conn *c, struct rdma_work *w, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	enum verbs_kind kind = verbs_kind_of(w);

	if (kind == VERBS_WRITE || kind == VERBS_READ)
		return transfer_fill(c, container_of(w, struct rdma_transfer, work),
			kind == VERBS_READ, wr, sge);
	if (kind == VERBS_SEND)
		send_fill(c, container_of(w, struct rdma_send, work), wr, sge);
	else
		window_fill(container_of(w, struct verbs_window, work), kind == VERBS_BIND, wr);
	return true;
}

/* ---- chains ---- */

/* A Read is waited for by its command; the end of anything else only gives memory back. */
static bool work_is_awaited(const struct rdma_work *w)
{
	enum verbs_kind kind = verbs_kind_of(w);

	return kind == VERBS_READ ||
	       (kind == VERBS_WRITE &&
		       container_of(w, const struct rdma_transfer, work)->local.length >
			       LINGERING_WRITE);
}

/* What can be posted yet is getting scarce, or an end in order waits for the last. */
static bool conn_awaits(const struct verbs_conn *c)
{
	return c->state == VERBS_DRAINING || c->send_count >= c->limits.send_depth / 2 ||
	       c->slot_count >= c->shape.sends / 2;
}

static uint64_t cookie_of(const struct verbs_conn *c, bool receive, uint32_t index)
{
	const struct verbs_cookie cookie = {
		.place = c->place,
		.generation = c->provider->places[c->place].generation,
		.receive = receive,
		.index = index,
	};

	return verbs_cookie_pack(&cookie);
}

static void chain_add(struct verbs_conn *c, struct chain *chain, struct rdma_work *w)
{
	uint32_t index = (c->slot_head + c->slot_count) % c->shape.sends;
	struct ibv_send_wr *wr = &chain->wr[chain->count];
	struct ibv_sge *sge = chain->sge[chain->count];
	struct verbs_slot *slot = &c->slots[index];

	memset(wr, 0, sizeof(*wr));
	wr->wr_id = cookie_of(c, false, index);
	wr->sg_list = sge;
	slot->work = w;
	slot->last = work_fill(c, w, wr, sge);
	if (chain->count)
		chain->wr[chain->count - 1].next = wr;
	chain->count++;
	chain->awaited |= work_is_awaited(w);
	c->slot_count++;
	c->cq->outstanding++;
	if (!slot->last)
		return;
	list_remove(&w->link);
	if (verbs_kind_of(w) == VERBS_BIND) {
		/* The answer to the Send behind it may be here before their own completions are,
		 * and the window then serves again: nobody is told of a binding. */
		slot->work = NULL;
		slot->last = false;
		return;
	}
	list_append(&c->posted, &w->link);
}

static bool can_send(const struct verbs_conn *c)
{
	return c->state == VERBS_UP || c->state == VERBS_ACCEPTED || c->state == VERBS_DRAINING;
}

void verbs_sends_post(struct verbs_conn *c)
{
	while (can_send(c) && !list_empty(&c->waiting) && c->slot_count < c->shape.sends) {
		struct chain chain;
		struct ibv_send_wr *bad;
		int err;

		chain.count = 0;
		chain.awaited = false;
		do
			chain_add(c, &chain, list_first(&c->waiting, struct rdma_work, link));
		while (!list_empty(&c->waiting) && chain.count < VERBS_BATCH &&
			c->slot_count < c->shape.sends);
		chain.wr[chain.count - 1].send_flags |= IBV_SEND_SIGNALED;
		c->cq->awaited |= chain.awaited || conn_awaits(c);
		err = abs(ibv_post_send(c->id->qp, chain.wr, &bad)); /* siw's is negative */
		if (err)
			verbs_conn_over(
				c, -err, "the device takes no requests: %s", strerrordesc_np(err));
	}
	if (c->state == VERBS_DRAINING)
		c->cq->awaited = true;
	verbs_conn_drained(c);
}

void verbs_flush_call(struct loop_call *call)
{
	verbs_sends_post(container_of(call, struct verbs_conn, flush));
}

void verbs_flush(struct rdma_conn *base)
{
	struct verbs_conn *c = verbs_conn_of(base);

	loop_call_cancel(&c->flush);
	verbs_sends_post(c);
}

void verbs_work_queue(struct verbs_conn *c, struct rdma_work *w, enum verbs_kind kind)
{
	w->provider_private[PRIVATE_KIND] = (void *)(uintptr_t)kind;
	w->provider_private[PRIVATE_PROGRESS] = NULL;
	list_append(&c->waiting, &w->link);
	loop_defer_flush(c->provider->loop, &c->flush);
}

/* ---- the owner's ---- */

static int work_post(struct verbs_conn *c, struct rdma_work *w, enum verbs_kind kind)
{
	if (c->state != VERBS_UP && c->state != VERBS_ACCEPTED)
		return -ENOTCONN;
	if (c->send_count >= c->limits.send_depth)
		return -ENOBUFS;
	c->send_count++;
	verbs_work_queue(c, w, kind);
	return 0;
}

static bool sge_is_good(const struct verbs_conn *c, const struct rdma_sge *s)
{
	return c->device && verbs_region_find(c->device, s->region, s->data, s->length);
}

int verbs_post_send(struct rdma_conn *base, struct rdma_send *s)
{
	struct verbs_conn *c = verbs_conn_of(base);

	if (c->state >= VERBS_DRAINING)
		return -ENOTCONN;
	if (s->sge_count > c->shape.sge)
		return -EINVAL;
	for (unsigned i = 0; i < s->sge_count; i++)
		if (!sge_is_good(c, &s->sge[i]))
			return -EINVAL;
	return work_post(c, &s->work, VERBS_SEND);
}

static int transfer_post(struct verbs_conn *c, struct rdma_transfer *t, enum verbs_kind kind)
{
	if (c->state >= VERBS_DRAINING)
		return -ENOTCONN;
	if (!sge_is_good(c, &t->local))
		return -EINVAL;
	return work_post(c, &t->work, kind);
}

int verbs_post_write(struct rdma_conn *base, struct rdma_transfer *t)
{
	return transfer_post(verbs_conn_of(base), t, VERBS_WRITE);
}

int verbs_post_read(struct rdma_conn *base, struct rdma_transfer *t)
{
	struct verbs_conn *c = verbs_conn_of(base);

	/* libiscsi declares 4, ib_iser what its device has; an initiator may declare none. */
	if ((c->state == VERBS_UP || c->state == VERBS_ACCEPTED) && !c->reads.initiator_depth)
		return -EOPNOTSUPP;
	return transfer_post(c, t, VERBS_READ);
}

/* ---- receives ---- */

void verbs_receives_post(struct verbs_conn *c)
{
	while (!list_empty(&c->receives_waiting) && c->receives_in_queue < c->shape.receives) {
		struct rdma_work *w = list_first(&c->receives_waiting, struct rdma_work, link);
		struct rdma_receive *r = container_of(w, struct rdma_receive, work);
		struct ibv_sge sge = sge_make(c, &r->sge);
		struct ibv_recv_wr wr = {
			.wr_id = cookie_of(c, true, 0), .sg_list = &sge, .num_sge = 1};
		struct ibv_recv_wr *bad;
		int err = ibv_post_recv(c->id->qp, &wr, &bad);

		if (err) {
			verbs_conn_over(
				c, -err, "the device takes no receives: %s", strerrordesc_np(err));
			return;
		}
		list_remove(&w->link);
		list_append(&c->receives_posted, &w->link);
		c->receives_in_queue++;
	}
}

int verbs_post_receive(struct rdma_conn *base, struct rdma_receive *r)
{
	struct verbs_conn *c = verbs_conn_of(base);

	if (c->state >= VERBS_DRAINING)
		return -ENOTCONN;
	/* Before verbs_accept() the depth is not known; the memory is the caller's. */
	if (c->owned && c->receive_count >= c->limits.receive_depth)
		return -ENOBUFS;
	if (c->device && !sge_is_good(c, &r->sge))
		return -EINVAL;
	r->work.provider_private[PRIVATE_KIND] = (void *)(uintptr_t)VERBS_RECEIVE;
	c->receive_count++;
	list_append(&c->receives_waiting, &r->work.link);
	if (c->id && c->id->qp)
		verbs_receives_post(c);
	return 0;
}

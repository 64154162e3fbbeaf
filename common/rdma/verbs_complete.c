/* Completions out of the queues: polled in batches once a turn, armed only when the loop is about
 * to sleep. What has completed is collected in one list, in order, and delivered from there, so
 * that no done() is called from within another. Called by the loop.
 *
 * A response's Send, and the write in front of it, end while nobody waits for that: to wake up for
 * it would double the price of a small I/O. So the queue of sends is armed only when something
 * depends on it (verbs_post.c); what has completed otherwise is seen in the next turn, or when the
 * loop has slept for LINGER_NS. */
#include "common/rdma/verbs_internal.h"

#include <errno.h>

#define PRIVATE_STATUS 2 /* in rdma_work.provider_private */
/* Batches of one turn: other descriptors get theirs. */
#define ROUNDS 8
#define LINGER_NS (10 * LOOP_NS_PER_MS)

/* ---- delivery ---- */

void verbs_work_done(struct verbs_conn *c, struct rdma_work *w, int status)
{
	w->provider_private[PRIVATE_STATUS] = (void *)(intptr_t)status;
	list_append(&c->provider->done, &w->link);
}

void verbs_deliver(struct verbs *p)
{
	struct list *node;

	while ((node = list_pop(&p->done))) {
		struct rdma_work *w = list_entry(node, struct rdma_work, link);

		w->done(w, (int)(intptr_t)w->provider_private[PRIVATE_STATUS]);
	}
}

/* ---- what a completion says ---- */

struct meaning {
	int error;
	const char *text;
};

static struct meaning meaning_of(enum ibv_wc_status status)
{
	static const struct meaning rows[] = {
		[IBV_WC_LOC_LEN_ERR] = {-EMSGSIZE, "a message is longer than its receive"},
		[IBV_WC_LOC_PROT_ERR] = {-EFAULT, "memory that is not registered"},
		[IBV_WC_REM_INV_REQ_ERR] = {-EPROTO, "the peer takes a request for invalid"},
		[IBV_WC_REM_ACCESS_ERR] = {-EACCES, "the peer refuses access to its memory"},
		[IBV_WC_REM_OP_ERR] = {-EREMOTEIO, "the peer cannot carry out a request"},
		[IBV_WC_RETRY_EXC_ERR] = {-ETIMEDOUT, "the peer does not answer"},
		[IBV_WC_RNR_RETRY_EXC_ERR] = {-ENOBUFS, "the peer has no receive for a message"},
		[IBV_WC_MW_BIND_ERR] = {-EACCES, "a memory window could not be bound"},
	};

	if ((size_t)status < ARRAY_SIZE(rows) && rows[status].text)
		return rows[status];
	return (struct meaning){-EIO, ibv_wc_status_str(status)};
}

static bool work_is_told(const struct rdma_work *w)
{
	if (verbs_kind_of(w) == VERBS_SEND)
		return container_of(w, const struct rdma_send, work)->signalled;
	if (verbs_kind_of(w) == VERBS_WRITE)
		return container_of(w, const struct rdma_transfer, work)->signalled;
	return true;
}

static void work_finish(struct verbs_conn *c, struct rdma_work *w, int status)
{
	enum verbs_kind kind = verbs_kind_of(w);

	list_remove(&w->link);
	if (kind == VERBS_INVALIDATE) {
		if (status == 0)
			verbs_window_release(container_of(w, struct verbs_window, work));
		return;
	}
	c->send_count--;
	if (kind == VERBS_READ && status == 0)
		c->bytes_received += container_of(w, struct rdma_transfer, work)->local.length;
	if (status < 0 || work_is_told(w))
		verbs_work_done(c, w, status);
}

/* ---- the send queue ---- */

static void slot_retire(struct verbs_conn *c)
{
	const struct verbs_slot *s = &c->slots[c->slot_head];

	if (s->last)
		work_finish(c, s->work, 0);
	c->slot_head = (c->slot_head + 1) % c->shape.sends;
	c->slot_count--;
	if (--c->cq->outstanding == 0)
		c->cq->awaited = false;
}

/* Those before a completion are done as well: completions come in order. */
static void slots_retire(struct verbs_conn *c, uint32_t index)
{
	while (c->slot_count && c->slot_head != index)
		slot_retire(c);
}

static void send_completed(struct verbs_conn *c, uint32_t index, const struct ibv_wc *wc)
{
	struct meaning m;

	slots_retire(c, index);
	if (!c->slot_count)
		return;
	if (wc->status == IBV_WC_SUCCESS) {
		slot_retire(c);
		if (!list_empty(&c->waiting))
			loop_defer_flush(c->provider->loop, &c->flush);
		verbs_conn_drained(c);
		return;
	}
	m = meaning_of(wc->status);
	if (c->slots[index].work)
		work_finish(c, c->slots[index].work, m.error);
	verbs_conn_over(c, m.error, "%s", m.text);
}

/* ---- the receive queue ---- */

/* The window that the Send took away, if it did. rxe hands user space the kernel's flag of Send
 * with Invalidate, which is 4 there, and IBV_WC_IP_CSUM_OK here: that has no meaning on a reliable
 * connection, so it counts when the key is that of a bound window. To invalidate such a window a
 * second time would bring rxe down. */
static struct verbs_window *window_taken(const struct verbs_conn *c, const struct ibv_wc *wc)
{
	if (!(wc->wc_flags & (IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK)))
		return NULL;
	return verbs_window_find(c, wc->invalidated_rkey);
}

static void receive_fill(struct verbs_conn *c, struct rdma_receive *r, const struct ibv_wc *wc)
{
	struct verbs_window *w = window_taken(c, wc);

	r->length = wc->byte_len;
	r->invalidated = w || wc->wc_flags & IBV_WC_WITH_INV;
	r->invalidated_stag = r->invalidated ? wc->invalidated_rkey : 0;
	if (w)
		verbs_window_release(w);
	c->bytes_received += r->length;
}

/* A peer that has answered, or was answered, before it sends the next one: that will come soon.
 * With more under way than one, it is better to let several gather. */
static void expect_next(const struct verbs_conn *c)
{
	if (!c->cq->outstanding)
		loop_expect(c->provider->loop);
}

static void receive_completed(struct verbs_conn *c, const struct ibv_wc *wc)
{
	struct list *node = list_pop(&c->receives_posted);
	struct rdma_work *w;
	struct meaning m;

	if (!node)
		return;
	w = list_entry(node, struct rdma_work, link);
	c->receive_count--;
	c->receives_in_queue--;
	if (wc->status == IBV_WC_SUCCESS) {
		expect_next(c);
		receive_fill(c, container_of(w, struct rdma_receive, work), wc);
		verbs_work_done(c, w, 0);
		if (!c->established)
			verbs_conn_notice(c);
		if (!list_empty(&c->receives_waiting))
			verbs_receives_post(c);
		return;
	}
	m = meaning_of(wc->status);
	verbs_work_done(c, w, m.error);
	verbs_conn_over(c, m.error, "%s", m.text);
}

/* ---- polling ---- */

static void completed(struct verbs *p, const struct ibv_wc *wc)
{
	const struct verbs_cookie cookie = verbs_cookie_unpack(wc->wr_id);
	const struct verbs_place *place;

	if (cookie.place >= p->place_count)
		return;
	place = &p->places[cookie.place];
	/* Of a queue pair that has gone since. */
	if (!place->conn || place->generation != cookie.generation)
		return;
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		verbs_conn_flushed(place->conn);
	else if (cookie.receive)
		receive_completed(place->conn, wc);
	else
		send_completed(place->conn, cookie.index, wc);
}

static bool queue_collect(struct verbs *p, const struct verbs_queue *q)
{
	struct ibv_wc wc[VERBS_BATCH];
	int n = ibv_poll_cq(q->cq, VERBS_BATCH, wc);

	for (int i = 0; i < n; i++)
		completed(p, &wc[i]);
	return n > 0;
}

/* The sends first: when a connection fails, it is they that know why. */
static bool cq_collect(struct verbs *p, const struct verbs_cq *q)
{
	bool found = q->outstanding && queue_collect(p, &q->sends);

	return queue_collect(p, &q->receives) || found;
}

bool verbs_collect(struct verbs *p)
{
	struct verbs_device *d;
	struct verbs_cq *q;
	bool found = false;

	list_for_each(d, &p->devices, link) {
		list_for_each(q, &d->cqs, link)
			found |= cq_collect(p, q);
	}
	return found;
}

static void queue_arm(struct verbs_queue *q)
{
	if (!q->armed)
		q->armed = ibv_req_notify_cq(q->cq, 0) == 0;
}

static void cq_arm(struct verbs *p, struct verbs_cq *q)
{
	queue_arm(&q->receives);
	if (q->awaited)
		queue_arm(&q->sends);
	else if (q->outstanding && !loop_timer_armed(&p->linger))
		loop_timer_arm(p->loop, &p->linger, LINGER_NS);
}

static void arm(struct verbs *p)
{
	struct verbs_device *d;
	struct verbs_cq *q;

	list_for_each(d, &p->devices, link)
		list_for_each(q, &d->cqs, link)
			cq_arm(p, q);
}

/* Nothing to do: the loop turns, and polls. */
void verbs_linger_expired(struct loop_timer *t)
{
	(void)t;
}

static bool poll_once(struct verbs *p)
{
	bool found = verbs_collect(p) | !list_empty(&p->done);

	verbs_deliver(p);
	return found;
}

void verbs_poll_now(struct verbs *p)
{
	for (unsigned i = 0; i < ROUNDS && poll_once(p); i++)
		;
}

bool verbs_poll(struct loop_poller *poller, bool will_sleep)
{
	struct verbs *p = container_of(poller, struct verbs, poller);
	bool found = false;

	for (unsigned i = 0; i < ROUNDS && poll_once(p); i++)
		found = true;
	if (!will_sleep || found)
		return found;
	arm(p);
	return poll_once(p);
}

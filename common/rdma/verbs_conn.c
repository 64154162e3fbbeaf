/* A connection's queue pair, and its end. The queue pair is destroyed before anything is told to be
 * over: from then on the device touches no memory of the connection; completions that are still in
 * a queue are known by their generation, and dropped. Called by the other files of verbs*.c. */
#include "common/rdma/verbs_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"

/* The peer's answer to our end, or the reason of its own: RDMA_CM repeats its messages for longer,
 * but nobody waits for that. */
#define END_NS (2 * LOOP_NS_PER_S)
/* A peer that is slow to take what was posted before an end in order. */
#define DRAIN_NS (2 * LOOP_NS_PER_S)

/* ---- places: what completions are told apart by ---- */

static int place_take(struct verbs_conn *c)
{
	struct verbs *p = c->provider;
	uint32_t i = 0, n = p->place_count ? 2 * p->place_count : 16;
	struct verbs_place *more;

	while (i < p->place_count && p->places[i].conn)
		i++;
	if (i == p->place_count) {
		if (n > VERBS_PLACES_MAX)
			return -ENOSPC;
		more = alloc_resize(p->places, n * sizeof(*more));
		if (!more)
			return -ENOMEM;
		for (uint32_t k = i; k < n; k++)
			more[k] = (struct verbs_place){.conn = NULL};
		p->places = more;
		p->place_count = n;
	}
	p->places[i].conn = c;
	c->place = i;
	return 0;
}

static void place_give(struct verbs_conn *c)
{
	struct verbs_place *at = &c->provider->places[c->place];

	at->conn = NULL;
	at->generation = (at->generation + 1) % VERBS_GENERATIONS;
}

/* ---- its beginning ---- */

static void finish_call(struct loop_call *call)
{
	verbs_conn_finish(container_of(call, struct verbs_conn, finish));
}

int verbs_conn_new(struct verbs *p, struct rdma_cm_id *id, struct verbs_conn **ret)
{
	struct verbs_conn *c = alloc_zeroed(sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->base.ops = &verbs_ops;
	c->provider = p;
	c->id = id;
	c->cm.event = verbs_conn_event;
	c->timer.expired = verbs_conn_expired;
	c->flush.call = verbs_flush_call;
	c->finish.call = finish_call;
	list_init(&c->waiting);
	list_init(&c->posted);
	list_init(&c->receives_waiting);
	list_init(&c->receives_posted);
	list_init(&c->windows_free);
	err = place_take(c);
	if (err < 0) {
		alloc_free(c);
		return err;
	}
	list_append(&p->conns, &c->link);
	*ret = c;
	return 0;
}

/* As much inline as the device gives: it says so only by refusing. */
static int qp_make(struct verbs_conn *c)
{
	static const uint32_t inlines[] = {512, 256, 128, 64, 0};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(inlines); i++) {
		struct ibv_qp_init_attr attr = {
			.send_cq = c->cq->sends.cq,
			.recv_cq = c->cq->receives.cq,
			.qp_type = IBV_QPT_RC,
			.cap = {.max_send_wr = c->shape.sends,
				.max_recv_wr = c->shape.receives,
				.max_send_sge = c->shape.sge,
				.max_recv_sge = 1,
				.max_inline_data = inlines[i]},
		};

		if (rdma_create_qp(c->id, c->device->pd, &attr) == 0) {
			c->max_inline = attr.cap.max_inline_data;
			return 0;
		}
		err = errno ? -errno : -ENOMEM;
	}
	return err;
}

/* Of each of its completion queues, at a time. */
static uint32_t entries_of(const struct verbs_conn *c)
{
	return c->shape.sends > c->shape.receives ? c->shape.sends : c->shape.receives;
}

int verbs_conn_open(struct verbs_conn *c)
{
	bool exposes = c->provider->config.exposes && !c->provider->config.no_windows;
	int err;

	c->shape = verbs_shape_make(&c->limits, &c->device->caps, exposes);
	if (!c->shape.sends || !c->shape.receives)
		return -EINVAL;
	c->slots = alloc_array(c->shape.sends, sizeof(*c->slots));
	if (!c->slots)
		return -ENOMEM;
	err = verbs_cq_get(c->device, entries_of(c), &c->cq);
	if (err < 0)
		return err;
	err = qp_make(c);
	if (err < 0)
		return err;
	err = verbs_windows_make(c);
	if (err < 0)
		return err;
	verbs_receives_post(c);
	return c->state == VERBS_OVER ? -EIO : 0;
}

static void name_print(const struct sockaddr *sa, char out[ADDRESS_TEXT_SIZE])
{
	struct address a = {.length = sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								: sizeof(struct sockaddr_in)};

	memcpy(&a.sa, sa, a.length);
	address_print(&a, out);
}

static void rnr_timer_set(struct verbs_conn *c)
{
	struct ibv_qp_attr attr = {
		.min_rnr_timer = verbs_rnr_timer_code(c->provider->config.rnr_timer_us)};

	/* RDMA_CM leaves the longest of all, 655 ms. */
	if (!c->device->caps.iwarp && ibv_modify_qp(c->id->qp, &attr, IBV_QP_MIN_RNR_TIMER))
		log_debug("verbs", "%s: the RNR timer stays as it is: %s", c->peer,
			strerrordesc_np(errno));
}

void verbs_conn_settle(struct verbs_conn *c)
{
	struct ibv_port_attr port;

	name_print(rdma_get_local_addr(c->id), c->local);
	name_print(rdma_get_peer_addr(c->id), c->peer);
	if (ibv_query_port(c->id->verbs, c->id->port_num, &port) == 0)
		c->mtu = 128u << port.active_mtu;
	rnr_timer_set(c);
	c->base.checksums_data = c->device->caps.sums_in_place;
}

/* ---- its end ---- */

/* Nothing of the device's is left after it. The windows go before the queue pair that they are
 * bound to (rxe waits for them), and after it has stopped. */
static void device_release(struct verbs_conn *c)
{
	struct ibv_qp_attr stopped = {.qp_state = IBV_QPS_ERR};

	if (c->id && c->id->qp)
		ibv_modify_qp(c->id->qp, &stopped, IBV_QP_STATE);
	verbs_windows_close(c);
	if (c->id && c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->cq) {
		c->cq->used -= entries_of(c);
		c->cq->outstanding -= c->slot_count;
		if (!c->cq->outstanding)
			c->cq->awaited = false;
	}
	c->cq = NULL;
	if (c->id)
		rdma_destroy_id(c->id);
	c->id = NULL;
	c->device = NULL;
}

void verbs_conn_over(struct verbs_conn *c, int error, const char *format, ...)
{
	va_list list;

	if (c->state == VERBS_OVER)
		return;
	c->state = VERBS_OVER;
	c->error = error;
	va_start(list, format);
	vsnprintf(c->reason, sizeof(c->reason), format, list);
	va_end(list);
	loop_timer_cancel(&c->timer);
	loop_call_cancel(&c->flush);
	place_give(c);
	device_release(c);
	if (!c->undecided)
		loop_defer(c->provider->loop, &c->finish);
}

static bool work_is_ours(const struct rdma_work *w)
{
	return verbs_kind_of(w) == VERBS_BIND || verbs_kind_of(w) == VERBS_INVALIDATE;
}

static void works_cancel(struct verbs_conn *c, struct list *works)
{
	struct list *node;

	while ((node = list_pop(works))) {
		struct rdma_work *w = list_entry(node, struct rdma_work, link);

		if (!work_is_ours(w))
			verbs_work_done(c, w, -ECANCELED);
	}
}

void verbs_conn_finish(struct verbs_conn *c)
{
	works_cancel(c, &c->posted);
	works_cancel(c, &c->waiting);
	works_cancel(c, &c->receives_posted);
	works_cancel(c, &c->receives_waiting);
	verbs_deliver(c->provider);
	/* Its owner may end the provider from within the last upcall. */
	loop_call_cancel(&c->finish);
	list_remove(&c->link);
	if (c->owned)
		c->up.closed(c->base.owner, c->error, c->reason);
	alloc_free(c->window_buckets);
	alloc_free(c->windows);
	alloc_free(c->slots);
	alloc_free(c);
}

static void disconnect_now(struct verbs_conn *c)
{
	c->state = VERBS_DISCONNECTING;
	if (rdma_disconnect(c->id) || loop_timer_arm(c->provider->loop, &c->timer, END_NS) < 0)
		verbs_conn_over(c, 0, "closed by this end");
}

void verbs_conn_drained(struct verbs_conn *c)
{
	if (c->state == VERBS_DRAINING && list_empty(&c->waiting) && !c->slot_count)
		disconnect_now(c);
}

void verbs_disconnect(struct rdma_conn *base, bool graceful)
{
	struct verbs_conn *c = verbs_conn_of(base);

	if (c->state == VERBS_OVER || (graceful && c->state >= VERBS_DRAINING))
		return;
	if (graceful && (c->state == VERBS_UP || c->state == VERBS_ACCEPTED) &&
		loop_timer_arm(c->provider->loop, &c->timer, DRAIN_NS) == 0) {
		c->state = VERBS_DRAINING;
		loop_defer_flush(c->provider->loop, &c->flush);
		return;
	}
	verbs_conn_over(c, 0, "closed by this end");
}

/* RDMA_CM tells the reason soon, if there is one. */
void verbs_conn_flushed(struct verbs_conn *c)
{
	if (c->state != VERBS_UP && c->state != VERBS_ACCEPTED && c->state != VERBS_DRAINING)
		return;
	c->state = VERBS_LOST;
	if (loop_timer_arm(c->provider->loop, &c->timer, END_NS) < 0)
		verbs_conn_over(c, -ECONNRESET, "the connection was lost");
}

void verbs_conn_expired(struct loop_timer *t)
{
	struct verbs_conn *c = container_of(t, struct verbs_conn, timer);
	static const struct {
		int error;
		const char *reason;
	} rows[] = {
		[VERBS_RESOLVING] = {-ETIMEDOUT, "the peer's address does not answer"},
		[VERBS_CONNECTING] = {-ETIMEDOUT, "the peer does not answer the request"},
		[VERBS_ACCEPTED] = {-ETIMEDOUT, "the peer did not complete the connection"},
		[VERBS_DRAINING] = {0, "closed by this end; the peer had not taken everything"},
		[VERBS_DISCONNECTING] = {0, "closed by this end"},
		[VERBS_LOST] = {-ECONNRESET, "the connection was lost"},
	};

	if ((size_t)c->state < ARRAY_SIZE(rows) && rows[c->state].reason)
		verbs_conn_over(c, rows[c->state].error, "%s", rows[c->state].reason);
}

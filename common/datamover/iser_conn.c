/* One iSER connection from its first byte to its last upcall: RFC 7145 sections 5 (connection
 * set-up and tear-down, RDMA from the first PDU) and 6 (keys); the Datamover primitives that have
 * no task. */
#include <errno.h>
#include <stdio.h>

#include "common/base/alloc.h"
#include "common/datamover/iser_internal.h"

static void drain_expired(struct loop_timer *t)
{
	struct iser_conn *c = container_of(t, struct iser_conn, drain);

	c->phase = ISER_ENDING;
	rdma_disconnect(c->rdma, false);
}

static void conn_init(struct iser_conn *c, struct iser_mover *m, bool initiator)
{
	c->base = (struct dm_conn){.ops = &iser_ops, .rdma = true};
	c->base.tasks_max = initiator ? m->config.queue_depth : 0;
	c->mover = m;
	c->initiator = initiator;
	c->phase = initiator ? ISER_CONNECTING : ISER_LOGIN;
	c->drain.expired = drain_expired;
	c->pump.call = iser_pump;
	c->cancel.call = iser_transfers_cancel_call;
	c->credit = m->limits.send_depth;
	list_init(&c->free_small);
	list_init(&c->free_large);
	list_init(&c->pending_sends);
	list_init(&c->pending_transfers);
	list_init(&c->free_transfers);
	list_init(&c->unsignalled);
	list_init(&c->canceled);
	list_init(&c->free_commands);
}

struct iser_conn *iser_conn_new(struct iser_mover *m, bool initiator)
{
	static const struct iser_buffers_shape login_shape = {
		.receives = ISER_LOGIN_RECEIVES,
		.large_sends = ISER_LOGIN_SENDS,
	};
	struct iser_conn *c = alloc_zeroed(sizeof(*c));

	if (!c)
		return NULL;
	conn_init(c, m, initiator);
	if (iser_buffers_make(c, &c->login, &login_shape) < 0) {
		iser_conn_free(c);
		return NULL;
	}
	return c;
}

void iser_conn_free(struct iser_conn *c)
{
	if (!c)
		return;
	iser_buffers_free(c, &c->login);
	iser_buffers_free(c, &c->full_feature);
	alloc_free(c->transfers);
	alloc_free(c->commands);
	alloc_free(c->buckets);
	alloc_free(c);
}

void iser_conn_fail(struct iser_conn *c, int error, const char *reason)
{
	if (c->phase == ISER_ENDING)
		return;
	if (c->phase != ISER_DRAINING) { /* an end that was asked for stays in order */
		c->error = error;
		c->reason = reason;
	}
	c->phase = ISER_ENDING;
	loop_timer_cancel(&c->drain);
	rdma_disconnect(c->rdma, false);
}

/* ---- keys and phases ---- */

/* Unsolicited Data-Out is an option of RFC 7145 that no buffer is kept for: InitialR2T=Yes rules it
 * out whatever the peer wants, as its result function is OR. */
void iser_declare_keys(struct dm_conn *base, struct iscsi_params *offer)
{
	const struct iser_mover_config *k = &iser_conn_of(base)->mover->config;

	offer->header_digest = ISCSI_DIGEST_NONE;
	offer->data_digest = ISCSI_DIGEST_NONE;
	offer->max_recv_data_segment_length = ISER_DATA_MAX;
	offer->rdma_extensions = true;
	offer->target_recv_data_segment_length = k->target_recv_data_segment_length;
	offer->initiator_recv_data_segment_length = k->initiator_recv_data_segment_length;
	offer->initial_r2t = true;
}

/* All that the peer may send in full-feature phase can be received once this has returned. The
 * login's own receives stay in use. */
int iser_allocate_connection_resources(struct dm_conn *base, const struct iscsi_params *p)
{
	struct iser_conn *c = iser_conn_of(base);
	uint32_t n = c->mover->receives;
	struct iser_buffers_shape shape = {.receives = n, .small_sends = n};
	int r;

	(void)p;
	if (c->phase != ISER_LOGIN)
		return -ENOTCONN;
	if (c->allocated)
		return c->full_feature.memory ? 0 : -ENOMEM;
	c->allocated = true;
	if (c->initiator)
		shape.large_sends = c->mover->config.queue_depth; /* immediate data */
	r = c->initiator ? iser_tasks_make(c) : iser_transfers_make(c);
	if (r < 0)
		return r;
	r = iser_buffers_make(c, &c->full_feature, &shape);
	if (r < 0)
		return r;
	return iser_buffers_post(c, &c->full_feature);
}

/* Both what the peer has negotiated and what peers have room for: LIO echoes any number and
 * receives 8192 bytes, SCST says 512 and means it. */
static uint32_t immediate_limit(const struct iscsi_params *p)
{
	if (!p->immediate_data)
		return 0;
	return min_u32(
		min_u32(p->target_recv_data_segment_length, p->first_burst_length), ISER_DATA_MAX);
}

int iser_enable(struct dm_conn *base, const struct iscsi_params *p)
{
	struct iser_conn *c = iser_conn_of(base);

	if (c->phase != ISER_LOGIN || !c->full_feature.memory)
		return -ENOTCONN;
	c->phase = ISER_FULL_FEATURE;
	c->base.checksums_data = c->rdma->checksums_data;
	if (c->initiator)
		c->immediate_limit = immediate_limit(p);
	return 0;
}

/* ---- the end ---- */

void iser_terminate(struct dm_conn *base, bool graceful)
{
	struct iser_conn *c = iser_conn_of(base);

	if (c->phase == ISER_ENDING || (c->phase == ISER_DRAINING && graceful))
		return;
	c->reason = "terminated by this end";
	if (graceful && iser_conn_carries(c) &&
		loop_timer_arm(c->mover->loop, &c->drain, ISER_DRAIN_NS) == 0) {
		c->phase = ISER_DRAINING;
		iser_pump_schedule(c);
		return;
	}
	c->phase = ISER_ENDING;
	loop_timer_cancel(&c->drain);
	rdma_disconnect(c->rdma, false);
}

static void rdma_event(void *owner, enum rdma_conn_event event, const struct rdma_private_data *pd)
{
	struct iser_conn *c = owner;

	if (event != RDMA_ESTABLISHED || c->phase != ISER_CONNECTING)
		return; /* RDMA_REJECTED: `closed` follows and says why */
	c->phase = ISER_LOGIN;
	c->base.checksums_data = c->rdma->checksums_data;
	(void)pd; /* tgt sends none, and never invalidates: each Send is judged as it comes */
	c->base.up->connected(c->base.owner);
}

static void rdma_closed(void *owner, int error, const char *reason)
{
	struct iser_conn *c = owner;
	bool ours = c->phase == ISER_ENDING || c->phase == ISER_DRAINING;

	c->phase = ISER_ENDING;
	loop_timer_cancel(&c->drain);
	loop_call_cancel(&c->pump);
	loop_call_cancel(&c->cancel);
	iser_transfers_abandon(c);
	iser_tasks_abandon(c);
	c->rdma = NULL;
	if (ours) {
		error = c->error;
		reason = c->reason;
	}
	if (c->base.up)
		c->base.up->connection_terminate_notify(
			c->base.owner, error, reason ? reason : "closed by the peer");
	iser_conn_free(c);
}

const struct rdma_conn_upcalls iser_rdma_upcalls = {
	.event = rdma_event,
	.closed = rdma_closed,
};

void iser_get_info(const struct dm_conn *base, struct dm_conn_info *ret)
{
	const struct iser_conn *c = container_of(base, const struct iser_conn, base);
	struct rdma_conn_info rdma = {.provider = ""};

	if (c->rdma)
		rdma_conn_get_info(c->rdma, &rdma);
	*ret = (struct dm_conn_info){.mover = "iser",
		.provider = rdma.provider,
		.data_digest = rdma.crc,
		.remote_invalidate = c->remote_invalidate,
		.pdus_sent = c->pdus_sent,
		.pdus_received = c->pdus_received,
		.bytes_sent = rdma.bytes_sent,
		.bytes_received = rdma.bytes_received,
		.queue_depth = c->login.receive_count + c->full_feature.receive_count};
	snprintf(ret->local, sizeof(ret->local), "%s", rdma.local);
	snprintf(ret->peer, sizeof(ret->peer), "%s", rdma.peer);
	snprintf(ret->detail, sizeof(ret->detail), "%s", rdma.detail);
}

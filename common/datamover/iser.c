/* The iSER mover (RFC 7145): connects, accepts and registers memory by any RDMA provider. The
 * initiator and the target call it through datamover.h. See iser_internal.h for the map of its
 * files. */
#include "common/datamover/iser.h"

#include <errno.h>

#include "common/base/alloc.h"
#include "common/datamover/iser_internal.h"

#define DEFAULT_QUEUE_DEPTH 128 /* what LIO and ib_iser have by default */
#define MAX_QUEUE_DEPTH 4096
#define MIN_DATA_SEGMENT 512 /* RFC 7145 section 6.3 and 6.4 */
#define MAX_DATA_SEGMENT (256 * 1024)

struct iser_acceptor {
	struct rdma_acceptor base;
	struct iser_mover *mover;
	struct dm_acceptor *upper;
	struct list link;
};

static struct iser_mover *mover_of(struct dm_mover *m)
{
	return container_of(m, struct iser_mover, base);
}

static void private_data_fill(bool invalidate, struct rdma_private_data *ret)
{
	*ret = (struct rdma_private_data){.length = ISER_CM_SIZE};
	iser_cm_encode(invalidate, ret->bytes);
}

static int iser_connect(struct dm_mover *base, const struct address *to, uint64_t timeout_ns,
	const struct dm_upcalls *up, void *owner, struct dm_conn **ret)
{
	struct iser_mover *m = mover_of(base);
	struct iser_conn *c = iser_conn_new(m, true);
	struct rdma_private_data pd;
	int r;

	if (!c)
		return -ENOMEM;
	dm_conn_set_owner(&c->base, up, owner);
	c->remote_invalidate =
		m->config.allow_remote_invalidate && rdma_takes_invalidate(m->provider, to);
	private_data_fill(c->remote_invalidate, &pd);
	r = rdma_connect(
		m->provider, to, timeout_ns, &m->limits, &pd, &iser_rdma_upcalls, c, &c->rdma);
	if (r < 0) {
		iser_conn_free(c);
		return r;
	}
	*ret = &c->base;
	r = iser_buffers_post(c, &c->login);
	if (r < 0)
		iser_conn_fail(c, r, "no receive could be posted for the login");
	return 0;
}

/* Receives are posted before the peer learns that it may send: a Login Request can be here before
 * RDMA_ESTABLISHED is. */
static int conn_accept(struct iser_conn *c, struct rdma_conn *rdma)
{
	struct rdma_private_data pd;
	int r;

	c->rdma = rdma;
	r = iser_buffers_post(c, &c->login);
	if (r < 0)
		return r;
	private_data_fill(c->mover->config.allow_remote_invalidate, &pd);
	return rdma_accept(rdma, &c->mover->limits, &pd, &iser_rdma_upcalls, c);
}

static void iser_requested(struct rdma_acceptor *base, struct rdma_conn *rdma,
	const struct address *peer, const struct rdma_private_data *pd)
{
	struct iser_acceptor *a = container_of(base, struct iser_acceptor, base);
	struct iser_conn *c = iser_conn_new(a->mover, false);
	struct rdma_private_data mine;

	if (!c || conn_accept(c, rdma) < 0) {
		private_data_fill(a->mover->config.allow_remote_invalidate, &mine);
		rdma_reject(rdma, &mine);
		iser_conn_free(c);
		return;
	}
	c->remote_invalidate = a->mover->config.allow_remote_invalidate && pd &&
			       iser_cm_allows_invalidate(pd->bytes, pd->length);
	a->upper->accepted(a->upper, &c->base, peer);
	if (!c->base.up)
		iser_terminate(&c->base, false);
}

static int iser_register_region(
	struct dm_mover *base, void *address, size_t length, struct dm_region **ret)
{
	struct dm_region *r = alloc_zeroed(sizeof(*r));
	struct rdma_region *rdma;
	int error;

	if (!r)
		return -ENOMEM;
	error = rdma_register(mover_of(base)->provider, address, length, &rdma);
	if (error < 0) {
		alloc_free(r);
		return error;
	}
	*r = (struct dm_region){.address = address, .length = length, .mover_handle = rdma};
	*ret = r;
	return 0;
}

static void iser_unregister_region(struct dm_mover *base, struct dm_region *r)
{
	rdma_unregister(mover_of(base)->provider, r->mover_handle);
	alloc_free(r);
}

static enum dm_pinning iser_pinning(struct dm_mover *base)
{
	static const enum dm_pinning as[] = {
		[RDMA_PINS_NOT] = DM_PINS_NOT,
		[RDMA_PINS] = DM_PINS,
		[RDMA_PINS_LATER] = DM_PINS_LATER,
	};

	return as[rdma_pinning(mover_of(base)->provider)];
}

static void iser_free_mover(struct dm_mover *base)
{
	struct iser_mover *m = mover_of(base);
	struct list *node;

	while ((node = list_pop(&m->acceptors)))
		alloc_free(list_entry(node, struct iser_acceptor, link));
	alloc_free(m);
}

const struct dm_ops iser_ops = {
	.name = "iser",
	.connect = iser_connect,
	.register_region = iser_register_region,
	.unregister_region = iser_unregister_region,
	.pinning = iser_pinning,
	.free_mover = iser_free_mover,
	.declare_keys = iser_declare_keys,
	.allocate_connection_resources = iser_allocate_connection_resources,
	.enable = iser_enable,
	.terminate = iser_terminate,
	.send_control = iser_send_control,
	.put_data = iser_put_data,
	.get_data = iser_get_data,
	.deallocate_task_resources = iser_deallocate_task_resources,
	.get_info = iser_get_info,
};

static uint32_t within(uint32_t value, uint32_t fallback, uint32_t min, uint32_t max)
{
	if (!value)
		return fallback;
	return value < min ? min : min_u32(value, max);
}

struct dm_mover *iser_mover_new(
	struct loop *loop, struct rdma_provider *provider, const struct iser_mover_config *config)
{
	struct iser_mover *m = alloc_zeroed(sizeof(*m));
	struct iser_mover_config *k;

	if (!m)
		return NULL;
	k = &m->config;
	*k = *config;
	k->queue_depth = within(k->queue_depth, DEFAULT_QUEUE_DEPTH, 1, MAX_QUEUE_DEPTH);
	k->target_recv_data_segment_length = within(k->target_recv_data_segment_length,
		ISER_DATA_MAX, MIN_DATA_SEGMENT, MAX_DATA_SEGMENT);
	k->initiator_recv_data_segment_length = within(k->initiator_recv_data_segment_length,
		ISER_DATA_MAX, MIN_DATA_SEGMENT, MAX_DATA_SEGMENT);
	m->receives = k->queue_depth + k->queue_depth / 2 + 16;
	/* A response and a transfer for every command that may be there;
	 * what is more waits here. */
	m->limits = (struct rdma_conn_limits){.send_depth = 2 * m->receives,
		.receive_depth = ISER_LOGIN_RECEIVES + m->receives,
		.reads_out = ISER_READS,
		.reads_in = ISER_READS};
	m->base.ops = &iser_ops;
	m->loop = loop;
	m->provider = provider;
	list_init(&m->acceptors);
	return &m->base;
}

struct rdma_acceptor *iser_mover_acceptor(struct dm_mover *base, struct dm_acceptor *acceptor)
{
	struct iser_mover *m = mover_of(base);
	struct iser_acceptor *a = alloc_zeroed(sizeof(*a));

	if (!a)
		return NULL;
	a->base.requested = iser_requested;
	a->mover = m;
	a->upper = acceptor;
	list_append(&m->acceptors, &a->link);
	return &a->base;
}

/* The memory provider's connections. See memory_rdma.h; the verbs are those of common/rdma/rdma.h.
 */
#include "tests/kit/memory_rdma.h"

#include <errno.h>
#include <stdio.h>

#include "common/base/alloc.h"
#include "common/loop/address.h"
#include "tests/kit/memory_rdma_internal.h"

void memory_conn_schedule(struct memory_conn *c)
{
	loop_defer(c->provider->loop, &c->call);
}

void memory_conn_close(struct memory_conn *c, int error, const char *reason)
{
	if (c->state == STATE_CLOSED)
		return;
	c->state = STATE_CLOSED;
	c->error = error;
	c->reason = reason;
	memory_conn_schedule(c);
}

/* ---- life ---- */

static void conn_free(struct memory_conn *c)
{
	struct memory_provider *p = c->provider;

	memory_tags_free(c);
	if (c->peer)
		c->peer->peer = NULL;
	loop_call_cancel(&c->call);
	loop_timer_cancel(&c->timeout);
	list_remove(&c->link);
	p->counts.conns--;
	alloc_free(c);
}

static void conn_finish(struct memory_conn *c)
{
	struct memory_conn *peer = c->peer;

	if (peer) { /* it sees the end as a socket would */
		peer->peer = NULL;
		c->peer = NULL;
		memory_conn_close(peer, 0, "closed by the peer");
	}
	memory_work_cancel(&c->receives);
	memory_work_cancel(&c->work);
	if (c->up)
		c->up->closed(c->base.owner, c->error, c->reason);
	conn_free(c);
}

static void conn_run(struct loop_call *call)
{
	struct memory_conn *c = container_of(call, struct memory_conn, call);

	if (c->asked) {
		struct address nowhere = {.length = 0};

		c->asked = false;
		c->provider->acceptor->requested(
			c->provider->acceptor, &c->base, &nowhere, &c->private_data);
		return;
	}
	if (c->rejected) {
		c->rejected = false;
		c->up->event(c->base.owner, RDMA_REJECTED, &c->private_data);
		memory_conn_close(c, -ECONNREFUSED, "rejected by the peer");
		return;
	}
	if (c->state == STATE_OPEN && !c->established) {
		c->established = true;
		c->up->event(c->base.owner, RDMA_ESTABLISHED, &c->private_data);
		memory_conn_message(c);
	}
	memory_work_run(c);
	if (c->state == STATE_DRAINING && (list_empty(&c->work) || !c->peer))
		memory_conn_close(c, 0, "closed by this end");
	if (c->state == STATE_CLOSED)
		conn_finish(c);
}

static void conn_timed_out(struct loop_timer *t)
{
	struct memory_conn *c = container_of(t, struct memory_conn, timeout);

	if (c->state == STATE_WAITING)
		memory_conn_close(c, -ETIMEDOUT, "no answer from the peer");
}

static struct memory_conn *conn_new(struct memory_provider *p, bool active)
{
	struct memory_conn *c = alloc_zeroed(sizeof(*c));

	if (!c)
		return NULL;
	c->base.ops = p->base.ops;
	c->provider = p;
	c->active = active;
	c->state = active ? STATE_WAITING : STATE_REQUESTED;
	c->call.call = conn_run;
	c->timeout.expired = conn_timed_out;
	list_init(&c->receives);
	list_init(&c->work);
	list_append(&p->conns, &c->link);
	p->counts.conns++;
	return c;
}

static int memory_connect(struct rdma_provider *base, const struct address *to, uint64_t timeout_ns,
	const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
	const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret)
{
	struct memory_provider *p = provider_of(base);
	struct memory_conn *c, *peer;

	(void)to;
	if (!p->acceptor)
		return -ECONNREFUSED;
	c = conn_new(p, true);
	peer = c ? conn_new(p, false) : NULL;
	if (!peer || loop_timer_arm(p->loop, &c->timeout, timeout_ns) < 0)
		goto fail;
	c->base.owner = owner;
	c->up = up;
	c->limits = *limits;
	c->peer = peer;
	peer->peer = c;
	peer->private_data = *pd;
	peer->asked = true;
	memory_conn_schedule(peer);
	*ret = &c->base;
	return 0;
fail:
	if (peer)
		conn_free(peer);
	if (c)
		conn_free(c);
	return -ENOMEM;
}

static int memory_accept(struct rdma_conn *base, const struct rdma_conn_limits *limits,
	const struct rdma_private_data *pd, const struct rdma_conn_upcalls *up, void *owner)
{
	struct memory_conn *c = conn_of(base);

	if (!c->peer)
		return -ENOTCONN;
	c->up = up;
	c->base.owner = owner;
	c->limits = *limits;
	c->state = STATE_OPEN;
	c->peer->private_data = *pd;
	c->peer->state = STATE_OPEN;
	loop_timer_cancel(&c->peer->timeout);
	/* The active end first: its first Send is here before the passive end is told. */
	memory_conn_schedule(c->peer);
	memory_conn_schedule(c);
	return 0;
}

/* Receives that were posted are forgotten, not completed. */
static void memory_reject(struct rdma_conn *base, const struct rdma_private_data *pd)
{
	struct memory_conn *c = conn_of(base);
	struct memory_conn *peer = c->peer;

	if (peer) {
		peer->private_data = *pd;
		peer->rejected = true;
		memory_conn_schedule(peer);
	}
	conn_free(c);
}

static void memory_disconnect(struct rdma_conn *base, bool graceful)
{
	struct memory_conn *c = conn_of(base);

	if (graceful && c->state == STATE_OPEN) {
		c->state = STATE_DRAINING;
		memory_conn_schedule(c);
	} else if (!graceful || c->state != STATE_DRAINING) {
		memory_conn_close(c, 0, "closed by this end");
	}
}

static void memory_flush(struct rdma_conn *c)
{
	conn_of(c)->provider->counts.flushes++;
}

static void memory_get_info(const struct rdma_conn *base, struct rdma_conn_info *ret)
{
	const struct memory_conn *c = container_of(base, const struct memory_conn, base);

	*ret = (struct rdma_conn_info){.provider = "memory",
		.bytes_sent = c->bytes_sent,
		.bytes_received = c->bytes_received};
	snprintf(ret->local, sizeof(ret->local), "memory");
	snprintf(ret->peer, sizeof(ret->peer), "memory");
}

static void memory_free_provider(struct rdma_provider *p)
{
	alloc_free(provider_of(p));
}

static bool memory_takes_invalidate(struct rdma_provider *p, const struct address *to)
{
	(void)to;
	return !provider_of(p)->keeps_tags;
}

static const struct rdma_ops memory_ops = {
	.name = "memory",
	.register_region = memory_register,
	.unregister_region = memory_unregister,
	.connect = memory_connect,
	.accept = memory_accept,
	.reject = memory_reject,
	.disconnect = memory_disconnect,
	.post_receive = memory_post_receive,
	.post_send = memory_post_send,
	.post_write = memory_post_write,
	.post_read = memory_post_read,
	.flush = memory_flush,
	.expose = memory_expose,
	.revoke = memory_revoke,
	.takes_invalidate = memory_takes_invalidate,
	.get_info = memory_get_info,
	.free_provider = memory_free_provider,
};

struct rdma_provider *memory_rdma_new(struct loop *loop)
{
	struct memory_provider *p = alloc_zeroed(sizeof(*p));

	if (!p)
		return NULL;
	p->base.ops = &memory_ops;
	p->loop = loop;
	list_init(&p->conns);
	return &p->base;
}

void memory_rdma_listen(struct rdma_provider *p, struct rdma_acceptor *acceptor)
{
	provider_of(p)->acceptor = acceptor;
}

void memory_rdma_keep_tags(struct rdma_provider *p)
{
	provider_of(p)->keeps_tags = true;
}

void memory_rdma_break(struct rdma_conn *base)
{
	struct memory_conn *c = conn_of(base);

	if (c->peer)
		memory_conn_close(c->peer, -ECONNRESET, "connection reset");
	memory_conn_close(c, -ECONNRESET, "connection reset");
}

void memory_rdma_hold(struct rdma_conn *base, bool held)
{
	struct memory_conn *c = conn_of(base);

	c->held = held;
	memory_conn_schedule(c);
}

/* ---- what was planned ---- */

void memory_conn_message(struct memory_conn *c)
{
	struct memory_provider *p = c->provider;
	unsigned way = c->active ? 0 : 1;

	p->messages[way]++;
	if (p->stall && way == p->stall_way && p->messages[way] >= p->stall)
		c->stalled = true;
	if (p->cut && p->messages[0] + p->messages[1] >= p->cut) {
		p->cut = 0;
		memory_rdma_break(&c->base);
	}
}

void memory_rdma_plan(struct rdma_provider *base, uint64_t cut, unsigned way, uint64_t stall)
{
	struct memory_provider *p = provider_of(base);

	p->messages[0] = p->messages[1] = 0;
	p->cut = cut;
	p->stall = stall;
	p->stall_way = way;
}

uint64_t memory_rdma_messages(const struct rdma_provider *p, unsigned way)
{
	return container_of(p, const struct memory_provider, base)->messages[way];
}

bool memory_rdma_release(struct rdma_provider *base)
{
	struct memory_provider *p = provider_of(base);
	struct memory_conn *c;
	bool any = false;

	list_for_each(c, &p->conns, link) {
		if (!c->stalled)
			continue;
		c->stalled = false;
		p->stall = 0;
		any |= !list_empty(&c->work);
		memory_conn_schedule(c);
	}
	return any;
}

struct rdma_conn *memory_rdma_newest(struct rdma_provider *p, bool active)
{
	struct memory_conn *c, *newest = NULL;

	list_for_each(c, &provider_of(p)->conns, link) {
		if (c->active == active)
			newest = c;
	}
	return newest ? &newest->base : NULL;
}

struct memory_rdma_counts memory_rdma_counts(const struct rdma_provider *p)
{
	return container_of(p, const struct memory_provider, base)->counts;
}

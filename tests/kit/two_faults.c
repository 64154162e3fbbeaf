/* See two_faults.h. */
#include "tests/kit/two_faults.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/pool.h"
#include "common/loop/loop_private.h"
#include "target/target_set.h"
#include "tests/kit/memory_rdma.h"
#include "tests/kit/two_ends_internal.h"

/* ---- connections ---- */

static enum frames_kind frames_of(const struct two_ends *e)
{
	if (e->config.mover == TWO_ENDS_TCP)
		return FRAMES_ISCSI;
	return e->config.mover == TWO_ENDS_TCP_DIGESTS ? FRAMES_ISCSI_DIGESTS : FRAMES_MPA;
}

void two_ends_plan(struct two_ends *e, const struct pipe_plan *plan)
{
	e->plan = *plan;
	if (e->config.mover == TWO_ENDS_ISER_MEMORY)
		memory_rdma_plan(e->target_provider, plan->cut_messages, plan->stall_way,
			plan->stall_messages);
}

int two_ends_pipe(struct two_ends *e, int ret_ends[2])
{
	const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	struct pipe *p;
	int r;

	if (e->refused)
		return -ECONNREFUSED;
	if (e->config.direct)
		return socketpair(AF_UNIX, type, 0, ret_ends) < 0 ? -errno : 0;
	assert_true(e->pipe_count < PIPES_MAX);
	r = pipe_new(
		e->worker->loop, e->config.chunking, e->config.seed + e->pipe_count, ret_ends, &p);
	if (r < 0)
		return r;
	e->plan.frames = frames_of(e);
	pipe_plan(p, &e->plan);
	e->plan = (struct pipe_plan){0};
	e->pipes[e->pipe_count++] = p;
	return 0;
}

uint64_t two_ends_messages(struct two_ends *e, unsigned way)
{
	if (e->config.mover == TWO_ENDS_ISER_MEMORY)
		return memory_rdma_messages(e->target_provider, way);
	return e->pipe_count ? pipe_messages(e->pipes[e->pipe_count - 1], way) : 0;
}

uint64_t two_ends_bytes(struct two_ends *e)
{
	return e->pipe_count ? pipe_bytes(e->pipes[e->pipe_count - 1]) : 0;
}

static bool release(struct two_ends *e)
{
	bool any = false;

	if (e->config.mover == TWO_ENDS_ISER_MEMORY)
		return memory_rdma_release(e->target_provider);
	for (unsigned i = 0; i < e->pipe_count; i++)
		any |= pipe_release(e->pipes[i]);
	return any;
}

bool two_ends_wait_virtually(struct two_ends *e, uint64_t until)
{
	struct loop *l = e->worker->loop;
	uint64_t due = loop_timers_next(l);

	if (release(e))
		return true;
	if (due > until)
		return false;
	loop_advance(l, due > l->now_ns ? due - l->now_ns : 0);
	return true;
}

/* ---- provider operations ---- */

static bool fails(struct two_ends *e)
{
	e->provider_asked++;
	return e->provider_fail_in && --e->provider_fail_in == 0;
}

static struct two_ends *ends_of(const struct rdma_ops *ops)
{
	return container_of(ops, struct two_ends_hook, rdma)->ends;
}

static int hook_register(
	struct rdma_provider *p, void *address, size_t length, struct rdma_region **ret)
{
	struct two_ends *e = ends_of(p->ops);

	return fails(e) ? -ENOMEM : e->provider_ops->register_region(p, address, length, ret);
}

static int hook_accept(struct rdma_conn *c, const struct rdma_conn_limits *limits,
	const struct rdma_private_data *pd, const struct rdma_conn_upcalls *up, void *owner)
{
	struct two_ends *e = ends_of(c->ops);

	return fails(e) ? -ENOMEM : e->provider_ops->accept(c, limits, pd, up, owner);
}

static int hook_receive(struct rdma_conn *c, struct rdma_receive *r)
{
	struct two_ends *e = ends_of(c->ops);

	return fails(e) ? -ENOBUFS : e->provider_ops->post_receive(c, r);
}

static int hook_send(struct rdma_conn *c, struct rdma_send *s)
{
	struct two_ends *e = ends_of(c->ops);

	return fails(e) ? -ENOBUFS : e->provider_ops->post_send(c, s);
}

static int hook_write(struct rdma_conn *c, struct rdma_transfer *t)
{
	struct two_ends *e = ends_of(c->ops);

	return fails(e) ? -ENOBUFS : e->provider_ops->post_write(c, t);
}

static int hook_read(struct rdma_conn *c, struct rdma_transfer *t)
{
	struct two_ends *e = ends_of(c->ops);

	return fails(e) ? -ENOBUFS : e->provider_ops->post_read(c, t);
}

static int hook_expose(struct rdma_conn *c, struct rdma_region *region, void *data, uint32_t length,
	unsigned access, uint32_t *ret_stag, uint64_t *ret_address)
{
	struct two_ends *e = ends_of(c->ops);

	return fails(e) ? -ENOSPC
			: e->provider_ops->expose(
				  c, region, data, length, access, ret_stag, ret_address);
}

static int hook_connect(struct rdma_provider *p, const struct address *to, uint64_t timeout_ns,
	const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
	const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret)
{
	struct two_ends *e = ends_of(p->ops);

	return fails(e) ? -ENOMEM : e->connect(p, to, timeout_ns, limits, pd, up, owner, ret);
}

static void hook_requested(struct rdma_acceptor *a, struct rdma_conn *c, const struct address *peer,
	const struct rdma_private_data *pd)
{
	struct two_ends *e = container_of(a, struct two_ends, hooked_acceptor);

	two_ends_cover_conn(e, c);
	e->rdma_acceptor->requested(e->rdma_acceptor, c, peer, pd);
}

void two_ends_cover_conn(struct two_ends *e, struct rdma_conn *c)
{
	c->ops = &e->hook.rdma;
}

void two_ends_cover_provider(struct two_ends *e)
{
	struct rdma_ops *ops = &e->hook.rdma;

	e->provider_ops = e->target_provider->ops;
	e->connect = ops->connect;
	ops->register_region = hook_register;
	ops->connect = hook_connect;
	ops->accept = hook_accept;
	ops->post_receive = hook_receive;
	ops->post_send = hook_send;
	ops->post_write = hook_write;
	ops->post_read = hook_read;
	ops->expose = hook_expose;
	e->target_provider->ops = e->initiator_provider->ops = ops;
	e->hooked_acceptor.requested = hook_requested;
}

void two_ends_provider_fail_nth(struct two_ends *e, unsigned long n)
{
	e->provider_fail_in = n;
	e->provider_asked = 0;
}

unsigned long two_ends_provider_asked(const struct two_ends *e)
{
	return e->provider_asked;
}

/* ---- rest ---- */

struct rest {
	struct two_ends *ends;
	unsigned sessions;
};

static unsigned count(const struct list *l)
{
	unsigned n = 0;

	for (const struct list *at = l->next; at != l; at = at->next)
		n++;
	return n;
}

static bool is_at_rest(void *arg)
{
	const struct rest *r = arg;
	const struct worker *w = r->ends->worker;
	unsigned pipes = 0;

	for (unsigned i = 0; i < r->ends->pipe_count; i++)
		pipes += !pipe_is_over(r->ends->pipes[i]);
	return pipes <= r->sessions && count(&w->conns) <= r->sessions &&
	       count(&w->sessions) <= r->sessions;
}

static void pipes_free(struct two_ends *e, bool all)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < e->pipe_count; i++) {
		if (all || pipe_is_over(e->pipes[i]))
			pipe_free(e->pipes[i]);
		else
			e->pipes[kept++] = e->pipes[i];
	}
	e->pipe_count = kept;
}

unsigned long two_ends_rest(struct two_ends *e, unsigned sessions)
{
	struct rest r = {e, sessions};
	struct memory_rdma_counts counts;

	two_ends_until(e, is_at_rest, &r);
	two_ends_turn_for(e, 0);
	pipes_free(e, sessions == 0);
	assert_int_equal(pool_available(e->worker->commands), TWO_ENDS_COMMANDS);
	assert_int_equal(atomic_load(&e->set->logins), 0);
	if (e->config.mover == TWO_ENDS_ISER_MEMORY && !sessions) {
		counts = memory_rdma_counts(e->target_provider);
		assert_int_equal(counts.conns, 0);
		assert_int_equal(counts.tags, 0);
	}
	return alloc_live();
}

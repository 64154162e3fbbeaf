/* A slow disk: each request reaches the store below only after a time that depends on its
 * operation. Stacked by the daemon's main() and by tests. */
#include <errno.h>
#include <stdio.h>

#include "common/base/alloc.h"
#include "common/loop/loop.h"
#include "target/backend/stack.h"
#include "target/backend/stores.h"

enum delay_lane {
	LANE_READ,
	LANE_WRITE,
	LANE_FLUSH,
	LANES,
};

static const enum delay_lane lane_of[] = {
	[BACKEND_READ] = LANE_READ,
	[BACKEND_WRITE] = LANE_WRITE,
	[BACKEND_FLUSH] = LANE_FLUSH,
	[BACKEND_DISCARD] = LANE_WRITE,
	[BACKEND_WRITE_ZEROES] = LANE_WRITE,
};

struct delay_backend {
	struct stack_backend stack;
	uint64_t delay_ns[LANES];
};

/* Requests with the same delay: the first to come is the first to be due. */
struct delay_queue {
	struct loop_timer timer;
	struct delay_channel *channel;
	uint64_t delay_ns;
	struct list waiting; /* struct backend_request; backend_private[0] is when it is due */
};

struct delay_channel {
	struct stack_channel stack;
	struct delay_queue queues[LANES];
};

static uint64_t request_due(const struct backend_request *r)
{
	return (uint64_t)(uintptr_t)r->backend_private[0];
}

/* Without memory for a timer, a request is early rather than lost. */
static void queue_run(struct delay_queue *q)
{
	struct loop *l = q->channel->stack.channel.loop;

	while (!list_empty(&q->waiting)) {
		struct backend_request *r = list_first(&q->waiting, struct backend_request, link);
		uint64_t due = request_due(r), now = loop_now(l);

		if (due > now && (loop_timer_armed(&q->timer) ||
					 loop_timer_arm(l, &q->timer, due - now) == 0))
			return;
		list_remove(&r->link);
		backend_submit(q->channel->stack.under, r);
	}
}

static void queue_expired(struct loop_timer *t)
{
	queue_run(container_of(t, struct delay_queue, timer));
}

static void delay_submit(struct backend_channel *channel, struct backend_request *r)
{
	struct delay_channel *c = container_of(channel, struct delay_channel, stack.channel);
	struct delay_queue *q = &c->queues[lane_of[r->operation]];

	if (!q->delay_ns) {
		backend_submit(c->stack.under, r);
		return;
	}
	r->backend_private[0] = (void *)(uintptr_t)(loop_now(channel->loop) + q->delay_ns);
	list_append(&q->waiting, &r->link);
	queue_run(q);
}

static int delay_open_channel(struct backend *b, struct loop *l, struct backend_channel **ret)
{
	struct delay_backend *d = container_of(b, struct delay_backend, stack.backend);
	struct delay_channel *c = alloc_zeroed(sizeof(*c));
	int rc = c ? stack_open(&c->stack, b, l) : -ENOMEM;

	if (rc < 0)
		goto fail;
	for (int i = 0; i < LANES; i++) {
		c->queues[i].timer.expired = queue_expired;
		c->queues[i].channel = c;
		c->queues[i].delay_ns = d->delay_ns[i];
		list_init(&c->queues[i].waiting);
	}
	*ret = &c->stack.channel;
	return 0;
fail:
	alloc_free(c);
	return rc;
}

static void delay_close_channel(struct backend_channel *channel)
{
	struct delay_channel *c = container_of(channel, struct delay_channel, stack.channel);

	for (int i = 0; i < LANES; i++)
		loop_timer_cancel(&c->queues[i].timer);
	stack_close_channel(channel);
}

static const struct backend_ops delay_ops = {
	.name = "delay",
	.free = stack_free,
	.open_channel = delay_open_channel,
	.close_channel = delay_close_channel,
	.submit = delay_submit,
	.register_arena = stack_register_arena,
	.refresh = stack_refresh,
};

int delay_backend_new(struct backend *under, const struct delay_config *config,
	struct backend **ret, char *why, size_t why_size)
{
	struct delay_backend *d = alloc_zeroed(sizeof(*d));

	if (!d) {
		backend_free(under);
		snprintf(why, why_size, "delay: no memory");
		return -ENOMEM;
	}
	stack_init(&d->stack, &delay_ops, under);
	d->delay_ns[LANE_READ] = config->read_ns;
	d->delay_ns[LANE_WRITE] = config->write_ns;
	d->delay_ns[LANE_FLUSH] = config->flush_ns;
	*ret = &d->stack.backend;
	return 0;
}

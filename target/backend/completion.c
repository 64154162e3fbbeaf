/* Deferred completion; called by the stores' submit functions. */
#include "target/backend/completion.h"

static void completions_deliver(struct loop_call *call)
{
	struct completions *c = container_of(call, struct completions, call);
	struct list batch, *node;

	/* The last request's done() may close the channel, and `c` with it. */
	list_init(&batch);
	list_splice(&batch, &c->done);
	while ((node = list_pop(&batch))) {
		struct backend_request *r = list_entry(node, struct backend_request, link);

		r->done(r, (int)(intptr_t)r->backend_private[0]);
	}
}

void completions_init(struct completions *c, struct loop *l)
{
	c->loop = l;
	c->call.call = completions_deliver;
	list_init(&c->done);
}

void completions_add(struct completions *c, struct backend_request *r, int status)
{
	r->backend_private[0] = (void *)(intptr_t)status;
	list_append(&c->done, &r->link);
	loop_defer(c->loop, &c->call);
}

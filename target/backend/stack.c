/* Stacking; called by delay.c and fault.c. */
#include "target/backend/stack.h"

#include "common/base/alloc.h"

void stack_init(struct stack_backend *s, const struct backend_ops *ops, struct backend *under)
{
	s->backend.ops = ops;
	s->backend.info = under->info;
	s->under = under;
}

void stack_free(struct backend *b)
{
	struct stack_backend *s = (struct stack_backend *)b;

	backend_free(s->under);
	alloc_free(s);
}

int stack_open(struct stack_channel *c, struct backend *b, struct loop *l)
{
	c->channel.backend = b;
	c->channel.loop = l;
	return backend_open_channel(((struct stack_backend *)b)->under, l, &c->under);
}

void stack_close_channel(struct backend_channel *channel)
{
	struct stack_channel *c = (struct stack_channel *)channel;

	backend_close_channel(c->under);
	alloc_free(c);
}

int stack_register_arena(struct backend_channel *channel, void *address, size_t length)
{
	struct backend_channel *under = ((struct stack_channel *)channel)->under;
	const struct backend_ops *ops = under->backend->ops;

	return ops->register_arena ? ops->register_arena(under, address, length) : 0;
}

/* Only the size: other loops read the rest for each command. */
int stack_refresh(struct backend *b)
{
	struct backend *under = ((struct stack_backend *)b)->under;
	int rc = under->ops->refresh ? under->ops->refresh(under) : 0;

	b->info.size = under->info.size;
	return rc;
}

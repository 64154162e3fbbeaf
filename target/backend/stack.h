/* What the stores that stack on another (delay, fault) have in common: everything but submit() is
 * the lower store's. They hand the same request down, so while they hold it, it is theirs alone. */
#pragma once

#include "target/backend/backend.h"

struct stack_backend { /* first member */
	struct backend backend;
	struct backend *under; /* owned */
};

struct stack_channel { /* first member */
	struct backend_channel channel;
	struct backend_channel *under;
};

void stack_init(struct stack_backend *s, const struct backend_ops *ops, struct backend *under);
void stack_free(struct backend *b); /* frees the lower store and `b` */
/* Opens the lower channel. On failure nothing is left open. */
int stack_open(struct stack_channel *c, struct backend *b, struct loop *l);
void stack_close_channel(struct backend_channel *c); /* closes the lower one and frees `c` */
int stack_register_arena(struct backend_channel *c, void *address, size_t length);
int stack_refresh(struct backend *b);

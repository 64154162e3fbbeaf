/* The null store: reads zeros, takes and forgets writes. It shows what everything but the store
 * costs. Made by the daemon's main(). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "target/backend/completion.h"
#include "target/backend/ram.h"
#include "target/backend/stores.h"

struct null_channel {
	struct backend_channel channel;
	struct completions completions;
};

static void null_submit(struct backend_channel *channel, struct backend_request *r)
{
	struct null_channel *c = container_of(channel, struct null_channel, channel);
	bool changes = r->operation != BACKEND_READ && r->operation != BACKEND_FLUSH;

	if (r->operation == BACKEND_READ)
		memset(r->data, 0, r->length);
	completions_add(
		&c->completions, r, changes && channel->backend->info.readonly ? -EROFS : 0);
}

static int null_open_channel(struct backend *b, struct loop *l, struct backend_channel **ret)
{
	struct null_channel *c = alloc_zeroed(sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->channel.backend = b;
	c->channel.loop = l;
	completions_init(&c->completions, l);
	*ret = &c->channel;
	return 0;
}

static void null_close_channel(struct backend_channel *channel)
{
	alloc_free(container_of(channel, struct null_channel, channel));
}

static void null_free(struct backend *b)
{
	alloc_free(b);
}

static const struct backend_ops null_ops = {
	.name = "null",
	.free = null_free,
	.open_channel = null_open_channel,
	.close_channel = null_close_channel,
	.submit = null_submit,
};

int null_backend_new(
	const struct memory_config *config, struct backend **ret, char *why, size_t why_size)
{
	struct backend *b;
	int rc = ram_config_check(config, "null", why, why_size);

	if (rc < 0)
		return rc;
	b = alloc_zeroed(sizeof(*b));
	if (!b) {
		snprintf(why, why_size, "null: no memory");
		return -ENOMEM;
	}
	b->ops = &null_ops;
	ram_info_set(&b->info, config);
	*ret = b;
	return 0;
}

/* The null store: reads zeros, takes and forgets writes. It shows what everything but the store
 * costs. Made by the daemon's main(). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "target/backend/ram.h"
#include "target/backend/stores.h"

static void null_submit(struct backend_channel *channel, struct backend_request *r)
{
	bool changes = r->operation != BACKEND_READ && r->operation != BACKEND_FLUSH;

	if (r->operation == BACKEND_READ)
		memset(r->data, 0, r->length);
	ram_complete(channel, r, changes && channel->backend->info.readonly ? -EROFS : 0);
}

static void null_free(struct backend *b)
{
	alloc_free(b);
}

static const struct backend_ops null_ops = {
	.name = "null",
	.free = null_free,
	.open_channel = ram_open_channel,
	.close_channel = ram_close_channel,
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

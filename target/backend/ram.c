/* Configuration and channels of the memory and null stores; called by both. */
#include "target/backend/ram.h"

#include <errno.h>
#include <stdio.h>

#include "common/base/alloc.h"
#include "target/backend/completion.h"

struct ram_channel {
	struct backend_channel channel;
	struct completions completions;
};

static uint32_t ram_block_size(const struct memory_config *config)
{
	return config->block_size ? config->block_size : 512;
}

int ram_config_check(
	const struct memory_config *config, const char *store, char *why, size_t why_size)
{
	uint32_t block = ram_block_size(config);

	if (block != 512 && block != 4096) {
		snprintf(why, why_size, "%s: a block size of %u is not possible; 512 or 4096 is",
			store, block);
		return -EINVAL;
	}
	/* Offsets are off_t elsewhere, and rounding up must not overflow. */
	if (config->size == 0 || config->size % block || config->size > INT64_MAX / 2) {
		snprintf(why, why_size,
			"%s: a size of %llu bytes is not possible; give a multiple of %u, as in 1G",
			store, (unsigned long long)config->size, block);
		return -EINVAL;
	}
	return 0;
}

void ram_info_set(struct backend_info *info, const struct memory_config *config)
{
	*info = (struct backend_info){
		.size = config->size,
		.block_size = ram_block_size(config),
		.physical_block_size = 4096,
		.discard_granularity = 4096,
		.readonly = config->readonly,
	};
}

int ram_open_channel(struct backend *b, struct loop *l, struct backend_channel **ret)
{
	struct ram_channel *c = alloc_zeroed(sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->channel.backend = b;
	c->channel.loop = l;
	completions_init(&c->completions, l);
	*ret = &c->channel;
	return 0;
}

void ram_close_channel(struct backend_channel *channel)
{
	alloc_free(container_of(channel, struct ram_channel, channel));
}

void ram_complete(struct backend_channel *channel, struct backend_request *r, int status)
{
	completions_add(
		&container_of(channel, struct ram_channel, channel)->completions, r, status);
}

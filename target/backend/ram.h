/* What the stores that keep nothing on a disk (memory, null) have in common. */
#pragma once

#include "target/backend/stores.h"

/* Size and block size: 0, or -EINVAL with the line in `why`. */
int ram_config_check(
	const struct memory_config *config, const char *store, char *why, size_t why_size);
void ram_info_set(struct backend_info *info, const struct memory_config *config);

/* Channels whose requests are finished at once: open_channel() and close_channel() of the store's
 * operations, and the end of a request in its submit(). */
int ram_open_channel(struct backend *b, struct loop *l, struct backend_channel **ret);
void ram_close_channel(struct backend_channel *channel);
void ram_complete(struct backend_channel *channel, struct backend_request *r, int status);

/* What the stores that keep nothing on a disk (memory, null) have in common. */
#pragma once

#include "target/backend/stores.h"

/* Size and block size: 0, or -EINVAL with the line in `why`. */
int ram_config_check(
	const struct memory_config *config, const char *store, char *why, size_t why_size);
void ram_info_set(struct backend_info *info, const struct memory_config *config);

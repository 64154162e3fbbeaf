/* A whole target (target/, both movers) on a virtual clock against peers that an input plays: the
 * drivers fuzz_target_tcp.c and fuzz_target_iser.c. Two targets: one open, with a fast unit and a
 * slow one, one with CHAP. */
#pragma once

#include "tests/fuzz/fuzz.h"

/* Input: options, then records: of connections, time and bytes. See target_role.c. */
void target_role_run(const uint8_t *data, size_t size, bool rdma);

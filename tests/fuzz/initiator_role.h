/* A whole initiator (initiator/, both movers) on a virtual clock against a target that an input
 * plays: the drivers fuzz_initiator_tcp.c and fuzz_initiator_iser.c. */
#pragma once

#include "tests/fuzz/fuzz.h"

/* Input: options, then records. See initiator_role.c. */
void initiator_role_run(const uint8_t *data, size_t size, bool rdma);

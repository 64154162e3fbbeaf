/* UNMAP as the tests of ranges.c and sbc_unmap.c send it. */
#pragma once

#include "tests/unit/target/device_server.h"

static inline struct server_result *unmap(
	struct tgt_session *s, const struct unmap_extent *extents, size_t count)
{
	uint8_t list[8192], cdb[CDB_SIZE];
	size_t length = unmap_list_encode(extents, count, list, sizeof(list));

	cdb_unmap(cdb, (uint16_t)length);
	return server_out(s, cdb, list, (uint32_t)length);
}

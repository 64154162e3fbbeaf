/* LUNs in their 8-byte form (SAM-5 section 4.7), of which this project uses single-level
 * peripheral (method 00b, bus 0) and flat space addressing (01b). */
#include <errno.h>

#include "common/iscsi/pdu.h"

#define LUN_METHOD_SHIFT 62
#define LUN_METHOD_FLAT 1ull
#define LUN_LEVEL_SHIFT 48 /* the first level is the upper two bytes */

uint64_t iscsi_lun_encode(uint16_t lun)
{
	uint64_t level = lun & 0x3fff;
	uint64_t method = level > 255 ? LUN_METHOD_FLAT : 0;

	return method << LUN_METHOD_SHIFT | level << LUN_LEVEL_SHIFT;
}

int iscsi_lun_decode(uint64_t wire, uint16_t *ret_lun)
{
	uint64_t method = wire >> LUN_METHOD_SHIFT;
	uint16_t level = wire >> LUN_LEVEL_SHIFT & 0x3fff;

	/* Further levels would address a unit behind this one, a bus other than 0 likewise. */
	if (wire & ((1ull << LUN_LEVEL_SHIFT) - 1))
		return -ENOENT;
	if (method > LUN_METHOD_FLAT || (method == 0 && level > 255))
		return -ENOENT;
	*ret_lun = level;
	return 0;
}

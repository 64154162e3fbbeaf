/* LUNs in their 8-byte form (SAM-5 section 4.7), of which this project uses single-level
 * peripheral (method 00b) and flat space addressing (01b). With method 00b the upper six bits are a
 * bus, and there are no buses here; but libiscsi, QEMU with it, and Linux where a LUN is given by
 * hand write any number as it is: LUN 300 as 012Ch. It is understood so. */
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

	/* Further levels would address a unit behind this one. */
	if (wire & ((1ull << LUN_LEVEL_SHIFT) - 1) || method > LUN_METHOD_FLAT)
		return -ENOENT;
	*ret_lun = level;
	return 0;
}

/* CRC32c by ISA-L, which picks the CPU's fastest way (PCLMULQDQ, or tables). Called by the iSCSI
 * and MPA streams for every digest and FPDU. */
#include "common/base/crc32c.h"

#include <isa-l/crc.h>

#include "common/base/bytes.h"

/* crc32_iscsi() takes an int length and neither inverts the initial nor the final value, as
 * RFC 7143 section 13.1 wants both. Inverting at both ends of every call lets calls be chained. */
uint32_t crc32c_update(uint32_t crc, const void *data, size_t length)
{
	const unsigned char *at = data;

	crc = ~crc;
	while (length > 0) {
		size_t piece = min_size(length, 1u << 30);

		/* ISA-L only reads, though its prototype lacks the const. */
		crc = crc32_iscsi((unsigned char *)(uintptr_t)at, (int)piece, crc);
		at += piece;
		length -= piece;
	}
	return ~crc;
}

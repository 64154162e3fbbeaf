/* CRC32c (Castagnoli), the checksum of iSCSI digests (RFC 7143 section 13.1) and MPA
 * (RFC 5044 section 4.4). Both put it on the wire least significant byte first: put_le32(). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Feed `crc` of the bytes before (0 at the start); returns the value after `data`.
 * crc32c_update(0, "123456789", 9) == 0xe3069283. */
uint32_t crc32c_update(uint32_t crc, const void *data, size_t length);

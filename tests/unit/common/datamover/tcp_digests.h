/* PDUs with digests as a raw peer sends them to the iSCSI/TCP mover. */
#pragma once

#include "tests/unit/common/datamover/tcp_raw.h"

#include "common/base/crc32c.h"

/* One PDU with a right header digest and a data digest that is off by `spoil`. */
static inline void send_digested(
	struct kit_raw *r, const struct iscsi_pdu *pdu, uint32_t length, uint32_t spoil)
{
	static uint8_t bytes[ISCSI_BHS_SIZE + 4 + 4096 + 4];
	struct iscsi_pdu copy = *pdu;
	size_t size = ISCSI_BHS_SIZE + 4;

	copy.data_length = length;
	iscsi_pdu_encode(&copy, bytes);
	put_le32(bytes + ISCSI_BHS_SIZE, crc32c_update(0, bytes, ISCSI_BHS_SIZE));
	if (length) {
		memcpy(bytes + size, block, length);
		put_le32(bytes + size + length, crc32c_update(0, block, length) + spoil);
		size += length + 4;
	}
	assert_int_equal(write(r->fd, bytes, size), size);
	kit_settle(r->loop);
}

static inline struct iscsi_params digest_params(void)
{
	struct iscsi_params params = kit_params();

	params.header_digest = params.data_digest = ISCSI_DIGEST_CRC32C;
	return params;
}

/* RFC 7145 section 9: iSER header, Hello, HelloReply and CM private data. See iser_header.h. */
#include "common/datamover/iser_header.h"

#include <errno.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/iscsi/pdu.h"

#define WSV 0x08
#define RSV 0x04
#define REJ 0x01
#define CM_ZBVA_UNUSED 0x80
#define CM_INVALIDATE_UNUSED 0x40

_Static_assert(ISER_HEADERS_SIZE == ISER_HEADER_SIZE + ISCSI_BHS_SIZE, "headers are contiguous");

int iser_header_decode(const uint8_t wire[ISER_HEADER_SIZE], struct iser_header *ret)
{
	uint8_t opcode = wire[0] >> 4;

	if (opcode < ISER_CONTROL || opcode > ISER_HELLO_REPLY)
		return -EPROTO;
	*ret = (struct iser_header){.opcode = opcode};
	if (opcode != ISER_CONTROL)
		return 0;
	ret->write_valid = wire[0] & WSV;
	ret->read_valid = wire[0] & RSV;
	if (ret->write_valid) {
		ret->write_stag = get_be32(wire + 4);
		ret->write_address = get_be64(wire + 8);
	}
	if (ret->read_valid) {
		ret->read_stag = get_be32(wire + 16);
		ret->read_address = get_be64(wire + 20);
	}
	return 0;
}

void iser_header_encode(const struct iser_header *h, uint8_t wire[ISER_HEADER_SIZE])
{
	memset(wire, 0, ISER_HEADER_SIZE);
	wire[0] = (uint8_t)(h->opcode << 4);
	if (h->write_valid) {
		wire[0] |= WSV;
		put_be32(wire + 4, h->write_stag);
		put_be64(wire + 8, h->write_address);
	}
	if (h->read_valid) {
		wire[0] |= RSV;
		put_be32(wire + 16, h->read_stag);
		put_be64(wire + 20, h->read_address);
	}
}

int iser_hello_decode(const uint8_t wire[ISER_HEADER_SIZE], struct iser_hello *ret)
{
	uint8_t max = wire[1] >> 4, min = wire[1] & 0x0f;

	if (wire[0] >> 4 != ISER_HELLO || min > max)
		return -EPROTO;
	*ret = (struct iser_hello){
		.max_version = max, .min_version = min, .ird = get_be16(wire + 2)};
	return 0;
}

void iser_hello_encode(const struct iser_hello *h, uint8_t wire[ISER_HEADER_SIZE])
{
	memset(wire, 0, ISER_HEADER_SIZE);
	wire[0] = ISER_HELLO << 4;
	wire[1] = (uint8_t)(h->max_version << 4 | (h->min_version & 0x0f));
	put_be16(wire + 2, h->ird);
}

int iser_hello_reply_decode(const uint8_t wire[ISER_HEADER_SIZE], struct iser_hello_reply *ret)
{
	if (wire[0] >> 4 != ISER_HELLO_REPLY)
		return -EPROTO;
	*ret = (struct iser_hello_reply){.reject = wire[0] & REJ,
		.max_version = wire[1] >> 4,
		.current_version = wire[1] & 0x0f,
		.ord = get_be16(wire + 2)};
	return 0;
}

void iser_hello_reply_encode(const struct iser_hello_reply *h, uint8_t wire[ISER_HEADER_SIZE])
{
	memset(wire, 0, ISER_HEADER_SIZE);
	wire[0] = (uint8_t)(ISER_HELLO_REPLY << 4 | (h->reject ? REJ : 0));
	wire[1] = (uint8_t)(h->max_version << 4 | (h->current_version & 0x0f));
	put_be16(wire + 2, h->ord);
}

struct iser_hello_reply iser_hello_answer(const struct iser_hello *h, uint16_t ord)
{
	return (struct iser_hello_reply){
		.reject = h->min_version > ISER_VERSION || h->max_version < ISER_VERSION,
		.max_version = ISER_VERSION,
		.current_version = ISER_VERSION,
		.ord = ord < h->ird ? ord : h->ird,
	};
}

void iser_cm_encode(bool invalidate, uint8_t wire[ISER_CM_SIZE])
{
	memset(wire, 0, ISER_CM_SIZE);
	wire[0] = CM_ZBVA_UNUSED;
	if (!invalidate)
		wire[0] |= CM_INVALIDATE_UNUSED;
}

bool iser_cm_allows_invalidate(const void *private_data, size_t length)
{
	const uint8_t *flags = private_data;

	return length >= ISER_CM_SIZE && flags[0] & CM_ZBVA_UNUSED &&
	       !(flags[0] & CM_INVALIDATE_UNUSED);
}

/* RDMAP: opcodes and the Read Request header (RFC 5040 sections 4.3 and 4.4), faults and Terminate
 * (section 4.8, with the codes of RFC 5041, 5044 and 6581). */
#include "common/iwarp/rdmap.h"

#include "common/base/bytes.h"
#include "common/iwarp/mpa.h"

#define READ_REQUEST_SIZE (DDP_UNTAGGED_SIZE + RDMAP_READ_HEADER_SIZE)
#define TERMINATE_SIZE (DDP_UNTAGGED_SIZE + RDMAP_TERMINATE_CONTROL_SIZE)
#define HAS_LENGTH 0x80 /* M, D, R of the control word's byte 2 */
#define HAS_DDP 0x40
#define HAS_READ 0x20

#define SEND_ROW(text, inv)                                                                        \
	{                                                                                          \
		.name = (text), .queue = DDP_QUEUE_SEND, .header = DDP_UNTAGGED_SIZE,              \
		.invalidates = (inv),                                                              \
	}

static const struct rdmap_opcode_row opcodes[RDMAP_OPCODES] = {
	[RDMAP_WRITE] = {"RDMA Write", .tagged = true, .header = DDP_TAGGED_SIZE},
	[RDMAP_READ_REQUEST] = {"Read Request", .queue = DDP_QUEUE_READ_REQUEST,
		.header = READ_REQUEST_SIZE},
	[RDMAP_READ_RESPONSE] = {"Read Response", .tagged = true, .header = DDP_TAGGED_SIZE},
	[RDMAP_SEND] = SEND_ROW("Send", false),
	[RDMAP_SEND_INVALIDATE] = SEND_ROW("Send with Invalidate", true),
	[RDMAP_SEND_SE] = SEND_ROW("Send with SE", false),
	[RDMAP_SEND_SE_INVALIDATE] = SEND_ROW("Send with SE and Invalidate", true),
	[RDMAP_TERMINATE] = {"Terminate", .queue = DDP_QUEUE_TERMINATE, .header = TERMINATE_SIZE},
};

const struct rdmap_opcode_row *rdmap_opcode_find(uint8_t opcode)
{
	return opcode < RDMAP_OPCODES ? &opcodes[opcode] : NULL;
}

void rdmap_read_decode(const uint8_t bytes[RDMAP_READ_HEADER_SIZE], struct rdmap_read *ret)
{
	*ret = (struct rdmap_read){
		.sink_stag = get_be32(bytes),
		.sink_offset = get_be64(bytes + 4),
		.size = get_be32(bytes + 12),
		.source_stag = get_be32(bytes + 16),
		.source_offset = get_be64(bytes + 20),
	};
}

void rdmap_read_encode(const struct rdmap_read *r, uint8_t out[RDMAP_READ_HEADER_SIZE])
{
	put_be32(out, r->sink_stag);
	put_be64(out + 4, r->sink_offset);
	put_be32(out + 12, r->size);
	put_be32(out + 16, r->source_stag);
	put_be64(out + 20, r->source_offset);
}

#define FAULT(l, t, c, ddp, read, what)                                                            \
	{                                                                                          \
		(l), (t), (c), (ddp), (read), #l "." #t "." #c ": " what                           \
	}

/* Layer 0 RDMAP, 1 DDP, 2 MPA. Where RFC 5040 and the Linux peers differ, what Linux sends. */
static const struct rdmap_fault_row faults[RDMAP_FAULTS] = {
	[RDMAP_NO_FAULT] = {.text = "no fault"},
	[FAULT_READ_STAG] = FAULT(0, 1, 0x00, true, true, "RDMA Read from an unknown STag"),
	[FAULT_READ_BOUNDS] = FAULT(0, 1, 0x01, true, true, "RDMA Read out of bounds"),
	[FAULT_READ_RIGHTS] = FAULT(0, 1, 0x02, true, true, "RDMA Read without the right to read"),
	[FAULT_READ_STREAM] = FAULT(0, 1, 0x03, true, true, "RDMA Read from another's STag"),
	[FAULT_READ_WRAP] = FAULT(0, 1, 0x04, true, true, "RDMA Read whose offset wraps"),
	[FAULT_RDMAP_VERSION] = FAULT(0, 2, 0x05, true, false, "RDMAP version"),
	[FAULT_OPCODE] = FAULT(0, 2, 0x06, true, false, "unexpected opcode"),
	[FAULT_READ_LIMIT] = FAULT(0, 2, 0x07, true, false, "more RDMA Reads than agreed"),
	[FAULT_INVALIDATE] = FAULT(0, 2, 0x09, true, false, "STag cannot be invalidated"),
	[FAULT_UNSPECIFIED] = FAULT(0, 2, 0xff, true, false, "message that RDMAP does not have"),
	[FAULT_NO_READ] = FAULT(1, 0, 0x00, true, false, "Read Response without a request"),
	[FAULT_TAG_STAG] = FAULT(1, 1, 0x00, true, false, "invalid STag"),
	[FAULT_TAG_BOUNDS] = FAULT(1, 1, 0x01, true, false, "tagged data out of bounds"),
	[FAULT_TAG_STREAM] = FAULT(1, 1, 0x02, true, false, "another's STag"),
	[FAULT_TAG_WRAP] = FAULT(1, 1, 0x03, true, false, "tagged offset wraps"),
	[FAULT_TAG_VERSION] = FAULT(1, 1, 0x04, true, false, "DDP version"),
	[FAULT_QUEUE] = FAULT(1, 2, 0x01, true, false, "invalid queue number"),
	[FAULT_NO_BUFFER] = FAULT(1, 2, 0x02, true, false, "no buffer for the message"),
	[FAULT_MSN] = FAULT(1, 2, 0x03, true, false, "message sequence number"),
	[FAULT_OFFSET] = FAULT(1, 2, 0x04, true, false, "message offset"),
	[FAULT_TOO_LONG] = FAULT(1, 2, 0x05, true, false, "message too long"),
	[FAULT_UNTAGGED_VERSION] = FAULT(1, 2, 0x06, true, false, "DDP version"),
	[FAULT_CRC] = FAULT(2, 0, 0x02, false, false, "CRC mismatch"),
	[FAULT_LENGTH] = FAULT(2, 0, 0x03, false, false, "ULPDU shorter than its header"),
	[FAULT_FRAME] = FAULT(2, 0, 0x04, false, false, "invalid MPA frame"),
	[FAULT_READS_IN] = FAULT(2, 0, 0x06, false, false, "insufficient IRD"),
};

const struct rdmap_fault_row *rdmap_fault_find(enum rdmap_fault fault)
{
	return &faults[fault];
}

void rdmap_terminate_decode(
	const uint8_t control[RDMAP_TERMINATE_CONTROL_SIZE], struct rdmap_terminate *ret)
{
	uint8_t high = control[0] >> 4, low = control[0] & 0xf;
	bool swapped = !(control[2] & 0xe0) && (control[2] & 0x07);

	*ret = (struct rdmap_terminate){
		.layer = swapped ? low : high,
		.type = swapped ? high : low,
		.code = control[1],
		.swapped = swapped,
	};
	memcpy(ret->raw, control, sizeof(ret->raw));
}

/* Bytes of the failing message's header that go along: RFC 5040 section 4.8, "Terminated DDP
 * Header" and "Terminated RDMA Header". */
static size_t headers_size(const struct rdmap_fault_row *row, const uint8_t *failed, size_t known)
{
	size_t size;

	if (!row->with_ddp || known < MPA_LENGTH_SIZE + 2)
		return 0;
	size = failed[MPA_LENGTH_SIZE] & 0x80 ? DDP_TAGGED_SIZE : DDP_UNTAGGED_SIZE;
	if (row->with_read)
		size = READ_REQUEST_SIZE;
	return known - MPA_LENGTH_SIZE < size ? 0 : size;
}

size_t rdmap_terminate_encode(enum rdmap_fault fault, const uint8_t *failed, size_t length,
	uint8_t out[RDMAP_TERMINATE_MAX])
{
	const struct rdmap_fault_row *row = &faults[fault];
	size_t headers = headers_size(row, failed, length);

	out[0] = (uint8_t)(row->layer << 4 | row->type);
	out[1] = row->code;
	out[2] = out[3] = 0;
	if (!headers)
		return RDMAP_TERMINATE_CONTROL_SIZE;
	out[2] = (uint8_t)(HAS_LENGTH | HAS_DDP | (row->with_read ? HAS_READ : 0));
	/* The length field, then the headers: just as they stood in the FPDU. */
	memcpy(out + RDMAP_TERMINATE_CONTROL_SIZE, failed, MPA_LENGTH_SIZE + headers);
	return RDMAP_TERMINATE_CONTROL_SIZE + MPA_LENGTH_SIZE + headers;
}

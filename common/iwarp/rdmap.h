/* Remote Direct Memory Access Protocol (RFC 5040): the opcodes, the Read Request's header, and
 * Terminate with every fault that is told to a peer. Encodes and decodes
 * only; used by the streams. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/iwarp/ddp.h"

enum rdmap_opcode {
	RDMAP_WRITE = 0,
	RDMAP_READ_REQUEST = 1,
	RDMAP_READ_RESPONSE = 2,
	RDMAP_SEND = 3,
	RDMAP_SEND_INVALIDATE = 4,
	RDMAP_SEND_SE = 5,
	RDMAP_SEND_SE_INVALIDATE = 6,
	RDMAP_TERMINATE = 7,
	RDMAP_OPCODES
};

#define RDMAP_VERSION 1
#define RDMAP_READ_HEADER_SIZE 28 /* sink STag 4, TO 8, size 4, source STag 4, TO 8 */
#define RDMAP_TERMINATE_CONTROL_SIZE 4

/* One row per opcode: RFC 5040 section 4.3, Figure 5. */
struct rdmap_opcode_row {
	const char *name;
	bool tagged;
	bool invalidates;
	enum ddp_queue queue; /* untagged ones */
	uint8_t header;	      /* DDP and RDMAP header, bytes, without the FPDU's length field */
};

/* NULL for an opcode that is not of RFC 5040 (8 and above: RFC 7306, which siw has not either). */
const struct rdmap_opcode_row *rdmap_opcode_find(uint8_t opcode);

static inline uint8_t rdmap_control(enum rdmap_opcode opcode)
{
	return (uint8_t)(RDMAP_VERSION << 6 | opcode);
}

static inline uint8_t rdmap_control_version(uint8_t control)
{
	return control >> 6;
}

static inline uint8_t rdmap_control_opcode(uint8_t control)
{
	return control & 0xf;
}

struct rdmap_read {
	uint32_t sink_stag, size, source_stag;
	uint64_t sink_offset, source_offset;
};

void rdmap_read_decode(const uint8_t bytes[RDMAP_READ_HEADER_SIZE], struct rdmap_read *ret);
void rdmap_read_encode(const struct rdmap_read *r, uint8_t out[RDMAP_READ_HEADER_SIZE]);

/* ---- faults and Terminate: RFC 5040 section 4.8, RFC 5041 section 7.2, RFC 5044 section 8,
 * RFC 6581 section 8.  Names: layer, then what is wrong. ---- */

enum rdmap_fault {
	RDMAP_NO_FAULT,
	FAULT_READ_STAG, /* Read Request: source STag unknown */
	FAULT_READ_BOUNDS,
	FAULT_READ_RIGHTS,
	FAULT_READ_STREAM, /* STag of another connection */
	FAULT_READ_WRAP,
	FAULT_RDMAP_VERSION,
	FAULT_OPCODE,
	FAULT_READ_LIMIT, /* more Read Requests than our IRD */
	FAULT_INVALIDATE, /* STag cannot be invalidated */
	FAULT_UNSPECIFIED,
	FAULT_NO_READ, /* Read Response without a request */
	FAULT_TAG_STAG,
	FAULT_TAG_BOUNDS,
	FAULT_TAG_STREAM,
	FAULT_TAG_WRAP,
	FAULT_TAG_VERSION,
	FAULT_QUEUE,
	FAULT_NO_BUFFER, /* none posted, or shorter than the message */
	FAULT_MSN,
	FAULT_OFFSET,
	FAULT_TOO_LONG,
	FAULT_UNTAGGED_VERSION,
	FAULT_CRC,
	FAULT_LENGTH,	/* ULPDU_Length shorter than the header */
	FAULT_FRAME,	/* MPA request or reply */
	FAULT_READS_IN, /* the peer's ORD is above our IRD */
	RDMAP_FAULTS
};

struct rdmap_fault_row {
	uint8_t layer, type, code;
	bool with_ddp;	  /* the failing DDP header goes along */
	bool with_read;	  /* and the Read Request's */
	const char *text; /* "layer.type.code: what", for a log */
};

const struct rdmap_fault_row *rdmap_fault_find(enum rdmap_fault fault);

struct rdmap_terminate {
	uint8_t layer, type, code;
	bool swapped; /* came in the nibble order of Linux siw */
	uint8_t raw[RDMAP_TERMINATE_CONTROL_SIZE];
};

/* Control, DDP segment length, DDP header, Read Request header. */
#define RDMAP_TERMINATE_MAX                                                                        \
	(RDMAP_TERMINATE_CONTROL_SIZE + 2 + DDP_UNTAGGED_SIZE + RDMAP_READ_HEADER_SIZE)

/* Decodes the control word in either order: byte 2 (M D R) has its bits at the top by RFC 5040 and
 * at the bottom from a little-endian siw. With neither, the RFC's order is taken. */
void rdmap_terminate_decode(
	const uint8_t control[RDMAP_TERMINATE_CONTROL_SIZE], struct rdmap_terminate *ret);
/* Builds what follows the DDP header, in the RFC's order. `failed` is the FPDU's header from its
 * length field on, `length` bytes of it are known (0: none to send along). Returns the bytes. */
size_t rdmap_terminate_encode(enum rdmap_fault fault, const uint8_t *failed, size_t length,
	uint8_t out[RDMAP_TERMINATE_MAX]);

/* Direct Data Placement headers (RFC 5041 section 4) as they follow the FPDU's length field.
 * Encodes and decodes only; used by rdmap.c and the streams. Offsets
 * count from the control byte. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DDP_TAGGED_SIZE 14   /* control 1, ULP's 1, STag 4, TO 8 */
#define DDP_UNTAGGED_SIZE 18 /* control 1, ULP's 1 + 4, QN 4, MSN 4, MO 4 */
#define DDP_VERSION 1

enum ddp_queue {
	DDP_QUEUE_SEND = 0,
	DDP_QUEUE_READ_REQUEST = 1,
	DDP_QUEUE_TERMINATE = 2,
};

struct ddp_segment {
	bool tagged, last;
	uint8_t version;
	uint8_t ulp_control; /* RDMAP's version and opcode */
	union {
		struct {
			uint32_t stag;
			uint64_t offset; /* TO */
		} tag;
		struct {
			uint32_t ulp_word;	     /* RDMAP: the STag to invalidate */
			uint32_t queue, msn, offset; /* QN, MSN, MO */
		} un;
	};
};

/* The first two bytes: all that says how long the header is. */
void ddp_control_decode(const uint8_t control[2], struct ddp_segment *ret);
/* The whole header: DDP_TAGGED_SIZE or DDP_UNTAGGED_SIZE bytes by its T bit. */
void ddp_segment_decode(const uint8_t *bytes, struct ddp_segment *ret);
/* Returns the bytes written; the version on the wire is DDP_VERSION. */
uint32_t ddp_segment_encode(const struct ddp_segment *s, uint8_t *out);

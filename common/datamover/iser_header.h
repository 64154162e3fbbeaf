/* The iSER header in front of every PDU, the Hello and HelloReply messages (RFC 7145 section 9) and
 * the CM private data of the InfiniBand annex: wire <-> host. No I/O. Used by iser_send.c,
 * iser_receive.c and iser.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISER_HEADER_SIZE 28
/* ISER_HEADER_SIZE + ISCSI_BHS_SIZE: what begins every control PDU */
#define ISER_HEADERS_SIZE 76
#define ISER_VERSION 10 /* RFC 7145 sections 9.3 and 9.4; RFC 5046 was 1 */
#define ISER_CM_SIZE 4

enum iser_opcode {	  /* high half of the first byte */
	ISER_CONTROL = 1, /* an iSCSI control-type PDU follows */
	ISER_HELLO = 2,
	ISER_HELLO_REPLY = 3,
};

/* "write" and "read" are SCSI's directions: the write STag is what the target reads from. */
struct iser_header {
	uint8_t opcode;		      /* enum iser_opcode */
	bool write_valid, read_valid; /* WSV, RSV */
	uint32_t write_stag, read_stag;
	uint64_t write_address, read_address;
};

struct iser_hello {
	uint8_t max_version, min_version;
	uint16_t ird; /* RDMA Reads that the initiator serves at a time */
};

struct iser_hello_reply {
	bool reject;
	uint8_t max_version, current_version;
	uint16_t ord; /* RDMA Reads that the target will have outstanding */
};

/* -EPROTO for an opcode that is none of the three. Tags of an invalid
 * direction are returned as 0. */
int iser_header_decode(const uint8_t wire[ISER_HEADER_SIZE], struct iser_header *ret);
void iser_header_encode(const struct iser_header *h, uint8_t wire[ISER_HEADER_SIZE]);

/* -EPROTO when `wire` is not a Hello, or its versions are upside down. */
int iser_hello_decode(const uint8_t wire[ISER_HEADER_SIZE], struct iser_hello *ret);
void iser_hello_encode(const struct iser_hello *h, uint8_t wire[ISER_HEADER_SIZE]);
int iser_hello_reply_decode(const uint8_t wire[ISER_HEADER_SIZE], struct iser_hello_reply *ret);
void iser_hello_reply_encode(const struct iser_hello_reply *h, uint8_t wire[ISER_HEADER_SIZE]);
/* The answer of an end that speaks ISER_VERSION alone and wants `ord` reads. */
struct iser_hello_reply iser_hello_answer(const struct iser_hello *h, uint16_t ord);

/* Zero-based virtual addressing is never used; `invalidate`: this end
 * takes Send with Invalidate. */
void iser_cm_encode(bool invalidate, uint8_t wire[ISER_CM_SIZE]);
/* Whether the peer whose private data this is takes Send with Invalidate. False unless the peer has
 * said so in so many bits: a peer that sent nothing is seen as all zeros on InfiniBand, which must
 * not be read as "everything is supported". */
bool iser_cm_allows_invalidate(const void *private_data, size_t length);

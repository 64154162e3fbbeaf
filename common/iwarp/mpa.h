/* Marker PDU Aligned framing for TCP (RFC 5044) with enhanced connection setup (RFC 6581): the
 * request and reply frames, what both ends agree on, and the arithmetic of FPDUs. Encodes and
 * decodes only; used by stream_rx.c and stream_tx.c and by rdma/softiwarp_cm.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- request and reply frames: RFC 5044 section 7.1, RFC 6581 section 4 ---- */

#define MPA_FIXED_SIZE 20 /* key 16, flags 1, revision 1, PD_Length 2 */
#define MPA_PD_MAX 512	  /* RFC 5044 section 7.1.1: PD_Length above it is an error */
#define MPA_FRAME_MAX (MPA_FIXED_SIZE + MPA_PD_MAX)
/* What we send stays below: Linux siw resets a connection whose PD_Length is larger. */
#define MPA_PD_SENT_MAX 256
/* IRD or ORD "not negotiated here" (RFC 6581 section 9.1). */
#define MPA_UNLIMITED 0x3fff
/* What we offer or accept at most: the figure of Linux siw, and 128 read requests answered from
 * memory cost us 128 messages. */
#define MPA_READS_MAX 128

enum mpa_kind {
	MPA_REQUEST,
	MPA_REPLY
};

struct mpa_frame {
	enum mpa_kind kind;
	uint8_t revision;
	bool markers, crc, reject, enhanced;
	/* Only when `enhanced`: */
	bool peer_to_peer;		    /* A */
	bool rtr_send, rtr_write, rtr_read; /* B, C, D: the ready-to-receive message */
	uint16_t ird, ord;
	/* The upper layer's, behind the words above; points into the decoded bytes. */
	const uint8_t *private_data;
	size_t private_length;
};

/* 1: `bytes` may begin (or are) a request frame's key; 2: they hold the whole key; 0: they are not
 * a request. */
int mpa_key_match(const uint8_t *bytes, size_t length);
/* Length of the frame whose first MPA_FIXED_SIZE bytes are given, or -EPROTO: wrong key or
 * PD_Length above MPA_PD_MAX. */
int mpa_frame_length(const uint8_t fixed[MPA_FIXED_SIZE], enum mpa_kind kind);
/* Decodes a whole frame of `length` bytes. 0, or -EPROTO: wrong key, PD_Length that differs from
 * `length`, revision 0 or above 2, S without the IRD/ORD words. */
int mpa_frame_decode(
	const uint8_t *bytes, size_t length, enum mpa_kind kind, struct mpa_frame *ret);
/* Encodes into `out`; the length. -EMSGSIZE when it is larger than `size` or PD_Length would be
 * above MPA_PD_SENT_MAX. */
int mpa_frame_encode(const struct mpa_frame *f, uint8_t *out, size_t size);

/* ---- what both ends agree on ---- */

struct mpa_wish { /* ours */
	bool crc;
	uint16_t reads_in, reads_out; /* IRD, ORD */
};

struct mpa_agreement {
	bool crc;
	bool await_rtr;		      /* passive: the peer begins with a ready-to-receive message */
	uint16_t reads_in, reads_out; /* the IRD we serve, the ORD we keep to */
};

/* Passive side: fills in `ret_reply` (no private data yet) and the agreement. -EOPNOTSUPP: the
 * reply refuses (R is set: the peer insists on markers), send it and close. */
int mpa_answer(const struct mpa_frame *request, const struct mpa_wish *wish,
	struct mpa_frame *ret_reply, struct mpa_agreement *ret);
/* Active side: judges the reply to a request of revision 2 with the IRD/ORD words. -ECONNREFUSED:
 * rejected; -EPROTO: markers asked for, or no words; -ENOBUFS: the peer wants more reads served
 * than MPA_READS_MAX (Terminate 2.0.06). */
int mpa_conclude(
	const struct mpa_wish *wish, const struct mpa_frame *reply, struct mpa_agreement *ret);

/* ---- FPDUs: RFC 5044 section 4.1: length 2, ULPDU, pad 0..3, CRC 4 ---- */

#define MPA_LENGTH_SIZE 2
#define MPA_CRC_SIZE 4
#define MPA_TRAILER_MAX (3 + MPA_CRC_SIZE)
#define MPA_ULPDU_MAX 65535u

static inline uint32_t mpa_pad(uint32_t ulpdu_length)
{
	return -(ulpdu_length + MPA_LENGTH_SIZE) & 3;
}

/* The largest ULPDU whose FPDU fits a TCP segment of `emss` bytes: RFC 5044 section 4.3 without
 * markers. Never below 128, the smallest MULPDU that the section allows. */
uint32_t mpa_ulpdu_by_mss(uint32_t emss);

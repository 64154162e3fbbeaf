/* iSCSI PDUs over a byte stream (RFC 7143 section 11.2): header and data digests, AHS, padding. No
 * socket, no clock: the owner (datamover/tcp_rx.c, tcp_tx.c) asks where bytes shall go and says
 * when they came; and asks what is to leave and says when it left. Any chunking is right.
 *
 * Receive. iscsi_rx_want() says where the next bytes shall be put: the stream's own header scratch,
 * or straight the final place of a data segment that the owner named with iscsi_rx_place(). After
 * iscsi_rx_got(n) the stream may have an event:
 *
 *     ISCSI_RX_HEADER  the header (digest checked, AHS included) of a PDU with a data segment is
 *                      there: the owner looks at rx->pdu and says by iscsi_rx_place() where the
 *                      data goes
 *     ISCSI_RX_PDU     the whole PDU is there (data digest checked). The only event of a PDU
 *                      without a data segment
 *
 * An owner that reads ahead in large pieces feeds the piece with iscsi_rx_feed(), which copies; a
 * data segment that is placed where it already lies in the piece is not copied.
 *
 * Send. The owner keeps a struct iscsi_tx_pdu per PDU (header, data by reference) alive until it is
 * retired; iscsi_tx_have() gathers whole PDUs into one iovec array for a single sendmsg. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base/list.h"
#include "common/iscsi/pdu.h"

#define ISCSI_AHS_MAX 1020 /* TotalAHSLength is one byte of words */
#define ISCSI_DIGEST_SIZE 4
#define ISCSI_TRAILER_MAX (3 + ISCSI_DIGEST_SIZE) /* padding and data digest */

/* What the receive functions return. A negative errno means that the stream is broken, and stays
 * so: -EMSGSIZE, a data segment longer than max_data_length, or AHS longer than max_ahs_length;
 * -EBADMSG, a header digest mismatch. A data digest mismatch is not fatal (section 7.8):
 * ISCSI_RX_PDU with rx->data_digest_bad. */
enum iscsi_rx_event {
	ISCSI_RX_NONE = 0, /* more bytes are wanted */
	ISCSI_RX_HEADER = 1,
	ISCSI_RX_PDU = 2,
};

struct iscsi_rx {
	/* set by the owner */
	uint32_t max_data_length;	 /* our MaxRecvDataSegmentLength */
	uint32_t max_ahs_length;	 /* bytes; at most ISCSI_AHS_MAX */
	bool header_digest, data_digest; /* take effect with the next PDU */

	/* valid from the first event of a PDU until the next PDU begins */
	struct iscsi_pdu pdu;
	int decode_error; /* 0, -EPROTO or -EOPNOTSUPP from iscsi_pdu_decode(): the owner answers */
	uint8_t header[ISCSI_BHS_SIZE + ISCSI_AHS_MAX + ISCSI_DIGEST_SIZE];
	bool data_digest_bad; /* with ISCSI_RX_PDU */

	/* the stream's own */
	unsigned phase;
	uint32_t got, need; /* bytes of the present phase */
	uint8_t *place;	    /* of the data segment; NULL: thrown away */
	uint32_t crc;
	uint8_t trailer[8];
	uint8_t sink[512]; /* where thrown data goes when it is not fed */
	int error;
};

void iscsi_rx_init(struct iscsi_rx *rx, uint32_t max_data_length);
/* Where the next bytes go: returns the length of the one contiguous range at *ret; 0 only when the
 * stream is broken. */
size_t iscsi_rx_want(struct iscsi_rx *rx, void **ret);
/* `n` bytes (at most what was wanted) are there. An iscsi_rx_event, or negative errno. */
int iscsi_rx_got(struct iscsi_rx *rx, size_t n);
/* After ISCSI_RX_HEADER: the data segment (pdu.data_length bytes, padding apart) shall be put at
 * `data`; NULL: read and thrown away, as it is where nothing was said. May be called again with
 * NULL in mid-segment: from then on the memory named before is not touched. */
void iscsi_rx_place(struct iscsi_rx *rx, void *data);
/* Feeds from a staging buffer: consumes up to `length` bytes at `bytes` until the first event, or
 * negative errno; *ret_used tells how many. */
int iscsi_rx_feed(struct iscsi_rx *rx, const void *bytes, size_t length, size_t *ret_used);
/* The bytes of the data segment that are still to come to a named place (without padding): when
 * they are many, the owner reads straight into iscsi_rx_want()'s range instead of staging. */
uint32_t iscsi_rx_data_left(const struct iscsi_rx *rx);
/* The bytes that complete the present PDU after its header: data, padding and digest. */
size_t iscsi_rx_body_size(const struct iscsi_rx *rx);
/* The AHS of this PDU, ahs_words * 4 bytes; NULL if there is none. */
const uint8_t *iscsi_rx_ahs(const struct iscsi_rx *rx);
/* True between PDUs: a stream that ends here ended in order. */
bool iscsi_rx_idle(const struct iscsi_rx *rx);

/* One PDU to send. Caller-owned; `sent` is called (from iscsi_tx_sent()) once its last byte has
 * left and it is out of the queue. */
struct iscsi_tx_pdu {
	struct list link; /* in the tx queue */
	uint8_t header[ISCSI_BHS_SIZE + ISCSI_DIGEST_SIZE];
	uint8_t trailer[8];	/* padding and data digest */
	const void *ahs, *data; /* must stay as they are until sent */
	uint32_t ahs_length, data_length;
	uint8_t header_digest_size, trailer_size;
	void (*sent)(struct iscsi_tx_pdu *p);
};

struct iscsi_tx {
	bool header_digest, data_digest; /* for PDUs queued from now on */
	struct list queue;
	size_t front_sent; /* bytes of the first PDU that have left */
	size_t queued_bytes;
};

#define ISCSI_TX_IOVECS_MAX 5 /* of one PDU: BHS, AHS, header digest, data, trailer */

void iscsi_tx_init(struct iscsi_tx *tx);
/* Encodes `pdu` (whose data_length becomes `length`) and appends it. `ahs` is pdu->ahs_words * 4
 * bytes. Computes the digests now. `p->sent` is the caller's to set. */
void iscsi_tx_queue(struct iscsi_tx *tx, struct iscsi_tx_pdu *p, const struct iscsi_pdu *pdu,
	const void *ahs, const void *data, uint32_t length);
/* Fills up to `max` (at least ISCSI_TX_IOVECS_MAX) iovecs with whole PDUs from the front of the
 * queue, less what has left; returns how many, and the bytes they make in *ret_bytes. */
int iscsi_tx_have(const struct iscsi_tx *tx, struct iovec *iov, int max, size_t *ret_bytes);
/* `n` bytes have left: retires whole PDUs, calling their `sent`. */
void iscsi_tx_sent(struct iscsi_tx *tx, size_t n);
/* True when some, not all, of p's bytes have left. */
bool iscsi_tx_begun(const struct iscsi_tx *tx, const struct iscsi_tx_pdu *p);
/* Takes a queued PDU, none of whose bytes have left, out again; `sent` is not called. */
void iscsi_tx_remove(struct iscsi_tx *tx, struct iscsi_tx_pdu *p);

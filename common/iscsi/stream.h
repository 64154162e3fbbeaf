/* iSCSI PDUs over a byte stream (RFC 7143 section 11.2): header and data digests, AHS, padding. No
 * socket, no clock: the owner (datamover/tcp.c) asks where bytes shall go and says when they came;
 * and asks what is to leave and says when it left. Any chunking is right.
 *
 * Receive. iscsi_rx_want() says where the next bytes shall be put: the stream's own header scratch,
 * or straight the final place of a data segment that the owner named with iscsi_rx_place(). After
 * iscsi_rx_got(n) the stream may have an event:
 *     ISCSI_RX_HEADER  a whole header (digest checked, AHS included) is there: the owner looks at
 *                      rx->pdu and, if it has a data segment, says by iscsi_rx_place() where it goes
 *     ISCSI_RX_PDU     the whole PDU is there (data digest checked)
 * An owner that reads ahead in large pieces feeds the piece with iscsi_rx_feed(), which copies.
 *
 * Send. The owner keeps a struct iscsi_tx_pdu per PDU (header, data by reference) alive until it is
 * retired; iscsi_tx_have() gathers whole PDUs into one iovec array for a single writev. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base/list.h"
#include "common/iscsi/pdu.h"

#define ISCSI_AHS_MAX 1020 /* TotalAHSLength is one byte of words */

enum iscsi_rx_event {
	ISCSI_RX_NONE = 0, /* more bytes are wanted */
	ISCSI_RX_HEADER = 1,
	ISCSI_RX_PDU = 2,
	/* negative: the stream is broken and stays so:
	 * -EPROTO   bad field
	 * -EMSGSIZE data segment longer than max_data_length, or AHS longer than allowed
	 * -EBADMSG  header digest mismatch
	 * A data digest mismatch is not fatal (section 7.8): ISCSI_RX_PDU with rx->data_digest_bad */
};

struct iscsi_rx {
	/* set by the owner */
	uint32_t max_data_length; /* our MaxRecvDataSegmentLength */
	uint32_t max_ahs_length; /* bytes; at most ISCSI_AHS_MAX */
	bool header_digest, data_digest; /* take effect with the next PDU */

	/* valid from ISCSI_RX_HEADER until the next PDU begins */
	struct iscsi_pdu pdu;
	int decode_error; /* 0, -EPROTO or -EOPNOTSUPP from iscsi_pdu_decode(): the owner answers */
	uint8_t header[ISCSI_BHS_SIZE + ISCSI_AHS_MAX + 4]; /* BHS, AHS, digest */
	bool data_digest_bad; /* with ISCSI_RX_PDU */

	/* the stream's own */
	unsigned phase;
	uint32_t got; /* bytes of the present phase */
	uint32_t need;
	struct iovec place[2];
	uint32_t crc;
	uint8_t trailer[8]; /* padding and data digest */
	int error;
};

void iscsi_rx_init(struct iscsi_rx *rx, uint32_t max_data_length);
/* Where the next bytes go: returns the length (> 0) of the one contiguous range at *ret. */
size_t iscsi_rx_want(struct iscsi_rx *rx, void **ret);
/* `n` bytes (at most what was wanted) are there. */
enum iscsi_rx_event iscsi_rx_got(struct iscsi_rx *rx, size_t n);
/* After ISCSI_RX_HEADER with pdu.data_length > 0: the data segment (pdu.data_length bytes, padding
 * apart) shall be put at `data`. NULL: read and thrown away. */
void iscsi_rx_place(struct iscsi_rx *rx, void *data);
/* Feeds from a staging buffer: consumes up to `length` bytes at `bytes` until the first event;
 * *ret_used tells how many. A header event may come with 0 bytes consumed only if it was pending. */
enum iscsi_rx_event iscsi_rx_feed(
	struct iscsi_rx *rx, const void *bytes, size_t length, size_t *ret_used);
/* The bytes of the data segment that are still to come (without padding): when they are many, the
 * owner reads straight into iscsi_rx_want()'s place instead of staging. */
uint32_t iscsi_rx_data_left(const struct iscsi_rx *rx);
/* The AHS of this PDU, ahs_words * 4 bytes; NULL if there is none. */
const uint8_t *iscsi_rx_ahs(const struct iscsi_rx *rx);

/* One PDU to send. Caller-owned; `sent` is called (by the owner of the stream, from
 * iscsi_tx_sent()) once its last byte has left. */
struct iscsi_tx_pdu {
	struct list link; /* in the tx queue */
	uint8_t header[ISCSI_BHS_SIZE + 4]; /* BHS and header digest: filled by iscsi_tx_queue() */
	uint8_t trailer[8]; /* padding and data digest */
	const void *data; /* must stay as it is until sent */
	uint32_t data_length;
	uint8_t header_size, trailer_size;
	void (*sent)(struct iscsi_tx_pdu *p);
};

struct iscsi_tx {
	bool header_digest, data_digest; /* for PDUs queued from now on */
	struct list queue;
	size_t front_sent; /* bytes of the first PDU that have left */
	size_t queued_bytes;
};

void iscsi_tx_init(struct iscsi_tx *tx);
/* Encodes `pdu` (whose data_length becomes `length`) and appends it. Computes the digests now. */
void iscsi_tx_queue(struct iscsi_tx *tx, struct iscsi_tx_pdu *p, const struct iscsi_pdu *pdu,
	const void *data, uint32_t length);
/* Fills up to `max` iovecs from the front of the queue; returns how many. */
int iscsi_tx_have(const struct iscsi_tx *tx, struct iovec *iov, int max);
/* `n` bytes have left: retires whole PDUs, calling their `sent`. */
void iscsi_tx_sent(struct iscsi_tx *tx, size_t n);

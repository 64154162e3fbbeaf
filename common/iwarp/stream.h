/* One software iWARP connection after the MPA handshake, as a byte stream: MPA FPDUs (RFC 5044),
 * DDP (RFC 5041) and RDMAP (RFC 5040) as one machine without a socket, a clock or a copy that is
 * not needed. Used by rdma/softiwarp.c.
 *
 * Receiving: iwarp_rx_want() says where the next bytes shall be put (a header's scratch, or the
 * final place of a payload), iwarp_rx_got() that they are there; iwarp_rx_feed() does both for
 * bytes that were read ahead. Sending: iwarp_tx_post() queues a message, iwarp_tx_have() gives
 * iovecs that are ready to leave, iwarp_tx_sent() retires them. Any chunking.
 *
 * A payload is put in its place before its CRC has been seen; a mismatch ends the connection, and
 * with it every request and every STag that the peer could have reached. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "common/base/list.h"
#include "common/iwarp/rdmap.h"
#include "common/iwarp/stag.h"

struct iwarp_stream;

struct iwarp_place {
	void *data;
	uint32_t length;
};

#define IWARP_PLACES 2
/* Payloads from here on are large: a system call costs less than to copy them through staging. */
#define IWARP_LARGE (16u * 1024)

/* A message to send. The caller fills the first part; the memory that it names must stay, and for
 * Sends and Writes must not change when CRC is on, until `completed`. */
struct iwarp_message {
	enum rdmap_opcode opcode;		/* Write, Read Request, or one of the four Sends */
	struct iwarp_place place[IWARP_PLACES]; /* the data; Read Request: place[0] is the sink */
	unsigned places;
	/* Write: sink; Read Request: source; Send with Invalidate: that one */
	uint32_t remote_stag;
	uint64_t remote_offset;
	void *cookie;
	/* the stream's own: */
	struct list link, order;
	bool finished;
	uint32_t length, progress, chunk;
	uint32_t local_stag; /* Read Request: sink; Read Response: source */
	uint64_t local_offset;
	uint64_t end; /* bytes of the stream up to its last one */
};

struct iwarp_arrival {
	uint32_t length;
	bool solicited;
	bool invalidated; /* `stag` cannot be reached any more */
	uint32_t stag;
};

/* Called from within the functions below: they must not call the stream. */
struct iwarp_upcalls {
	/* A Send begins: where the oldest posted receive wants it. False: none is posted. */
	bool (*place_send)(void *owner, struct iwarp_place *ret);
	/* It is whole, in the place of the last place_send(). */
	void (*received)(void *owner, const struct iwarp_arrival *a);
	/* The message has been handed to TCP, or, a Read Request, been answered; in the order of
	 * iwarp_tx_post(). */
	void (*completed)(void *owner, struct iwarp_message *m);
};

struct iwarp_stream_config {
	bool crc;
	/* sends nothing before the first FPDU was received (RFC 5044 section 7.1.2) */
	bool passive;
	uint32_t max_ulpdu;	      /* 128..65535 */
	uint16_t reads_in, reads_out; /* as agreed: IRD, ORD */
	struct stag_table *stags;     /* borrowed */
	const void *domain;	      /* of this connection's STags */
	const struct iwarp_upcalls *up;
	void *owner;
};

/* -ENOMEM. `up` must outlive the stream. */
int iwarp_stream_new(const struct iwarp_stream_config *config, struct iwarp_stream **ret);
void iwarp_stream_free(struct iwarp_stream *s); /* NULL is allowed */

/* What ended the stream: a fault of the peer's (or RDMAP_NO_FAULT), and the peer's Terminate (or
 * NULL). */
enum rdmap_fault iwarp_stream_fault(const struct iwarp_stream *s);
const struct rdmap_terminate *iwarp_stream_terminated(const struct iwarp_stream *s);
/* Makes an STag of this stream's domain unreachable. 0; -EBUSY: data were under way through it, so
 * the stream has failed (FAULT_READ_STAG, FAULT_TAG_STAG); unknown ones are harmless. */
int iwarp_stream_revoke(struct iwarp_stream *s, uint32_t stag);
/* Takes out the oldest message that is not completed, in whatever state; NULL: none is left. For
 * the end of a connection only. */
struct iwarp_message *iwarp_stream_take(struct iwarp_stream *s);

/* ---- receiving ---- */

struct iwarp_want {
	void *data;
	size_t length; /* at least 1 */
	bool large;    /* `data` is the final place of a large payload: read straight into it */
	/* Bytes behind `length` that are worth reading ahead with it: the trailer, and the header
	 * of a message's next FPDU when there will be one. */
	size_t behind;
};

void iwarp_rx_want(const struct iwarp_stream *s, struct iwarp_want *ret);
/* `n` <= want.length bytes are at want.data. 0; -EPROTO: fault, send iwarp_tx_terminate() and
 * close; -ECONNRESET: the peer's Terminate came. After an error the
 * stream takes nothing any more. */
int iwarp_rx_got(struct iwarp_stream *s, size_t n);
int iwarp_rx_feed(struct iwarp_stream *s, const uint8_t *data, size_t n);
/* Between FPDUs: a close here cuts nothing off. */
bool iwarp_rx_at_boundary(const struct iwarp_stream *s);
/* One of the last few FPDUs had a large payload, so another may come: reading far ahead would put
 * it where it has to be copied from. */
bool iwarp_rx_expects_large(const struct iwarp_stream *s);

/* ---- sending ---- */

void iwarp_tx_post(struct iwarp_stream *s, struct iwarp_message *m);
/* Iovecs that are to leave next, whole messages as far as they fit; their number, 0: nothing now.
 * They stay valid until iwarp_tx_sent(). */
unsigned iwarp_tx_have(struct iwarp_stream *s, const struct iovec **ret);
void iwarp_tx_sent(struct iwarp_stream *s, size_t n);
/* Something is ready to be built or to leave (reads beyond the ORD and what waits for the peer's
 * first FPDU are not). */
bool iwarp_tx_pending(const struct iwarp_stream *s);
/* Everything posted has left; outstanding reads do not count, reads beyond the ORD do. */
bool iwarp_tx_drained(const struct iwarp_stream *s);
/* A zero-length RDMA Write, which wakes a peer up that has overlooked our first FPDU (Linux siw).
 * Does nothing when something is to be sent anyway. */
void iwarp_tx_kick(struct iwarp_stream *s);
/* Builds the Terminate for `fault` behind what is built already and drops what is not. */
void iwarp_tx_terminate(struct iwarp_stream *s, enum rdmap_fault fault);

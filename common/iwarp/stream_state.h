/* The state that stream.c, stream_rx.c and stream_tx.c share; for them alone. */
#pragma once

#include "common/iwarp/mpa.h"
#include "common/iwarp/stream.h"

/* The largest header: length field, untagged DDP header, Read Request. */
#define HEAD_MAX (MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE + RDMAP_READ_HEADER_SIZE)
/* Length field and control: says how long the header is. */
#define HEAD_FIRST (MPA_LENGTH_SIZE + 2)

/* Sink STags of our own reads: above all tags of a stag_table. */
#define SINK_STAG 0x80000000u

enum rx_phase {
	RX_HEAD,
	RX_PAYLOAD,
	RX_TRAILER,
	RX_PHASES
};

struct iwarp_rx {
	enum rx_phase phase;
	uint8_t *at; /* where the next byte goes, and how many this phase still needs */
	uint32_t left;
	uint8_t head[HEAD_MAX];
	uint32_t head_used;
	uint8_t trailer[MPA_TRAILER_MAX];
	struct ddp_segment segment;
	const struct rdmap_opcode_row *row;
	uint8_t opcode;
	uint32_t payload;
	uint32_t large; /* FPDUs for which another large payload is expected */
	uint32_t crc;
	bool any; /* an FPDU has been received */
	/* QN 0: the Send that is arriving */
	struct iwarp_place send;
	bool send_open;
	uint8_t send_opcode;
	uint32_t send_progress, send_msn;
	uint32_t read_msn; /* QN 1 */
	/* Terminate's optional headers; nothing is made of them. */
	uint8_t ignored[64];
};

/* sendmsg()'s own limit (UIO_MAXIOV). */
#define TX_IOVECS 1024
/* Headers, trailers and payloads too small to be worth an iovec. 1,024 iovecs of 4 KiB reads'
 * answers (Write and Send: 2 iovecs, about 124 bytes) fill both at about the same time. */
#define TX_SCRATCH (64 * 1024)
#define TX_COPY_MAX 256
/* One FPDU's needs at most. */
#define TX_FPDU_IOVECS (2 + IWARP_PLACES)
#define TX_FPDU_SCRATCH (HEAD_MAX + IWARP_PLACES * TX_COPY_MAX + MPA_TRAILER_MAX)
/* What may be built and not yet sent. With CRC it must still be in the cache when it is sent. */
#define TX_AHEAD (1024 * 1024)
#define TX_AHEAD_CRC (256 * 1024)

struct iwarp_tx {
	bool closed;		     /* a Terminate is the last thing that is sent */
	struct iovec iov[TX_IOVECS]; /* [first, count): to leave */
	unsigned first, count;
	uint32_t used;	      /* of scratch */
	uint64_t built, sent; /* bytes of the stream */
	struct list queue;    /* to be built */
	struct list leaving;  /* built; no reads */
	struct list reads;    /* Read Requests built, oldest first: to be answered */
	struct list waiting;  /* Read Requests beyond the ORD */
	struct list order;    /* every message not completed, as posted */
	uint32_t send_msn, read_msn, sinks;
	uint32_t reads_out;    /* in `queue` and `reads` */
	struct list responses; /* free ones of response[] */
	uint32_t reads_in;     /* those in use */
	uint8_t scratch[TX_SCRATCH];
};

struct iwarp_stream {
	struct iwarp_stream_config config;
	enum rdmap_fault fault;
	bool terminated;
	struct rdmap_terminate terminate;
	struct iwarp_rx rx;
	struct iwarp_tx tx;
	struct iwarp_message response[]; /* config.reads_in */
};

void iwarp_rx_init(struct iwarp_stream *s);
void iwarp_tx_init(struct iwarp_stream *s);
/* The receiver has a good Read Request: queues the response. False: all responses are in use. */
bool iwarp_tx_respond(struct iwarp_stream *s, const struct rdmap_read *r);
/* The oldest read that has been asked for, or NULL; and that it has been answered. */
struct iwarp_message *iwarp_tx_read_oldest(struct iwarp_stream *s);
void iwarp_tx_read_answered(struct iwarp_stream *s, struct iwarp_message *m);
/* True when bytes of this STag are built and have not left. */
bool iwarp_tx_uses(const struct iwarp_stream *s, uint32_t stag);
/* Nothing of what is built may leave any more. */
void iwarp_tx_cut(struct iwarp_stream *s);

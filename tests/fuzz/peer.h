/* A peer at the other end of a socketpair, for the drivers of whole sessions: writes raw bytes, or
 * PDUs and FPDUs whose lengths, sequence numbers and tags it can get right; reads what comes, and
 * remembers what an answer needs. Over software iWARP without CRC. */
#pragma once

#include "common/datamover/iser_header.h"
#include "common/iscsi/pdu.h"
#include "common/iscsi/stream.h"
#include "tests/fuzz/fuzz.h"

#define PEER_REMEMBERS 8
#define PEER_IN (128 * 1024)

/* A SCSI Command that the peer, as a target, has got. */
struct peer_command {
	uint32_t itt, length;
	struct iser_header tags;
};

struct peer {
	int fd;
	bool rdma, initiator;
	bool digests; /* TCP: both, in both directions, from now on */
	/* what has come */
	uint8_t *in; /* NULL: closed */
	size_t used;
	unsigned pdus;	      /* so many */
	struct iscsi_pdu pdu; /* the last one, */
	uint8_t data[8192];   /* and its data */
	bool mpa_done;
	struct {
		uint32_t ttt, offset, length;
	} r2t;
	struct {
		uint32_t sink_stag, length, source_stag;
		uint64_t sink_offset, source_offset;
	} read; /* the last RDMA Read Request */
	struct peer_command commands[PEER_REMEMBERS];
	unsigned command_count;
	uint32_t itt; /* of the last request that was no SCSI Command */
	/* what is sent next */
	uint32_t cmd_sn, stat_sn, exp_stat_sn, exp_cmd_sn;
	uint32_t msn[4]; /* by DDP queue */
};

/* Takes `fd` over. */
void peer_open(struct peer *p, int fd, bool rdma, bool initiator);
void peer_close(struct peer *p); /* also when it is not open */
/* Reads all that is there. */
void peer_read(struct peer *p);
/* As much as the socket takes. */
void peer_write(struct peer *p, const void *bytes, size_t n);

enum peer_fix {
	PEER_FIX_SN = 1,     /* the sequence numbers */
	PEER_FIX_TAG = 2,    /* ITT of a command (its number in place), TTT of the last R2T */
	PEER_FIX_OFFSET = 4, /* Data-Out's and Data-In's offset is that of the R2T, or 0 */
	PEER_LIE = 8,	     /* DataSegmentLength stays as it is in the BHS */
	PEER_IMMEDIATE = 16, /* the I bit */
	PEER_BAD_HEADER_DIGEST = 32,
	PEER_BAD_DATA_DIGEST = 64,
};

/* A PDU in full: BHS (with AHS at `ahs`), data. Over iWARP in one Send with an iSER header in front
 * of which `iser_flags` says the first byte's low half. */
void peer_send_pdu(struct peer *p, uint8_t fix, const uint8_t bhs[ISCSI_BHS_SIZE], const void *ahs,
	const void *data, size_t length, const struct iser_header *tags);
/* One FPDU around `ulpdu` (a DDP header in front), which may be changed by `fix`. */
enum peer_fpdu_fix {
	PEER_FIX_MSN = 1,	/* untagged: the next of its queue */
	PEER_FIX_STAG = 2,	/* tagged: the read tag of a command, untagged: to invalidate */
	PEER_FIX_SINK = 4,	/* tagged: the sink of the last Read Request */
	PEER_FIX_SOURCE = 8,	/* a Read Request's source: the write tag of a command */
	PEER_WRONG_LENGTH = 16, /* MPA's length is one more */
};
void peer_send_fpdu(struct peer *p, uint8_t fix, uint8_t *ulpdu, size_t length);
/* The MPA request, or the reply to one. */
void peer_send_mpa(struct peer *p);

/* One record of an input after the login: see peer.c for its form. */
void peer_record(struct peer *p, uint8_t kind, struct fuzz_input *in);

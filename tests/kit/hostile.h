/* A scripted peer that breaks the rules: bytes over a socketpair against a real target or a real
 * initiator, over iSCSI/TCP and over iSER on software iWARP, on a virtual clock. Whatever comes
 * back is put into words ("Login Response 0200, closed"), and a test is a row of a table: what the
 * peer does, the words that must come back, and where the standard says so. The same rows are
 * docs/hostile-peers.md; each program checks that its part of that page agrees. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/datamover/iser_header.h"
#include "common/iscsi/pdu.h"
#include "common/iwarp/ddp.h"
#include "common/iwarp/mpa.h"
#include "common/iwarp/rdmap.h"
#include "common/loop/loop.h"
#include "tests/kit/two_ends.h"

#define HOSTILE_IN (256 * 1024)
#define HOSTILE_DATA 65536
#define HOSTILE_NAME "iqn.2026-11.org.iseran:hostile"

struct hostile {
	struct two_ends *ends;
	const struct hostile_row *row;
	unsigned turn; /* of a row that is played several times */
	int fd;	       /* -1: none */
	bool rdma, crc, target;
	bool deaf; /* reads nothing */
	/* what came */
	uint8_t *in;
	size_t used;
	bool mpa_done, closed;
	struct mpa_frame mpa; /* without its private data */
	unsigned pdus;
	struct iscsi_pdu pdu; /* the last, its data and tags */
	uint8_t data[16384];
	struct iser_header tags;
	struct rdmap_read read; /* the last RDMA Read Request */
	char heard[400], last[80];
	unsigned repeats;
	/* what goes out next */
	uint32_t cmd_sn, exp_stat_sn, stat_sn;
	uint32_t send_msn, read_msn;
	struct iser_header advertise; /* with the next PDU, over iSER */
	/* a real initiator against which the peer is the target */
	struct two_session session;
	bool quiet;	 /* what the session is told is no part of the answer */
	uint8_t *memory; /* of its task */
	struct two_task task;
};

enum hostile_movers {
	HOSTILE_TCP = 1,
	HOSTILE_ISER = 2,
	HOSTILE_ISER_CRC = 4,
	HOSTILE_BOTH = HOSTILE_TCP | HOSTILE_ISER,
};

struct hostile_row {
	const char *phase, *input;
	const char *answer; /* what is heard since hostile_forget(): also the words of the page */
	const char *section;
	unsigned movers;
	void (*play)(struct hostile *h);
	const void *arg; /* the play's own, and its length */
	size_t length;
	unsigned times; /* 0: once; each on a connection of its own, with the same answer */
};

/* Runs the rows over each of their movers. `title` is the heading of these rows in the page;
 * `target` tells which role is tested. Returns the exit status. */
int hostile_run(const char *title, bool target, const struct hostile_row *rows, size_t count);

/* ---- hostile.c: connections ---- */

/* Another peer on the same target, for rows that need two. */
struct hostile *hostile_another(struct hostile *h);
void hostile_free(struct hostile *h);
/* A new connection in place of the present one, which is closed. */
void hostile_reconnect(struct hostile *h);
void hostile_close(struct hostile *h);
/* Turns the loop until nothing happens any more, listening meanwhile. */
void hostile_settle(struct hostile *h);
void hostile_wait(struct hostile *h, uint64_t ns);
/* What the real initiator asks for by default; it tries once. */
struct ini_session_config hostile_config(struct hostile *h);
/* The next connection of the real initiator is to this peer. */
void hostile_expect(struct hostile *h);
/* The real initiator begins a session with this peer. */
void hostile_await(struct hostile *h, const struct ini_session_config *config);

/* ---- hostile_wire.c: bytes ---- */

/* Reads what has come. */
void hostile_listen(struct hostile *h);
/* "nothing" if nothing came. */
const char *hostile_heard(const struct hostile *h);
void hostile_say(struct hostile *h, const char *words);
/* What was heard so far was right, and is not part of the answer. */
void hostile_forget(struct hostile *h);
/* Sends, turning the loop as long as the other end does not take it all. */
void hostile_bytes(struct hostile *h, const void *bytes, size_t length);
/* An FPDU around `ulpdu`, whose length field says `claimed`. */
void hostile_fpdu(struct hostile *h, const void *ulpdu, size_t length, size_t claimed);
/* One untagged segment. */
void hostile_untagged(struct hostile *h, enum rdmap_opcode opcode, const struct ddp_segment *un,
	const void *payload, size_t length);
void hostile_tagged(struct hostile *h, enum rdmap_opcode opcode, uint32_t stag, uint64_t offset,
	const void *payload, size_t length);
void hostile_send(struct hostile *h, const void *message, size_t length);
void hostile_read_request(struct hostile *h, uint32_t stag, uint64_t offset, uint32_t size);
/* The BHS as it is but for DataSegmentLength and, over iSER, behind an iSER header. */
void hostile_pdu(struct hostile *h, const uint8_t bhs[ISCSI_BHS_SIZE], const void *data, size_t n);
/* The same with a DataSegmentLength that says `claimed`. */
void hostile_pdu_claiming(struct hostile *h, const uint8_t bhs[ISCSI_BHS_SIZE], const void *data,
	size_t n, size_t claimed);

/* ---- hostile_speech.c: what any peer must be able to say ---- */

void hostile_mpa(struct hostile *h); /* request or reply; nothing over TCP */
void hostile_login_bhs(const struct hostile *h, uint8_t bhs[ISCSI_BHS_SIZE], uint8_t flags);
/* A Login Request of one text; flags as in byte 1: T C CSG NSG. */
void hostile_login_request(struct hostile *h, uint8_t flags, const void *text, size_t length);
/* Logs in whole, and forgets it. */
void hostile_login(struct hostile *h);
void hostile_login_discovery(struct hostile *h);
/* A request of the full-feature phase with right numbers; `byte1` as on the wire. */
void hostile_bhs(struct hostile *h, uint8_t bhs[ISCSI_BHS_SIZE], uint8_t opcode, uint8_t byte1,
	uint32_t itt);
void hostile_ping(struct hostile *h, uint32_t itt);
/* SCSI Command; over iSER with the tags of h->advertise. */
void hostile_command(struct hostile *h, uint32_t itt, uint8_t flags, uint32_t length,
	const uint8_t cdb[16], const void *data, size_t n);
/* READ(10) or WRITE(10) of `blocks` at LBA 0. */
void hostile_rw(struct hostile *h, uint32_t itt, bool write, unsigned blocks);
/* As target: answers the last Login Request. */
void hostile_login_response(
	struct hostile *h, uint8_t flags, unsigned status, const void *text, size_t length);
/* The whole login of the real initiator, which is then forgotten. */
void hostile_accept(struct hostile *h);
/* A response of the full-feature phase with right numbers. */
void hostile_answer(struct hostile *h, uint8_t bhs[ISCSI_BHS_SIZE], uint8_t opcode, uint8_t byte1,
	uint32_t itt);
/* The real initiator begins to read or write `blocks` of 512 bytes; its command has come. */
void hostile_begin_task(struct hostile *h, bool write, unsigned blocks);

#define HOSTILE_TEXT(literal) .arg = (literal), .length = sizeof(literal)

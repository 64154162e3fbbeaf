/* Peers that break the rules of DDP and RDMAP (RFC 5041, RFC 5040) against a target: FPDUs right
 * behind the MPA frames, and within a session. A target exposes no memory, so that every STag is
 * unknown to it. */
#include "tests/kit/hostile.h"

static uint8_t zeros[65536];

/* A whole ULPDU as it is, in both phases: before a login, and after. */
static void play_ulpdu(struct hostile *h)
{
	hostile_mpa(h);
	hostile_forget(h);
	hostile_fpdu(h, h->row->arg, h->row->length, h->row->length);
}

static void play_ulpdu_late(struct hostile *h)
{
	hostile_login(h);
	hostile_fpdu(h, h->row->arg, h->row->length, h->row->length);
}

/* ---- headers ---- */

static void play_version(struct hostile *h)
{
	static const uint8_t versions[] = {0, 2, 3};
	uint8_t ulpdu[32] = {0x40, 0x43};

	ulpdu[0] = (uint8_t)(h->row->length | versions[h->turn]);
	hostile_mpa(h);
	hostile_forget(h);
	hostile_fpdu(h, ulpdu, sizeof(ulpdu), sizeof(ulpdu));
}

static void play_rdmap_version(struct hostile *h)
{
	static const uint8_t versions[] = {0x00, 0x80, 0xc0};
	uint8_t ulpdu[32] = {0x41};

	ulpdu[1] = versions[h->turn] | RDMAP_SEND;
	hostile_mpa(h);
	hostile_forget(h);
	hostile_fpdu(h, ulpdu, sizeof(ulpdu), sizeof(ulpdu));
}

static void play_opcode(struct hostile *h)
{
	uint8_t ulpdu[64] = {0x41};

	ulpdu[1] = (uint8_t)(0x48 + h->turn);
	hostile_mpa(h);
	hostile_forget(h);
	hostile_fpdu(h, ulpdu, sizeof(ulpdu), sizeof(ulpdu));
}

/* Opcodes of the other kind: tagged ones without the T bit, untagged ones with it. */
static void play_kind(struct hostile *h)
{
	uint8_t ulpdu[64] = {0};
	bool tagged = h->turn == RDMAP_WRITE || h->turn == RDMAP_READ_RESPONSE;

	ulpdu[0] = tagged ? 0x41 : 0xc1;
	ulpdu[1] = (uint8_t)(0x40 | h->turn);
	hostile_mpa(h);
	hostile_forget(h);
	hostile_fpdu(h, ulpdu, sizeof(ulpdu), sizeof(ulpdu));
}

/* ULPDU_Length below what the opcode's header takes: 18, 46 or 14 bytes. */
static void play_length(struct hostile *h)
{
	uint8_t ulpdu[64] = {h->row->arg ? 0xc1 : 0x41, (uint8_t)(0x40 | h->row->length)};

	hostile_mpa(h);
	hostile_forget(h);
	hostile_fpdu(h, ulpdu, sizeof(ulpdu), h->turn);
}

/* ---- untagged messages ---- */

static void play_queue(struct hostile *h)
{
	static const uint32_t queues[] = {1, 2, 3, 0x80000000, 0xffffffff};
	const struct ddp_segment s = {.last = true, .un = {.queue = queues[h->turn], .msn = 1}};

	hostile_mpa(h);
	hostile_forget(h);
	hostile_untagged(h, RDMAP_SEND, &s, zeros, 76);
}

static void play_msn(struct hostile *h)
{
	static const uint32_t numbers[] = {0, 2, 0x80000001, 0xffffffff};
	const struct ddp_segment s = {.last = true, .un = {.msn = numbers[h->turn]}};

	hostile_mpa(h);
	hostile_forget(h);
	hostile_untagged(h, RDMAP_SEND, &s, zeros, 76);
}

static void play_repeated(struct hostile *h)
{
	hostile_login(h);
	hostile_ping(h, 5);
	h->send_msn--;
	hostile_ping(h, 5);
}

static void play_skipped(struct hostile *h)
{
	hostile_login(h);
	h->send_msn++;
	hostile_ping(h, 5);
}

static void play_offset(struct hostile *h)
{
	static const uint32_t offsets[] = {1, 76, 0xffffffff};
	const struct ddp_segment s = {.last = true, .un = {.msn = 1, .offset = offsets[h->turn]}};

	hostile_mpa(h);
	hostile_forget(h);
	hostile_untagged(h, RDMAP_SEND, &s, zeros, 76);
}

/* The second segment of a Send claims to lie elsewhere, or is of another opcode. */
static void play_second_segment(struct hostile *h)
{
	struct ddp_segment s = {.un = {.msn = 1}};

	hostile_mpa(h);
	hostile_forget(h);
	hostile_untagged(h, RDMAP_SEND, &s, zeros, 40);
	s.last = true;
	s.un.offset = h->row->length ? 39 : 40;
	hostile_untagged(h, h->row->length ? RDMAP_SEND : RDMAP_SEND_SE, &s, zeros, 36);
}

/* One byte more than the receive of the login has, in one segment and in many. */
static void play_long(struct hostile *h)
{
	hostile_mpa(h);
	hostile_forget(h);
	hostile_send(h, zeros, h->row->length);
}

static void play_long_in_pieces(struct hostile *h)
{
	struct ddp_segment s = {.un = {.msn = 1}};

	hostile_mpa(h);
	hostile_forget(h);
	for (unsigned i = 0; i < 1000 && !h->closed; i++) {
		hostile_untagged(h, RDMAP_SEND, &s, zeros, 128);
		s.un.offset += 128;
		hostile_settle(h);
	}
}

/* Segments without a byte in them move nothing on: only time ends this. */
static void play_empty_segments(struct hostile *h)
{
	const struct ddp_segment s = {.un = {.msn = 1}};

	hostile_mpa(h);
	hostile_forget(h);
	for (unsigned i = 0; i < 10000 && !h->closed; i++)
		hostile_untagged(h, RDMAP_SEND, &s, NULL, 0);
	hostile_wait(h, 16 * LOOP_NS_PER_S);
}

static void play_invalidate(struct hostile *h)
{
	static const uint32_t stags[] = {0, 1, 0x100, 0x101, 0xffffffff};
	struct ddp_segment s = {.last = true, .un = {.ulp_word = stags[h->turn]}};

	hostile_login(h);
	s.un.msn = h->send_msn++;
	hostile_untagged(h, h->row->length ? RDMAP_SEND_SE_INVALIDATE : RDMAP_SEND_INVALIDATE, &s,
		zeros, 76);
}

/* ---- reads and tagged messages ---- */

static const uint32_t no_stags[] = {0, 1, 0x100, 0x101, 0x7fffffff, 0xffffff01, 0xffffffff};

static void play_write(struct hostile *h)
{
	hostile_login(h);
	hostile_tagged(h, RDMAP_WRITE, no_stags[h->turn], h->turn ? UINT64_MAX : 0, zeros, 8);
}

static void play_write_nothing(struct hostile *h)
{
	hostile_login(h);
	hostile_tagged(h, RDMAP_WRITE, no_stags[h->turn], UINT64_MAX, NULL, 0);
}

static void play_read(struct hostile *h)
{
	hostile_login(h);
	hostile_read_request(h, no_stags[h->turn], h->turn ? UINT64_MAX : 0, 8);
}

static void play_read_all(struct hostile *h)
{
	hostile_login(h);
	hostile_read_request(h, no_stags[h->turn], 0, UINT32_MAX);
}

static void play_read_msn(struct hostile *h)
{
	hostile_login(h);
	h->read_msn = 2;
	hostile_read_request(h, 1, 0, 0);
}

static void play_read_nothing(struct hostile *h)
{
	hostile_login(h);
	hostile_read_request(h, 1, 0, 0);
}

/* Requests of no bytes are right whatever their STag; one more than the IRD in one go is not. */
static void play_reads(struct hostile *h)
{
	uint8_t burst[256 * 56], *p = burst;
	unsigned n = h->mpa.ird;

	hostile_login(h);
	n = h->mpa.ird + 1u;
	for (unsigned i = 0; i < n; i++, p += 52) {
		memset(p, 0, 52);
		put_be16(p, 46);
		p[2] = 0x41;
		p[3] = 0x41;
		put_be32(p + 8, DDP_QUEUE_READ_REQUEST);
		put_be32(p + 12, i + 1);
	}
	h->deaf = true;
	hostile_bytes(h, burst, (size_t)(p - burst));
	hostile_settle(h);
	h->deaf = false;
}

static void play_read_response(struct hostile *h)
{
	hostile_login(h);
	hostile_tagged(h, RDMAP_READ_RESPONSE, no_stags[h->turn], 0, zeros, h->row->length);
}

/* ---- the end ---- */

static void play_terminate(struct hostile *h)
{
	const struct ddp_segment s = {.last = true, .un = {.queue = DDP_QUEUE_TERMINATE, .msn = 1}};

	hostile_login(h);
	hostile_untagged(h, RDMAP_TERMINATE, &s, zeros, h->row->length);
}

static void play_crc(struct hostile *h)
{
	struct ddp_segment s = {.last = true, .un = {.msn = 1}};

	hostile_mpa(h);
	hostile_forget(h);
	h->crc = false; /* zeros in its place */
	hostile_untagged(h, RDMAP_SEND, &s, zeros, 76);
}

/* A Send with a request in it, cut off at each of its bytes. */
static void play_cut(struct hostile *h)
{
	uint8_t fpdu[2 + 18 + 76 + 4] = {0, 18 + 76, 0x41, 0x43};

	put_be32(fpdu + 12, h->send_msn);
	hostile_mpa(h);
	hostile_forget(h);
	hostile_bytes(h, fpdu, h->turn + 1);
	hostile_settle(h);
	assert_false(h->closed);
	hostile_say(h, "nothing");
	hostile_close(h);
}

static void play_slow(struct hostile *h)
{
	uint8_t fpdu[2 + 18 + 76 + 4] = {0, 18 + 76, 0x41, 0x43};

	hostile_mpa(h);
	hostile_forget(h);
	for (unsigned i = 0; i < sizeof(fpdu) && !h->closed; i++) {
		hostile_bytes(h, fpdu + i, 1);
		hostile_wait(h, LOOP_NS_PER_S);
	}
}

/* Whatever it is taken for, the connection ends, by a Terminate or at the login's time-out. */
static void play_random(struct hostile *h)
{
	uint8_t bytes[1500];
	uint32_t seed = 0x9e3779b9u * (h->turn + 1);

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
	if (h->row->length)
		hostile_login(h);
	else
		hostile_mpa(h);
	/* A length and a control that are right half of the time lead further in. */
	if (h->turn & 1)
		memcpy(bytes, "\x00\x5e\x41\x43", 4);
	hostile_bytes(h, bytes, sizeof(bytes));
	hostile_settle(h);
	hostile_wait(h, 65 * LOOP_NS_PER_S);
	assert_true(h->closed);
	hostile_forget(h);
	hostile_say(h, "closed");
}

#define ROW(what, in, out, where, fn, ...)                                                         \
	{                                                                                          \
		.phase = what, .input = in, .answer = out, .section = where,                       \
		.movers = HOSTILE_ISER, .play = fn, __VA_ARGS__                                    \
	}
#define DDP(...) ROW("DDP", __VA_ARGS__)
#define RDMAP(...) ROW("RDMAP", __VA_ARGS__)
#define BYTES(literal) .arg = (literal), .length = sizeof(literal) - 1
#define READ_46 "\x41\x41\0\0\0\0\0\0\0\x01\0\0\0\x01"

static const struct hostile_row rows[] = {
	ROW("MPA", "ULPDU_Length 0 to 17 on a Send", "Terminate 2.0.03, closed", "RFC 5044 8",
		play_length, .length = RDMAP_SEND, .times = 18),
	ROW("MPA", "ULPDU_Length 0 to 45 on a Read Request", "Terminate 2.0.03, closed",
		"RFC 5044 8", play_length, .length = RDMAP_READ_REQUEST, .times = 46),
	ROW("MPA", "ULPDU_Length 0 to 13 on a Write", "Terminate 2.0.03, closed", "RFC 5044 8",
		play_length, .arg = "T", .length = RDMAP_WRITE, .times = 14),
	{.phase = "MPA",
		.input = "a wrong CRC",
		.answer = "Terminate 2.0.02, closed",
		.section = "RFC 5044 8",
		.movers = HOSTILE_ISER_CRC,
		.play = play_crc},
	ROW("MPA", "an FPDU that ends after 1 to 99 of its 100 bytes", "nothing", "RFC 5044 8",
		play_cut, .times = 99),
	ROW("MPA", "an FPDU, one byte a second", "closed", "RFC 7143 6: the login's time-out",
		play_slow),
	ROW("MPA", "1,500 random bytes in place of the first FPDU", "closed", "RFC 5044 8",
		play_random, .times = 64),
	ROW("MPA", "1,500 random bytes within a session", "closed", "RFC 5044 8", play_random,
		.length = 1, .times = 64),

	DDP("DDP version 0, 2 and 3, untagged", "Terminate 1.2.06, closed", "RFC 5041 7.2",
		play_version, .length = 0x40, .times = 3),
	DDP("DDP version 0, 2 and 3, tagged", "Terminate 1.1.04, closed", "RFC 5041 7.2",
		play_version, .length = 0xc0, .times = 3),
	DDP("a Send on queue 1, 2, 3, 2^31 and 2^32-1", "Terminate 1.2.01, closed", "RFC 5041 7.2",
		play_queue, .times = 5),
	DDP("a Read Request on queue 0", "Terminate 1.2.01, closed", "RFC 5041 7.2", play_ulpdu,
		BYTES("\x41\x41\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0" /* and its header */
		      "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")),
	DDP("the first Send has number 0, 2, 2^31+1 and 2^32-1", "Terminate 1.2.03, closed",
		"RFC 5041 7.2", play_msn, .times = 4),
	DDP("a Send comes twice", "NOP-In, Terminate 1.2.03, closed", "RFC 5041 7.2",
		play_repeated),
	DDP("a Send is left out", "Terminate 1.2.03, closed", "RFC 5041 7.2", play_skipped),
	DDP("the first Read Request has number 2", "Terminate 1.2.03, closed", "RFC 5041 7.2",
		play_read_msn),
	DDP("a Send that begins at offset 1, 76 and 2^32-1", "Terminate 1.2.04, closed",
		"RFC 5041 7.2", play_offset, .times = 3),
	DDP("a second segment that lies over the first", "Terminate 1.2.04, closed", "RFC 5041 7.2",
		play_second_segment, .length = 1),
	DDP("a Send of 16,384 bytes in the login", "Terminate 1.2.02, closed", "RFC 5041 7.2",
		play_long, .length = 16384),
	DDP("a Send of 65,000 bytes in the login", "Terminate 1.2.02, closed", "RFC 5041 7.2",
		play_long, .length = 65000),
	DDP("a Send in segments of 128 bytes without a last one", "Terminate 1.2.02, closed",
		"RFC 5041 7.2", play_long_in_pieces),
	DDP("10,000 empty segments of a Send without a last one", "closed",
		"RFC 7143 6: the login's time-out", play_empty_segments),
	DDP("a Write to unknown STags, at address 0 and 2^64-1", "Terminate 1.1.00, closed",
		"RFC 5041 7.2", play_write, .times = ARRAY_SIZE(no_stags)),
	DDP("a Write of no bytes to unknown STags", "nothing",
		"RFC 5040 5.1: its STag is not checked", play_write_nothing,
		.times = ARRAY_SIZE(no_stags)),
	DDP("a Read Response of 8 bytes that nobody asked for", "Terminate 1.0.00, closed",
		"RFC 5041 7.2", play_read_response, .length = 8, .times = ARRAY_SIZE(no_stags)),
	DDP("a Read Response of no bytes that nobody asked for", "Terminate 1.0.00, closed",
		"RFC 5041 7.2", play_read_response, .times = ARRAY_SIZE(no_stags)),

	RDMAP("RDMAP version 0, 2 and 3", "Terminate 0.2.05, closed", "RFC 5040 4.8",
		play_rdmap_version, .times = 3),
	RDMAP("opcode 8 to 15", "Terminate 0.2.06, closed", "RFC 5040 4.8", play_opcode,
		.times = 8),
	RDMAP("every opcode with the T bit that it does not have", "Terminate 0.2.06, closed",
		"RFC 5040 4.8", play_kind, .times = 8),
	RDMAP("a second segment of another kind of Send", "Terminate 0.2.06, closed",
		"RFC 5040 4.8", play_second_segment),
	RDMAP("a Read Request without the L bit", "Terminate 0.2.ff, closed", "RFC 5040 4.8",
		play_ulpdu_late,
		BYTES("\x01\x41\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\0" /* and its header */
		      "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")),
	RDMAP("a Read Request with 4 bytes behind its header", "Terminate 1.2.05, closed",
		"RFC 5041 7.2", play_ulpdu_late,
		BYTES(READ_46 "\0\0\0\0" /* and its header */
			      "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0....")),
	RDMAP("a Read Request for unknown STags, at address 0 and 2^64-1",
		"Terminate 0.1.00, closed", "RFC 5040 4.8", play_read,
		.times = ARRAY_SIZE(no_stags)),
	RDMAP("a Read Request for 2^32-1 bytes", "Terminate 0.1.00, closed", "RFC 5040 4.8",
		play_read_all, .times = ARRAY_SIZE(no_stags)),
	RDMAP("a Read Request for no bytes of an unknown STag", "RDMA Read Response",
		"RFC 5040 5.2: its STag is not checked", play_read_nothing),
	RDMAP("one Read Request more than the IRD", "Terminate 0.2.07, closed", "RFC 5040 4.8",
		play_reads),
	RDMAP("Send with Invalidate of STags that are not there", "Terminate 0.2.09, closed",
		"RFC 5040 4.8", play_invalidate, .times = 5),
	RDMAP("Send with SE and Invalidate of STags that are not there", "Terminate 0.2.09, closed",
		"RFC 5040 4.8", play_invalidate, .length = 1, .times = 5),
	RDMAP("a Terminate", "closed", "RFC 5040 4.8: none is sent back", play_terminate,
		.length = 4),
	RDMAP("a Terminate of 52 bytes", "closed", "RFC 5040 4.8: none is sent back",
		play_terminate, .length = 52),
	RDMAP("a Terminate of 3 bytes", "Terminate 2.0.03, closed", "RFC 5044 8", play_terminate,
		.length = 3),
	RDMAP("a Terminate of 4,096 bytes", "Terminate 1.2.05, closed", "RFC 5041 7.2",
		play_terminate, .length = 4096),
};

int main(void)
{
	return hostile_run("iWARP: the target", true, rows, ARRAY_SIZE(rows));
}

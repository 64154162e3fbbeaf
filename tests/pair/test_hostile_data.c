/* Initiators that break the rules of data transfer over TCP (RFC 7143 sections 11.3, 11.7, 13.10 to
 * 13.17): Data-Outs against their R2T, immediate data, expected lengths; and SCSI commands whose
 * lengths lie, over both movers. */
#include "tests/kit/hostile.h"

static uint8_t data[HOSTILE_DATA];

static void begin(struct hostile *h)
{
	static const uint8_t cdb[16];

	hostile_login(h);
	hostile_command(h, 0x1000, 0x81, 0, cdb, NULL, 0);
	hostile_forget(h);
}

/* A write of 8 KiB, until its R2T is here. */
static void begin_write(struct hostile *h)
{
	begin(h);
	hostile_rw(h, 5, true, 16);
	assert_string_equal(hostile_heard(h), "R2T");
	assert_int_equal(h->pdu.r2t.length, 8192);
	hostile_forget(h);
}

struct out {
	uint32_t itt, ttt; /* to be added to the right ones */
	uint32_t data_sn, offset, length;
	bool not_final;
};

static void data_out(struct hostile *h, uint32_t ttt, const struct out *o)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_bhs(h, bhs, ISCSI_DATA_OUT, o->not_final ? 0 : 0x80, 5 + o->itt);
	put_be32(bhs + 20, ttt + o->ttt);
	put_be32(bhs + 36, o->data_sn);
	put_be32(bhs + 40, o->offset);
	hostile_pdu(h, bhs, data, o->length);
	hostile_settle(h);
}

static void play_long(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin_write(h);
	hostile_bhs(h, bhs, ISCSI_DATA_OUT, 0x80, 5);
	put_be32(bhs + 20, h->pdu.r2t.ttt);
	hostile_pdu_claiming(h, bhs, NULL, 0, (1 << 18) + 1);
}

/* And then the right one, which comes too late or just in time. */
static void play_then_right(struct hostile *h)
{
	static const struct out right = {.length = 8192};
	uint32_t ttt;

	begin_write(h);
	ttt = h->pdu.r2t.ttt;
	data_out(h, ttt, h->row->arg);
	data_out(h, ttt, &right);
}

static void play_twice(struct hostile *h)
{
	static const struct out right = {.length = 8192};
	uint32_t ttt;

	begin_write(h);
	ttt = h->pdu.r2t.ttt;
	data_out(h, ttt, &right);
	data_out(h, ttt, &right);
}

/* TTTs can be guessed: a Data-Out right behind its command is here before the R2T has left. */
static void play_before_r2t(struct hostile *h)
{
	static const uint8_t write_16_blocks[10] = {0x2a, [8] = 16};
	static const struct out right = {.length = 8192};
	uint8_t bhs[ISCSI_BHS_SIZE];
	uint32_t ttt;

	begin_write(h);
	ttt = h->pdu.r2t.ttt + (1 << 12); /* the next generation of that place */
	data_out(h, h->pdu.r2t.ttt, &right);
	hostile_forget(h);
	hostile_bhs(h, bhs, ISCSI_SCSI_COMMAND, 0xa1, 5);
	put_be32(bhs + 20, 8192);
	memcpy(bhs + 32, write_16_blocks, sizeof(write_16_blocks));
	hostile_pdu(h, bhs, NULL, 0);
	data_out(h, ttt, &right);
	assert_string_equal(hostile_heard(h), "R2T");
	assert_int_equal(h->pdu.r2t.ttt, ttt);
	data_out(h, ttt, &right);
}

/* One byte at a time: every one a PDU of its own. */
static void play_bytes(struct hostile *h)
{
	struct out o = {.length = 1, .not_final = true};
	uint32_t ttt;

	begin_write(h);
	ttt = h->pdu.r2t.ttt;
	for (; o.offset < 8192; o.offset++, o.data_sn++) {
		o.not_final = o.offset < 8191;
		data_out(h, ttt, &o);
	}
}

/* Data-Outs of no bytes move nothing on. */
static void play_empty(struct hostile *h)
{
	struct out o = {.not_final = true};
	uint32_t ttt;

	begin_write(h);
	ttt = h->pdu.r2t.ttt;
	for (; o.data_sn < 10000; o.data_sn++)
		data_out(h, ttt, &o);
}

static void play_unsolicited(struct hostile *h)
{
	static const struct out o = {.length = 8192};

	begin(h);
	data_out(h, ISCSI_TAG_NONE, &o);
}

static void play_of_another(struct hostile *h)
{
	static const struct out o = {.length = 8192};
	struct hostile *other = hostile_another(h);

	begin_write(h);
	hostile_login_discovery(other);
	data_out(other, h->pdu.r2t.ttt, &o);
	assert_string_equal(hostile_heard(other), "nothing");
	hostile_free(other);
	hostile_settle(h);
	data_out(h, h->pdu.r2t.ttt, &o);
}

static void play_never(struct hostile *h)
{
	begin_write(h);
	hostile_wait(h, 61 * LOOP_NS_PER_S);
}

/* The write is aborted while its data is on its way. */
static void play_after_abort(struct hostile *h)
{
	static const struct out right = {.length = 8192};
	uint8_t bhs[ISCSI_BHS_SIZE];
	uint32_t ttt;

	begin_write(h);
	ttt = h->pdu.r2t.ttt;
	hostile_bhs(h, bhs, 0x42, 0x80 | ISCSI_TMF_ABORT_TASK, 6);
	put_be32(bhs + 20, 5);
	hostile_pdu(h, bhs, NULL, 0);
	hostile_settle(h);
	data_out(h, ttt, &right);
}

/* ---- commands ---- */

struct lie {
	uint8_t flags;
	uint32_t expected;
	uint8_t cdb[16];
	uint32_t immediate;
};

static void play_lie(struct hostile *h)
{
	const struct lie *l = h->row->arg;

	begin(h);
	if (l->expected && l->flags & 0x40)
		h->advertise = (struct iser_header){.read_valid = true, .read_stag = 1};
	hostile_command(h, 5, l->flags, l->expected, l->cdb, data, l->immediate);
}

#define OUT(in, out, where, fn, ...)                                                               \
	{                                                                                          \
		.phase = "data", .input = in, .answer = out, .section = "RFC 7143 " where,         \
		.movers = HOSTILE_TCP, .play = fn, __VA_ARGS__                                     \
	}
#define WRONG(in, where, ...)                                                                      \
	OUT(in, "SCSI Response 02 (b/4b/00)", where, play_then_right,                              \
		.arg = &(const struct out){__VA_ARGS__})
#define LIE(m, in, out, where, ...)                                                                \
	{                                                                                          \
		.phase = "commands", .input = in, .answer = out, .section = where, .movers = m,    \
		.play = play_lie, .arg = &(const struct lie)                                       \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define GOOD "SCSI Response 00"
#define READ10(blocks)                                                                             \
	{                                                                                          \
		0x28, [8] = blocks                                                                 \
	}
#define WRITE10(blocks)                                                                            \
	{                                                                                          \
		0x2a, [8] = blocks                                                                 \
	}

static const struct hostile_row rows[] = {
	WRONG("a Data-Out with DataSN 1 in front", "11.7.5", .length = 8192, .data_sn = 1),
	WRONG("a Data-Out with DataSN 2^32-1", "11.7.5", .length = 8192, .data_sn = 0xffffffff),
	WRONG("a Data-Out at offset 1", "11.7.6", .length = 8191, .offset = 1),
	WRONG("a Data-Out at offset 8,192", "11.7.6", .length = 512, .offset = 8192),
	WRONG("a Data-Out at offset 2^32-1", "11.7.6", .length = 8192, .offset = 0xffffffff),
	WRONG("a Data-Out of 8,193 bytes for an R2T of 8,192", "11.7, 11.8", .length = 8193),
	WRONG("a Data-Out of 60,000 bytes for an R2T of 8,192", "11.7, 11.8", .length = 60000),
	WRONG("a Data-Out of 8,191 bytes with F bit", "11.7.1", .length = 8191),
	WRONG("a Data-Out of 0 bytes with F bit", "11.7.1", .length = 0),
	WRONG("a Data-Out of 8,192 bytes without F bit", "11.7.1", .length = 8192,
		.not_final = true),
	OUT("a Data-Out with another TTT, then the right one", GOOD, "11.7.4: it is thrown away",
		play_then_right, .arg = &(const struct out){.ttt = 1, .length = 8192}),
	OUT("a Data-Out with TTT 2^32-1, then the right one", GOOD, "11.7.4: it is thrown away",
		play_then_right, .arg = &(const struct out){.ttt = 0x80000000, .length = 8192}),
	OUT("a Data-Out with another ITT, then the right one", GOOD, "11.7: it is thrown away",
		play_then_right, .arg = &(const struct out){.itt = 1, .length = 8192}),
	OUT("a Data-Out of another connection, then the right one", GOOD,
		"11.7.4: TTTs are of one connection", play_of_another),
	OUT("the right Data-Out twice", GOOD, "11.7.4: the second is thrown away", play_twice),
	OUT("the right Data-Out before its R2T has left, and again", "R2T, " GOOD,
		"11.7.4: the first is thrown away", play_before_r2t),
	OUT("8,192 Data-Outs of one byte", GOOD, "11.7", play_bytes),
	OUT("10,000 Data-Outs of no bytes", "nothing", "11.7", play_empty),
	OUT("a Data-Out for a task that there is not", "nothing", "11.7: it is thrown away",
		play_unsolicited),
	OUT("a Data-Out for a task that was aborted", "Task Management Response 00",
		"11.5: it is thrown away", play_after_abort),
	OUT("a Data-Out of 2^18+1 bytes", "closed", "13.12: more than was declared", play_long),
	OUT("a Data-Out that never comes, nor the answer to a ping", "NOP-In, closed",
		"11.19: the ping's time-out", play_never),

	LIE(HOSTILE_TCP, "immediate data on a READ", "Reject 09", "RFC 7143 11.3.4", 0xc1, 4096,
		READ10(8), 512),
	LIE(HOSTILE_ISER, "immediate data on a READ", "closed", "RFC 7145 10.1.3", 0xc1, 4096,
		READ10(8), 512),
	LIE(HOSTILE_TCP, "more immediate data than the expected length", "Reject 09",
		"RFC 7143 11.3.4", 0xa1, 512, WRITE10(1), 513),
	LIE(HOSTILE_ISER, "more immediate data than the expected length", "closed",
		"RFC 7145 10.1.3", 0xa1, 512, WRITE10(1), 513),
	LIE(HOSTILE_BOTH, "a READ of 8 blocks that expects 0 bytes", GOOD,
		"RFC 7143 11.4.5: overflow", 0x81, 0, READ10(8), 0),
	LIE(HOSTILE_TCP, "a READ of 1 block that expects 2^32-1 bytes", "Data-In 00",
		"RFC 7143 11.4.5: underflow", 0xc1, 0xffffffff, READ10(1), 0),
	LIE(HOSTILE_ISER, "a READ of 1 block that expects 2^32-1 bytes", "RDMA Write, " GOOD,
		"RFC 7143 11.4.5: underflow", 0xc1, 0xffffffff, READ10(1), 0),
	LIE(HOSTILE_BOTH, "a WRITE of 1 block with the R bit", "SCSI Response 02 (5/0e/03)",
		"RFC 7143 11.3.1", 0xc1, 512, WRITE10(1), 0),
	LIE(HOSTILE_BOTH, "a WRITE of 8 blocks that expects 0 bytes", GOOD,
		"RFC 7143 11.4.5: overflow", 0x81, 0, WRITE10(8), 0),
	LIE(HOSTILE_BOTH, "a WRITE with 512 bytes of 4,096", GOOD, "RFC 7143 11.4.5: overflow",
		0xa1, 512, WRITE10(8), 512),
	LIE(HOSTILE_BOTH, "a READ at the highest LBA there can be", "SCSI Response 02 (5/21/00)",
		"SBC-3 5.8", 0xc1, 512,
		{0x88, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1}, 0),
	LIE(HOSTILE_BOTH, "a READ of 2^32-1 blocks", "SCSI Response 02 (5/21/00)", "SBC-3 5.8",
		0xc1, 512, {0x88, [10] = 0xff, 0xff, 0xff, 0xff}, 0),
	LIE(HOSTILE_BOTH, "an operation code that there is not", "SCSI Response 02 (5/20/00)",
		"SPC-4 4.2", 0x81, 0, {0xff}, 0),
};

int main(void)
{
	return hostile_run("Data: the target", true, rows, ARRAY_SIZE(rows));
}

/* Targets that break the rules of the full-feature phase (RFC 7143 sections 4.2 and 11) against a
 * real initiator, over both movers: opcodes, tags, numbers, data, silence. */
#include "tests/kit/hostile.h"

static uint8_t data[HOSTILE_DATA];

static void pdu(struct hostile *h, uint8_t opcode, uint8_t byte1, uint32_t itt)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_answer(h, bhs, opcode, byte1, itt);
	hostile_pdu(h, bhs, NULL, 0);
	hostile_settle(h);
}

/* Is it still there? A ping from the target. */
static void ping(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_answer(h, bhs, ISCSI_NOP_IN, 0x80, ISCSI_TAG_NONE);
	put_be32(bhs + 20, 0x99);
	hostile_pdu(h, bhs, NULL, 0);
	hostile_settle(h);
}

static void play_opcode(struct hostile *h)
{
	const uint8_t *opcodes = h->row->arg;
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_accept(h);
	hostile_answer(h, bhs, opcodes[h->turn], 0x80, 5);
	bhs[47] = 1;
	hostile_pdu(h, bhs, NULL, 0);
}

static void play_unknown(struct hostile *h)
{
	static const uint8_t known[] = {0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x31, 0x32, 0x3f};
	uint8_t bhs[ISCSI_BHS_SIZE], opcode = (uint8_t)h->turn;

	for (size_t i = 0; i < sizeof(known); i++)
		if (opcode == known[i])
			opcode = 0x3e;
	hostile_accept(h);
	hostile_answer(h, bhs, opcode, 0x80, 5);
	hostile_pdu(h, bhs, NULL, 0);
}

static void play_async(struct hostile *h)
{
	const uint8_t *events = h->row->arg;
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_accept(h);
	hostile_answer(h, bhs, ISCSI_ASYNC, 0x80, ISCSI_TAG_NONE);
	bhs[36] = events[h->turn];
	memset(bhs + 37, 0xff, 7);
	hostile_pdu(h, bhs, NULL, 0);
	hostile_settle(h);
	if (h->closed)
		return;
	hostile_forget(h);
	ping(h);
}

static void play_nop_itt(struct hostile *h)
{
	hostile_accept(h);
	pdu(h, ISCSI_NOP_IN, 0x80, 0x4711);
}

static void play_reject(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_accept(h);
	hostile_answer(h, bhs, ISCSI_REJECT, 0x80, ISCSI_TAG_NONE);
	bhs[2] = (uint8_t)(h->turn * 15);
	hostile_pdu(h, bhs, h->row->length ? data : NULL, h->row->length);
}

static void play_reserved(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_accept(h);
	hostile_answer(h, bhs, ISCSI_NOP_IN | 0xc0, 0xff, ISCSI_TAG_NONE);
	bhs[2] = bhs[3] = 0xff;
	put_be32(bhs + 20, 0x99);
	memset(bhs + 36, 0xff, 12);
	hostile_pdu(h, bhs, NULL, 0);
}

/* ---- numbers ---- */

static void play_stat_sn(struct hostile *h)
{
	static const uint32_t numbers[] = {0, 0x7fffffff, 0x80000000, 0xffffffff};

	hostile_accept(h);
	h->stat_sn = numbers[h->turn];
	ping(h);
}

/* MaxCmdSN and ExpCmdSN that cannot be: nothing is sent beyond what was promised before. */
static void play_window(struct hostile *h)
{
	static const uint32_t max[] = {0, 0x7fffffff, 0x80000000, 0xffffffff};
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_accept(h);
	hostile_answer(h, bhs, ISCSI_NOP_IN, 0x80, ISCSI_TAG_NONE);
	put_be32(bhs + 20, ISCSI_TAG_NONE);
	put_be32(bhs + 28, max[h->turn] - 100);
	put_be32(bhs + 32, max[h->turn]);
	hostile_pdu(h, bhs, NULL, 0);
	hostile_settle(h);
	assert_string_equal(hostile_heard(h), "nothing");
	ping(h);
}

/* ---- responses ---- */

static void respond(struct hostile *h, uint32_t itt, uint8_t response, uint8_t status, size_t n)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_answer(h, bhs, ISCSI_SCSI_RESPONSE, 0x80, itt);
	bhs[2] = response;
	bhs[3] = status;
	hostile_pdu(h, bhs, n ? data : NULL, n);
	hostile_settle(h);
}

static void play_response_itt(struct hostile *h)
{
	static const uint32_t away[] = {1, 0x100, 0x10000, 0x80000000, 0xffffffff};

	hostile_accept(h);
	hostile_begin_task(h, false, 8);
	respond(h, h->pdu.itt + away[h->turn], 0, 0, 0);
}

static void play_response_twice(struct hostile *h)
{
	uint32_t itt;

	hostile_accept(h);
	hostile_begin_task(h, false, 8);
	itt = h->pdu.itt;
	respond(h, itt, 0, 0, 0);
	assert_int_equal(h->task.done, 1);
	respond(h, itt, 0, 0, 0);
	assert_int_equal(h->task.done, 1);
}

static void play_status(struct hostile *h)
{
	static const uint8_t statuses[] = {0x01, 0x04, 0x10, 0x18, 0x30, 0x55, 0xff};

	hostile_accept(h);
	hostile_begin_task(h, false, 8);
	respond(h, h->pdu.itt, 0, statuses[h->turn], 0);
	assert_int_equal(h->task.done, 1);
	assert_int_equal(h->task.task.status, statuses[h->turn]);
	ping(h);
}

static void play_service_response(struct hostile *h)
{
	static const uint8_t responses[] = {1, 2, 0x7f, 0x80, 0xff};

	hostile_accept(h);
	hostile_begin_task(h, false, 8);
	respond(h, h->pdu.itt, responses[h->turn], 0, 0);
	assert_int_equal(h->task.done, 1);
	assert_true(h->task.error < 0);
	ping(h);
}

/* CHECK CONDITION with a sense length of which not all is there. */
static void play_sense(struct hostile *h)
{
	static const uint16_t lengths[] = {0, 1, 17, 18, 100, 0x7fff, 0xffff};

	put_be16(data, lengths[h->turn]);
	hostile_accept(h);
	hostile_begin_task(h, false, 8);
	respond(h, h->pdu.itt, 0, 2, h->row->length);
	assert_int_equal(h->task.done, 1);
	assert_true(h->task.task.sense_length <= INI_SENSE_MAX);
	assert_true(!h->task.task.sense_length || h->task.task.sense_length + 2u <= h->row->length);
	memset(data, 0, 2);
	ping(h);
}

static void play_residual(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_accept(h);
	hostile_begin_task(h, false, 8);
	hostile_answer(h, bhs, ISCSI_SCSI_RESPONSE, (uint8_t)(0x80 | h->row->length), h->pdu.itt);
	put_be32(bhs + 44, 0xffffffff);
	hostile_pdu(h, bhs, NULL, 0);
	hostile_settle(h);
	if (h->closed)
		return;
	assert_int_equal(h->task.done, 1);
	assert_true(h->task.task.received <= 4096);
	ping(h);
}

/* ---- data over TCP ---- */

struct in {
	uint32_t itt, data_sn, offset, length; /* ITT: to be added */
	bool not_final, status;
};

static void data_in(struct hostile *h, uint32_t itt, const struct in *in)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_answer(h, bhs, ISCSI_DATA_IN,
		(uint8_t)((in->not_final ? 0 : 0x80) | (in->status ? 1 : 0)), itt + in->itt);
	put_be32(bhs + 20, ISCSI_TAG_NONE);
	put_be32(bhs + 36, in->data_sn);
	put_be32(bhs + 40, in->offset);
	hostile_pdu(h, bhs, data, in->length);
	hostile_settle(h);
}

/* A READ of 4 KiB under way; its buffer is what it was where nothing may be. */
static void play_data_in(struct hostile *h)
{
	hostile_accept(h);
	hostile_begin_task(h, false, 8);
	data_in(h, h->pdu.itt, h->row->arg);
	assert_int_equal(h->memory[4096], 0x5a);
}

static void play_data_in_for_write(struct hostile *h)
{
	static const struct in in = {.length = 512};

	hostile_accept(h);
	hostile_begin_task(h, true, 128);
	data_in(h, h->pdu.itt, &in);
	assert_int_equal(h->memory[0], 0x5a);
}

static void play_data_in_late(struct hostile *h)
{
	static const struct in in = {.length = 512};
	uint32_t itt;

	hostile_accept(h);
	hostile_begin_task(h, false, 8);
	itt = h->pdu.itt;
	respond(h, itt, 0, 0, 0);
	data_in(h, itt, &in);
	assert_int_equal(h->memory[0], 0x5a);
}

struct r2t {
	uint32_t itt, ttt, sn, offset, length;
};

static void play_r2t(struct hostile *h)
{
	const struct r2t *r = h->row->arg;
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_accept(h);
	hostile_begin_task(h, true, 128);
	hostile_answer(h, bhs, ISCSI_R2T, 0x80, h->pdu.itt + r->itt);
	put_be32(bhs + 20, r->ttt ? r->ttt : 7);
	put_be32(bhs + 36, r->sn);
	put_be32(bhs + 40, r->offset);
	put_be32(bhs + 44, r->length);
	hostile_pdu(h, bhs, NULL, 0);
}

static void play_r2t_for_read(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_accept(h);
	hostile_begin_task(h, false, 8);
	hostile_answer(h, bhs, ISCSI_R2T, 0x80, h->pdu.itt);
	put_be32(bhs + 44, 512);
	hostile_pdu(h, bhs, NULL, 0);
}

/* More at once than MaxOutstandingR2T, while the initiator cannot send. */
static void play_r2ts(struct hostile *h)
{
	uint8_t all[3 * ISCSI_BHS_SIZE];

	hostile_accept(h);
	hostile_begin_task(h, true, 128);
	for (uint32_t i = 0; i < 3; i++) {
		uint8_t *bhs = all + i * ISCSI_BHS_SIZE;

		hostile_answer(h, bhs, ISCSI_R2T, 0x80, h->pdu.itt);
		put_be32(bhs + 20, 7 + i);
		put_be32(bhs + 36, i);
		put_be32(bhs + 40, i * 512);
		put_be32(bhs + 44, 512);
	}
	hostile_bytes(h, all, sizeof(all));
}

/* ---- at random ---- */

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Whole PDUs of which half have an opcode of a target, and half the tag of the task. However it
 * ends, the task is told at most once, and the buffer ends where it ended. */
static void play_random(struct hostile *h)
{
	static const uint8_t opcodes[] = {
		0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x31, 0x32, 0x3f};
	uint32_t seed = 0xab1e0000u + h->turn, itt;
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_accept(h);
	hostile_begin_task(h, h->turn & 1, 32);
	itt = h->pdu.itt;
	for (unsigned i = 0; i < 50 && !h->closed; i++) {
		for (size_t k = 0; k < sizeof(bhs); k++)
			bhs[k] = (uint8_t)next(&seed);
		if (next(&seed) & 1)
			bhs[0] = opcodes[next(&seed) % sizeof(opcodes)];
		if (next(&seed) & 1)
			put_be32(bhs + 16, itt);
		if (next(&seed) & 1)
			memset(bhs + 36, 0, 12);
		bhs[4] = 0;
		hostile_pdu(h, bhs, data, next(&seed) & 1 ? 0 : next(&seed) % 600);
		hostile_settle(h);
	}
	hostile_close(h);
	hostile_settle(h);
	assert_true(h->task.done <= 1);
	assert_int_equal(h->memory[32 * 512], 0x5a);
	assert_int_equal(h->session.lost + h->session.ended, 1);
	h->quiet = true;
	hostile_forget(h);
	hostile_say(h, "closed");
}

/* ---- lengths and time ---- */

static void play_claims(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_accept(h);
	hostile_answer(h, bhs, ISCSI_NOP_IN, 0x80, ISCSI_TAG_NONE);
	put_be32(bhs + 20, ISCSI_TAG_NONE);
	hostile_pdu_claiming(h, bhs, data, 100, h->row->length);
}

static void play_deaf(struct hostile *h)
{
	hostile_accept(h);
	h->deaf = true;
	for (unsigned i = 0; i < 20000; i++)
		ping(h);
	h->deaf = false;
	hostile_settle(h);
	hostile_forget(h);
	hostile_say(h, h->closed ? "closed" : "nothing");
}

static void play_silent(struct hostile *h)
{
	hostile_accept(h);
	hostile_begin_task(h, false, 8);
	hostile_wait(h, 120 * LOOP_NS_PER_S);
	hostile_forget(h);
	hostile_say(h, h->closed ? "closed" : "nothing");
}

#define FULL(m, in, out, where, fn, ...)                                                           \
	{                                                                                          \
		.phase = "full feature", .input = in, .answer = out, .section = where,             \
		.movers = m, .play = fn, __VA_ARGS__                                               \
	}
#define BOTH(in, out, where, fn, ...)                                                              \
	FULL(HOSTILE_BOTH, in, out, "RFC 7143 " where, fn, __VA_ARGS__)
#define TCP(in, out, where, fn, ...) FULL(HOSTILE_TCP, in, out, "RFC 7143 " where, fn, __VA_ARGS__)
#define ISER(in, out, where, fn, ...)                                                              \
	FULL(HOSTILE_ISER, in, out, "RFC 7145 " where, fn, __VA_ARGS__)
#define BAD "closed, EPROTO"
#define OPCODES(...)                                                                               \
	.arg = (const uint8_t[]){__VA_ARGS__}, .times = sizeof((const uint8_t[]){__VA_ARGS__})
#define IN(...)                                                                                    \
	.arg = &(const struct in)                                                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define R2T(...)                                                                                   \
	.arg = &(const struct r2t)                                                                 \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static const struct hostile_row rows[] = {
	BOTH("each opcode that no target has", BAD, "11.1", play_unknown, .times = 64),
	BOTH("a Login, Text, Task Management or Logout Response that nobody waits for", BAD, "7.13",
		play_opcode, OPCODES(0x22, 0x23, 0x24, 0x26)),
	BOTH("a SCSI Response that nobody waits for", BAD, "7.13", play_opcode, OPCODES(0x21)),
	TCP("a Data-In or R2T that nobody waits for", BAD, "7.13", play_opcode,
		OPCODES(0x25, 0x31)),
	ISER("a Data-In or R2T", BAD, "7.3.5, 7.3.6", play_opcode, OPCODES(0x25, 0x31)),
	BOTH("a NOP-In with an ITT that nobody gave", BAD, "11.19, 7.13", play_nop_itt),
	BOTH("every reserved bit of a NOP-In", "NOP-Out", "11.1: ignored", play_reserved),
	BOTH("an Async Message of events 0, 4, 6, 100, 248 and 255, all else ones", "NOP-Out",
		"11.9.1", play_async, OPCODES(0, 4, 6, 100, 248, 255)),
	BOTH("an Async Message of events 2, 3 and 5", "closed, ECONNRESET", "11.9.1", play_async,
		OPCODES(2, 3, 5)),
	BOTH("a Reject without a header in it", BAD, "11.17: of what, nobody knows", play_reject,
		.times = 17),
	BOTH("a Reject of 48 zeros", BAD, "11.17: of what, nobody knows", play_reject, .length = 48,
		.times = 17),
	/* numbers */
	BOTH("StatSN 0, 2^31-1, 2^31 and 2^32-1", "NOP-Out", "4.2.2.2", play_stat_sn, .times = 4),
	BOTH("MaxCmdSN 0, 2^31-1, 2^31 and 2^32-1", "NOP-Out", "4.2.2.1", play_window, .times = 4),
	/* responses */
	BOTH("a SCSI Response with another ITT", BAD, "11.4, 7.13", play_response_itt, .times = 5),
	BOTH("a SCSI Response twice", BAD, "7.13", play_response_twice),
	BOTH("a status that there is not", "NOP-Out", "11.4.2", play_status, .times = 7),
	BOTH("a service response that there is not", "NOP-Out", "11.4.3", play_service_response,
		.times = 5),
	BOTH("sense of 0 to 65,535 bytes in a segment of 20", "NOP-Out", "11.4.7.2", play_sense,
		.length = 20, .times = 7),
	BOTH("sense of 0 to 65,535 bytes in a segment of 1", "NOP-Out", "11.4.7.2", play_sense,
		.length = 1, .times = 7),
	BOTH("CHECK CONDITION without sense", "NOP-Out", "11.4.7.2", play_sense, .length = 0),
	BOTH("an underflow of 2^32-1", "NOP-Out", "11.4.5", play_residual, .length = 2),
	BOTH("an overflow of 2^32-1", "NOP-Out", "11.4.5", play_residual, .length = 4),
	BOTH("underflow and overflow at once", BAD, "11.4.1", play_residual, .length = 6),
	/* data over TCP */
	TCP("a Data-In of 4,097 bytes for a READ of 4,096", BAD, "11.7", play_data_in,
		IN(.length = 4097)),
	TCP("a Data-In at offset 4,096", BAD, "11.7.6", play_data_in,
		IN(.length = 4, .offset = 4096)),
	TCP("a Data-In at offset 2^32-1", BAD, "11.7.6", play_data_in,
		IN(.length = 4, .offset = 0xffffffff)),
	TCP("a Data-In at offset 512 in front", BAD, "11.7.6: DataPDUInOrder", play_data_in,
		IN(.length = 512, .offset = 512)),
	TCP("a Data-In with DataSN 1 in front", BAD, "11.7.5", play_data_in,
		IN(.length = 512, .data_sn = 1)),
	TCP("a Data-In with another ITT", BAD, "11.7", play_data_in, IN(.length = 512, .itt = 1)),
	TCP("a Data-In with S and without F bit", BAD, "11.7.3", play_data_in,
		IN(.length = 512, .status = true, .not_final = true)),
	TCP("a Data-In for a WRITE", BAD, "11.7", play_data_in_for_write),
	TCP("a Data-In for a task that is over", BAD, "11.7", play_data_in_late),
	TCP("an R2T for 0 bytes", BAD, "11.8.4", play_r2t, R2T(.length = 0)),
	TCP("an R2T for 2^32-1 bytes", BAD, "11.8.4", play_r2t, R2T(.length = 0xffffffff)),
	TCP("an R2T for 65,537 bytes of 65,536", BAD, "11.8.4", play_r2t, R2T(.length = 65537)),
	TCP("an R2T at offset 65,536", BAD, "11.8.4", play_r2t, R2T(.length = 1, .offset = 65536)),
	TCP("an R2T at offset 2^32-1", BAD, "11.8.4", play_r2t,
		R2T(.length = 1, .offset = 0xffffffff)),
	TCP("an R2T with R2TSN 1 in front", BAD, "11.8.2", play_r2t, R2T(.length = 512, .sn = 1)),
	TCP("an R2T with another ITT", BAD, "11.8", play_r2t, R2T(.length = 512, .itt = 1)),
	TCP("an R2T with TTT 2^32-1", BAD, "11.8.5", play_r2t,
		R2T(.length = 512, .ttt = 0xffffffff)),
	TCP("an R2T for a READ", BAD, "11.8", play_r2t_for_read),
	TCP("three R2Ts where MaxOutstandingR2T is 1", BAD, "13.17", play_r2ts),
	BOTH("50 PDUs with random fields, 200 seeds", "closed", "7.13", play_random, .times = 200),
	/* lengths and time */
	TCP("a DataSegmentLength of 2^24-1", "closed, EMSGSIZE", "13.12", play_claims,
		.length = 0xffffff),
	ISER("a DataSegmentLength of 2^24-1", BAD, "10.1.3", play_claims, .length = 0xffffff),
	ISER("a DataSegmentLength of one byte more than comes", BAD, "10.1.3", play_claims,
		.length = 101),
	ISER("a DataSegmentLength of 5 bytes less than comes", BAD, "10.1.3", play_claims,
		.length = 95),
	TCP("20,000 pings whose answers it does not read", "closed, ENOBUFS",
		"11.19: so few may be queued", play_deaf),
	BOTH("no answer to a command, nor to its abort", "closed, ECONNREFUSED",
		"7.11, 11.5: abort, reset, then a new connection, which is refused here",
		play_silent),
};

int main(void)
{
	return hostile_run("Full-feature phase: the initiator", false, rows, ARRAY_SIZE(rows));
}

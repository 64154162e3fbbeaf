/* Initiators that break the rules of the full-feature phase (RFC 7143 sections 4.2, 4.3 and 11)
 * against a target, over both movers: opcodes, fields, numbers, tags, task management. */
#include <stdio.h>

#include "tests/kit/hostile.h"

static uint8_t data[16384];

static void ready(struct hostile *h, uint32_t itt)
{
	static const uint8_t cdb[16];

	hostile_command(h, itt, 0x81, 0, cdb, NULL, 0);
}

/* A session whose unit attention has been told. */
static void begin(struct hostile *h)
{
	hostile_login(h);
	ready(h, 0x1000);
	hostile_forget(h);
}

/* ---- opcodes ---- */

static const uint8_t unknown[] = {0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x11, 0x12,
	0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x27, 0x28,
	0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f, 0x30, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39,
	0x3a, 0x3b, 0x3c, 0x3d, 0x3e};
static const uint8_t of_targets[] = {
	0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x31 /* R2T, with a length */, 0x32, 0x3f};

static void play_opcode(struct hostile *h)
{
	const uint8_t *opcodes = h->row->arg;
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, opcodes[h->turn], 0x80, 5);
	bhs[47] = 1;
	hostile_pdu(h, bhs, NULL, 0);
	hostile_settle(h);
	h->cmd_sn--;
	ready(h, 6);
}

static void play_discovery(struct hostile *h)
{
	const uint8_t *opcodes = h->row->arg;
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_login_discovery(h);
	hostile_bhs(h, bhs, opcodes[h->turn] | 0x40, 0x81, 5);
	if (opcodes[h->turn] == ISCSI_LOGOUT_REQUEST)
		put_be16(bhs + 20, 0);
	hostile_pdu(h, bhs, NULL, 0);
}

static void play_discovery_logout(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_login_discovery(h);
	hostile_bhs(h, bhs, ISCSI_LOGOUT_REQUEST, 0x80, 5);
	hostile_pdu(h, bhs, NULL, 0);
}

/* ---- headers ---- */

/* Byte 1 of a SCSI Command. */
static void play_flags(struct hostile *h)
{
	static const uint8_t cdb[16];

	begin(h);
	hostile_command(h, 5, (uint8_t)h->row->length, 0, cdb, NULL, 0);
}

static void play_reserved(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, ISCSI_NOP_OUT, 0xff, 5);
	bhs[0] |= 0x80;
	bhs[2] = bhs[3] = 0xff;
	put_be32(bhs + 20, ISCSI_TAG_NONE);
	memset(bhs + 32, 0xff, 16);
	hostile_pdu(h, bhs, NULL, 0);
}

/* A request with the reserved ITT. */
static void play_no_itt(struct hostile *h)
{
	const uint8_t *opcodes = h->row->arg;
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, opcodes[h->turn], 0x81, ISCSI_TAG_NONE);
	hostile_pdu(h, bhs, NULL, 0);
}

static void play_same_itt(struct hostile *h)
{
	begin(h);
	for (int i = 0; i < 3; i++)
		ready(h, 5);
}

static void play_with_data(struct hostile *h)
{
	const uint8_t *opcodes = h->row->arg;
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, opcodes[h->turn], 0x81, 5);
	hostile_pdu(h, bhs, data, 512);
}

static void play_with_ahs(struct hostile *h)
{
	const uint8_t *opcodes = h->row->arg;
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, opcodes[h->turn], 0x81, 5);
	bhs[4] = 2;
	hostile_pdu_claiming(h, bhs, data, 8, 0);
}

/* AHS whose own length or type means nothing: length 2, type 1, then bytes. */
static void play_ahs(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, ISCSI_SCSI_COMMAND, 0x81, 5);
	bhs[4] = 2;
	hostile_pdu_claiming(h, bhs, h->row->arg, h->row->length, 0);
}

static void play_long_cdb(struct hostile *h)
{
	static const uint16_t lengths[] = {0, 1, 2, 245, 0x7fff, 0xffff};
	uint8_t bhs[ISCSI_BHS_SIZE], ahs[1020] = {0};

	begin(h);
	hostile_bhs(h, bhs, ISCSI_SCSI_COMMAND, 0x81, 5);
	bhs[4] = 255;
	bhs[32] = 0x7f; /* of variable length */
	bhs[39] = 252;
	put_be16(ahs, lengths[h->turn]);
	ahs[2] = 1;
	hostile_pdu_claiming(h, bhs, ahs, sizeof(ahs), 0);
}

static void play_lun(struct hostile *h)
{
	static const uint64_t luns[] = {0x0002000000000000, 0x00ff000000000000, 0x4002000000000000,
		0x7fff000000000000, 0x8000000000000000, 0xc100000000000000, 0xffffffffffffffff,
		0x0000000000000001, 0x0000000100000000};
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, ISCSI_SCSI_COMMAND, 0x81, 5);
	put_be64(bhs + 8, luns[h->turn]);
	hostile_pdu(h, bhs, NULL, 0);
}

/* ---- numbers ---- */

static void play_cmd_sn(struct hostile *h)
{
	static const uint32_t away[] = {0xffffffff, 0xfffffff0, 0x80000000, 0x7fffffff, 200, 1000};

	begin(h);
	h->cmd_sn += away[h->turn];
	ready(h, 5);
	assert_string_equal(hostile_heard(h), "nothing");
	h->cmd_sn -= away[h->turn] + 1;
	ready(h, 6);
}

static void play_same_cmd_sn(struct hostile *h)
{
	begin(h);
	ready(h, 5);
	h->cmd_sn--;
	ready(h, 6);
	ready(h, 7);
}

/* In the window but early, each twice; then the one that they wait for. */
static void play_early(struct hostile *h)
{
	uint32_t first;

	begin(h);
	first = h->cmd_sn;
	for (uint32_t i = 1; i < 32; i++) {
		h->cmd_sn = first + i;
		ready(h, i);
		h->cmd_sn = first + i;
		ready(h, i);
	}
	assert_string_equal(hostile_heard(h), "nothing");
	h->cmd_sn = first;
	ready(h, 0x100);
}

/* Early ones with as much data as they may have. */
static void play_early_data(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	h->cmd_sn++;
	for (uint32_t i = 0; i < 127 && !h->closed; i++) {
		hostile_bhs(h, bhs, ISCSI_NOP_OUT, 0x80, i);
		put_be32(bhs + 20, ISCSI_TAG_NONE);
		hostile_pdu(h, bhs, data, h->rdma ? 8192 : 16384);
		hostile_settle(h);
	}
}

static void play_early_stay(struct hostile *h)
{
	begin(h);
	h->cmd_sn++;
	for (uint32_t i = 0; i < 30; i++)
		ready(h, i);
	hostile_close(h);
}

static void play_exp_stat_sn(struct hostile *h)
{
	static const uint32_t numbers[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff};

	begin(h);
	h->exp_stat_sn = numbers[h->turn];
	ready(h, 5);
}

static void play_immediate(struct hostile *h)
{
	static const uint8_t cdb[16];
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	for (uint32_t i = 0; i < 1000 && !h->closed; i++) {
		hostile_bhs(h, bhs, 0x41, 0x81, i);
		memcpy(bhs + 32, cdb, 16);
		hostile_pdu(h, bhs, NULL, 0);
		hostile_settle(h);
	}
}

/* ---- NOP-Out, SNACK ---- */

static void play_nop(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, ISCSI_NOP_OUT, 0x80, (uint32_t)h->row->length);
	put_be32(bhs + 20, h->row->arg ? 0x4711 : ISCSI_TAG_NONE);
	hostile_pdu(h, bhs, NULL, 0);
}

static void play_snack(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, ISCSI_SNACK_REQUEST, (uint8_t)(0x80 | h->turn), 5);
	put_be32(bhs + 40, 0xffffffff);
	put_be32(bhs + 44, 0xffffffff);
	hostile_pdu(h, bhs, NULL, 0);
}

/* ---- task management, logout ---- */

static void play_tmf(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];
	uint8_t function = h->row->arg ? (uint8_t)(h->turn + 9) : (uint8_t)h->row->length;

	begin(h);
	hostile_bhs(h, bhs, 0x42, (uint8_t)(0x80 | function), 5);
	put_be32(bhs + 20, 0xdead);
	put_be32(bhs + 32, 0xffffffff);
	hostile_pdu(h, bhs, NULL, 0);
}

static void play_tmf_lun(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, 0x42, 0x80 | ISCSI_TMF_LUN_RESET, 5);
	put_be64(bhs + 8, 0x00ff000000000000);
	hostile_pdu(h, bhs, NULL, 0);
}

/* Resets of a LUN that has a command in its slow backend: they wait, and so few may. */
static void play_tmf_flood(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE], cdb[16] = {0x28, [8] = 8};
	unsigned waiting = 0;

	begin(h);
	hostile_bhs(h, bhs, ISCSI_SCSI_COMMAND, 0x81, 4);
	put_be64(bhs + 8, 0x0001000000000000);
	hostile_pdu(h, bhs, NULL, 0); /* its attention */
	hostile_bhs(h, bhs, ISCSI_SCSI_COMMAND, 0xc1, 5);
	put_be64(bhs + 8, 0x0001000000000000);
	put_be32(bhs + 20, 4096);
	memcpy(bhs + 32, cdb, 16);
	h->advertise = (struct iser_header){.read_valid = true, .read_stag = 1};
	hostile_pdu(h, bhs, NULL, 0);
	h->advertise = (struct iser_header){0};
	hostile_settle(h);
	hostile_forget(h);
	for (uint32_t i = 0; i < 100; i++) {
		hostile_bhs(h, bhs, 0x42, 0x80 | ISCSI_TMF_ABORT_TASK_SET, 100 + i);
		put_be64(bhs + 8, 0x0001000000000000);
		hostile_pdu(h, bhs, NULL, 0);
		hostile_settle(h);
		waiting += h->pdu.opcode != ISCSI_REJECT;
	}
	assert_int_equal(waiting, 32);
	hostile_wait(h, LOOP_NS_PER_S);
}

static void play_logout(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, 0x46, (uint8_t)(0x80 | h->row->length), 5);
	put_be16(bhs + 20, h->row->arg ? 77 : 0);
	hostile_pdu(h, bhs, NULL, 0);
}

static void play_after_logout(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_bhs(h, bhs, 0x46, 0x80, 5);
	hostile_pdu(h, bhs, NULL, 0);
	hostile_pdu(h, bhs, NULL, 0);
	ready(h, 6);
}

/* ---- at random ---- */

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Whole PDUs whose fields are anything: half of them requests, half of them at once, so that their
 * CmdSN does not keep them out. */
static void play_random(struct hostile *h)
{
	static const uint8_t requests[] = {0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x10};
	uint32_t seed = 0x5eed0000u + h->turn;
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	for (unsigned i = 0; i < 50 && !h->closed; i++) {
		for (size_t k = 0; k < sizeof(bhs); k++)
			bhs[k] = (uint8_t)next(&seed);
		if (next(&seed) & 1)
			bhs[0] = (uint8_t)(requests[next(&seed) % 7] | (bhs[0] & 0x40));
		if (next(&seed) & 1)
			memset(bhs + 8, 0, 8); /* a LUN that there is */
		bhs[4] = 0;
		bhs[32] = 0; /* TEST UNIT READY: others on this LUN shall not notice */
		hostile_pdu(h, bhs, data, next(&seed) & 1 ? 0 : next(&seed) % 600);
		hostile_settle(h);
	}
	hostile_wait(h, 65 * LOOP_NS_PER_S);
	hostile_forget(h);
	hostile_say(h, h->closed ? "closed" : "nothing");
}

#define FULL(in, out, where, fn, ...)                                                              \
	{                                                                                          \
		.phase = "full feature", .input = in, .answer = out, .section = "RFC 7143 " where, \
		.movers = HOSTILE_BOTH, .play = fn, __VA_ARGS__                                    \
	}
#define OVER(m, in, out, where, fn, ...)                                                           \
	{                                                                                          \
		.phase = "full feature", .input = in, .answer = out, .section = where,             \
		.movers = m, .play = fn, __VA_ARGS__                                               \
	}
#define DISCOVERY(in, out, where, fn, ...)                                                         \
	{                                                                                          \
		.phase = "discovery", .input = in, .answer = out, .section = "RFC 7143 " where,    \
		.movers = HOSTILE_BOTH, .play = fn, __VA_ARGS__                                    \
	}
#define OPCODES(...)                                                                               \
	.arg = (const uint8_t[]){__VA_ARGS__}, .times = sizeof((const uint8_t[]){__VA_ARGS__})
#define GOOD "SCSI Response 00"

static const struct hostile_row rows[] = {
	FULL("each opcode that there is not", "Reject 05, " GOOD, "11.17.1", play_opcode,
		.arg = unknown, .times = sizeof(unknown)),
	FULL("each opcode of a target", "Reject 05, " GOOD, "11.17.1", play_opcode,
		.arg = of_targets, .times = sizeof(of_targets)),
	DISCOVERY("a SCSI Command, Task Management Request, NOP-Out, SNACK", "Reject 04", "4.3",
		play_discovery, OPCODES(0x01, 0x02, 0x00, 0x10)),
	DISCOVERY("each opcode that there is not", "Reject 05", "4.3", play_discovery,
		.arg = unknown, .times = sizeof(unknown)),
	DISCOVERY("each opcode of a target", "Reject 05", "4.3", play_discovery,
		OPCODES(0x20, 0x21, 0x22, 0x23, 0x24, 0x26, 0x32, 0x3f)),
	DISCOVERY("a Login Request", "closed", "6.3", play_discovery, OPCODES(0x03)),
	DISCOVERY("a Logout of its connection", "Reject 04", "4.3", play_discovery, OPCODES(0x06)),
	DISCOVERY("a Logout of the session", "Logout Response 00, closed", "4.3",
		play_discovery_logout),
	/* fields */
	FULL("a SCSI Command without F and W bit", "Reject 09", "11.3.1", play_flags,
		.length = 0x01),
	FULL("a SCSI Command with task attribute 5", "Reject 09", "11.3.1", play_flags,
		.length = 0x85),
	FULL("a SCSI Command with task attribute 7", "Reject 09", "11.3.1", play_flags,
		.length = 0x87),
	FULL("a SCSI Command with attribute ACA", "SCSI Response 02 (5/49/00)", "11.3.1, SAM-5 8.6",
		play_flags, .length = 0x84),
	FULL("every reserved bit of a NOP-Out", "NOP-In", "11.1: ignored", play_reserved),
	FULL("ITT 2^32-1 in each request that must have one", "Reject 09", "11.2.1.8", play_no_itt,
		OPCODES(0x01, 0x02, 0x04, 0x06)),
	FULL("one ITT in three commands", GOOD " 3 times", "11.2.1.8: its own confusion",
		play_same_itt),
	FULL("a data segment on Task Management, Logout and SNACK", "Reject 09", "11.5 to 11.16",
		play_with_data, OPCODES(0x02, 0x06, 0x10)),
	FULL("an AHS on anything but a SCSI Command", "Reject 09", "11.2.2", play_with_ahs,
		OPCODES(0x00, 0x02, 0x04, 0x06, 0x10)),
	FULL("an AHS that is longer than TotalAHSLength", GOOD, "11.2.2.3: this CDB needs none",
		play_ahs, .arg = "\xff\xff\x01\0\0\0\0\0", .length = 8),
	FULL("a CDB that says it is 260 bytes, with AHS lengths 0 to 65,535",
		"SCSI Response 02 (5/20/00)", "11.2.2.3", play_long_cdb, .times = 6),
	FULL("an AHS of an unknown type", GOOD, "11.2.2.1: ignored", play_ahs,
		.arg = "\0\x05\x3f\0\0\0\0\0", .length = 8),
	FULL("LUNs that are not there, of every addressing method", "SCSI Response 02 (5/25/00)",
		"11.2.1.7, SAM-5 4.7", play_lun, .times = 9),
	/* numbers */
	FULL("a CmdSN outside of the window", GOOD, "4.2.2.1: ignored", play_cmd_sn, .times = 6),
	FULL("a CmdSN twice", GOOD " 2 times", "4.2.2.1: the second is ignored", play_same_cmd_sn),
	FULL("31 commands before their turn, twice each, then the first", GOOD " 32 times",
		"4.2.2.1", play_early),
	FULL("early pings with all the data they may have", "closed",
		"4.2.2.1: at most 1 MiB is held", play_early_data),
	FULL("30 early commands, then the end", "nothing", "4.2.2.1", play_early_stay),
	FULL("ExpStatSN 0, 1, 2^31-1, 2^31 and 2^32-1", GOOD, "4.2.2.2: no recovery, no meaning",
		play_exp_stat_sn, .times = 5),
	FULL("1,000 immediate commands", GOOD " 1000 times", "4.2.2.1", play_immediate),
	/* NOP-Out, SNACK, task management, logout */
	FULL("a NOP-Out without ITT", "nothing", "11.18", play_nop, .length = ISCSI_TAG_NONE),
	FULL("a NOP-Out for a ping that was not sent", "nothing", "11.18", play_nop, .arg = "",
		.length = ISCSI_TAG_NONE),
	FULL("a NOP-Out with ITT and TTT", "NOP-In", "11.18.1", play_nop, .arg = "", .length = 5),
	FULL("SNACK of every type", "Reject 03", "11.16", play_snack, .times = 16),
	FULL("Task Management function 0", "Task Management Response 05", "11.6.1", play_tmf),
	FULL("Task Management functions 9 to 127", "Task Management Response 05", "11.6.1",
		play_tmf, .arg = "", .times = 119),
	FULL("ABORT TASK of an unknown tag", "Task Management Response 01", "11.6.1", play_tmf,
		.length = ISCSI_TMF_ABORT_TASK),
	FULL("CLEAR ACA", "Task Management Response 05", "11.6.1", play_tmf,
		.length = ISCSI_TMF_CLEAR_ACA),
	FULL("TASK REASSIGN", "Task Management Response 04", "11.6.1", play_tmf,
		.length = ISCSI_TMF_TASK_REASSIGN),
	FULL("LOGICAL UNIT RESET of a LUN that is not there", "Task Management Response 02",
		"11.6.1", play_tmf_lun),
	FULL("100 Task Management Requests that wait for a slow command",
		"Reject 06 68 times, Task Management Response 00 32 times", "11.17.1",
		play_tmf_flood),
	FULL("Logout of a CID that there is not", "Logout Response 01", "11.15.1", play_logout,
		.arg = "", .length = ISCSI_LOGOUT_CONNECTION),
	FULL("Logout for recovery", "Logout Response 02", "11.15.1", play_logout,
		.length = ISCSI_LOGOUT_RECOVERY),
	FULL("Logout for reason 3", "Reject 09", "11.14.1", play_logout, .length = 3),
	FULL("Logout for reason 127", "Reject 09", "11.14.1", play_logout, .length = 127),
	FULL("requests behind a Logout", "Logout Response 00, closed", "11.14", play_after_logout),
	FULL("50 requests and other PDUs with random fields, 100 seeds", "closed",
		"7.13; 11.19 where it goes on", play_random, .times = 100),
};

int main(void)
{
	return hostile_run("Full-feature phase: the target", true, rows, ARRAY_SIZE(rows));
}

/* Initiators that break the rules of the login phase (RFC 7143 sections 6 and 11.12) against a
 * target, over both movers. Passwords are test_hostile_chap.c's matter. */
#include <stdio.h>

#include "tests/kit/hostile.h"

#define WHO "InitiatorName=" HOSTILE_NAME "\0TargetName=" TWO_ENDS_IQN
#define SECURITY 0x81	 /* T, from security to operational */
#define OPERATIONAL 0x87 /* T, from operational to full-feature */
#define STAY 0x04	 /* in operational */
#define LONG 8192	 /* what the first segment may have */

static void begin(struct hostile *h)
{
	hostile_mpa(h);
	hostile_forget(h);
}

/* The row's text in one request that asks for the full-feature phase. */
static void play_text(struct hostile *h)
{
	begin(h);
	hostile_login_request(h, OPERATIONAL, h->row->arg, h->row->length);
}

/* The same behind a first request that was right; with the words that are its answer. */
static void play_later(struct hostile *h)
{
	begin(h);
	hostile_login_request(h, STAY, WHO, sizeof(WHO));
	assert_string_equal(hostile_heard(h), "Login Response 0000");
	hostile_forget(h);
	hostile_login_request(h, OPERATIONAL, h->row->arg, h->row->length);
}

/* ---- headers ---- */

static void play_first_pdu(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE] = {(uint8_t)h->turn, 0x80};

	if (h->turn == ISCSI_LOGIN_REQUEST)
		bhs[0] = 0x07;
	begin(h);
	hostile_pdu(h, bhs, NULL, 0);
}

static void play_second_pdu(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE] = {(uint8_t)h->turn, 0x80};

	if (h->turn == ISCSI_LOGIN_REQUEST)
		bhs[0] = 0x07;
	/* The movers know these two themselves: see the rows of Data-Out. */
	if (h->turn == ISCSI_DATA_OUT)
		bhs[0] = ISCSI_NOP_OUT;
	begin(h);
	hostile_login_request(h, STAY, WHO, sizeof(WHO));
	hostile_forget(h);
	hostile_pdu(h, bhs, NULL, 0);
}

static void play_data_out(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE] = {ISCSI_DATA_OUT, 0x80};

	begin(h);
	hostile_login_request(h, STAY, WHO, sizeof(WHO));
	hostile_forget(h);
	hostile_pdu(h, bhs, NULL, 0);
}

/* Every value of byte 1 that is none of the right ones. */
static void play_stages(struct hostile *h)
{
	static const uint8_t wrong[] = {
		0x08, 0x0c, 0x80, 0x82, 0x84, 0x85, 0x86, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x8f};

	begin(h);
	hostile_login_request(h, wrong[h->turn], WHO, sizeof(WHO));
}

static void play_transit_and_more(struct hostile *h)
{
	begin(h);
	hostile_login_request(h, 0xc7, WHO, sizeof(WHO));
}

/* One byte of the header is `length` in the first request. */
static void play_byte(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_login_bhs(h, bhs, OPERATIONAL);
	bhs[*(const uint8_t *)h->row->arg] = (uint8_t)h->row->length;
	hostile_pdu(h, bhs, WHO, sizeof(WHO));
}

/* And in the second. */
static void play_byte_later(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_login_request(h, STAY, WHO, sizeof(WHO));
	hostile_forget(h);
	hostile_login_bhs(h, bhs, OPERATIONAL);
	bhs[*(const uint8_t *)h->row->arg] ^= (uint8_t)h->row->length;
	hostile_pdu(h, bhs, NULL, 0);
}

static void play_ahs(struct hostile *h)
{
	static const char both[] = "\0\1\2\0" WHO;
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_login_bhs(h, bhs, OPERATIONAL);
	bhs[4] = 1;
	hostile_pdu_claiming(h, bhs, both, sizeof(both), sizeof(WHO));
}

static void play_reserved(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_login_bhs(h, bhs, OPERATIONAL | 0x30);
	bhs[0] |= 0x80;
	bhs[22] = bhs[23] = 0xff;
	memset(bhs + 32, 0xff, 16);
	hostile_pdu(h, bhs, WHO, sizeof(WHO));
}

static void play_another_stage(struct hostile *h)
{
	begin(h);
	hostile_login_request(h, STAY, WHO, sizeof(WHO));
	hostile_forget(h);
	hostile_login_request(h, SECURITY, NULL, 0);
}

static void play_in_session(struct hostile *h)
{
	hostile_login(h);
	hostile_login_request(h, OPERATIONAL, WHO, sizeof(WHO));
}

/* ---- lengths ---- */

static void play_claims(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_login_bhs(h, bhs, OPERATIONAL);
	hostile_pdu_claiming(h, bhs, WHO, sizeof(WHO), h->row->length);
	hostile_wait(h, 14 * LOOP_NS_PER_S);
	if (!h->rdma && h->row->length <= LONG)
		assert_false(h->closed);
	hostile_wait(h, 2 * LOOP_NS_PER_S);
}

/* The segment is larger than its DataSegmentLength says. */
static void play_claims_less(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_login_bhs(h, bhs, OPERATIONAL);
	hostile_pdu_claiming(h, bhs, WHO, sizeof(WHO), sizeof(WHO) - 8);
	hostile_wait(h, 20 * LOOP_NS_PER_S);
}

static void play_slow(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_login_bhs(h, bhs, OPERATIONAL);
	for (unsigned i = 0; i < sizeof(bhs) && !h->closed; i++) {
		assert_true(i < 16);
		hostile_bytes(h, bhs + i, 1);
		hostile_wait(h, LOOP_NS_PER_S);
	}
}

/* ---- texts ---- */

/* A pair of `turn`-th length without the "=" that it needs. */
static const size_t lengths[] = {1, 2, 3, 62, 63, 64, 65, 254, 255, 256, 1024, 4096, 8191, 8192};

static void play_no_equals(struct hostile *h)
{
	static char text[LONG];

	memset(text, 'x', sizeof(text));
	text[lengths[h->turn] - 1] = '\0';
	if (lengths[h->turn] == 1)
		text[0] = 'x';
	begin(h);
	hostile_login_request(h, OPERATIONAL, text, lengths[h->turn]);
}

static void play_no_nul(struct hostile *h)
{
	static char text[LONG];

	memset(text, 'x', sizeof(text));
	text[lengths[h->turn] / 2] = '=';
	begin(h);
	hostile_login_request(h, OPERATIONAL, text, lengths[h->turn]);
}

/* A key that nobody knows, with a value of that length. */
static void play_long_value(struct hostile *h)
{
	static char text[LONG];
	size_t who = sizeof(WHO);

	memset(text, 'v', sizeof(text));
	memcpy(text, WHO "\0X-a=", who + 4);
	text[LONG - 1] = '\0';
	begin(h);
	hostile_login_request(h, OPERATIONAL, text, LONG);
}

static void play_long_key(struct hostile *h)
{
	static const char head[] = WHO;
	char text[sizeof(head) + 80];
	size_t n = h->row->length;

	memcpy(text, head, sizeof(head));
	memset(text + sizeof(head), 'K', n);
	memcpy(text + sizeof(head) + n, "=1", 3);
	begin(h);
	hostile_login_request(h, OPERATIONAL, text, sizeof(head) + n + 3);
}

static void play_nuls(struct hostile *h)
{
	static const char text[LONG];

	begin(h);
	hostile_login_request(h, OPERATIONAL, text, LONG);
}

/* So many keys that the answer does not fit what may be said at once. */
static void play_many_keys(struct hostile *h)
{
	static char text[LONG];
	size_t used = sizeof(WHO);

	memcpy(text, WHO, used);
	for (unsigned i = 0; used + 5 <= sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
				"%c%c=", 'A' + (int)(i / 26 % 26), 'A' + (int)(i % 26)) +
			1;
	begin(h);
	hostile_login_request(h, OPERATIONAL, text, used);
}

static void play_name(struct hostile *h)
{
	char text[400];
	size_t n =
		(size_t)snprintf(text, sizeof(text), "InitiatorName=%0*d", (int)h->row->length, 0);

	n += (size_t)snprintf(text + n + 1, sizeof(text) - n - 1, "TargetName=%s", TWO_ENDS_IQN);
	begin(h);
	hostile_login_request(h, OPERATIONAL, text, n + 2);
}

/* ---- continuation ---- */

static void play_continued(struct hostile *h)
{
	begin(h);
	for (unsigned i = 0; i < 10000 && !h->closed; i++)
		hostile_login_request(h, 0x44, h->row->arg, h->row->length);
	assert_true(h->pdus <= 64 + 1);
	/* The answers that asked for more are no part of what matters. */
	assert_true(h->pdu.login_response.status_class == 2);
	hostile_forget(h);
	hostile_say(h, "Login Response 0200");
	hostile_say(h, "closed");
}

static void play_continued_long(struct hostile *h)
{
	static char text[LONG];

	memset(text, 'x', sizeof(text));
	begin(h);
	for (unsigned i = 0; i < 3 && !h->closed; i++)
		hostile_login_request(h, 0x44, text, sizeof(text));
}

/* Nothing is ever asked for: the login just does not go on. */
static void play_idle(struct hostile *h)
{
	begin(h);
	for (unsigned i = 0; i < 10000 && !h->closed; i++)
		hostile_login_request(h, STAY, i ? NULL : WHO, i ? 0 : sizeof(WHO));
	assert_true(h->pdus <= 64 + 1);
	assert_true(h->pdu.login_response.status_class == 2);
	hostile_forget(h);
	hostile_say(h, "Login Response 0200");
	hostile_say(h, "closed");
}

#define BYTE(n)                                                                                    \
	.arg = (const uint8_t[])                                                                   \
	{                                                                                          \
		n                                                                                  \
	}
#define LOGIN(in, out, where, fn, ...)                                                             \
	{                                                                                          \
		.phase = "login", .input = in, .answer = out, .section = "RFC 7143 " where,        \
		.movers = HOSTILE_BOTH, .play = fn, __VA_ARGS__                                    \
	}
#define REFUSED(in, status, where, fn, ...)                                                        \
	LOGIN(in, "Login Response " status ", closed", where, fn, __VA_ARGS__)
#define TEXT(in, status, where, literal)                                                           \
	REFUSED(in, status, where, play_text, HOSTILE_TEXT(literal))
static const struct hostile_row rows[] = {
	/* header */
	LOGIN("each of the 64 opcodes but Login Request as the first PDU", "closed", "6.3",
		play_first_pdu, .times = 64),
	REFUSED("each of the 64 opcodes but these two as the second PDU", "020b", "6.3",
		play_second_pdu, .times = 64),
	{.phase = "login",
		.input = "a Data-Out as the second PDU",
		.answer = "Login Response 020b, closed",
		.section = "RFC 7143 6.3",
		.movers = HOSTILE_TCP,
		.play = play_data_out},
	{.phase = "login",
		.input = "a Data-Out as the second PDU",
		.answer = "closed",
		.section = "RFC 7145 7.3.4",
		.movers = HOSTILE_ISER,
		.play = play_data_out},
	LOGIN("a Login Request in the full-feature phase", "closed", "6.3", play_in_session),
	REFUSED("every CSG and NSG that there is not, and NSG not above CSG", "0200", "11.12.3",
		play_stages, .times = 14),
	REFUSED("T and C bit together", "0200", "11.12.2", play_transit_and_more),
	REFUSED("another CSG than the stage that it is in", "0200", "11.12.3", play_another_stage),
	REFUSED("Version-min 1", "0205", "11.12.4", play_byte, BYTE(3), .length = 1),
	REFUSED("Version-min 255", "0205", "11.12.4", play_byte, BYTE(3), .length = 255),
	LOGIN("Version-max 255", "Login Response 0000", "11.12.4", play_byte, BYTE(2),
		.length = 255),
	REFUSED("a TSIH that no session has", "020a", "11.12.6", play_byte, BYTE(14), .length = 9),
	LOGIN("an AHS in the first request", "closed", "11.2.2, 7.7", play_ahs),
	REFUSED("another ISID in the second request", "0200", "11.12.5", play_byte_later, BYTE(13),
		.length = 1),
	REFUSED("another TSIH in the second request", "0200", "11.12.6", play_byte_later, BYTE(15),
		.length = 1),
	REFUSED("another ITT in the second request", "0200", "11.2.1.8", play_byte_later, BYTE(19),
		.length = 1),
	REFUSED("another CID in the second request", "0200", "11.12.7", play_byte_later, BYTE(21),
		.length = 1),
	LOGIN("another CmdSN in the second request", "Login Response 0000", "11.12.8",
		play_byte_later, BYTE(27), .length = 0x40),
	LOGIN("an ExpStatSN that was never sent", "Login Response 0000", "11.12.9", play_byte_later,
		BYTE(28), .length = 0x40),
	LOGIN("every reserved bit", "Login Response 0000", "11.1: ignored", play_reserved),
	/* lengths */
	LOGIN("a DataSegmentLength of one byte more than comes", "closed",
		"7.7, over TCP at the time-out", play_claims, .length = sizeof(WHO) + 4),
	LOGIN("a DataSegmentLength of 8,192, most of which does not come", "closed",
		"7.7, over TCP at the time-out", play_claims, .length = LONG),
	LOGIN("a DataSegmentLength of 8,193", "closed", "13.12: 8,192 until it is declared",
		play_claims, .length = LONG + 1),
	LOGIN("a DataSegmentLength of 2^24-1", "closed", "13.12: 8,192 until it is declared",
		play_claims, .length = 0xffffff),
	{.phase = "login",
		.input = "a DataSegmentLength of 8 bytes less than comes",
		.answer = "Login Response 0200, closed",
		.section = "RFC 7143 6.1",
		.movers = HOSTILE_TCP,
		.play = play_claims_less},
	{.phase = "login",
		.input = "a DataSegmentLength of 8 bytes less than comes",
		.answer = "closed",
		.section = "RFC 7145 10.1.3",
		.movers = HOSTILE_ISER,
		.play = play_claims_less},
	{.phase = "login",
		.input = "a Login Request, one byte a second",
		.answer = "closed",
		.section = "RFC 7143 6.3: the login's time-out (15 s)",
		.movers = HOSTILE_TCP,
		.play = play_slow},
	/* texts */
	REFUSED("1 to 8,192 bytes without \"=\"", "0200", "6.1", play_no_equals,
		.times = ARRAY_SIZE(lengths)),
	REFUSED("1 to 8,192 bytes with \"=\" in them and without the last NUL", "0200", "6.1",
		play_no_nul, .times = ARRAY_SIZE(lengths)),
	TEXT("a pair without a key", "0200", "6.1", WHO "\0=Yes"),
	REFUSED("a key of 64 bytes", "0200", "6.1: at most 63", play_long_key, .length = 64),
	LOGIN("a key of 63 bytes that nobody knows", "Login Response 0000", "6.1", play_long_key,
		.length = 63),
	LOGIN("a value of 8 KiB of a key that nobody knows", "Login Response 0000", "6.2",
		play_long_value),
	REFUSED("8,192 NULs", "0207", "11.13.5", play_nuls),
	REFUSED("keys whose answer does not fit", "0302", "11.13.5", play_many_keys),
	REFUSED("no text at all", "0207", "11.13.5", play_text),
	TEXT("no InitiatorName", "0207", "13.5", "TargetName=" TWO_ENDS_IQN),
	TEXT("an InitiatorName of no bytes", "0207", "13.5",
		"InitiatorName=\0TargetName=" TWO_ENDS_IQN),
	TEXT("no TargetName", "0207", "13.4", "InitiatorName=" HOSTILE_NAME),
	TEXT("a TargetName that nobody has", "0203", "13.4",
		"InitiatorName=" HOSTILE_NAME "\0TargetName=iqn.2026-11.org.iseran:nowhere"),
	REFUSED("an InitiatorName of 224 bytes", "0200", "13.5", play_name, .length = 224),
	LOGIN("an InitiatorName of 223 bytes", "Login Response 0000", "13.5", play_name,
		.length = 223),
	TEXT("an InitiatorName with an escape sequence", "0200", "4.2.7",
		"InitiatorName=iqn.\x1b[31m\0TargetName=" TWO_ENDS_IQN),
	TEXT("two InitiatorNames", "0200", "6.2",
		WHO "\0InitiatorName=iqn.2026-11.org.iseran:other"),
	TEXT("SessionType=Both", "0209", "13.21", WHO "\0SessionType=Both"),
	TEXT("a key twice", "0200", "6.2", WHO "\0MaxBurstLength=512\0MaxBurstLength=512"),
	REFUSED("a key again in a later request", "0200", "6.2", play_later,
		HOSTILE_TEXT("InitialR2T=Yes\0InitialR2T=Yes")),
	REFUSED("another TargetName in a later request", "0200", "11.12", play_later,
		HOSTILE_TEXT("TargetName=" TWO_ENDS_CHAP_IQN)),
	REFUSED("another SessionType in a later request", "0200", "11.12", play_later,
		HOSTILE_TEXT("SessionType=Discovery")),
	TEXT("a key of the target's own", "0200", "13.8", WHO "\0TargetAddress=127.0.0.1:3260,1"),
	TEXT("a key of the full-feature phase", "0200", "13.3", WHO "\0SendTargets=All"),
	TEXT("a key of the security stage in the operational one", "0200", "12.1",
		WHO "\0AuthMethod=None"),
	TEXT("an answer to what was not asked", "0200", "6.2", WHO "\0InitialR2T=Irrelevant"),
	{.phase = "login",
		.input = "MaxRecvDataSegmentLength=511",
		.answer = "Login Response 0200, closed",
		.section = "RFC 7143 13.12",
		.movers = HOSTILE_TCP,
		.play = play_text,
		HOSTILE_TEXT(WHO "\0MaxRecvDataSegmentLength=511")},
	{.phase = "login",
		.input = "MaxRecvDataSegmentLength=16777216",
		.answer = "Login Response 0200, closed",
		.section = "RFC 7143 13.12",
		.movers = HOSTILE_TCP,
		.play = play_text,
		HOSTILE_TEXT(WHO "\0MaxRecvDataSegmentLength=16777216")},
	/* continuation */
	REFUSED("10,000 requests with the C bit and no text", "0200", "6.2", play_continued),
	REFUSED("10,000 requests with the C bit and one byte", "0200", "6.2", play_continued,
		.arg = "x", .length = 1),
	LOGIN("24 KiB of text with the C bit",
		"Login Response 0000 2 times, Login Response 0200, closed", "6.2: at least 16 KiB",
		play_continued_long),
	REFUSED("10,000 requests that ask for nothing", "0200", "6.2", play_idle),
	/* iSER's own */
	{.phase = "login",
		.input = "RDMAExtensions=No",
		.answer = "Login Response 0200, closed",
		.section = "RFC 7145 6.3",
		.movers = HOSTILE_ISER,
		.play = play_text,
		HOSTILE_TEXT(WHO "\0RDMAExtensions=No")},
	{.phase = "login",
		.input = "RDMAExtensions=Perhaps",
		.answer = "Login Response 0200, closed",
		.section = "RFC 7145 6.3",
		.movers = HOSTILE_ISER,
		.play = play_text,
		HOSTILE_TEXT(WHO "\0RDMAExtensions=Perhaps")},
};

int main(void)
{
	return hostile_run("Login: the target", true, rows, ARRAY_SIZE(rows));
}

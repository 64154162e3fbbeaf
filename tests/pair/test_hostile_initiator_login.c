/* Targets that break the rules of connection set-up and login (RFC 5044 section 7.1, RFC 6581
 * section 6, RFC 7143 sections 6 and 11.13) against a real initiator, over both movers. */
#include <stdio.h>

#include "tests/kit/hostile.h"

#define FIRST "TargetPortalGroupTag=1\0AuthMethod=None"
#define TO_OPERATIONAL 0x81
#define TO_FULL 0x87
#define STAY 0x04

static void begin(struct hostile *h)
{
	struct ini_session_config config = hostile_config(h);

	hostile_await(h, &config);
	hostile_mpa(h);
	assert_int_equal(h->pdu.opcode, ISCSI_LOGIN_REQUEST);
	hostile_forget(h);
}

static void begin_operational(struct hostile *h)
{
	begin(h);
	hostile_login_response(h, TO_OPERATIONAL, 0, FIRST, sizeof(FIRST));
	assert_string_equal(hostile_heard(h), "Login Request");
	hostile_forget(h);
}

/* ---- MPA ---- */

static void play_reply(struct hostile *h)
{
	struct ini_session_config config = hostile_config(h);

	hostile_await(h, &config);
	hostile_bytes(h, h->row->arg, h->row->length);
	hostile_settle(h);
}

static void play_no_reply(struct hostile *h)
{
	play_reply(h);
	assert_false(h->closed);
	hostile_wait(h, 5 * LOOP_NS_PER_S);
}

/* ---- headers ---- */

static void play_opcode(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_answer(h, bhs, (uint8_t)h->turn, 0x80, h->pdu.itt);
	if (h->turn == ISCSI_LOGIN_RESPONSE)
		bhs[0] = ISCSI_LOGIN_REQUEST;
	bhs[47] = 1;
	hostile_pdu(h, bhs, NULL, 0);
}

/* One byte of the first response is changed by `length`. */
static void play_byte(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE] = {ISCSI_LOGIN_RESPONSE, TO_OPERATIONAL};

	begin(h);
	memcpy(bhs + 8, h->pdu.login.isid.bytes, 6);
	put_be32(bhs + 16, h->pdu.itt);
	put_be32(bhs + 24, 1);
	put_be32(bhs + 28, h->pdu.cmd_sn);
	put_be32(bhs + 32, h->pdu.cmd_sn + 31);
	bhs[*(const uint8_t *)h->row->arg] ^= (uint8_t)h->row->length;
	hostile_pdu(h, bhs, FIRST, sizeof(FIRST));
}

/* Byte 1: stages that were not asked for. */
static void play_stages(struct hostile *h)
{
	static const uint8_t wrong[] = {
		0x80, 0x82, 0x83, 0x84, 0x85, 0x87, 0x8b, 0x8f, 0xc1, 0x04, 0x0c};

	begin(h);
	hostile_login_response(h, wrong[h->turn], 0, FIRST, sizeof(FIRST));
}

static void play_no_tsih(struct hostile *h)
{
	static const char text[] = "RDMAExtensions=Yes";
	uint8_t bhs[ISCSI_BHS_SIZE] = {ISCSI_LOGIN_RESPONSE, TO_FULL};

	begin_operational(h);
	memcpy(bhs + 8, h->pdu.login.isid.bytes, 6);
	put_be32(bhs + 16, h->pdu.itt);
	put_be32(bhs + 24, h->stat_sn);
	hostile_pdu(h, bhs, text, h->rdma ? sizeof(text) : 0);
}

static void play_status(struct hostile *h)
{
	begin(h);
	hostile_login_response(h, 0, (unsigned)h->row->length, NULL, 0);
}

static void play_claims(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE] = {ISCSI_LOGIN_RESPONSE, TO_OPERATIONAL};

	begin(h);
	memcpy(bhs + 8, h->pdu.login.isid.bytes, 6);
	put_be32(bhs + 16, h->pdu.itt);
	hostile_pdu_claiming(h, bhs, FIRST, sizeof(FIRST), h->row->length);
	hostile_wait(h, 6 * LOOP_NS_PER_S);
}

/* ---- texts ---- */

static void play_text(struct hostile *h)
{
	begin(h);
	hostile_login_response(h, TO_OPERATIONAL, 0, h->row->arg, h->row->length);
}

/* Over iSER behind the keys that must be there. */
static void play_operational(struct hostile *h)
{
	static const char keys[] = "RDMAExtensions=Yes";
	char text[512];
	size_t n = 0;

	if (h->rdma && h->row->movers == HOSTILE_BOTH) {
		memcpy(text, keys, sizeof(keys));
		n = sizeof(keys);
	}
	memcpy(text + n, h->row->arg, h->row->length);
	begin_operational(h);
	hostile_login_response(h, TO_FULL, 0, text, n + h->row->length);
}

static void play_no_equals(struct hostile *h)
{
	static const size_t lengths[] = {1, 2, 63, 64, 255, 1024, 8191, 8192};
	static char text[8192];

	memset(text, 'x', sizeof(text));
	if (h->turn)
		text[lengths[h->turn] - 1] = '\0';
	begin(h);
	hostile_login_response(h, TO_OPERATIONAL, 0, text, lengths[h->turn]);
}

static void play_many_keys(struct hostile *h)
{
	static char text[8192];
	size_t used = sizeof(FIRST);

	memcpy(text, FIRST, used);
	for (unsigned i = 0; used + 5 <= sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
				"%c%c=", 'A' + (int)(i / 26 % 26), 'A' + (int)(i % 26)) +
			1;
	begin(h);
	hostile_login_response(h, 0x00, 0, text, used);
}

/* ---- no end ---- */

static void play_continued(struct hostile *h)
{
	begin(h);
	for (unsigned i = 0; i < 10000 && !h->closed; i++)
		hostile_login_response(h, 0x40, 0, h->row->arg, h->row->length);
	assert_true(h->pdus <= 64 + 1);
	hostile_forget(h);
	hostile_say(h, "closed");
}

static void play_idle(struct hostile *h)
{
	begin(h);
	for (unsigned i = 0; i < 10000 && !h->closed; i++)
		hostile_login_response(h, 0x00, 0, NULL, 0);
	assert_true(h->pdus <= 64 + 1);
	hostile_forget(h);
	hostile_say(h, "closed");
}

static void play_silent(struct hostile *h)
{
	begin(h);
	hostile_wait(h, 4 * LOOP_NS_PER_S);
	assert_false(h->closed);
	hostile_wait(h, 2 * LOOP_NS_PER_S);
}

static void play_slow(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE] = {ISCSI_LOGIN_RESPONSE};

	begin(h);
	for (unsigned i = 0; i < sizeof(bhs) && !h->closed; i++) {
		hostile_bytes(h, bhs + i, 1);
		hostile_wait(h, LOOP_NS_PER_S);
		assert_true(i < 6);
	}
}

/* ---- CHAP ---- */

static void begin_chap(struct hostile *h)
{
	struct ini_session_config config = hostile_config(h);

	config.auth.chap_required = true;
	config.auth.name = TWO_ENDS_NAME;
	config.auth.secret = TWO_ENDS_SECRET;
	config.auth.mutual_name = TWO_ENDS_MUTUAL_NAME;
	config.auth.mutual_secret = TWO_ENDS_MUTUAL_SECRET;
	hostile_await(h, &config);
	hostile_mpa(h);
	hostile_forget(h);
}

static void play_chap_method(struct hostile *h)
{
	begin_chap(h);
	hostile_login_response(h, 0x00, 0, h->row->arg, h->row->length);
}

static void to_challenge(struct hostile *h)
{
	static const char text[] = "TargetPortalGroupTag=1\0AuthMethod=CHAP";

	begin_chap(h);
	hostile_login_response(h, 0x00, 0, text, sizeof(text));
	assert_string_equal(hostile_heard(h), "Login Request");
	hostile_forget(h);
}

static void play_challenge(struct hostile *h)
{
	to_challenge(h);
	hostile_login_response(h, 0x00, 0, h->row->arg, h->row->length);
}

static void play_challenge_sized(struct hostile *h)
{
	char text[4400];
	size_t n = (size_t)sprintf(text, "CHAP_A=7%cCHAP_I=1%cCHAP_C=0x", 0, 0);

	memset(text + n, 'a', h->row->length * 2);
	n += h->row->length * 2;
	text[n++] = '\0';
	to_challenge(h);
	hostile_login_response(h, 0x00, 0, text, n);
}

/* Its response to the initiator's challenge. */
static void play_response(struct hostile *h)
{
	static const char text[] = "CHAP_A=7\0CHAP_I=1\0CHAP_C=0x00112233445566778899aabbccddeeff";

	to_challenge(h);
	hostile_login_response(h, 0x00, 0, text, sizeof(text));
	assert_string_equal(hostile_heard(h), "Login Request");
	hostile_forget(h);
	hostile_login_response(h, TO_OPERATIONAL, 0, h->row->arg, h->row->length);
}

#define LOGIN(in, out, where, fn, ...)                                                             \
	{                                                                                          \
		.phase = "login", .input = in, .answer = out, .section = "RFC 7143 " where,        \
		.movers = HOSTILE_BOTH, .play = fn, __VA_ARGS__                                    \
	}
#define OVER(m, in, out, where, fn, ...)                                                           \
	{                                                                                          \
		.phase = "login", .input = in, .answer = out, .section = where, .movers = m,       \
		.play = fn, __VA_ARGS__                                                            \
	}
#define BAD(in, where, fn, ...) LOGIN(in, "closed, EPROTO", where, fn, __VA_ARGS__)
#define TEXT(in, where, literal) BAD(in, where, play_text, HOSTILE_TEXT(FIRST "\0" literal))
#define KEY(in, where, literal) BAD(in, where, play_operational, HOSTILE_TEXT(literal))
#define CHAP(in, out, where, fn, ...)                                                              \
	{                                                                                          \
		.phase = "login, CHAP", .input = in, .answer = out, .section = "RFC 7143 " where,  \
		.movers = HOSTILE_BOTH, .play = fn, __VA_ARGS__                                    \
	}
#define MPA(in, out, where, fn, literal)                                                           \
	{                                                                                          \
		.phase = "MPA", .input = in, .answer = out, .section = where,                      \
		.movers = HOSTILE_ISER, .play = fn, .arg = (literal),                              \
		.length = sizeof(literal) - 1                                                      \
	}
#define BYTE(n)                                                                                    \
	.arg = (const uint8_t[])                                                                   \
	{                                                                                          \
		n                                                                                  \
	}
#define REP "MPA ID Rep Frame"
#define R32 "CHAP_R=0x0000000000000000000000000000000000000000000000000000000000000000"
static const struct hostile_row rows[] = {
	MPA("a request frame in place of a reply", "closed, EPROTO", "RFC 5044 7.1.2", play_reply,
		"MPA ID Req Frame\x10\x02\0\x04\0\x10\0\x10"),
	MPA("20 bytes that are no frame", "closed, EPROTO", "RFC 5044 7.1.2", play_reply,
		"SSH-2.0-OpenSSH_9.2p1"),
	MPA("PD_Length 65535", "closed, EPROTO", "RFC 5044 7.1.1", play_reply,
		REP "\x10\x02\xff\xff"),
	MPA("the R bit", "closed, ECONNREFUSED", "RFC 5044 7.1.1", play_reply,
		REP "\x30\x02\0\x04\0\0\0\0"),
	MPA("markers asked for", "Terminate 2.0.04, closed, EPROTO", "RFC 6581 8", play_reply,
		REP "\x90\x02\0\x04\0\x10\0\x10"),
	MPA("revision 1, without IRD and ORD", "Terminate 2.0.04, closed, EPROTO", "RFC 6581 8",
		play_reply, REP "\0\x01\0\0"),
	MPA("revision 3", "Terminate 2.0.04, closed, EPROTO", "RFC 6581 8", play_reply,
		REP "\x10\x03\0\x04\0\x10\0\x10"),
	MPA("the S bit without IRD and ORD", "Terminate 2.0.04, closed, EPROTO", "RFC 6581 8",
		play_reply, REP "\x10\x02\0\0"),
	MPA("an ORD of 16,382", "Terminate 2.0.06, closed, EPROTO", "RFC 6581 8", play_reply,
		REP "\x10\x02\0\x04\0\x10\x3f\xfe"),
	MPA("half a reply, then nothing", "closed, ETIMEDOUT", "RFC 5044 7.1.2", play_no_reply,
		"MPA ID Rep"),
	MPA("no reply at all", "closed, ETIMEDOUT", "RFC 5044 7.1.2", play_no_reply, ""),

	BAD("each of the 64 opcodes but Login Response", "6.3", play_opcode, .times = 64),
	BAD("another ITT", "11.13", play_byte, BYTE(19), .length = 1),
	BAD("another ISID", "11.13", play_byte, BYTE(13), .length = 1),
	BAD("Version-active 1", "11.13.2", play_byte, BYTE(3), .length = 1),
	OVER(HOSTILE_TCP, "an AHS", "closed, EMSGSIZE", "RFC 7143 11.2.2", play_byte, BYTE(4),
		.length = 1),
	OVER(HOSTILE_ISER, "an AHS", "closed, EPROTO", "RFC 7143 11.2.2", play_byte, BYTE(4),
		.length = 1),
	LOGIN("every reserved bit of byte 1", "Login Request", "11.1: ignored", play_byte, BYTE(1),
		.length = 0x30),
	BAD("every stage that was not asked for, and T with C bit", "11.13.6, 11.13.7", play_stages,
		.times = 11),
	BAD("a last response with TSIH 0", "11.13.3", play_no_tsih),
	LOGIN("status class 1 without an address", "closed, EREMCHG", "11.13.5", play_status,
		.length = 0x0101),
	LOGIN("status 0201", "closed, EACCES", "11.13.5", play_status, .length = 0x0201),
	LOGIN("status 0203", "closed, ENOENT", "11.13.5", play_status, .length = 0x0203),
	LOGIN("status ffff", "closed, EPROTO", "11.13.5", play_status, .length = 0xffff),
	OVER(HOSTILE_TCP, "a DataSegmentLength of 8,193", "closed, EMSGSIZE", "RFC 7143 13.12",
		play_claims, .length = 8193),
	OVER(HOSTILE_ISER, "a DataSegmentLength of 8,193", "closed, EPROTO", "RFC 7145 10.1.3",
		play_claims, .length = 8193),
	OVER(HOSTILE_TCP, "half a text", "closed, ETIMEDOUT", "RFC 7143 6.3: the login's time-out",
		play_claims, .length = sizeof(FIRST) + 8),
	OVER(HOSTILE_ISER, "half a text", "closed, EPROTO", "RFC 7145 10.1.3", play_claims,
		.length = sizeof(FIRST) + 8),
	/* texts */
	BAD("1 to 8,192 bytes without \"=\"", "6.1", play_no_equals, .times = 8),
	TEXT("a pair without a key", "6.1", "=Yes"),
	TEXT("a key twice", "6.2", "AuthMethod=None"),
	TEXT("a key of the initiator's own", "13.3", "SendTargets=All"),
	LOGIN("an AuthMethod that was not offered", "closed, EACCES", "12.1", play_text,
		HOSTILE_TEXT("TargetPortalGroupTag=1\0AuthMethod=CHAP")),
	LOGIN("a list of AuthMethods", "closed, EACCES", "12.1", play_text,
		HOSTILE_TEXT("TargetPortalGroupTag=1\0AuthMethod=None,CHAP")),
	LOGIN("8 KiB of keys that nobody knows", "closed, EPROTO", "6.2: too long an answer",
		play_many_keys),
	KEY("MaxBurstLength=16777215, above what was offered", "6.2.2", "MaxBurstLength=16777215"),
	KEY("MaxBurstLength=0", "13.13", "MaxBurstLength=0"),
	KEY("FirstBurstLength=99999999999", "13.14", "FirstBurstLength=99999999999"),
	KEY("MaxOutstandingR2T=65536", "13.17", "MaxOutstandingR2T=65536"),
	KEY("DefaultTime2Wait=-1", "13.15", "DefaultTime2Wait=-1"),
	KEY("InitialR2T=Maybe", "13.10", "InitialR2T=Maybe"),
	KEY("ErrorRecoveryLevel=2", "13.20", "ErrorRecoveryLevel=2"),
	{.phase = "login",
		.input = "MaxRecvDataSegmentLength=0",
		.answer = "closed, EPROTO",
		.section = "RFC 7143 13.12",
		.movers = HOSTILE_TCP,
		.play = play_operational,
		HOSTILE_TEXT("MaxRecvDataSegmentLength=0")},
	{.phase = "login",
		.input = "HeaderDigest=CRC32C, which was not offered",
		.answer = "closed, EPROTO",
		.section = "RFC 7143 13.1",
		.movers = HOSTILE_TCP,
		.play = play_operational,
		HOSTILE_TEXT("HeaderDigest=CRC32C")},
	{.phase = "login",
		.input = "RDMAExtensions=No",
		.answer = "closed, EPROTO",
		.section = "RFC 7145 6.3",
		.movers = HOSTILE_ISER,
		.play = play_operational,
		HOSTILE_TEXT("RDMAExtensions=No")},
	{.phase = "login",
		.input = "TargetRecvDataSegmentLength=0",
		.answer = "closed, EPROTO",
		.section = "RFC 7145 6.4",
		.movers = HOSTILE_ISER,
		.play = play_operational,
		HOSTILE_TEXT("RDMAExtensions=Yes\0TargetRecvDataSegmentLength=0")},
	{.phase = "login",
		.input = "InitiatorRecvDataSegmentLength above what was offered",
		.answer = "closed, EPROTO",
		.section = "RFC 7145 6.5",
		.movers = HOSTILE_ISER,
		.play = play_operational,
		HOSTILE_TEXT("RDMAExtensions=Yes\0InitiatorRecvDataSegmentLength=65536")},
	/* no end */
	LOGIN("10,000 responses with the C bit and no text", "closed, EPROTO", "6.2",
		play_continued),
	LOGIN("10,000 responses with the C bit and one byte", "closed, EPROTO", "6.2",
		play_continued, .arg = "x", .length = 1),
	LOGIN("10,000 responses that stay in the stage", "closed, EPROTO", "6.2", play_idle),
	OVER(HOSTILE_TCP, "no answer", "closed, ETIMEDOUT", "RFC 7143 6.3: the login's time-out",
		play_silent),
	OVER(HOSTILE_ISER, "no answer", "RDMA Write 5 times, closed, ETIMEDOUT",
		"RFC 7143 6.3: the login's time-out; Writes of no bytes wake a peer that sleeps",
		play_silent),
	{.phase = "login",
		.input = "an answer, one byte a second",
		.answer = "closed, ETIMEDOUT",
		.section = "RFC 7143 6.3: the login's time-out",
		.movers = HOSTILE_TCP,
		.play = play_slow},
	/* CHAP */
	CHAP("AuthMethod=None where CHAP alone was offered", "closed, EACCES", "12.1",
		play_chap_method, HOSTILE_TEXT(FIRST)),
	CHAP("an algorithm that was not offered", "closed, EACCES", "12.1.3", play_challenge,
		HOSTILE_TEXT("CHAP_A=99\0CHAP_I=1\0CHAP_C=0x00")),
	CHAP("a list of algorithms", "closed, EACCES", "12.1.3", play_challenge,
		HOSTILE_TEXT("CHAP_A=7,5\0CHAP_I=1\0CHAP_C=0x00")),
	CHAP("CHAP_I=256", "closed, EPROTO", "12.1.3", play_challenge,
		HOSTILE_TEXT("CHAP_A=7\0CHAP_I=256\0CHAP_C=0x00")),
	CHAP("no challenge", "closed, EPROTO", "12.1.3", play_challenge,
		HOSTILE_TEXT("CHAP_A=7\0CHAP_I=1")),
	CHAP("a challenge of no bytes", "closed, EPROTO", "12.1.3", play_challenge,
		HOSTILE_TEXT("CHAP_A=7\0CHAP_I=1\0CHAP_C=0x")),
	CHAP("a challenge with an odd number of digits", "closed, EPROTO", "6.1", play_challenge,
		HOSTILE_TEXT("CHAP_A=7\0CHAP_I=1\0CHAP_C=0x123")),
	CHAP("a challenge in base64 that is none", "closed, EPROTO", "6.1", play_challenge,
		HOSTILE_TEXT("CHAP_A=7\0CHAP_I=1\0CHAP_C=0b****")),
	CHAP("a challenge of 1,024 bytes", "Login Request", "12.1.3", play_challenge_sized,
		.length = 1024),
	CHAP("a challenge of 1,025 bytes", "closed, EPROTO", "12.1.3", play_challenge_sized,
		.length = 1025),
	CHAP("a challenge of 2,100 bytes", "closed, EPROTO", "12.1.3", play_challenge_sized,
		.length = 2100),
	CHAP("no proof of its own", "closed, EACCES", "12.1.3", play_response),
	CHAP("a response of zeros", "closed, EACCES", "12.1.3", play_response,
		HOSTILE_TEXT("CHAP_N=carol\0" R32)),
	CHAP("a response of one byte", "closed, EACCES", "12.1.3", play_response,
		HOSTILE_TEXT("CHAP_N=carol\0CHAP_R=0x00")),
	CHAP("a name alone", "closed, EPROTO", "12.1.3", play_response,
		HOSTILE_TEXT("CHAP_N=carol")),
};

int main(void)
{
	return hostile_run(
		"Connection set-up and login: the initiator", false, rows, ARRAY_SIZE(rows));
}

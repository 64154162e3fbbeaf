/* Targets that break the rules of a discovery session (RFC 7143 section 4.3 and appendix C) against
 * a real initiator, over both movers. */
#include "tests/kit/hostile.h"

#include "initiator/discovery.h"

struct outcome {
	unsigned done;
	int error;
	size_t count;
	bool truncated;
};

static struct outcome outcome;

static void done(void *owner, const struct discovery_result *result)
{
	struct outcome *o = owner;

	o->done++;
	o->error = result->error;
	o->count = result->count;
	o->truncated = result->truncated;
}

static void begin(struct hostile *h)
{
	static const char security[] = "AuthMethod=None";
	static const char operational[] = "MaxRecvDataSegmentLength=8192";
	struct discovery_config config = {
		.loop = two_ends_loop(h->ends),
		.mover = two_ends_initiator_mover(h->ends),
		.initiator_name = TWO_ENDS_INITIATOR,
		.login_timeout_ns = 5 * LOOP_NS_PER_S,
	};
	struct discovery *discovery;
	const char *why;

	outcome = (struct outcome){0};
	assert_int_equal(address_parse("127.0.0.1", 3260, &config.portal, &why), 0);
	hostile_expect(h);
	assert_int_equal(discovery_start(&config, done, &outcome, &discovery), 0);
	hostile_settle(h);
	hostile_mpa(h);
	hostile_login_response(h, 0x81, 0, security, sizeof(security));
	hostile_login_response(h, 0x87, 0, operational, h->rdma ? 0 : sizeof(operational));
	assert_int_equal(h->pdu.opcode, ISCSI_TEXT_REQUEST);
	hostile_forget(h);
}

/* What its caller is told, in the words of the row. */
static void end(struct hostile *h)
{
	hostile_settle(h);
	if (!outcome.done)
		return;
	assert_int_equal(outcome.done, 1);
	hostile_say(h, outcome.error	   ? strerrorname_np(-outcome.error)
		       : outcome.truncated ? "the first part"
					   : "an answer");
}

static void respond(struct hostile *h, uint8_t flags, uint32_t ttt, const void *text, size_t length)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_answer(h, bhs, ISCSI_TEXT_RESPONSE, flags, h->pdu.itt);
	put_be32(bhs + 20, ttt);
	hostile_pdu(h, bhs, text, length);
	hostile_settle(h);
}

static void play_text(struct hostile *h)
{
	begin(h);
	respond(h, 0x80, ISCSI_TAG_NONE, h->row->arg, h->row->length);
	hostile_close(h);
	end(h);
}

static void play_pieces(struct hostile *h)
{
	begin(h);
	for (unsigned i = 0; i < 10000 && h->pdu.opcode == ISCSI_TEXT_REQUEST && !h->closed; i++)
		respond(h, 0x40, 7, h->row->arg, h->row->length);
	hostile_forget(h);
	hostile_close(h);
	end(h);
}

static void play_whole_pieces(struct hostile *h)
{
	static char text[8192];

	for (size_t i = 0; i < sizeof(text); i += 32)
		memcpy(text + i, "TargetName=iqn.2026-11.a:bcdefg", 32);
	begin(h);
	for (unsigned i = 0; i < 10000 && h->pdu.opcode == ISCSI_TEXT_REQUEST && !h->closed; i++)
		respond(h, 0x40, 7, text, sizeof(text));
	hostile_forget(h);
	hostile_close(h);
	end(h);
	assert_true(outcome.count <= DISCOVERY_ENTRIES_MAX);
}

static void play_flags(struct hostile *h)
{
	begin(h);
	respond(h, (uint8_t)h->row->length, ISCSI_TAG_NONE, NULL, 0);
	end(h);
}

static void play_opcode(struct hostile *h)
{
	const uint8_t *opcodes = h->row->arg;
	uint8_t bhs[ISCSI_BHS_SIZE];

	begin(h);
	hostile_answer(h, bhs, opcodes[h->turn], 0x80, h->pdu.itt);
	bhs[47] = 1;
	hostile_pdu(h, bhs, NULL, 0);
	end(h);
}

static void play_itt(struct hostile *h)
{
	begin(h);
	h->pdu.itt++;
	respond(h, 0x80, ISCSI_TAG_NONE, NULL, 0);
	end(h);
}

static void play_twice(struct hostile *h)
{
	static const char text[] = "TargetName=iqn.2026-11.a:b";
	uint32_t itt;

	begin(h);
	itt = h->pdu.itt;
	respond(h, 0x80, ISCSI_TAG_NONE, text, sizeof(text));
	assert_string_equal(hostile_heard(h), "Logout Request");
	hostile_forget(h);
	h->pdu.itt = itt;
	respond(h, 0x80, ISCSI_TAG_NONE, text, sizeof(text));
	end(h);
}

static void play_silent(struct hostile *h)
{
	begin(h);
	hostile_wait(h, 6 * LOOP_NS_PER_S);
	end(h);
}

/* It has answered, but not the Logout. */
static void play_no_logout(struct hostile *h)
{
	begin(h);
	respond(h, 0x80, ISCSI_TAG_NONE, NULL, 0);
	hostile_wait(h, 6 * LOOP_NS_PER_S);
	end(h);
}

/* A little each second, without end. */
static void play_slow(struct hostile *h)
{
	unsigned seconds = 0;

	begin(h);
	for (; seconds < 3600 && !h->closed; seconds++) {
		respond(h, 0x40, 7, "a", 1);
		hostile_wait(h, LOOP_NS_PER_S);
	}
	assert_true(seconds <= 6);
	hostile_forget(h);
	hostile_say(h, "closed");
	end(h);
}

#define DISCOVERY(in, out, where, fn, ...)                                                         \
	{                                                                                          \
		.phase = "discovery", .input = in, .answer = out, .section = "RFC 7143 " where,    \
		.movers = HOSTILE_BOTH, .play = fn, __VA_ARGS__                                    \
	}
#define OPCODES(...)                                                                               \
	.arg = (const uint8_t[]){__VA_ARGS__}, .times = sizeof((const uint8_t[]){__VA_ARGS__})
#define BAD "closed, EPROTO"

static const struct hostile_row rows[] = {
	DISCOVERY("no target at all", "Logout Request, an answer", "appendix C", play_text),
	DISCOVERY("a text without \"=\"", BAD, "6.1", play_text, HOSTILE_TEXT("TargetName")),
	DISCOVERY("a text without the last NUL", BAD, "6.1", play_text,
		.arg = "TargetName=iqn.2026-11.a:b", .length = 26),
	DISCOVERY("an address before any name", "Logout Request, an answer", "appendix C",
		play_text, HOSTILE_TEXT("TargetAddress=127.0.0.1:3260,1")),
	DISCOVERY("names and addresses that cannot be", "Logout Request, an answer", "appendix C",
		play_text,
		HOSTILE_TEXT("TargetName=\x1b[31m\0TargetName=iqn.2026-11.a:b\0TargetAddress=[::1"
			     "\0TargetAddress=127.0.0.1:99999,1\0TargetAddress=")),
	DISCOVERY("10,000 pieces of no bytes", "the first part", "11.11: so many are taken",
		play_pieces),
	DISCOVERY("10,000 pieces of one byte", "the first part", "11.11: so many are taken",
		play_pieces, .arg = "x", .length = 1),
	DISCOVERY("80 MB of names", "the first part", "11.11: 1 MiB is taken", play_whole_pieces),
	DISCOVERY("more to come, without a TTT to ask for it", BAD, "11.11.4", play_flags,
		.length = 0x40),
	DISCOVERY("F and C bit together", BAD, "11.11.2", play_flags, .length = 0xc0),
	DISCOVERY("another ITT", BAD, "11.11", play_itt),
	DISCOVERY("a second answer", "closed, an answer", "7.13", play_twice),
	DISCOVERY("a SCSI Response, Task Management Response, Login Response, Reject", BAD, "4.3",
		play_opcode, OPCODES(0x21, 0x22, 0x23, 0x3f)),
	DISCOVERY("no answer", "closed, ETIMEDOUT", "7.5", play_silent),
	DISCOVERY("no answer to the Logout", "Logout Request, closed, an answer", "11.14",
		play_no_logout),
	DISCOVERY("a byte of the answer each second", "closed, ETIMEDOUT", "7.5", play_slow),
};

int main(void)
{
	return hostile_run("Discovery: the initiator", false, rows, ARRAY_SIZE(rows));
}

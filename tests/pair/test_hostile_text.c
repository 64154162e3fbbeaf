/* Initiators that break the rules of Text Requests (RFC 7143 sections 6.1, 6.2 and 11.10) against a
 * target in the full-feature phase, over both movers. */
#include "tests/kit/hostile.h"

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

static void text(struct hostile *h, uint8_t flags, uint32_t ttt, const void *what, size_t length)
{
	uint8_t bhs[ISCSI_BHS_SIZE];

	hostile_bhs(h, bhs, 0x44, flags, 5);
	put_be32(bhs + 20, ttt);
	hostile_pdu(h, bhs, what, length);
	hostile_settle(h);
}

static void play_text(struct hostile *h)
{
	begin(h);
	text(h, 0x80, ISCSI_TAG_NONE, h->row->arg, h->row->length);
}

static void play_text_flags(struct hostile *h)
{
	begin(h);
	text(h, 0xc0, ISCSI_TAG_NONE, "a=b", 4);
}

static void play_text_ttt(struct hostile *h)
{
	static const uint32_t tags[] = {0, 1, 0x7fffffff, 0xfffffffe};

	begin(h);
	text(h, 0x80, tags[h->turn], "SendTargets=", 13);
}

static void play_text_long(struct hostile *h)
{
	static char long_text[8192];

	memset(long_text, 'x', sizeof(long_text));
	begin(h);
	text(h, 0x80, ISCSI_TAG_NONE, long_text, sizeof(long_text));
}

/* Pieces of the row's bytes, without end. */
static void play_text_pieces(struct hostile *h)
{
	uint32_t ttt = ISCSI_TAG_NONE;

	begin(h);
	for (unsigned i = 0; i < 10000 && h->pdu.opcode != ISCSI_REJECT; i++) {
		text(h, 0x40, ttt, h->row->arg, h->row->length);
		if (h->pdu.opcode == ISCSI_TEXT_RESPONSE)
			ttt = h->pdu.text.ttt;
	}
	if (h->row->length)
		assert_true(h->pdus < 8300);
	hostile_forget(h);
	hostile_say(h, iscsi_opcode_name(h->pdu.opcode));
	ready(h, 9);
}

/* A key so often that the answer to it would be far longer. */
static void play_text_answer(struct hostile *h)
{
	static char keys[8192];

	for (size_t i = 0; i + 4 <= sizeof(keys); i += 4)
		memcpy(keys + i, "k=1", 4);
	begin(h);
	text(h, 0x80, ISCSI_TAG_NONE, keys, sizeof(keys));
	hostile_forget(h);
	for (unsigned i = 0; i < 1000 && h->pdu.text.more; i++)
		text(h, 0x80, h->pdu.text.ttt, NULL, 0);
	hostile_forget(h);
	hostile_say(h, h->pdu.text.more ? "more" : "Text Response");
}

#define TEXT(in, out, where, fn, ...)                                                              \
	{                                                                                          \
		.phase = "full feature", .input = in, .answer = out, .section = "RFC 7143 " where, \
		.movers = HOSTILE_BOTH, .play = fn, __VA_ARGS__                                    \
	}
#define GOOD "SCSI Response 00"

static const struct hostile_row rows[] = {
	TEXT("a text without \"=\"", "Reject 04", "6.1", play_text, HOSTILE_TEXT("SendTargets")),
	TEXT("a text without the last NUL", "Reject 04", "6.1", play_text, .arg = "a=b",
		.length = 3),
	TEXT("a text without a key", "Reject 04", "6.1", play_text, HOSTILE_TEXT("=a")),
	TEXT("a text of no bytes", "Text Response", "11.10", play_text),
	TEXT("a text of 8,192 bytes that is no pair", "Reject 04", "6.1", play_text_long),
	TEXT("a key that nobody knows", "Text Response", "6.2: NotUnderstood", play_text,
		HOSTILE_TEXT("X-org.example=1")),
	TEXT("SendTargets=All in a normal session", "Text Response", "13.3: Reject", play_text,
		HOSTILE_TEXT("SendTargets=All")),
	TEXT("F and C bit together", "Reject 09", "11.10.2", play_text_flags),
	TEXT("a TTT that nobody gave", "Reject 04", "11.10.4", play_text_ttt, .times = 4),
	TEXT("10,000 pieces of one byte", "Reject, " GOOD, "11.10: at most 8 KiB are held",
		play_text_pieces, .arg = "x", .length = 1),
	TEXT("10,000 pieces of no bytes", "Text Response, " GOOD, "11.10: nothing is held",
		play_text_pieces),
	TEXT("8 KiB of keys that nobody knows", "Text Response", "11.11: in pieces",
		play_text_answer),
};

int main(void)
{
	return hostile_run("Texts: the target", true, rows, ARRAY_SIZE(rows));
}

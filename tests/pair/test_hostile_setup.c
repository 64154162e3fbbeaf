/* Peers that break the rules of connection set-up: MPA request frames at the target (RFC 5044
 * section 7.1, RFC 6581 section 6). */
#include "tests/kit/hostile.h"

#define KEY "MPA ID Req Frame"

static void play_bytes(struct hostile *h)
{
	hostile_bytes(h, h->row->arg, h->row->length);
}

/* Every length short of a whole frame, and then no more. */
static void play_short(struct hostile *h)
{
	hostile_bytes(h, KEY "\x10\x02\x00\x04\x00\x10\x00\x10", h->turn);
	hostile_settle(h);
	assert_string_equal(hostile_heard(h), "nothing");
	hostile_wait(h, 5 * LOOP_NS_PER_S);
}

static void play_short_and_end(struct hostile *h)
{
	hostile_bytes(h, KEY "\x10\x02\x00\x04\x00\x10\x00\x10", h->turn);
	hostile_settle(h);
	hostile_say(h, "nothing");
	hostile_close(h);
}

static void play_slow(struct hostile *h)
{
	for (unsigned i = 0; i < 24 && !h->closed; i++) {
		hostile_bytes(h, (KEY "\x10\x02\x00\x04\x00\x10\x00\x10") + i, 1);
		hostile_wait(h, LOOP_NS_PER_S);
	}
	assert_true(h->closed);
}

static void play_key(struct hostile *h)
{
	uint8_t frame[20] = KEY "\x00\x01\x00";

	frame[h->turn] ^= 0x20;
	hostile_bytes(h, frame, sizeof(frame));
}

static void play_revision(struct hostile *h)
{
	uint8_t frame[20] = KEY "\x00\x01\x00";

	frame[17] = (uint8_t)(h->turn ? h->turn + 2 : 0);
	hostile_bytes(h, frame, sizeof(frame));
}

static void play_pd_length(struct hostile *h)
{
	static const uint16_t lengths[] = {513, 4096, 0x7fff, 0x8000, 0xffff};
	uint8_t frame[20] = KEY "\x00\x02\x00";

	put_be16(frame + 18, lengths[h->turn]);
	hostile_bytes(h, frame, sizeof(frame));
}

static void play_no_words(struct hostile *h)
{
	uint8_t frame[20 + 3] = KEY "\x10\x02\x00";

	frame[19] = (uint8_t)h->turn;
	hostile_bytes(h, frame, 20 + h->turn);
}

/* The most that may be asked for is not what is given. */
static void play_reads(struct hostile *h)
{
	hostile_bytes(h, KEY "\x10\x02\x00\x04\xff\xff\xff\xff", 24);
	hostile_settle(h);
	assert_true(h->mpa.ird <= MPA_READS_MAX);
	assert_true(h->mpa.ord <= MPA_READS_MAX);
}

static void play_private_data(struct hostile *h)
{
	uint8_t frame[20 + 512] = KEY "\x10\x02\x02";

	memset(frame + 20, 0xc3, 512);
	frame[20] = frame[22] = 0;
	hostile_bytes(h, frame, sizeof(frame));
}

static void play_again(struct hostile *h)
{
	hostile_mpa(h);
	hostile_bytes(h, KEY "\x10\x02\x00\x04\x00\x10\x00\x10", 24);
}

static void play_random(struct hostile *h)
{
	uint8_t bytes[512];
	uint32_t seed = 0x1234567u * (h->turn + 1);

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
	hostile_bytes(h, bytes, sizeof(bytes));
}

#define ROW(in, out, where, fn, ...)                                                               \
	{                                                                                          \
		.phase = "MPA", .input = in, .answer = out, .section = where,                      \
		.movers = HOSTILE_ISER, .play = fn, __VA_ARGS__                                    \
	}
#define BYTES(literal) .arg = (literal), .length = sizeof(literal) - 1

static const struct hostile_row rows[] = {
	ROW("the first 0 to 23 bytes of a request, then nothing", "closed",
		"RFC 5044 7.1.2: a reasonable time-out (5 s)", play_short, .times = 24),
	ROW("the first 1 to 23 bytes of a request, then the end", "nothing", "RFC 5044 7.1.2",
		play_short_and_end, .times = 24),
	ROW("a request, one byte a second", "closed", "RFC 5044 7.1.2: a reasonable time-out (5 s)",
		play_slow),
	ROW("512 random bytes", "closed", "RFC 5044 7.1.2: an improper request", play_random,
		.times = 32),
	ROW("a key with one byte changed, each of the 16", "closed",
		"RFC 5044 7.1.2: an improper request", play_key, .times = 16),
	ROW("a reply frame in place of a request", "closed", "RFC 5044 7.1.2: an improper request",
		play_bytes, BYTES("MPA ID Rep Frame\x00\x01\x00\x00")),
	ROW("PD_Length 513, 4096, 32767, 32768 and 65535", "closed", "RFC 5044 7.1.1: at most 512",
		play_pd_length, .times = 5),
	ROW("revision 0 and 3 to 255", "closed", "RFC 5044 7.1.1, RFC 6581 6: revision 1 or 2",
		play_revision, .times = 254),
	ROW("the S bit with 0 to 3 bytes where IRD and ORD should be", "closed", "RFC 6581 6",
		play_no_words, .times = 4),
	ROW("markers asked for", "MPA reply with R, closed", "RFC 5044 7.1.1: R", play_bytes,
		BYTES(KEY "\x90\x02\x00\x04\x00\x10\x00\x10")),
	ROW("a request with the R bit", "MPA reply with R, closed", "RFC 5044 7.1.1: R", play_bytes,
		BYTES(KEY "\x30\x02\x00\x04\x00\x10\x00\x10")),
	ROW("every reserved flag", "MPA reply", "RFC 5044 7.1.1: reserved bits are not checked",
		play_bytes, BYTES(KEY "\x1f\x02\x00\x04\x00\x10\x00\x10")),
	ROW("IRD and ORD of all ones", "MPA reply", "RFC 6581 9.1: the reply says less",
		play_reads),
	ROW("512 bytes of private data that mean nothing", "MPA reply", "RFC 7145 5.1.2",
		play_private_data),
	ROW("a second request behind the first", "MPA reply, Terminate 0.2.05, closed",
		"RFC 5040 4.8: RDMAP version", play_again),
};

int main(void)
{
	return hostile_run("Connection set-up: the target", true, rows, ARRAY_SIZE(rows));
}

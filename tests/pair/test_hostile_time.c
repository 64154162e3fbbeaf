/* Initiators that cost a target memory and time: half-open connections by the thousand, peers that
 * read nothing, that say one byte a second, that log in and fall silent (RFC 7143 sections 11.19
 * and 6.3, RFC 7145 section 5.1.2). The clock is virtual: hours pass in a moment. */
#include <malloc.h>
#include <sys/resource.h>

#include "common/base/alloc.h"
#include "target/target_set.h"
#include "tests/kit/hostile.h"
#include "tests/kit/two_ends_internal.h"

#define THOUSAND 1000

static uint8_t data[16384];

/* ---- half open ---- */

/* Connections of which each has said so little. Few are held at a time, and none when the time is
 * over. */
static void play_half_open(struct hostile *h)
{
	static struct hostile *all[THOUSAND];
	unsigned long before = alloc_live();
	unsigned i, closed = 0;

	for (i = 0; i < THOUSAND; i++) {
		all[i] = hostile_another(h);
		if (h->row->length)
			hostile_bytes(all[i], h->row->arg, h->row->length);
	}
	hostile_settle(h);
	assert_true(alloc_live() - before <= 128);
	hostile_wait(h, 16 * LOOP_NS_PER_S);
	for (i = 0; i < THOUSAND; i++) {
		hostile_listen(all[i]);
		closed += all[i]->closed;
		hostile_free(all[i]);
	}
	hostile_settle(h);
	assert_int_equal(closed, THOUSAND);
	assert_true(alloc_live() <= before);
	hostile_forget(h);
	hostile_say(h, "closed");
}

/* They are logging in, and so few may at a time: a new one comes in all the same later. */
static void play_half_login(struct hostile *h)
{
	static struct hostile *all[THOUSAND];
	unsigned refused = 0;

	for (unsigned i = 0; i < THOUSAND; i++) {
		all[i] = hostile_another(h);
		hostile_bytes(all[i], h->row->arg, h->row->length);
		hostile_settle(all[i]);
		refused += all[i]->closed;
	}
	/* One is the peer of this row. */
	assert_int_equal(refused, THOUSAND - 128 + (h->rdma ? 0 : 1));
	assert_true(atomic_load(&h->ends->set->logins) <= 128);
	hostile_wait(h, 16 * LOOP_NS_PER_S);
	assert_int_equal(atomic_load(&h->ends->set->logins), 0);
	for (unsigned i = 0; i < THOUSAND; i++)
		hostile_free(all[i]);
	hostile_reconnect(h);
	hostile_login(h);
	hostile_ping(h, 5);
}

/* ---- deaf ---- */

/* Pings with all the data that they may have, whose answers nobody reads. */
static void play_deaf_pings(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];
	unsigned long before;
	size_t bytes;

	hostile_login(h);
	before = alloc_live();
	bytes = mallinfo2().uordblks;
	h->deaf = true;
	for (unsigned i = 0; i < 20000; i++) {
		hostile_bhs(h, bhs, ISCSI_NOP_OUT | 0x40, 0x80, i);
		put_be32(bhs + 20, ISCSI_TAG_NONE);
		hostile_pdu(h, bhs, data, 8192);
		hostile_settle(h);
	}
	assert_true(alloc_live() < before + 10000);
	/* The sanitizer's heap says 0 to both. */
	assert_true(mallinfo2().uordblks < bytes + (16 << 20));
	hostile_wait(h, 65 * LOOP_NS_PER_S);
	h->deaf = false;
	hostile_settle(h);
	hostile_forget(h);
	hostile_say(h, h->closed ? "closed" : "nothing");
}

/* Reads of 64 KiB, of which nobody takes the data. */
static void play_deaf_reads(struct hostile *h)
{
	unsigned long before;

	hostile_login(h);
	hostile_rw(h, 1, false, 8);
	before = alloc_live();
	h->deaf = true;
	for (uint32_t i = 0; i < 1000; i++) {
		h->advertise = (struct iser_header){.read_valid = true, .read_stag = 1};
		hostile_rw(h, 2 + i, false, 128);
	}
	assert_true(alloc_live() < before + 1000);
	hostile_wait(h, 65 * LOOP_NS_PER_S);
	h->deaf = false;
	hostile_settle(h);
	hostile_forget(h);
	hostile_say(h, h->closed ? "closed" : "nothing");
}

/* A login whose answer is not read, until it is over. */
static void play_deaf_login(struct hostile *h)
{
	static const char text[] = "InitiatorName=" HOSTILE_NAME "\0TargetName=" TWO_ENDS_IQN;

	hostile_mpa(h);
	hostile_forget(h);
	h->deaf = true;
	for (unsigned i = 0; i < 200; i++)
		hostile_login_request(h, 0x04, i ? NULL : text, i ? 0 : sizeof(text));
	hostile_wait(h, 20 * LOOP_NS_PER_S);
	h->deaf = false;
	hostile_settle(h);
	hostile_forget(h);
	hostile_say(h, h->closed ? "closed" : "nothing");
}

/* ---- slow and silent ---- */

/* A request with data of which a byte comes each second. */
static void play_slow(struct hostile *h)
{
	uint8_t bhs[ISCSI_BHS_SIZE];
	unsigned seconds = 0;

	hostile_login(h);
	hostile_ping(h, 4);
	hostile_forget(h);
	hostile_bhs(h, bhs, ISCSI_NOP_OUT | 0x40, 0x80, 5);
	hostile_pdu_claiming(h, bhs, NULL, 0, 8192);
	for (; seconds < 8192 && !h->closed; seconds++) {
		hostile_bytes(h, data, 1);
		hostile_wait(h, LOOP_NS_PER_S);
	}
	assert_true(seconds <= 61);
}

/* The same within an FPDU. */
static void play_slow_fpdu(struct hostile *h)
{
	unsigned seconds = 0;

	hostile_login(h);
	hostile_ping(h, 4);
	hostile_forget(h);
	hostile_bytes(h, "\x20\x12\x41\x43\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0", 20);
	for (; seconds < 8192 && !h->closed; seconds++) {
		hostile_bytes(h, data, 1);
		hostile_wait(h, LOOP_NS_PER_S);
	}
	assert_true(seconds <= 61);
}

static void play_silent(struct hostile *h)
{
	hostile_login(h);
	hostile_wait(h, 299 * LOOP_NS_PER_S);
	assert_false(h->closed);
	hostile_wait(h, 2 * LOOP_NS_PER_S);
}

static void play_silent_later(struct hostile *h)
{
	hostile_login(h);
	hostile_ping(h, 5);
	hostile_wait(h, 29 * LOOP_NS_PER_S);
	assert_false(h->closed);
	hostile_wait(h, 32 * LOOP_NS_PER_S);
}

static void play_silent_discovery(struct hostile *h)
{
	hostile_login_discovery(h);
	hostile_wait(h, 299 * LOOP_NS_PER_S);
	assert_false(h->closed);
	hostile_wait(h, 2 * LOOP_NS_PER_S);
}

/* Logins by one name, each in place of the one before. */
static void play_again_and_again(struct hostile *h)
{
	for (unsigned i = 0; i < 200; i++) {
		hostile_login(h);
		hostile_reconnect(h);
	}
	hostile_login(h);
	hostile_ping(h, 5);
}

/* The same, but nobody closes the old connections. */
static void play_many_sessions(struct hostile *h)
{
	static struct hostile *all[100];
	unsigned closed = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		all[i] = hostile_another(h);
		hostile_login(all[i]);
	}
	hostile_settle(h);
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		hostile_listen(all[i]);
		closed += all[i]->closed;
		hostile_free(all[i]);
	}
	assert_int_equal(closed, ARRAY_SIZE(all) - 1);
	hostile_reconnect(h);
	hostile_say(h, "closed");
}

#define TIME(m, what, in, out, where, fn, ...)                                                     \
	{                                                                                          \
		.phase = what, .input = in, .answer = out, .section = where, .movers = m,          \
		.play = fn, __VA_ARGS__                                                            \
	}
#define BYTES(literal) .arg = (literal), .length = sizeof(literal) - 1
#define LOGIN_TIME "RFC 7143 6.3: the login's time-out (15 s)"
#define PING_TIME "RFC 7143 11.19: 30 s, and 30 s for the ping"
#define REQUEST "MPA ID Req Frame\x10\x02\x00\x04\x00\x10\x00\x10"

static const struct hostile_row rows[] = {
	TIME(HOSTILE_ISER, "MPA", "1,000 connections that say nothing", "closed",
		"RFC 5044 7.1.2: 5 s, and 128 at a time", play_half_open),
	TIME(HOSTILE_ISER, "MPA", "1,000 connections that say half a request", "closed",
		"RFC 5044 7.1.2: 5 s, and 128 at a time", play_half_open, BYTES("MPA ID Req")),
	TIME(HOSTILE_ISER, "login", "1,000 connections that get as far as the MPA reply", "NOP-In",
		LOGIN_TIME, play_half_login, BYTES(REQUEST)),
	TIME(HOSTILE_TCP, "login", "1,000 connections that say half a Login Request", "NOP-In",
		LOGIN_TIME, play_half_login, BYTES("C\x87")),
	TIME(HOSTILE_BOTH, "login", "200 requests whose answers it does not read", "closed",
		LOGIN_TIME, play_deaf_login),
	TIME(HOSTILE_BOTH, "full feature", "20,000 pings with 8 KiB whose answers it does not read",
		"closed", PING_TIME, play_deaf_pings),
	TIME(HOSTILE_BOTH, "full feature", "1,000 READs of 64 KiB whose data it does not read",
		"closed", PING_TIME, play_deaf_reads),
	TIME(HOSTILE_TCP, "full feature", "a request of 8 KiB, one byte a second", "NOP-In, closed",
		PING_TIME, play_slow),
	TIME(HOSTILE_ISER, "full feature", "an FPDU of 8 KiB, one byte a second", "NOP-In, closed",
		PING_TIME, play_slow_fpdu),
	TIME(HOSTILE_BOTH, "full feature", "nothing, from the login on", "closed",
		"RFC 7143 11.19: 10 times 30 s, for it may have no receive for a ping",
		play_silent),
	TIME(HOSTILE_BOTH, "full feature", "nothing, from its first request on",
		"NOP-In 2 times, closed", PING_TIME, play_silent_later),
	TIME(HOSTILE_BOTH, "discovery", "nothing, from the login on", "closed",
		"RFC 7143 11.19: 10 times 30 s", play_silent_discovery),
	TIME(HOSTILE_BOTH, "full feature", "200 logins, each gone without a Logout", "NOP-In",
		"RFC 7143 6.3.5: each in place of the one before", play_again_and_again),
	TIME(HOSTILE_BOTH, "full feature", "100 logins by one name, none of them gone", "closed",
		"RFC 7143 6.3.5: each ends the one before", play_many_sessions),
};

int main(void)
{
	struct rlimit files;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	return hostile_run("Memory and time: the target", true, rows, ARRAY_SIZE(rows));
}

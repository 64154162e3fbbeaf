/* Initiators that break the rules of CHAP (RFC 1994, RFC 7143 sections 9.2.1 and 12.1.3) at a
 * target that demands it and can prove itself, over both movers. */
#include <stdio.h>

#include "common/iscsi/chap.h"
#include "common/iscsi/login.h"
#include "tests/kit/hostile.h"

#define WHO "InitiatorName=" HOSTILE_NAME "\0TargetName=" TWO_ENDS_CHAP_IQN
#define STAY 0x00	 /* in security */
#define SECURITY 0x81	 /* T, from security to operational */
#define OPERATIONAL 0x87 /* T, from operational to full-feature */
#define TEXT_SIZE 8192

static void request(struct hostile *h, uint8_t flags, const char *text, size_t length)
{
	hostile_forget(h);
	hostile_login_request(h, flags, text, length);
}

static void must_go_on(const struct hostile *h)
{
	assert_string_equal(hostile_heard(h), "Login Response 0000");
}

static void play_first(struct hostile *h)
{
	hostile_mpa(h);
	request(h, SECURITY, h->row->arg, h->row->length);
}

/* No AuthMethod, but so much else that the answer takes two PDUs; the T bit comes with the request
 * for the second. */
static void play_late(struct hostile *h)
{
	static const char who[] = WHO;
	char text[TEXT_SIZE];
	size_t n = sizeof(who);

	memcpy(text, who, n);
	for (unsigned i = 0; i < 600; i++)
		n += (size_t)sprintf(text + n, "%c%c=", 'a' + i % 26, 'a' + i / 26) + 1;
	hostile_mpa(h);
	request(h, STAY, text, n);
	must_go_on(h);
	assert_true(h->pdu.login_response.more);
	request(h, *(const uint8_t *)h->row->arg, NULL, 0);
	must_go_on(h);
	assert_false(h->pdu.login_response.transit);
	request(h, *(const uint8_t *)h->row->arg, NULL, 0);
}

static void play_operational(struct hostile *h)
{
	hostile_mpa(h);
	request(h, OPERATIONAL, h->row->arg, h->row->length);
}

/* CHAP is agreed on. */
static void to_algorithm(struct hostile *h)
{
	static const char text[] = WHO "\0AuthMethod=CHAP";

	hostile_mpa(h);
	request(h, STAY, text, sizeof(text));
	must_go_on(h);
}

/* And the target's challenge is here. */
static void to_response(struct hostile *h)
{
	static const char text[] = "CHAP_A=7";

	to_algorithm(h);
	request(h, STAY, text, sizeof(text));
	must_go_on(h);
}

static void play_algorithm(struct hostile *h)
{
	to_algorithm(h);
	request(h, STAY, h->row->arg, h->row->length);
}

static void play_response(struct hostile *h)
{
	to_response(h);
	request(h, SECURITY, h->row->arg, h->row->length);
}

/* A list of algorithms that nobody knows, as long as a value may be and longer. */
static void play_unknown_algorithms(struct hostile *h)
{
	char text[TEXT_SIZE];
	size_t n = (size_t)snprintf(text, sizeof(text), "CHAP_A=100");

	for (unsigned i = 101; n < h->row->length + 7 - 4; i = i < 998 ? i + 1 : 100)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ",%u", i);
	to_algorithm(h);
	request(h, STAY, text, n + 1);
}

/* Binary values of every size. */
static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 31, 33, 64, 255, 256, 1023, 1024};

static size_t put_binary(char *out, const char *key, bool base64, size_t size)
{
	size_t n = (size_t)sprintf(out, "%s=0%c", key, base64 ? 'b' : 'x'), digits = size * 2;

	if (base64)
		digits = (size + 2) / 3 * 4;
	memset(out + n, 'A', digits);
	if (base64 && size % 3)
		memset(out + n + digits - (3 - size % 3), '=', 3 - size % 3);
	out[n + digits] = '\0';
	return n + digits + 1;
}

/* 32 bytes are what the digest has: that one is wrong for its bytes alone. */
static void respond_sized(struct hostile *h, bool base64, size_t size)
{
	char text[TEXT_SIZE] = "CHAP_N=" TWO_ENDS_NAME;
	size_t n = strlen(text) + 1;

	n += put_binary(text + n, "CHAP_R", base64, size);
	to_response(h);
	request(h, SECURITY, text, n);
}

static void play_hex(struct hostile *h)
{
	respond_sized(h, false, h->row->length ? h->row->length : sizes[h->turn]);
}

static void play_base64(struct hostile *h)
{
	respond_sized(h, true, h->row->length ? h->row->length : sizes[h->turn]);
}

/* ---- with the right response ---- */

static const char *said(const struct hostile *h, const char *key)
{
	const char *text = (const char *)h->data;
	size_t n = strlen(key);

	for (size_t at = 0; at < h->pdu.data_length; at += strlen(text + at) + 1)
		if (!strncmp(text + at, key, n))
			return text + at + n;
	fail_msg("the target did not say %s", key);
	return NULL;
}

/* CHAP_N and the CHAP_R that proves the initiator; how many bytes that is. */
static size_t right_response(const struct hostile *h, char text[TEXT_SIZE])
{
	uint8_t challenge[64], response[CHAP_DIGEST_MAX];
	size_t length, n = (size_t)sprintf(text, "CHAP_N=" TWO_ENDS_NAME) + 1;
	struct bytes_writer w = bytes_writer(text + n, TEXT_SIZE - n);

	assert_int_equal(chap_decode(said(h, "CHAP_C="), challenge, sizeof(challenge), &length), 0);
	assert_int_equal(chap_digest(CHAP_SHA256, (uint8_t)atoi(said(h, "CHAP_I=")),
				 TWO_ENDS_SECRET, challenge, length, response),
		0);
	assert_int_equal(chap_put(&w, "CHAP_R", response, 32), 0);
	return n + w.used;
}

static void play_right(struct hostile *h)
{
	char text[TEXT_SIZE];
	size_t n;

	to_response(h);
	n = right_response(h, text);
	if (h->row->length)
		memcpy(text + n, h->row->arg, h->row->length);
	request(h, SECURITY, text, n + h->row->length);
}

/* The target's own challenge is given back to it. */
static void play_reflected(struct hostile *h)
{
	char text[TEXT_SIZE];
	size_t n;

	to_response(h);
	n = right_response(h, text);
	n += (size_t)sprintf(text + n, "CHAP_I=%s", said(h, "CHAP_I=")) + 1;
	n += (size_t)sprintf(text + n, "CHAP_C=%s", said(h, "CHAP_C=")) + 1;
	request(h, SECURITY, text, n);
}

/* A challenge to the target of so many bytes. */
static void play_challenge(struct hostile *h)
{
	char text[TEXT_SIZE];
	size_t n;

	to_response(h);
	n = right_response(h, text);
	n += (size_t)sprintf(text + n, "CHAP_I=1") + 1;
	n += put_binary(text + n, "CHAP_C", h->row->arg, h->row->length);
	request(h, SECURITY, text, n);
}

static void play_again(struct hostile *h)
{
	static const char text[] = "CHAP_A=7";

	to_response(h);
	request(h, STAY, text, sizeof(text));
}

static void play_leave(struct hostile *h)
{
	to_response(h);
	request(h, SECURITY, NULL, 0);
	must_go_on(h);
	assert_false(h->pdu.login_response.transit);
	request(h, OPERATIONAL, NULL, 0);
}

/* A password is guessed as often as one likes, but each guess is a connection of its own. */
static void play_guess(struct hostile *h)
{
	to_response(h);
	request(h, SECURITY, h->row->arg, h->row->length);
	hostile_forget(h);
	request(h, SECURITY, h->row->arg, h->row->length);
}

static void play_then_nothing(struct hostile *h)
{
	to_response(h);
	hostile_forget(h);
	hostile_wait(h, 14 * LOOP_NS_PER_S);
	assert_false(h->closed);
	hostile_wait(h, 2 * LOOP_NS_PER_S);
}

#define CHAP(in, out, where, fn, ...)                                                              \
	{                                                                                          \
		.phase = "login, CHAP", .input = in, .answer = out, .section = "RFC 7143 " where,  \
		.movers = HOSTILE_BOTH, .play = fn, __VA_ARGS__                                    \
	}
#define REFUSED(in, status, where, fn, ...)                                                        \
	CHAP(in, "Login Response " status ", closed", where, fn, __VA_ARGS__)
#define R32 "CHAP_R=0x0000000000000000000000000000000000000000000000000000000000000000"

static const struct hostile_row rows[] = {
	REFUSED("the operational stage at once", "0201", "12.1", play_operational,
		HOSTILE_TEXT(WHO)),
	REFUSED("AuthMethod=None", "0201", "12.1", play_first,
		HOSTILE_TEXT(WHO "\0AuthMethod=None")),
	REFUSED("AuthMethod=KRB5,SRP,X-org.example", "0201", "12.1", play_first,
		HOSTILE_TEXT(WHO "\0AuthMethod=KRB5,SRP,X-org.example")),
	REFUSED("AuthMethod=", "0201", "12.1", play_first, HOSTILE_TEXT(WHO "\0AuthMethod=")),
	REFUSED("no AuthMethod, and on to the operational stage", "0201", "12.1", play_first,
		HOSTILE_TEXT(WHO)),
	REFUSED("no AuthMethod, a long answer, and on to the operational stage with the request "
		"for "
		"its rest",
		"0201", "12.1", play_late, HOSTILE_TEXT("\x81")),
	REFUSED("no AuthMethod, a long answer, and on to full feature with the request for its "
		"rest",
		"0201", "12.1", play_late, HOSTILE_TEXT("\x83")),
	REFUSED("CHAP_A before AuthMethod", "0200", "12.1.3", play_first,
		HOSTILE_TEXT(WHO "\0CHAP_A=7")),
	REFUSED("a response before the challenge", "0200", "12.1.3", play_algorithm,
		HOSTILE_TEXT("CHAP_N=alice\0" R32)),
	REFUSED("an algorithm that nobody knows", "0201", "12.1.3", play_algorithm,
		HOSTILE_TEXT("CHAP_A=77")),
	REFUSED("CHAP_A=0", "0201", "12.1.3", play_algorithm, HOSTILE_TEXT("CHAP_A=0")),
	REFUSED("CHAP_A that is no number", "0201", "12.1.3", play_algorithm,
		HOSTILE_TEXT("CHAP_A=MD5")),
	REFUSED("CHAP_A of commas", "0201", "12.1.3", play_algorithm, HOSTILE_TEXT("CHAP_A=,,,")),
	REFUSED("255 bytes of algorithms that nobody knows", "0201", "12.1.3",
		play_unknown_algorithms, .length = 255),
	REFUSED("8,000 bytes of algorithms that nobody knows", "0200", "6.1: at most 255",
		play_unknown_algorithms, .length = 8000),
	REFUSED("CHAP_A a second time", "0200", "12.1.3", play_again),
	REFUSED("CHAP_N alone", "0200", "12.1.3", play_response, HOSTILE_TEXT("CHAP_N=alice")),
	REFUSED("CHAP_R alone", "0200", "12.1.3", play_response, HOSTILE_TEXT(R32)),
	REFUSED("a response of 32 zeros", "0201", "12.1.3", play_response,
		HOSTILE_TEXT("CHAP_N=alice\0" R32)),
	REFUSED("a response in hex of 0 to 1,024 bytes", "0201", "12.1.3", play_hex,
		.times = ARRAY_SIZE(sizes)),
	REFUSED("a response in base64 of 0 to 1,024 bytes", "0201", "12.1.3", play_base64,
		.times = ARRAY_SIZE(sizes)),
	REFUSED("a response in hex of 4,000 bytes", "0200", "6.1", play_hex, .length = 4000),
	REFUSED("a response in base64 of 4,000 bytes", "0200", "6.1", play_base64, .length = 4000),
	REFUSED("a response with an odd number of hex digits", "0201", "6.1", play_response,
		HOSTILE_TEXT("CHAP_N=alice\0" R32 "0")),
	REFUSED("a response with digits that are none", "0201", "6.1", play_response,
		HOSTILE_TEXT("CHAP_N=alice\0CHAP_R=0xgg")),
	REFUSED("a response without 0x or 0b", "0201", "6.1", play_response,
		HOSTILE_TEXT("CHAP_N=alice\0CHAP_R=00000000000000000000000000000000")),
	REFUSED("a response of no bytes", "0201", "6.1", play_response,
		HOSTILE_TEXT("CHAP_N=alice\0CHAP_R=")),
	REFUSED("base64 with \"=\" in the middle", "0201", "6.1", play_response,
		HOSTILE_TEXT("CHAP_N=alice\0CHAP_R=0bAA==AAAA")),
	REFUSED("another name", "0201", "12.1.3", play_response,
		HOSTILE_TEXT("CHAP_N=mallory\0" R32)),
	REFUSED("a name of no bytes", "0201", "12.1.3", play_response,
		HOSTILE_TEXT("CHAP_N=\0" R32)),
	REFUSED("the target's own challenge, sent back", "0201", "9.2.1, 12.1.3", play_reflected),
	CHAP("the right response", "Login Response 0000", "12.1.3", play_right),
	REFUSED("CHAP_C without CHAP_I", "0200", "12.1.3", play_right, HOSTILE_TEXT("CHAP_C=0x00")),
	REFUSED("CHAP_I without CHAP_C", "0200", "12.1.3", play_right, HOSTILE_TEXT("CHAP_I=1")),
	REFUSED("CHAP_I=256", "0200", "12.1.3", play_right,
		HOSTILE_TEXT("CHAP_I=256\0CHAP_C=0x00")),
	REFUSED("CHAP_I=-1", "0200", "12.1.3", play_right, HOSTILE_TEXT("CHAP_I=-1\0CHAP_C=0x00")),
	REFUSED("a challenge of no bytes", "0200", "12.1.3", play_right,
		HOSTILE_TEXT("CHAP_I=1\0CHAP_C=0x")),
	CHAP("a challenge of 1 byte", "Login Response 0000", "12.1.3", play_challenge, .length = 1),
	CHAP("a challenge of 1,024 bytes in hex", "Login Response 0000", "12.1.3", play_challenge,
		.length = 1024),
	CHAP("a challenge of 1,024 bytes in base64", "Login Response 0000", "12.1.3",
		play_challenge, .arg = "b", .length = 1024),
	REFUSED("a challenge of 1,025 bytes in hex", "0200", "12.1.3: at most 1,024",
		play_challenge, .length = 1025),
	REFUSED("a challenge of 1,025 bytes in base64", "0200", "12.1.3: at most 1,024",
		play_challenge, .arg = "b", .length = 1025),
	REFUSED("a challenge of 3,900 bytes", "0200", "12.1.3: at most 1,024", play_challenge,
		.length = 3900),
	REFUSED("on to the operational stage in place of a response", "0200", "12.1.3", play_leave),
	CHAP("a second guess on the same connection", "nothing", "11.13.5: it is closed",
		play_guess, HOSTILE_TEXT("CHAP_N=alice\0" R32)),
	CHAP("nothing, once it has the challenge", "closed", "6.3: the login's time-out (15 s)",
		play_then_nothing),
};

int main(void)
{
	return hostile_run("CHAP: the target", true, rows, ARRAY_SIZE(rows));
}

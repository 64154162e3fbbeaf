/* common/iscsi/login_target_auth.c: RFC 7143 section 12.1.3 as a hostile initiator sees it. What
 * goes right is in test_login.c, with our initiator. */
#include "tests/unit/common/iscsi/login_pair.h"

#include "common/iscsi/chap.h"

enum {
	SECURITY = ISCSI_STAGE_SECURITY,
	OPERATIONAL = ISCSI_STAGE_OPERATIONAL,
	FULL = 3
};

static struct policy policy = {
	.auth =
		{
			.chap_required = true,
			.name = "joe",
			.secret = SECRET,
			.mutual_name = "target",
			.mutual_secret = OTHER_SECRET,
		},
};

static struct login *new_target(void)
{
	struct login_target_config c = target_config(&policy);
	struct login *l = login_target_new(&c);

	assert_non_null(l);
	return l;
}

static struct iscsi_pdu plain(void)
{
	return request_pdu(SECURITY, false, 0);
}

static struct iscsi_pdu leaving(void)
{
	return request_pdu(SECURITY, true, OPERATIONAL);
}

/* Up to the challenge, by `algorithms`. */
static struct login *challenged(const char *algorithms)
{
	struct login *l = new_target();
	char text[40];

	assert_int_equal(GIVE(l, leaving(), IDENTIFIED "AuthMethod=CHAP,None"), LOGIN_SEND);
	assert_false(l->pdu.login_response.transit);
	assert_true(has(l, "AuthMethod=CHAP"));
	assert_int_equal(give(l, plain(), text,
				 (size_t)snprintf(text, sizeof(text), "CHAP_A=%s", algorithms) + 1),
		LOGIN_SEND);
	assert_true(has_key(l, "CHAP_I"));
	assert_true(has_key(l, "CHAP_C"));
	return l;
}

/* The CHAP response that is right, computed from what is on the wire. */
static size_t right_response(const struct login *l, char *text, unsigned algorithm)
{
	uint8_t challenge[64], response[CHAP_DIGEST_MAX], room[128];
	struct bytes_writer w = bytes_writer(room, sizeof(room));
	const void *data;
	const char *at, *end;
	uint32_t identifier = 0;
	size_t length = 0;

	end = (at = (login_out(l, &data), data)) + l->pdu.data_length;
	for (; at < end; at += strlen(at) + 1) {
		if (!strncmp(at, "CHAP_I=", 7))
			assert_int_equal(keys_number(at + 7, &identifier), 0);
		if (!strncmp(at, "CHAP_C=", 7))
			assert_int_equal(
				chap_decode(at + 7, challenge, sizeof(challenge), &length), 0);
	}
	assert_int_equal(length, chap_digest_size(algorithm));
	assert_int_equal(
		chap_digest(algorithm, (uint8_t)identifier, SECRET, challenge, length, response),
		0);
	assert_int_equal(chap_put(&w, "CHAP_R", response, chap_digest_size(algorithm)), 0);
	memcpy(text, room, w.used);
	return w.used;
}

static void the_right_response_is_admitted_in_any_algorithm(void **state)
{
	static const char *const lists[] = {"5", "6", "7", "8", "9,5"};
	static const unsigned algorithms[] = {5, 6, 7, 8, 5};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct login *l = challenged(lists[i]);
		char text[256] = "CHAP_N=joe";
		size_t length = 11 + right_response(l, text + 11, algorithms[i]);

		assert_int_equal(give(l, leaving(), text, length), LOGIN_SEND);
		assert_true(l->pdu.login_response.transit);
		login_free(l);
	}
}

static void a_wrong_name_with_the_right_response_is_refused(void **state)
{
	struct login *l = challenged("7");
	char text[256] = "CHAP_N=jim";
	size_t length = 11 + right_response(l, text + 11, 7);

	(void)state;
	REFUSED(l, give(l, leaving(), text, length), LOGIN_AUTHENTICATION_FAILURE);
	login_free(l);
}

#define RESPONSE32 "0x0000000000000000000000000000000000000000000000000000000000000000"

static const struct chap_case {
	unsigned status;
	const char *text;
	size_t length;
} chap_cases[] = {
#define CASE(status, text)                                                                         \
	{                                                                                          \
		status, text, sizeof(text)                                                         \
	}
	CASE(LOGIN_AUTHENTICATION_FAILURE, "CHAP_N=joe\0CHAP_R=" RESPONSE32),
	CASE(LOGIN_AUTHENTICATION_FAILURE, "CHAP_N=joe\0CHAP_R=0x00"),
	/* what tgt does with algorithm 7: 20 bytes of SHA-1 */
	CASE(LOGIN_AUTHENTICATION_FAILURE,
		"CHAP_N=joe\0CHAP_R=0x0000000000000000000000000000000000000000"),
	CASE(LOGIN_AUTHENTICATION_FAILURE, "CHAP_N=joe\0CHAP_R=" RESPONSE32 "00"),
	CASE(LOGIN_AUTHENTICATION_FAILURE, "CHAP_N=joe\0CHAP_R=zz"),
	CASE(LOGIN_INITIATOR_ERROR, "CHAP_N=joe"),
	CASE(LOGIN_INITIATOR_ERROR, "CHAP_R=" RESPONSE32),
	CASE(LOGIN_INITIATOR_ERROR, "CHAP_I=1\0CHAP_C=0x01"),
	CASE(LOGIN_INITIATOR_ERROR, "CHAP_A=5"), /* a second time */
	CASE(LOGIN_INITIATOR_ERROR, "AuthMethod=None"),
};

static void wrong_responses_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(chap_cases); i++) {
		struct login *l = challenged("7");

		REFUSED(l, give(l, leaving(), chap_cases[i].text, chap_cases[i].length),
			chap_cases[i].status);
		login_free(l);
	}
}

static void chap_out_of_turn_is_refused(void **state)
{
	struct login *l = new_target();

	(void)state;
	REFUSED(l, GIVE(l, plain(), IDENTIFIED "CHAP_A=7"), LOGIN_INITIATOR_ERROR);
	login_free(l);
	l = new_target();
	assert_int_equal(GIVE(l, plain(), IDENTIFIED "AuthMethod=CHAP"), LOGIN_SEND);
	REFUSED(l, GIVE(l, plain(), "CHAP_N=joe\0CHAP_R=" RESPONSE32), LOGIN_INITIATOR_ERROR);
	login_free(l);
	l = new_target();
	assert_int_equal(GIVE(l, plain(), IDENTIFIED "AuthMethod=CHAP"), LOGIN_SEND);
	REFUSED(l, GIVE(l, plain(), "CHAP_A=4,9"), LOGIN_AUTHENTICATION_FAILURE);
	login_free(l);
}

static void chap_that_is_required_cannot_be_gone_round(void **state)
{
	struct login *l = new_target();

	(void)state;
	REFUSED(l, GIVE(l, plain(), IDENTIFIED "AuthMethod=None"), LOGIN_AUTHENTICATION_FAILURE);
	login_free(l);
	l = new_target();
	REFUSED(l, GIVE(l, leaving(), IDENTIFIED), LOGIN_AUTHENTICATION_FAILURE);
	login_free(l);
	l = new_target();
	REFUSED(l, GIVE(l, request_pdu(SECURITY, true, FULL), IDENTIFIED),
		LOGIN_AUTHENTICATION_FAILURE);
	login_free(l);
	l = new_target();
	REFUSED(l, GIVE(l, request_pdu(OPERATIONAL, true, FULL), IDENTIFIED),
		LOGIN_AUTHENTICATION_FAILURE);
	login_free(l);
	/* The challenge is out, and the initiator asks for the next stage without a response. */
	l = challenged("5");
	assert_int_equal(give(l, leaving(), "", 0), LOGIN_SEND);
	assert_false(l->pdu.login_response.transit);
	REFUSED(l, GIVE(l, request_pdu(OPERATIONAL, true, FULL), ""), LOGIN_INITIATOR_ERROR);
	login_free(l);
}

/* The right response with `extra` behind it (a challenge to us). */
static enum login_step respond_and_challenge(struct login *l, const char *extra, size_t size)
{
	char *text = test_malloc(size + 256);
	enum login_step step;
	size_t length = 11;

	memcpy(text, "CHAP_N=joe", 11);
	length += right_response(l, text + length, 7);
	memcpy(text + length, extra, size);
	step = give(l, leaving(), text, length + size);
	test_free(text);
	return step;
}

static void our_own_challenge_come_back_is_refused(void **state)
{
	struct login *l = challenged("7");
	uint8_t room[256];
	struct bytes_writer w = bytes_writer(room, sizeof(room));

	(void)state;
	keys_put_number(&w, "CHAP_I", l->chap.identifier);
	chap_put(&w, "CHAP_C", l->chap.challenge, 32);
	REFUSED(l, respond_and_challenge(l, (char *)room, w.used), LOGIN_AUTHENTICATION_FAILURE);
	assert_non_null(strstr(l->why, "own CHAP challenge"));
	login_free(l);
}

static void a_challenge_of_the_initiator_has_1_to_1024_bytes(void **state)
{
	static const char prefix[] = "CHAP_I=3\0CHAP_C=0x";
	const size_t fixed = sizeof(prefix) - 1;
	char text[2200];

	(void)state;
	memcpy(text, prefix, fixed);
	memset(text + fixed, 'a', sizeof(text) - fixed);
	for (size_t bytes = 0; bytes <= 1025; bytes += bytes == 1 ? 1023 : 1) {
		struct login *l = challenged("7");
		size_t length = fixed + 2 * bytes;

		text[length] = '\0';
		if (bytes == 1 || bytes == 1024) {
			assert_int_equal(respond_and_challenge(l, text, length + 1), LOGIN_SEND);
			assert_true(has(l, "CHAP_N=target"));
			assert_true(has_key(l, "CHAP_R"));
		} else {
			REFUSED(l, respond_and_challenge(l, text, length + 1),
				LOGIN_INITIATOR_ERROR);
		}
		text[length] = 'a';
		login_free(l);
	}
}

static void a_target_without_a_secret_of_its_own_cannot_prove_itself(void **state)
{
	static const char challenge[] = "CHAP_I=3\0CHAP_C=0x010203";
	struct login *l = challenged("7");

	(void)state;
	l->auth.mutual_secret = NULL;
	REFUSED(l, respond_and_challenge(l, challenge, sizeof(challenge)),
		LOGIN_AUTHENTICATION_FAILURE);
	login_free(l);
	l = challenged("7");
	REFUSED(l, respond_and_challenge(l, "CHAP_I=256\0CHAP_C=0x01", 23), LOGIN_INITIATOR_ERROR);
	login_free(l);
	l = challenged("7");
	REFUSED(l, respond_and_challenge(l, "CHAP_C=0x01", 12), LOGIN_INITIATOR_ERROR);
	login_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_right_response_is_admitted_in_any_algorithm),
		cmocka_unit_test(a_wrong_name_with_the_right_response_is_refused),
		cmocka_unit_test(wrong_responses_are_refused),
		cmocka_unit_test(chap_out_of_turn_is_refused),
		cmocka_unit_test(chap_that_is_required_cannot_be_gone_round),
		cmocka_unit_test(our_own_challenge_come_back_is_refused),
		cmocka_unit_test(a_challenge_of_the_initiator_has_1_to_1024_bytes),
		cmocka_unit_test(a_target_without_a_secret_of_its_own_cannot_prove_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

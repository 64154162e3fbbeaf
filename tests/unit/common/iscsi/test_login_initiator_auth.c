/* common/iscsi/login_initiator_auth.c: RFC 7143 section 12.1.3 as a hostile target plays it. */
#include "tests/unit/common/iscsi/login_pair.h"

enum {
	SECURITY = ISCSI_STAGE_SECURITY,
	OPERATIONAL = ISCSI_STAGE_OPERATIONAL
};

static struct login *started(const struct login_auth *auth)
{
	struct login_initiator_config c = initiator_config();
	struct login *l;

	c.auth = *auth;
	l = login_initiator_new(&c);
	assert_non_null(l);
	assert_int_equal(login_initiator_start(l), LOGIN_SEND);
	return l;
}

static const struct login_auth one_way = {.chap_required = true, .name = "joe", .secret = SECRET};
static const struct login_auth mutual = {
	.name = "joe", .secret = SECRET, .mutual_name = "target", .mutual_secret = OTHER_SECRET};

static struct iscsi_pdu staying(const struct login *l)
{
	return response_pdu(l, SECURITY, false, 0);
}

static struct iscsi_pdu leaving(const struct login *l)
{
	return response_pdu(l, SECURITY, true, OPERATIONAL);
}

/* Up to the request that names algorithms. */
static struct login *agreed(const struct login_auth *auth)
{
	struct login *l = started(auth);

	assert_int_equal(ANSWER(l, staying(l), "AuthMethod=CHAP"), LOGIN_SEND);
	return l;
}

/* Up to the request with our proof. SHA-256 of 0x2a, the secret, and 00 01 ... */
static struct login *proved(const struct login_auth *auth)
{
	struct login *l = agreed(auth);

	assert_int_equal(ANSWER(l, staying(l), "CHAP_A=7\0CHAP_I=42\0CHAP_C=0x0001020304050607"),
		LOGIN_SEND);
	return l;
}

static void methods_are_offered_by_what_is_configured(void **state)
{
	static const struct login_auth none, either = {.name = "joe", .secret = SECRET};
	struct login *l = started(&none);

	(void)state;
	assert_true(has(l, "AuthMethod=None"));
	assert_true(l->pdu.login.transit);
	login_free(l);
	l = started(&either);
	assert_true(has(l, "AuthMethod=None,CHAP"));
	login_free(l);
	l = started(&one_way);
	assert_true(has(l, "AuthMethod=CHAP,None"));
	assert_false(l->pdu.login.transit);
	login_free(l);
	l = started(&mutual);
	assert_true(has(l, "AuthMethod=CHAP"));
	login_free(l);
}

static void algorithms_are_offered_in_order_of_preference(void **state)
{
	struct login_auth old = one_way;
	struct login *l = agreed(&one_way);

	(void)state;
	assert_true(has(l, "CHAP_A=7,8,6,5"));
	login_free(l);
	old.algorithms[0] = CHAP_MD5;
	old.algorithms[1] = CHAP_SHA1;
	l = agreed(&old);
	assert_true(has(l, "CHAP_A=5,6"));
	login_free(l);
}

/* Python: hashlib.sha256(bytes([42]) + b'twelve bytes+' + bytes(range(8))).hexdigest() */
static void the_response_is_what_python_gives(void **state)
{
	struct login *l = proved(&one_way);

	(void)state;
	assert_true(has(l, "CHAP_N=joe"));
	assert_true(has(
		l, "CHAP_R=0xe95b51a79c3a94e319d3a5284566df6b8e11e98f0f1afcf489e538d86b58132c"));
	assert_true(l->pdu.login.transit);
	assert_false(has_key(l, "CHAP_C"));
	login_free(l);
}

static void a_target_that_wants_no_proof_is_left_alone_unless_it_must_prove_itself(void **state)
{
	struct login *l = started(&one_way);

	(void)state;
	assert_int_equal(ANSWER(l, staying(l), "AuthMethod=None"), LOGIN_SEND);
	assert_true(l->pdu.login.transit);
	assert_int_equal(answer(l, leaving(l), "", 0), LOGIN_SEND_LAST);
	login_free(l);
	l = started(&mutual);
	assert_int_equal(ANSWER(l, staying(l), "AuthMethod=None"), LOGIN_FAILED);
	login_free(l);
}

static void methods_that_were_not_offered_are_refused(void **state)
{
	static const struct login_auth none;
	struct login *l = started(&none);

	(void)state;
	assert_int_equal(ANSWER(l, staying(l), "AuthMethod=CHAP"), LOGIN_FAILED);
	assert_non_null(strstr(l->why, "wants a CHAP name and secret"));
	login_free(l);
	l = started(&one_way);
	assert_int_equal(ANSWER(l, staying(l), "AuthMethod=KRB5"), LOGIN_FAILED);
	login_free(l);
	l = started(&one_way);
	assert_int_equal(ANSWER(l, staying(l), "AuthMethod=Reject"), LOGIN_FAILED);
	login_free(l);
}

static void wrong_challenges_fail_the_login(void **state)
{
	static const struct {
		const char *text;
		size_t length;
	} cases[] = {
#define CASE(text) {text, sizeof(text)}
		CASE(""),
		CASE("CHAP_A=Reject"),
		CASE("CHAP_A=4\0CHAP_I=1\0CHAP_C=0x01"),
		CASE("CHAP_A=7"),
		CASE("CHAP_A=7\0CHAP_I=1"),
		CASE("CHAP_A=7\0CHAP_C=0x01"),
		CASE("CHAP_A=7\0CHAP_I=256\0CHAP_C=0x01"),
		CASE("CHAP_A=7\0CHAP_I=x\0CHAP_C=0x01"),
		CASE("CHAP_A=7\0CHAP_I=1\0CHAP_C=0x"),
		CASE("CHAP_A=7\0CHAP_I=1\0CHAP_C=12"),
		CASE("CHAP_A=7\0CHAP_I=1\0CHAP_C=0x01\0CHAP_C=0x02"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct login *l = agreed(&one_way);

		assert_int_equal(
			answer(l, staying(l), cases[i].text, cases[i].length), LOGIN_FAILED);
		login_free(l);
	}
}

static void a_target_may_not_leave_before_chap_is_over(void **state)
{
	struct login_auth either = one_way;
	struct login *l;

	(void)state;
	either.chap_required = false; /* "None,CHAP" asks for the next stage at once */
	l = started(&either);
	assert_true(l->pdu.login.transit);
	assert_int_equal(ANSWER(l, leaving(l), "AuthMethod=CHAP"), LOGIN_FAILED);
	login_free(l);
	/* the proof of the target itself is missing */
	l = proved(&mutual);
	assert_int_equal(answer(l, leaving(l), "", 0), LOGIN_FAILED);
	login_free(l);
	l = proved(&mutual);
	assert_int_equal(answer(l, staying(l), "", 0), LOGIN_FAILED);
	login_free(l);
}

/* tgt, which takes algorithm 7 for SHA-1 and our 32 bytes for a broken request. */
static void a_target_that_numbers_algorithms_otherwise_is_explained(void **state)
{
	struct login *l = proved(&one_way);
	struct iscsi_pdu pdu = staying(l);

	(void)state;
	pdu.login_response.status_class = 2;
	assert_int_equal(answer(l, pdu, "", 0), LOGIN_FAILED);
	assert_int_equal(l->status, LOGIN_INITIATOR_ERROR);
	assert_non_null(strstr(l->why, "MD5"));
	login_free(l);
}

#define ZERO32 "0x0000000000000000000000000000000000000000000000000000000000000000"

static void a_false_target_is_refused(void **state)
{
	struct login *l = proved(&mutual);

	(void)state;
	assert_true(has_key(l, "CHAP_C"));
	assert_int_equal(ANSWER(l, leaving(l), "CHAP_N=target\0CHAP_R=" ZERO32), LOGIN_FAILED);
	assert_int_equal(l->status, LOGIN_AUTHENTICATION_FAILURE);
	login_free(l);
	l = proved(&mutual);
	assert_int_equal(ANSWER(l, leaving(l), "CHAP_N=target"), LOGIN_FAILED);
	login_free(l);
	/* a proof, and a challenge after ours */
	l = proved(&mutual);
	assert_int_equal(ANSWER(l, leaving(l), "CHAP_N=target\0CHAP_R=" ZERO32 "\0CHAP_C=0x01"),
		LOGIN_FAILED);
	login_free(l);
}

/* Our own response sent back, and our own challenge sent back to have us answer it. */
static void a_target_that_reflects_is_refused(void **state)
{
	struct login *l = proved(&mutual);
	uint8_t room[512];
	struct bytes_writer w = bytes_writer(room, sizeof(room));

	(void)state;
	keys_put(&w, "CHAP_N", "joe");
	chap_put(&w, "CHAP_R", l->chap.response, 32);
	assert_int_equal(answer(l, leaving(l), (char *)room, w.used), LOGIN_FAILED);
	login_free(l);
	l = proved(&mutual);
	w = bytes_writer(room, sizeof(room));
	keys_put_number(&w, "CHAP_A", 7);
	keys_put_number(&w, "CHAP_I", l->chap.identifier);
	chap_put(&w, "CHAP_C", l->chap.challenge, 32);
	assert_int_equal(answer(l, staying(l), (char *)room, w.used), LOGIN_FAILED);
	login_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_are_offered_by_what_is_configured),
		cmocka_unit_test(algorithms_are_offered_in_order_of_preference),
		cmocka_unit_test(the_response_is_what_python_gives),
		cmocka_unit_test(
			a_target_that_wants_no_proof_is_left_alone_unless_it_must_prove_itself),
		cmocka_unit_test(methods_that_were_not_offered_are_refused),
		cmocka_unit_test(wrong_challenges_fail_the_login),
		cmocka_unit_test(a_target_may_not_leave_before_chap_is_over),
		cmocka_unit_test(a_target_that_numbers_algorithms_otherwise_is_explained),
		cmocka_unit_test(a_false_target_is_refused),
		cmocka_unit_test(a_target_that_reflects_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

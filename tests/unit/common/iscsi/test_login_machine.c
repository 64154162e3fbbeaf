/* Every state of the login machines of both roles meets every request or response that there can be
 * (RFC 7143 sections 6.3, 11.12, 11.13): stages, T and C bits, other opcodes, fields that must
 * hold. What the standard does not have in a state fails that login, with a status or a reason;
 * what comes after the end is refused too. */
#include "tests/unit/common/iscsi/login_pair.h"

#define TEXT(s) s, sizeof(s)

/* ---- the target ---- */

enum target_state {
	FRESH,
	SECURITY,	 /* who it is is known, AuthMethod is to come */
	CHAP_CHOSEN,	 /* CHAP_A is to come */
	CHAP_CHALLENGED, /* CHAP_N and CHAP_R are to come */
	OPERATIONAL,
	CONTINUED, /* operational, the text goes on */
	DONE,
	REFUSED_BEFORE,
	TARGET_STATES
};

static struct login *target_new(struct policy *p, enum target_state state)
{
	bool chap = state == CHAP_CHOSEN || state == CHAP_CHALLENGED;
	struct login_target_config config;
	struct login *l;

	*p = (struct policy){0};
	if (chap)
		p->auth = (struct login_auth){
			.chap_required = true, .name = "alice", .secret = SECRET};
	config = target_config(p);
	l = login_target_new(&config);
	assert_non_null(l);
	return l;
}

static struct login *target_in(struct policy *p, enum target_state state)
{
	struct login *l = target_new(p, state);
	struct iscsi_pdu more = request_pdu(1, false, 0);

	more.login.more = true;
	if (state == SECURITY)
		GIVE(l, request_pdu(0, false, 0), IDENTIFIED);
	if (state == CHAP_CHOSEN || state == CHAP_CHALLENGED)
		GIVE(l, request_pdu(0, false, 0), IDENTIFIED "AuthMethod=CHAP");
	if (state == CHAP_CHALLENGED)
		GIVE(l, request_pdu(0, false, 0), "CHAP_A=7,5");
	if (state == OPERATIONAL || state == CONTINUED)
		GIVE(l, request_pdu(1, false, 0), IDENTIFIED);
	if (state == CONTINUED)
		give(l, more, TEXT("MaxBurst"));
	if (state == DONE)
		assert_int_equal(GIVE(l, request_pdu(0, true, 3), IDENTIFIED), LOGIN_SEND_LAST);
	if (state == REFUSED_BEFORE)
		GIVE(l, request_pdu(2, false, 0), IDENTIFIED);
	if (state == CHAP_CHOSEN || state == CHAP_CHALLENGED)
		assert_int_equal(l->auth_state,
			state == CHAP_CHOSEN ? LOGIN_AUTH_ALGORITHM : LOGIN_AUTH_RESPONSE);
	assert_int_equal(l->over, state >= DONE);
	return l;
}

static uint8_t target_stage(enum target_state state)
{
	return state >= OPERATIONAL ? 1 : 0;
}

/* Section 6.3: the stages that there are, in ascending order; never both T and C. */
static bool request_is_legal(enum target_state state, const struct iscsi_pdu *pdu)
{
	uint8_t csg = pdu->login.csg, nsg = pdu->login.nsg;

	if (state >= DONE || csg > 1 || (state != FRESH && csg != target_stage(state)))
		return false;
	return !pdu->login.transit || (!pdu->login.more && nsg > csg && nsg != 2);
}

static void target_meets(
	enum target_state state, struct iscsi_pdu pdu, const char *text, size_t length)
{
	struct policy p;
	struct login *l = target_in(&p, state);
	bool chap = state == CHAP_CHOSEN || state == CHAP_CHALLENGED;
	unsigned established = p.established;
	enum login_step step = give(l, pdu, text, length);
	const void *data;
	const char *why;

	assert_int_equal(login_out(l, &data)->opcode, ISCSI_LOGIN_RESPONSE);
	if (step == LOGIN_FAILED) {
		assert_refused(l, step, login_failure(l, &why));
	} else {
		assert_true(request_is_legal(state, &pdu));
		assert_int_equal(login_out(l, &data)->login_response.status_class, 0);
	}
	if (step == LOGIN_SEND_LAST) {
		assert_true(pdu.login.transit && pdu.login.nsg == 3 && !chap);
		assert_int_equal(p.established, 1);
	} else {
		assert_int_equal(p.established, established);
	}
	if (step != LOGIN_SEND) /* it is over: whatever comes is refused */
		REFUSED(l, GIVE(l, request_pdu(1, true, 3), ""), LOGIN_INVALID_DURING_LOGIN);
	login_free(l);
}

static void every_state_of_a_target_meets_every_stage_and_flag(void **state)
{
	static const struct {
		const char *text;
		size_t length;
	} texts[] = {{TEXT("")}, {NULL, 0}, {TEXT(IDENTIFIED)}, {TEXT("AuthMethod=None")},
		{TEXT("AuthMethod=CHAP")}, {TEXT("CHAP_A=5")}, {TEXT("CHAP_N=alice\0CHAP_R=0x00")},
		{TEXT("ImmediateData=Yes")}, {TEXT("X-nobody=1")}};

	(void)state;
	for (int s = 0; s < TARGET_STATES; s++) {
		for (unsigned bits = 0; bits < 64; bits++) {
			for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++) {
				struct iscsi_pdu pdu =
					request_pdu(bits & 3, bits >> 4 & 1, bits >> 2 & 3);

				pdu.login.more = bits >> 5;
				target_meets(s, pdu, texts[t].text ? texts[t].text : "",
					texts[t].length);
			}
		}
	}
}

static void every_state_of_a_target_meets_every_opcode(void **state)
{
	(void)state;
	for (int s = 0; s < TARGET_STATES; s++) {
		for (uint8_t opcode = 0; opcode < 64; opcode++) {
			struct policy p;
			struct login *l;
			struct iscsi_pdu pdu = request_pdu(target_stage(s), false, 0);

			if (opcode == ISCSI_LOGIN_REQUEST)
				continue;
			pdu.opcode = opcode;
			l = target_in(&p, s);
			REFUSED(l, GIVE(l, pdu, ""), LOGIN_INVALID_DURING_LOGIN);
			login_free(l);
		}
	}
}

/* Section 11.12: one ITT, ISID, TSIH and CID per login. */
static void every_state_of_a_target_knows_its_login(void **state)
{
	(void)state;
	for (int s = SECURITY; s < DONE; s++) {
		for (unsigned field = 0; field < 4; field++) {
			struct iscsi_pdu pdu = request_pdu(target_stage(s), false, 0);
			struct policy p;
			struct login *l = target_in(&p, s);

			pdu.itt += field == 0;
			pdu.login.isid.bytes[5] ^= field == 1;
			pdu.login.tsih = field == 2;
			pdu.login.cid = field == 3 ? 2 : 1;
			REFUSED(l, GIVE(l, pdu, ""), LOGIN_INITIATOR_ERROR);
			login_free(l);
		}
	}
}

/* ---- the initiator ---- */

enum initiator_state {
	UNSTARTED,
	ASKED_NONE,    /* AuthMethod=None, asks for the operational stage */
	ASKED_CHAP,    /* AuthMethod=CHAP */
	OFFERED_CHAP,  /* CHAP_A */
	ANSWERED_CHAP, /* CHAP_N and CHAP_R, asks for the operational stage */
	NEGOTIATES,    /* asks for the full-feature phase */
	OVER,
	FAILED_BEFORE,
	INITIATOR_STATES
};

static struct login *initiator_in(enum initiator_state state)
{
	struct login_initiator_config config = initiator_config();
	bool chap = state >= ASKED_CHAP && state <= ANSWERED_CHAP;
	struct login *l;

	if (chap)
		config.auth = (struct login_auth){.chap_required = true,
			.name = "alice",
			.secret = SECRET,
			.mutual_name = "carol",
			.mutual_secret = OTHER_SECRET};
	l = login_initiator_new(&config);
	assert_non_null(l);
	if (state == UNSTARTED)
		return l;
	login_initiator_start(l);
	if (state >= OFFERED_CHAP && chap)
		ANSWER(l, response_pdu(l, 0, false, 0), "AuthMethod=CHAP");
	if (state == ANSWERED_CHAP)
		ANSWER(l, response_pdu(l, 0, false, 0),
			"CHAP_A=5\0CHAP_I=1\0CHAP_C=0x0123456789abcdef0123456789abcdef");
	if (state == NEGOTIATES || state == OVER)
		ANSWER(l, response_pdu(l, 0, true, 1), "AuthMethod=None");
	if (state == OVER)
		assert_int_equal(ANSWER(l, response_pdu(l, 1, true, 3), ""), LOGIN_DONE);
	if (state == FAILED_BEFORE)
		ANSWER(l, response_pdu(l, 3, true, 3), "");
	if (state == ANSWERED_CHAP)
		assert_int_equal(l->auth_state, LOGIN_AUTH_RESPONSE);
	assert_int_equal(l->over, state >= OVER);
	return l;
}

/* Section 11.13: the stage it is in; T only as it was asked for, never with C. */
static bool response_is_legal(
	const struct login *l, enum initiator_state state, const struct iscsi_pdu *pdu)
{
	const void *data;
	const struct iscsi_pdu *asked = login_out(l, &data);

	if (state == UNSTARTED || state >= OVER ||
		pdu->login_response.csg != (state == NEGOTIATES ? 1 : 0))
		return false;
	return !pdu->login_response.transit || (!pdu->login_response.more && asked->login.transit &&
						       asked->login.nsg == pdu->login_response.nsg);
}

static void initiator_meets(
	enum initiator_state state, unsigned bits, const char *text, size_t length)
{
	struct login *l = initiator_in(state);
	struct iscsi_pdu pdu = response_pdu(l, bits & 3, bits >> 4 & 1, bits >> 2 & 3);
	enum login_step step;
	const char *why;
	bool legal;

	pdu.login_response.more = bits >> 5;
	legal = response_is_legal(l, state, &pdu);
	step = answer(l, pdu, text, length);
	if (step == LOGIN_FAILED) {
		login_failure(l, &why);
		assert_int_not_equal(why[0], 0);
	} else {
		assert_true(legal);
	}
	/* Nobody gets into the full-feature phase but through the operational stage, or without
	 * the proof that was asked for. */
	if (step == LOGIN_DONE)
		assert_true(state == NEGOTIATES && pdu.login_response.nsg == 3);
	if (state == ANSWERED_CHAP && pdu.login_response.transit)
		assert_int_equal(step, LOGIN_FAILED);
	if (step == LOGIN_DONE || step == LOGIN_FAILED)
		assert_int_equal(ANSWER(l, response_pdu(l, 1, true, 3), ""), LOGIN_FAILED);
	login_free(l);
}

static void every_state_of_an_initiator_meets_every_stage_and_flag(void **state)
{
	static const struct {
		const char *text;
		size_t length;
	} texts[] = {{TEXT("")}, {"", 0}, {TEXT("AuthMethod=None")}, {TEXT("AuthMethod=CHAP")},
		{TEXT("CHAP_A=5\0CHAP_I=1\0CHAP_C=0x0123456789abcdef")},
		{TEXT("CHAP_N=carol\0CHAP_R=0x00")}, {TEXT("ImmediateData=No")},
		{TEXT("X-nobody=1")}};

	(void)state;
	for (int s = 0; s < INITIATOR_STATES; s++)
		for (unsigned bits = 0; bits < 64; bits++)
			for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++)
				initiator_meets(s, bits, texts[t].text, texts[t].length);
}

static void every_state_of_an_initiator_meets_every_opcode(void **state)
{
	(void)state;
	for (int s = 0; s < INITIATOR_STATES; s++) {
		for (uint8_t opcode = 0; opcode < 64; opcode++) {
			struct login *l = initiator_in(s);
			struct iscsi_pdu pdu = response_pdu(l, s == NEGOTIATES, false, 0);

			pdu.opcode = opcode;
			if (opcode != ISCSI_LOGIN_RESPONSE)
				assert_int_equal(ANSWER(l, pdu, ""), LOGIN_FAILED);
			login_free(l);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_of_a_target_meets_every_stage_and_flag),
		cmocka_unit_test(every_state_of_a_target_meets_every_opcode),
		cmocka_unit_test(every_state_of_a_target_knows_its_login),
		cmocka_unit_test(every_state_of_an_initiator_meets_every_stage_and_flag),
		cmocka_unit_test(every_state_of_an_initiator_meets_every_opcode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

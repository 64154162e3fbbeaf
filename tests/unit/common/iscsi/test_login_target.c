/* common/iscsi/login_target.c: what breaks the rules, and long texts. */
#include "tests/unit/common/iscsi/login_pair.h"

enum {
	SECURITY = ISCSI_STAGE_SECURITY,
	OPERATIONAL = ISCSI_STAGE_OPERATIONAL,
	FULL = 3
};

static struct login *new_target(struct policy *p, bool rdma)
{
	struct login_target_config c = target_config(p);
	struct login *l;

	c.rdma = rdma;
	c.offer.max_recv_data_segment_length = 65536;
	l = login_target_new(&c);
	assert_non_null(l);
	return l;
}

static const struct first_request {
	unsigned status;
	const char *text;
	size_t length;
} first_requests[] = {
#define FIRST(status, text)                                                                        \
	{                                                                                          \
		status, text, sizeof(text)                                                         \
	}
	FIRST(LOGIN_MISSING_PARAMETER, "TargetName=" TARGET),
	FIRST(LOGIN_MISSING_PARAMETER, "InitiatorName=" INITIATOR),
	FIRST(LOGIN_MISSING_PARAMETER, "InitiatorName=\0TargetName=" TARGET),
	FIRST(LOGIN_MISSING_PARAMETER, ""),
	FIRST(LOGIN_SESSION_TYPE_UNSUPPORTED, "InitiatorName=a\0SessionType=Boot"),
	FIRST(LOGIN_INITIATOR_ERROR, "InitiatorName=a b\0TargetName=t"),
	FIRST(LOGIN_INITIATOR_ERROR, "InitiatorName=a\0TargetName=t\x1b"),
	FIRST(LOGIN_INITIATOR_ERROR, "InitiatorName=a\xc2\x9bz\0TargetName=t"),
	FIRST(LOGIN_INITIATOR_ERROR, "InitiatorName=a\x9bz\0TargetName=t"),
	FIRST(LOGIN_INITIATOR_ERROR, "InitiatorName"),
	FIRST(LOGIN_INITIATOR_ERROR, "=x"),
	FIRST(LOGIN_INITIATOR_ERROR, "InitiatorName=a\0InitiatorName=b\0TargetName=t"),
	FIRST(LOGIN_INITIATOR_ERROR, IDENTIFIED "MaxBurstLength=1024"), /* in the security stage */
	FIRST(LOGIN_INITIATOR_ERROR, IDENTIFIED "TargetAlias=x"),
	FIRST(LOGIN_AUTHENTICATION_FAILURE, IDENTIFIED "AuthMethod=KRB5,SRP"),
	FIRST(LOGIN_AUTHENTICATION_FAILURE, IDENTIFIED "AuthMethod=CHAP"),
	FIRST(LOGIN_AUTHENTICATION_FAILURE, IDENTIFIED "AuthMethod="),
	FIRST(LOGIN_INITIATOR_ERROR, IDENTIFIED "CHAP_A=5"),
	FIRST(LOGIN_INITIATOR_ERROR, IDENTIFIED "CHAP_N=x\0CHAP_R=0x00"),
};

static void a_wrong_first_request_is_refused_with_its_status(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(first_requests); i++) {
		const struct first_request *r = &first_requests[i];
		struct policy p = {0};
		struct login *l = new_target(&p, false);

		REFUSED(l, give(l, request_pdu(SECURITY, true, OPERATIONAL), r->text, r->length),
			r->status);
		/* and once over it stays so */
		assert_int_equal(GIVE(l, request_pdu(SECURITY, true, OPERATIONAL), IDENTIFIED),
			LOGIN_FAILED);
		login_free(l);
	}
}

static void text_without_its_last_nul_is_refused(void **state)
{
	struct policy p = {0};
	struct login *l = new_target(&p, false);

	(void)state;
	REFUSED(l, give(l, request_pdu(OPERATIONAL, true, FULL), "InitiatorName=a", 15),
		LOGIN_INITIATOR_ERROR);
	login_free(l);
}

static void a_name_of_224_bytes_is_refused(void **state)
{
	struct policy p = {0};
	struct login *l = new_target(&p, false);
	char text[14 + 224 + 1] = "InitiatorName=";

	(void)state;
	memset(text + 14, 'a', 224);
	REFUSED(l, give(l, request_pdu(OPERATIONAL, true, FULL), text, sizeof(text)),
		LOGIN_INITIATOR_ERROR);
	login_free(l);
}

static void the_policy_refuses(void **state)
{
	struct policy p = {.refuse_identify = LOGIN_NOT_FOUND};
	struct login *l = new_target(&p, false);

	(void)state;
	REFUSED(l, GIVE(l, request_pdu(OPERATIONAL, true, FULL), IDENTIFIED), LOGIN_NOT_FOUND);
	login_free(l);
	p = (struct policy){.refuse_establish = LOGIN_OUT_OF_RESOURCES};
	l = new_target(&p, false);
	REFUSED(l, GIVE(l, request_pdu(OPERATIONAL, true, FULL), IDENTIFIED),
		LOGIN_OUT_OF_RESOURCES);
	login_free(l);
}

/* ---- fields of the header ---- */

static enum login_step first_with(struct login **ret, struct iscsi_pdu pdu)
{
	static struct policy p; /* read by nobody */

	*ret = new_target(&p, false);
	return GIVE(*ret, pdu, IDENTIFIED);
}

static void stages_and_flags_that_do_not_exist_are_refused(void **state)
{
	static const uint8_t stages[][2] = {{2, 3}, {3, 3}, {0, 0}, {1, 1}, {1, 0}, {0, 2}, {1, 2}};
	struct iscsi_pdu pdu;
	struct login *l;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
		REFUSED(l, first_with(&l, request_pdu(stages[i][0], true, stages[i][1])),
			LOGIN_INITIATOR_ERROR);
		login_free(l);
	}
	pdu = request_pdu(SECURITY, true, OPERATIONAL);
	pdu.login.more = true;
	REFUSED(l, first_with(&l, pdu), LOGIN_INITIATOR_ERROR);
	login_free(l);
	pdu = request_pdu(SECURITY, true, OPERATIONAL);
	pdu.login.version_min = 1;
	REFUSED(l, first_with(&l, pdu), LOGIN_UNSUPPORTED_VERSION);
	login_free(l);
	pdu = (struct iscsi_pdu){.opcode = ISCSI_SCSI_COMMAND, .itt = 9};
	REFUSED(l, first_with(&l, pdu), LOGIN_INVALID_DURING_LOGIN);
	assert_int_equal(l->pdu.itt, 9);
	login_free(l);
}

static void what_changes_within_a_login_is_refused(void **state)
{
	(void)state;
	for (int field = 0; field < 5; field++) {
		struct iscsi_pdu pdu = request_pdu(OPERATIONAL, true, FULL);
		struct login *l;

		assert_int_equal(
			first_with(&l, request_pdu(SECURITY, true, OPERATIONAL)), LOGIN_SEND);
		pdu.itt += field == 0;
		pdu.login.isid.bytes[5] ^= field == 1;
		pdu.login.tsih ^= field == 2;
		pdu.login.cid ^= field == 3;
		if (field == 4)
			pdu.login.csg = SECURITY;
		REFUSED(l, GIVE(l, pdu, ""), LOGIN_INITIATOR_ERROR);
		login_free(l);
	}
}

static void libiscsi_may_say_again_who_it_is_but_nobody_else(void **state)
{
	struct login *l;

	(void)state;
	first_with(&l, request_pdu(SECURITY, true, OPERATIONAL));
	assert_int_equal(
		GIVE(l, request_pdu(OPERATIONAL, true, FULL), IDENTIFIED LIBISCSI_OPERATIONAL),
		LOGIN_SEND_LAST);
	login_free(l);
	first_with(&l, request_pdu(SECURITY, true, OPERATIONAL));
	REFUSED(l, GIVE(l, request_pdu(OPERATIONAL, true, FULL), "InitiatorName=iqn.other"),
		LOGIN_INITIATOR_ERROR);
	login_free(l);
}

static void a_login_may_go_from_security_to_full_feature(void **state)
{
	struct login *l;

	(void)state;
	assert_int_equal(first_with(&l, request_pdu(SECURITY, true, FULL)), LOGIN_SEND_LAST);
	assert_int_equal(l->pdu.login_response.nsg, FULL);
	login_free(l);
}

/* ---- continuation ---- */

static void text_may_be_cut_anywhere(void **state)
{
	static const char text[] = IDENTIFIED LIBISCSI_OPERATIONAL;

	(void)state;
	for (size_t cut = 0; cut <= sizeof(text); cut += 7) {
		struct policy p = {0};
		struct login *l = new_target(&p, false);
		struct iscsi_pdu pdu = request_pdu(OPERATIONAL, false, 0);

		pdu.login.more = true;
		assert_int_equal(give(l, pdu, text, cut), LOGIN_SEND);
		assert_int_equal(l->pdu.data_length, 0);
		assert_false(l->pdu.login_response.transit);
		assert_int_equal(p.identified, 0);
		assert_int_equal(give(l, request_pdu(OPERATIONAL, true, FULL), text + cut,
					 sizeof(text) - cut),
			LOGIN_SEND_LAST);
		assert_true(has(l, "ErrorRecoveryLevel=0"));
		login_free(l);
	}
}

static void continuation_without_end_is_refused(void **state)
{
	struct policy p = {0};
	struct login *l = new_target(&p, false);
	struct iscsi_pdu pdu = request_pdu(OPERATIONAL, false, 0);
	enum login_step step = LOGIN_SEND;
	int taken = 0;

	(void)state;
	pdu.login.more = true;
	for (int i = 0; i < 10000; i++) {
		step = give(l, pdu, "", 0);
		taken += step == LOGIN_SEND;
	}
	assert_int_equal(step, LOGIN_FAILED);
	assert_int_equal(taken, LOGIN_PDUS_MAX);
	login_free(l);
}

static void more_than_16_kilobytes_of_text_are_refused(void **state)
{
	struct policy p = {0};
	struct login *l = new_target(&p, false);
	struct iscsi_pdu pdu = request_pdu(OPERATIONAL, false, 0);
	char *text = test_calloc(1, ISCSI_TEXT_MAX);

	(void)state;
	pdu.login.more = true;
	assert_int_equal(give(l, pdu, text, ISCSI_TEXT_MAX), LOGIN_SEND);
	assert_int_equal(give(l, pdu, text, ISCSI_TEXT_MAX), LOGIN_SEND);
	REFUSED(l, give(l, pdu, text, 1), LOGIN_INITIATOR_ERROR);
	login_free(l);
	test_free(text);
}

/* `count` unknown keys of 4 bytes each, behind who it is. */
static size_t unknown_keys(char *text, unsigned count)
{
	size_t used = sizeof(IDENTIFIED) - 1;

	memcpy(text, IDENTIFIED, used);
	for (unsigned i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, ISCSI_TEXT_MAX - used, "%c%c=", 'a' + i % 26,
				'a' + i / 26 % 26) +
			1;
	return used;
}

/* Each answer has 17 bytes: 600 are more than one PDU. */
static void a_long_answer_goes_out_in_pieces_and_transits_at_the_end(void **state)
{
	char *text = test_malloc(ISCSI_TEXT_MAX);
	struct policy p = {0};
	struct login *l = new_target(&p, false);
	size_t length = unknown_keys(text, 600), total;

	(void)state;
	assert_int_equal(give(l, request_pdu(OPERATIONAL, true, FULL), text, length), LOGIN_SEND);
	assert_true(l->pdu.login_response.more);
	assert_false(l->pdu.login_response.transit);
	total = l->pdu.data_length;
	assert_int_equal(total, ISCSI_TEXT_MAX);
	assert_int_equal(give(l, request_pdu(OPERATIONAL, false, 0), "", 0), LOGIN_SEND);
	assert_false(l->pdu.login_response.more);
	assert_false(l->pdu.login_response.transit);
	total += l->pdu.data_length;
	/* 600 answers, TargetPortalGroupTag and MaxRecvDataSegmentLength */
	assert_int_equal(total, 600 * 17 + 23 + 31);
	assert_int_equal(p.established, 0);
	assert_int_equal(give(l, request_pdu(OPERATIONAL, true, FULL), "", 0), LOGIN_SEND_LAST);
	login_free(l);
	l = new_target(&p, false);
	give(l, request_pdu(OPERATIONAL, true, FULL), text, length);
	REFUSED(l, GIVE(l, request_pdu(OPERATIONAL, false, 0), "A=1"), LOGIN_INITIATOR_ERROR);
	login_free(l);
	test_free(text);
}

static void answers_beyond_what_is_held_are_refused(void **state)
{
	char *text = test_malloc(ISCSI_TEXT_MAX);
	struct policy p = {0};
	struct login *l = new_target(&p, false);
	size_t length = unknown_keys(text, 1500);

	(void)state;
	REFUSED(l, give(l, request_pdu(OPERATIONAL, true, FULL), text, length),
		LOGIN_OUT_OF_RESOURCES);
	login_free(l);
	test_free(text);
}

static void the_owner_may_refuse(void **state)
{
	struct policy p = {0};
	struct login *l = new_target(&p, false);

	(void)state;
	REFUSED(l, login_target_refuse(l, LOGIN_SERVICE_UNAVAILABLE, "going down"),
		LOGIN_SERVICE_UNAVAILABLE);
	login_free(l);
	login_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_first_request_is_refused_with_its_status),
		cmocka_unit_test(text_without_its_last_nul_is_refused),
		cmocka_unit_test(a_name_of_224_bytes_is_refused),
		cmocka_unit_test(the_policy_refuses),
		cmocka_unit_test(stages_and_flags_that_do_not_exist_are_refused),
		cmocka_unit_test(what_changes_within_a_login_is_refused),
		cmocka_unit_test(libiscsi_may_say_again_who_it_is_but_nobody_else),
		cmocka_unit_test(a_login_may_go_from_security_to_full_feature),
		cmocka_unit_test(text_may_be_cut_anywhere),
		cmocka_unit_test(continuation_without_end_is_refused),
		cmocka_unit_test(more_than_16_kilobytes_of_text_are_refused),
		cmocka_unit_test(a_long_answer_goes_out_in_pieces_and_transits_at_the_end),
		cmocka_unit_test(answers_beyond_what_is_held_are_refused),
		cmocka_unit_test(the_owner_may_refuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

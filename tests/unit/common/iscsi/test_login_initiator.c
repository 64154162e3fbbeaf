/* common/iscsi/login_initiator.c: what real targets answer, and what breaks the rules. */
#include "tests/unit/common/iscsi/login_pair.h"

enum {
	SECURITY = ISCSI_STAGE_SECURITY,
	OPERATIONAL = ISCSI_STAGE_OPERATIONAL,
	FULL = 3
};

static struct login *new_initiator(bool rdma)
{
	struct login_initiator_config c = initiator_config();
	struct login *l;

	c.rdma = rdma;
	c.offer.initiator_recv_data_segment_length = 16384;
	l = login_initiator_new(&c);
	assert_non_null(l);
	return l;
}

/* Through the security stage without CHAP, up to the operational request. */
static struct login *in_operational(bool rdma)
{
	struct login *l = new_initiator(rdma);

	assert_int_equal(login_initiator_start(l), LOGIN_SEND);
	assert_int_equal(ANSWER(l, response_pdu(l, SECURITY, true, OPERATIONAL),
				 "TargetPortalGroupTag=1\0AuthMethod=None"),
		LOGIN_SEND_LAST);
	return l;
}

static void the_first_request_says_who_and_what(void **state)
{
	struct login *l = new_initiator(false);

	(void)state;
	assert_int_equal(login_initiator_start(l), LOGIN_SEND);
	assert_int_equal(l->pdu.opcode, ISCSI_LOGIN_REQUEST);
	assert_true(l->pdu.immediate);
	assert_int_equal(l->pdu.cmd_sn, 100);
	assert_int_equal(l->pdu.login.csg, SECURITY);
	assert_int_equal(l->pdu.login.nsg, OPERATIONAL);
	assert_true(l->pdu.login.transit);
	assert_int_equal(l->pdu.login.cid, 7);
	assert_true(has(l, "InitiatorName=" INITIATOR));
	assert_true(has(l, "TargetName=" TARGET));
	assert_true(has(l, "SessionType=Normal"));
	assert_true(has(l, "AuthMethod=None"));
	login_free(l);
}

static void over_tcp_the_movers_keys_are_offered(void **state)
{
	struct login *l = in_operational(false);

	(void)state;
	assert_int_equal(l->pdu.login.nsg, FULL);
	assert_true(has(l, "HeaderDigest=None"));
	assert_true(has(l, "MaxRecvDataSegmentLength=8192"));
	assert_true(has(l, "InitialR2T=Yes"));
	assert_true(has(l, "DefaultTime2Wait=2"));
	assert_true(has(l, "DefaultTime2Retain=20"));
	assert_false(has_key(l, "RDMAExtensions"));
	assert_false(has_key(l, "InitiatorRecvDataSegmentLength"));
	login_free(l);
}

static void digests_are_offered_with_the_better_one_first(void **state)
{
	struct login_initiator_config c = initiator_config();
	struct login *l;

	(void)state;
	c.offer.header_digest = ISCSI_DIGEST_CRC32C | ISCSI_DIGEST_NONE;
	c.offer.data_digest = ISCSI_DIGEST_CRC32C;
	l = login_initiator_new(&c);
	login_initiator_start(l);
	ANSWER(l, response_pdu(l, SECURITY, true, OPERATIONAL), "AuthMethod=None");
	assert_true(has(l, "HeaderDigest=CRC32C,None"));
	assert_true(has(l, "DataDigest=CRC32C"));
	assert_int_equal(ANSWER(l, response_pdu(l, OPERATIONAL, true, FULL),
				 "HeaderDigest=CRC32C\0DataDigest=CRC32C"),
		LOGIN_DONE);
	assert_int_equal(login_params(l)->header_digest, ISCSI_DIGEST_CRC32C);
	login_free(l);
}

/* "None,CRC32C": a target that knows both takes None. */
static void digests_are_offered_in_the_order_that_is_wanted(void **state)
{
	struct login_initiator_config c = initiator_config();
	struct login *l;

	(void)state;
	c.offer.header_digest = ISCSI_DIGEST_CRC32C | ISCSI_DIGEST_NONE | ISCSI_DIGEST_NONE_FIRST;
	l = login_initiator_new(&c);
	login_initiator_start(l);
	ANSWER(l, response_pdu(l, SECURITY, true, OPERATIONAL), "AuthMethod=None");
	assert_true(has(l, "HeaderDigest=None,CRC32C"));
	assert_int_equal(ANSWER(l, response_pdu(l, OPERATIONAL, true, FULL), "HeaderDigest=CRC32C"),
		LOGIN_DONE);
	assert_int_equal(login_params(l)->header_digest, ISCSI_DIGEST_CRC32C);
	login_free(l);
}

/* LIO over iSER: echoes TargetRecvDataSegmentLength, does not know the optional keys. */
static void lio_over_iser_is_understood(void **state)
{
	struct login *l = in_operational(true);

	(void)state;
	assert_true(has(l, "RDMAExtensions=Yes"));
	assert_true(has(l, "InitiatorRecvDataSegmentLength=16384"));
	assert_false(has_key(l, "HeaderDigest"));
	assert_false(has_key(l, "MaxRecvDataSegmentLength"));
	/* what the mover posts before the answer is known */
	assert_int_equal(login_params(l)->max_recv_data_segment_length, 16384);
	assert_int_equal(
		ANSWER(l, response_pdu(l, OPERATIONAL, true, FULL),
			"RDMAExtensions=Yes\0InitiatorRecvDataSegmentLength=16384\0"
			"TargetRecvDataSegmentLength=8192\0InitialR2T=Yes\0ImmediateData=Yes\0"
			"MaxBurstLength=262144\0FirstBurstLength=65536\0DefaultTime2Wait=2\0"
			"DefaultTime2Retain=20\0MaxOutstandingR2T=1\0MaxConnections=1\0"
			"DataPDUInOrder=Yes\0DataSequenceInOrder=Yes\0ErrorRecoveryLevel=0"),
		LOGIN_DONE);
	assert_int_equal(login_tsih(l), 0x77);
	assert_int_equal(login_params(l)->peer_max_recv_data_segment_length, 8192);
	login_free(l);
}

static void proposals_of_a_target_are_answered(void **state)
{
	struct login *l = in_operational(false);

	(void)state;
	assert_int_equal(ANSWER(l, response_pdu(l, OPERATIONAL, false, 0),
				 "TaskReporting=RFC3720\0X-com.example=1\0IFMarker=No"),
		LOGIN_SEND_LAST);
	assert_true(has(l, "TaskReporting=RFC3720"));
	assert_true(has(l, "X-com.example=NotUnderstood"));
	assert_true(has(l, "IFMarker=No"));
	assert_false(has_key(l, "InitialR2T"));
	assert_true(l->pdu.login.transit);
	login_free(l);
}

static void iser_without_rdma_extensions_fails(void **state)
{
	struct login *l = in_operational(true);

	(void)state;
	assert_int_equal(ANSWER(l, response_pdu(l, OPERATIONAL, true, FULL), "RDMAExtensions=No"),
		LOGIN_FAILED);
	login_free(l);
	l = in_operational(true);
	assert_int_equal(ANSWER(l, response_pdu(l, OPERATIONAL, true, FULL), "InitialR2T=Yes"),
		LOGIN_FAILED);
	login_free(l);
}

static void a_refusal_is_told_with_its_status(void **state)
{
	struct login *l = new_initiator(false);
	struct iscsi_pdu pdu;
	const char *why;

	(void)state;
	login_initiator_start(l);
	pdu = response_pdu(l, SECURITY, false, 0);
	pdu.login_response.status_class = 2;
	pdu.login_response.status_detail = 3;
	assert_int_equal(answer(l, pdu, "", 0), LOGIN_FAILED);
	assert_int_equal(login_failure(l, &why), LOGIN_NOT_FOUND);
	assert_non_null(strstr(why, "no such target"));
	assert_null(login_redirect(l));
	login_free(l);
	assert_string_equal(
		login_status_text(0x02ff), "the target refuses the login for an unknown reason");
	assert_string_equal(login_status_text(0x7700), "an unknown login status");
}

static void a_redirection_gives_the_address(void **state)
{
	struct login *l = new_initiator(false);
	struct iscsi_pdu pdu;
	const char *why;

	(void)state;
	login_initiator_start(l);
	pdu = response_pdu(l, SECURITY, false, 0);
	pdu.login_response.status_class = 1;
	pdu.login_response.status_detail = 1;
	assert_int_equal(ANSWER(l, pdu, "TargetAddress=10.0.0.9:3260,1\0TargetAddress=10.0.0.8"),
		LOGIN_FAILED);
	assert_int_equal(login_failure(l, &why), LOGIN_MOVED_TEMPORARILY);
	assert_string_equal(login_redirect(l), "10.0.0.9:3260,1");
	login_free(l);
}

static void wrong_configurations_fail_at_the_start(void **state)
{
	static char longer[400];
	struct login_initiator_config c[9];
	const char *why;

	(void)state;
	memset(longer, 'a', sizeof(longer) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		c[i] = initiator_config();
	c[0].initiator_name = NULL;
	c[1].initiator_name = longer;
	c[2].auth.name = "joe";
	c[3].auth.secret = SECRET;
	c[4].auth.mutual_secret = SECRET;
	c[5].auth.chap_required = true;
	c[6].auth = (struct login_auth){.name = "joe", .secret = SECRET, .mutual_secret = SECRET};
	c[7].auth = (struct login_auth){.name = "joe", .secret = longer};
	c[8].auth = (struct login_auth){.name = "joe", .secret = SECRET, .mutual_name = "disk"};
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		struct login *l = login_initiator_new(&c[i]);

		assert_int_equal(login_initiator_start(l), LOGIN_FAILED);
		assert_int_equal(login_failure(l, &why), LOGIN_INITIATOR_ERROR);
		assert_int_not_equal(why[0], 0);
		login_free(l);
	}
}

/* ---- a target that breaks the rules ---- */

static void fields_that_must_hold_are_checked(void **state)
{
	(void)state;
	for (int field = 0; field < 8; field++) {
		struct login *l = new_initiator(false);
		struct iscsi_pdu pdu;

		login_initiator_start(l);
		pdu = response_pdu(l, SECURITY, true, OPERATIONAL);
		if (field == 0)
			pdu.opcode = ISCSI_REJECT;
		pdu.itt += field == 1;
		pdu.login_response.isid.bytes[0] ^= field == 2;
		pdu.login_response.version_active = field == 3;
		if (field == 4)
			pdu.login_response.csg = OPERATIONAL;
		if (field == 5)
			pdu.login_response.nsg = FULL;
		if (field == 6)
			pdu.login_response.more = true;
		assert_int_equal(answer(l, pdu, "AuthMethod=None", 16),
			field < 7 ? LOGIN_FAILED : LOGIN_SEND_LAST);
		login_free(l);
	}
}

static void a_session_needs_its_handle(void **state)
{
	struct login *l = in_operational(false);
	struct iscsi_pdu pdu = response_pdu(l, OPERATIONAL, true, FULL);

	(void)state;
	pdu.login_response.tsih = 0;
	assert_int_equal(answer(l, pdu, "", 0), LOGIN_FAILED);
	login_free(l);
}

static void hostile_texts_fail_the_login(void **state)
{
	static const struct {
		const char *text;
		size_t length;
	} cases[] = {
		{"InitialR2T", 11},
		{"InitialR2T=Yes", 14},
		{"=Yes", 5},
		{"InitialR2T=Yes\0InitialR2T=Yes", 30},
		{"MaxBurstLength=99999999999", 27},
		{"MaxRecvDataSegmentLength=1", 27},
		{"SendTargets=All", 16},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct login *l = in_operational(false);

		assert_int_equal(answer(l, response_pdu(l, OPERATIONAL, true, FULL), cases[i].text,
					 cases[i].length),
			LOGIN_FAILED);
		login_free(l);
	}
}

static void a_target_that_never_ends_is_left(void **state)
{
	struct login *l = in_operational(false);
	struct iscsi_pdu pdu = response_pdu(l, OPERATIONAL, false, 0);
	enum login_step step = LOGIN_SEND;
	int taken = 0;

	(void)state;
	pdu.login_response.more = true;
	for (int i = 0; i < 10000; i++) {
		step = answer(l, pdu, "", 0);
		taken += step == LOGIN_SEND;
	}
	assert_int_equal(step, LOGIN_FAILED);
	assert_true(taken < LOGIN_PDUS_MAX);
	login_free(l);
	/* neither C nor T, for ever */
	l = in_operational(false);
	for (int i = 0; i < 10000; i++)
		step = answer(l, response_pdu(l, OPERATIONAL, false, 0), "", 0);
	assert_int_equal(step, LOGIN_FAILED);
	login_free(l);
}

static void more_text_than_any_login_has_fails(void **state)
{
	static char text[8192];
	struct login *l = in_operational(false);
	struct iscsi_pdu pdu = response_pdu(l, OPERATIONAL, false, 0);
	enum login_step step = LOGIN_SEND;
	const char *why;
	int taken = 0;

	(void)state;
	memset(text, 'a', sizeof(text));
	pdu.login_response.more = true;
	while (step == LOGIN_SEND && taken++ < LOGIN_PDUS_MAX)
		step = answer(l, pdu, text, sizeof(text));
	assert_int_equal(step, LOGIN_FAILED);
	assert_int_equal(login_failure(l, &why), LOGIN_TARGET_ERROR);
	assert_true(taken < LOGIN_PDUS_MAX);
	login_free(l);
}

static void a_response_nobody_waits_for_fails(void **state)
{
	struct login *l = new_initiator(false);

	(void)state;
	assert_int_equal(
		answer(l, response_pdu(l, SECURITY, true, OPERATIONAL), "", 0), LOGIN_FAILED);
	login_free(l);
}

static void a_target_may_cut_its_text(void **state)
{
	static const char text[] =
		"InitialR2T=Yes\0MaxBurstLength=4096\0MaxRecvDataSegmentLength=4096";

	(void)state;
	for (size_t cut = 0; cut <= sizeof(text); cut += 5) {
		struct login *l = in_operational(false);
		struct iscsi_pdu pdu = response_pdu(l, OPERATIONAL, false, 0);

		pdu.login_response.more = true;
		assert_int_equal(answer(l, pdu, text, cut), LOGIN_SEND);
		assert_int_equal(l->pdu.data_length, 0);
		assert_false(l->pdu.login.transit);
		assert_int_equal(answer(l, response_pdu(l, OPERATIONAL, false, 0), text + cut,
					 sizeof(text) - cut),
			LOGIN_SEND_LAST);
		assert_true(l->pdu.login.transit);
		assert_int_equal(
			answer(l, response_pdu(l, OPERATIONAL, true, FULL), "", 0), LOGIN_DONE);
		assert_int_equal(login_params(l)->max_burst_length, 4096);
		assert_int_equal(login_params(l)->first_burst_length, 4096);
		assert_int_equal(login_params(l)->peer_max_recv_data_segment_length, 4096);
		login_free(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_request_says_who_and_what),
		cmocka_unit_test(over_tcp_the_movers_keys_are_offered),
		cmocka_unit_test(digests_are_offered_with_the_better_one_first),
		cmocka_unit_test(digests_are_offered_in_the_order_that_is_wanted),
		cmocka_unit_test(lio_over_iser_is_understood),
		cmocka_unit_test(proposals_of_a_target_are_answered),
		cmocka_unit_test(iser_without_rdma_extensions_fails),
		cmocka_unit_test(a_refusal_is_told_with_its_status),
		cmocka_unit_test(a_redirection_gives_the_address),
		cmocka_unit_test(wrong_configurations_fail_at_the_start),
		cmocka_unit_test(fields_that_must_hold_are_checked),
		cmocka_unit_test(a_session_needs_its_handle),
		cmocka_unit_test(hostile_texts_fail_the_login),
		cmocka_unit_test(a_target_that_never_ends_is_left),
		cmocka_unit_test(more_text_than_any_login_has_fails),
		cmocka_unit_test(a_response_nobody_waits_for_fails),
		cmocka_unit_test(a_target_may_cut_its_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

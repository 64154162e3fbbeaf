/* common/iscsi/key_negotiation.c: RFC 7143 section 6.2, one pair at a time, in both roles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/iscsi/key_table.h"
#include "common/iscsi/login.h"

struct fixture {
	struct key_negotiation n;
	uint8_t room[1024];
	struct bytes_writer w;
};

static void setup(struct fixture *f, bool initiator, bool rdma)
{
	struct iscsi_params ours;

	iscsi_params_default(&ours);
	memset(f, 0, sizeof(*f));
	key_negotiation_init(&f->n, initiator, rdma, &ours);
	f->n.stage = KEY_IN_OPERATIONAL;
	f->n.ours.rdma_extensions = rdma;
	f->w = bytes_writer(f->room, sizeof(f->room));
}

/* One round with one or more pairs (with their NULs, but for the last). */
static unsigned round_of(struct fixture *f, const char *text, size_t length)
{
	unsigned status;

	f->w = bytes_writer(f->room, sizeof(f->room));
	status = key_negotiation_read(&f->n, text, length, &f->w);
	return status ? status : key_negotiation_answer(&f->n, &f->w);
}

#define ROUND(f, text) round_of(f, text, sizeof(text))

static void assert_answer(struct fixture *f, const char *expected)
{
	size_t length = expected[0] ? strlen(expected) + 1 : 0;

	assert_int_equal(f->w.used, length);
	assert_memory_equal(f->room, expected, length);
}

static void answers_follow_the_result_functions(void **state)
{
	static const char *const cases[][2] = {
		{"InitialR2T=No", "InitialR2T=Yes"},
		{"InitialR2T=Yes", "InitialR2T=Yes"},
		{"ImmediateData=No", "ImmediateData=No"},
		{"ImmediateData=Yes", "ImmediateData=Yes"},
		{"MaxBurstLength=16776192", "MaxBurstLength=262144"},
		{"MaxBurstLength=0x200", "MaxBurstLength=512"},
		{"DefaultTime2Wait=5", "DefaultTime2Wait=5"},
		{"DefaultTime2Wait=0", "DefaultTime2Wait=2"},
		{"DefaultTime2Retain=0", "DefaultTime2Retain=0"},
		{"ErrorRecoveryLevel=2", "ErrorRecoveryLevel=0"},
		{"MaxConnections=65535", "MaxConnections=1"},
		{"HeaderDigest=CRC32C,None", "HeaderDigest=None"},
		{"DataDigest=x,None", "DataDigest=None"},
		{"TaskReporting=FastAbort,RFC3720", "TaskReporting=RFC3720"},
		{"iSCSIProtocolLevel=2", "iSCSIProtocolLevel=1"},
		{"MaxRecvDataSegmentLength=65536", ""},
		/* RFC 7143 section 13.25 */
		{"IFMarker=No", "IFMarker=No"},
		{"OFMarker=Yes", "OFMarker=No"},
		{"IFMarkInt=2048~8192", "IFMarkInt=Reject"},
		{"OFMarkInt=2048", "OFMarkInt=Reject"},
		/* RFC 7145: over TCP */
		{"RDMAExtensions=Yes", "RDMAExtensions=No"},
		{"TargetRecvDataSegmentLength=8192", "TargetRecvDataSegmentLength=Irrelevant"},
		/* not in the table */
		{"X-com.example.a=1", "X-com.example.a=NotUnderstood"},
		{"X#a=1", "X#a=NotUnderstood"},
		{"Foo=Bar", "Foo=NotUnderstood"},
		{"Foo=NotUnderstood", ""},
		/* not a value of the key */
		{"InitialR2T=yes", "InitialR2T=Reject"},
		{"MaxBurstLength=511", "MaxBurstLength=Reject"},
		{"MaxBurstLength=16777216", "MaxBurstLength=Reject"},
		{"MaxBurstLength=99999999999999", "MaxBurstLength=Reject"},
		{"DefaultTime2Wait=3601", "DefaultTime2Wait=Reject"},
		{"HeaderDigest=CRC32C", "HeaderDigest=Reject"},
		{"HeaderDigest=", "HeaderDigest=Reject"},
		{"MaxConnections=", "MaxConnections=Reject"},
		{"MaxOutstandingR2T=0", "MaxOutstandingR2T=Reject"},
	};
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		setup(&f, false, false);
		assert_int_equal(round_of(&f, cases[i][0], strlen(cases[i][0]) + 1), 0);
		assert_answer(&f, cases[i][1]);
	}
}

static void what_breaks_the_rules_fails_the_login(void **state)
{
	static const char longer[] =
		"TaskReporting=" /* 260 bytes */
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	static const char *const cases[][2] = {
		{"MaxRecvDataSegmentLength=511", "not a value"},
		{"MaxRecvDataSegmentLength=many", "not a value"},
		{"TargetAlias=x", "this end"},
		{"TargetPortalGroupTag=1", "this end"},
		{"AuthMethod=None", "stage"},
		{"CHAP_A=5", "stage"},
		{"SendTargets=All", "stage"},
		{"InitialR2T=Reject", "not offered"},
		{longer, "too long"},
	};
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		setup(&f, false, false);
		assert_int_equal(
			round_of(&f, cases[i][0], strlen(cases[i][0]) + 1), LOGIN_INITIATOR_ERROR);
		assert_non_null(strstr(f.n.why, cases[i][1]));
	}
}

static void a_key_that_comes_twice_fails_the_login(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f, false, false);
	assert_int_equal(ROUND(&f, "InitialR2T=Yes\0InitialR2T=Yes"), LOGIN_INITIATOR_ERROR);
	setup(&f, false, false);
	assert_int_equal(ROUND(&f, "MaxRecvDataSegmentLength=8192"), 0);
	assert_int_equal(ROUND(&f, "MaxRecvDataSegmentLength=8192"), LOGIN_INITIATOR_ERROR);
}

static void control_characters_do_not_reach_the_log(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f, false, false);
	assert_int_equal(ROUND(&f, "TargetAlias=\x1b[2Jx\n"), LOGIN_INITIATOR_ERROR);
	assert_non_null(strstr(f.n.why, "TargetAlias=?[2Jx?"));
}

static void session_keys_are_irrelevant_in_discovery(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f, false, false);
	f.n.discovery = true;
	assert_int_equal(ROUND(&f, "MaxBurstLength=1024"), 0);
	assert_answer(&f, "MaxBurstLength=Irrelevant");
}

static void the_first_burst_depends_on_what_stands_behind_it_in_the_text(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f, false, false);
	assert_int_equal(ROUND(&f, "FirstBurstLength=65536\0MaxBurstLength=4096"), 0);
	assert_memory_equal(f.room, "MaxBurstLength=4096\0FirstBurstLength=4096", 42);
	setup(&f, false, false);
	assert_int_equal(ROUND(&f, "FirstBurstLength=65536\0ImmediateData=No\0InitialR2T=Yes"), 0);
	assert_memory_equal(
		f.room, "InitialR2T=Yes\0ImmediateData=No\0FirstBurstLength=Irrelevant", 60);
}

static void leading_keys_on_another_connection_are_refused(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f, false, false);
	f.n.leading = false;
	assert_int_equal(ROUND(&f, "MaxRecvDataSegmentLength=8192"), 0);
	assert_int_equal(ROUND(&f, "MaxBurstLength=8192"), LOGIN_INITIATOR_ERROR);
}

static void digests_over_iser_are_answered_none(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f, false, true);
	f.n.ours.header_digest = ISCSI_DIGEST_CRC32C;
	assert_int_equal(ROUND(&f, "HeaderDigest=CRC32C"), 0);
	assert_answer(&f, "HeaderDigest=None");
	f.n.discovery = true;
	assert_int_equal(ROUND(&f, "DataDigest=CRC32C,None"), 0);
	assert_answer(&f, "DataDigest=None");
}

static void declarations_of_rfc7145_are_taken(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f, false, true);
	assert_int_equal(ROUND(&f, "MaxOutstandingUnexpectedPDUs=0\0MaxAHSLength=1024\0"
				   "TaggedBufferForSolicitedDataOnly=Yes\0iSERHelloRequired=Yes\0"
				   "MaxRecvDataSegmentLength=262144"),
		0);
	assert_answer(&f, "");
	assert_int_equal(f.n.outcome.max_outstanding_unexpected_pdus, 0);
	assert_int_equal(f.n.outcome.max_ahs_length, 1024);
	assert_true(f.n.outcome.tagged_buffer_for_solicited_data_only);
	assert_true(f.n.outcome.iser_hello_required);
	setup(&f, false, true);
	assert_int_equal(ROUND(&f, "MaxOutstandingUnexpectedPDUs=1"), LOGIN_INITIATOR_ERROR);
}

/* ---- the initiator: what an answer may be ---- */

static unsigned answered(struct fixture *f, bool rdma, const char *text)
{
	setup(f, true, rdma);
	assert_true(key_negotiation_offer(&f->n, &f->w));
	return round_of(f, text, strlen(text) + 1);
}

static void admissible_answers_are_taken(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(answered(&f, false, "MaxBurstLength=4096"), 0);
	assert_int_equal(f.n.outcome.max_burst_length, 4096);
	assert_int_equal(answered(&f, false, "DefaultTime2Wait=60"), 0);
	assert_int_equal(f.n.outcome.default_time2wait, 60);
	assert_int_equal(answered(&f, false, "ImmediateData=No"), 0);
	assert_false(f.n.outcome.immediate_data);
	/* LIO echoes it */
	assert_int_equal(answered(&f, true, "TargetRecvDataSegmentLength=8192"), 0);
	assert_int_equal(f.n.outcome.target_recv_data_segment_length, 8192);
	assert_int_equal(answered(&f, true, "MaxAHSLength=NotUnderstood"), 0);
	assert_int_equal(answered(&f, false, "FirstBurstLength=Irrelevant"), 0);
	assert_int_equal(answered(&f, false, "ErrorRecoveryLevel=NotUnderstood"), 0);
	assert_int_equal(answered(&f, false, "MaxOutstandingR2T=Reject"), 0);
	assert_int_equal(f.n.outcome.max_outstanding_r2t, 1);
}

static void inadmissible_answers_fail_the_login(void **state)
{
	static const char *const cases[] = {
		"MaxBurstLength=262145",
		"MaxBurstLength=0",
		"DefaultTime2Wait=1",
		"InitialR2T=No",
		"InitialR2T=Maybe",
		"HeaderDigest=CRC32C",
		"HeaderDigest=None,CRC32C",
		"ErrorRecoveryLevel=1",
		"MaxConnections=2",
	};
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_not_equal(answered(&f, false, cases[i]), 0);
}

static void a_rejection_of_what_we_need_fails_the_login(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f, true, false);
	f.n.ours.max_burst_length = 4096;
	key_negotiation_offer(&f.n, &f.w);
	assert_int_not_equal(ROUND(&f, "MaxBurstLength=Reject"), 0);
}

static void offers_nobody_answered_stand_at_what_is_safe(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f, true, true);
	f.n.ours.immediate_data = false;
	f.n.ours.max_burst_length = 4096;
	f.n.ours.initiator_recv_data_segment_length = 65536;
	key_negotiation_offer(&f.n, &f.w);
	assert_true(key_negotiation_open(&f.n));
	key_negotiation_finish(&f.n);
	assert_false(key_negotiation_open(&f.n));
	assert_false(f.n.outcome.immediate_data);
	assert_false(f.n.outcome.rdma_extensions);
	assert_int_equal(f.n.outcome.max_burst_length, 4096);
	assert_int_equal(f.n.outcome.first_burst_length, 4096);
	assert_int_equal(f.n.outcome.initiator_recv_data_segment_length, 8192);
}

static void an_answer_that_does_not_fit_overflows_and_nothing_else(void **state)
{
	struct fixture f;
	uint8_t small[8];

	(void)state;
	setup(&f, false, false);
	f.w = bytes_writer(small, sizeof(small));
	assert_int_equal(key_negotiation_read(&f.n, "Unknown=1", 10, &f.w), 0);
	assert_true(f.w.overflow);
	assert_int_equal(f.w.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_follow_the_result_functions),
		cmocka_unit_test(what_breaks_the_rules_fails_the_login),
		cmocka_unit_test(a_key_that_comes_twice_fails_the_login),
		cmocka_unit_test(control_characters_do_not_reach_the_log),
		cmocka_unit_test(session_keys_are_irrelevant_in_discovery),
		cmocka_unit_test(the_first_burst_depends_on_what_stands_behind_it_in_the_text),
		cmocka_unit_test(leading_keys_on_another_connection_are_refused),
		cmocka_unit_test(digests_over_iser_are_answered_none),
		cmocka_unit_test(declarations_of_rfc7145_are_taken),
		cmocka_unit_test(admissible_answers_are_taken),
		cmocka_unit_test(inadmissible_answers_fail_the_login),
		cmocka_unit_test(a_rejection_of_what_we_need_fails_the_login),
		cmocka_unit_test(offers_nobody_answered_stand_at_what_is_safe),
		cmocka_unit_test(an_answer_that_does_not_fit_overflows_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

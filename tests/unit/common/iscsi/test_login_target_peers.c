/* common/iscsi/login_target.c: what initiators in use send, key by key in their order,
 * and the keys that decide about iSER. */
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

/* open-iscsi's order of keys. */
static void open_iscsi_over_tcp_logs_in(void **state)
{
	struct policy p = {0};
	struct login *l = new_target(&p, false);
	const struct iscsi_params *out = login_params(l);

	(void)state;
	assert_int_equal(GIVE(l, request_pdu(SECURITY, true, OPERATIONAL),
				 "InitiatorName=" INITIATOR "\0InitiatorAlias=host1\0"
				 "TargetName=" TARGET "\0SessionType=Normal\0AuthMethod=None"),
		LOGIN_SEND);
	assert_true(l->pdu.login_response.transit);
	assert_int_equal(l->pdu.login_response.nsg, OPERATIONAL);
	assert_int_equal(l->pdu.itt, 0x5eed);
	assert_true(has(l, "TargetPortalGroupTag=1"));
	assert_true(has(l, "AuthMethod=None"));
	assert_string_equal(p.who.initiator_alias, "host1");
	assert_false(p.who.operational_first);
	assert_int_equal(
		GIVE(l, request_pdu(OPERATIONAL, true, FULL),
			"HeaderDigest=None\0DataDigest=None\0DefaultTime2Wait=2\0"
			"DefaultTime2Retain=0\0IFMarker=No\0OFMarker=No\0ErrorRecoveryLevel=0\0"
			"InitialR2T=No\0ImmediateData=Yes\0MaxBurstLength=16776192\0"
			"FirstBurstLength=262144\0MaxOutstandingR2T=1\0MaxConnections=1\0"
			"DataPDUInOrder=Yes\0DataSequenceInOrder=Yes\0"
			"MaxRecvDataSegmentLength=262144"),
		LOGIN_SEND_LAST);
	assert_true(l->pdu.login_response.transit);
	assert_int_equal(l->pdu.login_response.nsg, FULL);
	assert_int_equal(l->pdu.login_response.tsih, 0x1234);
	assert_int_equal(login_tsih(l), 0x1234);
	assert_true(has(l, "InitialR2T=Yes"));
	assert_true(has(l, "ImmediateData=Yes"));
	assert_true(has(l, "MaxBurstLength=262144"));
	assert_true(has(l, "FirstBurstLength=65536"));
	assert_true(has(l, "IFMarker=No"));
	assert_true(has(l, "MaxRecvDataSegmentLength=65536"));
	assert_false(has_key(l, "TargetPortalGroupTag"));
	assert_int_equal(out->peer_max_recv_data_segment_length, 262144);
	assert_int_equal(out->max_recv_data_segment_length, 65536);
	assert_int_equal(out->default_time2retain, 0);
	assert_int_equal(p.identified, 1);
	assert_int_equal(p.established, 1);
	login_free(l);
}

/* ib_iser with open-iscsi: no digests, no MaxRecvDataSegmentLength. */
static void ib_iser_logs_in(void **state)
{
	struct policy p = {0};
	struct login *l = new_target(&p, true);
	const struct iscsi_params *out = login_params(l);

	(void)state;
	assert_int_equal(
		GIVE(l, request_pdu(SECURITY, true, OPERATIONAL), IDENTIFIED "AuthMethod=None"),
		LOGIN_SEND);
	assert_int_equal(
		GIVE(l, request_pdu(OPERATIONAL, true, FULL),
			"DefaultTime2Wait=2\0DefaultTime2Retain=0\0IFMarker=No\0OFMarker=No\0"
			"ErrorRecoveryLevel=0\0InitialR2T=No\0ImmediateData=Yes\0"
			"MaxBurstLength=16776192\0FirstBurstLength=262144\0"
			"MaxOutstandingR2T=1\0MaxConnections=1\0DataPDUInOrder=Yes\0"
			"DataSequenceInOrder=Yes\0InitiatorRecvDataSegmentLength=262144\0"
			"TargetRecvDataSegmentLength=8192\0RDMAExtensions=Yes"),
		LOGIN_SEND_LAST);
	assert_true(has(l, "RDMAExtensions=Yes"));
	assert_true(has(l, "InitialR2T=Yes"));
	assert_true(has(l, "InitiatorRecvDataSegmentLength=8192"));
	assert_true(has(l, "TargetRecvDataSegmentLength=8192"));
	/* open-iscsi gives up at keys that it did not offer. */
	assert_false(has_key(l, "HeaderDigest"));
	assert_false(has_key(l, "MaxRecvDataSegmentLength"));
	assert_false(has_key(l, "MaxOutstandingUnexpectedPDUs"));
	assert_true(out->rdma_extensions);
	assert_int_equal(out->max_recv_data_segment_length, 8192);
	login_free(l);
}

static void libiscsi_logs_in_with_a_single_request(void **state)
{
	struct policy p = {0};
	struct login *l = new_target(&p, false);

	(void)state;
	assert_int_equal(
		GIVE(l, request_pdu(OPERATIONAL, true, FULL), IDENTIFIED LIBISCSI_OPERATIONAL),
		LOGIN_SEND_LAST);
	assert_true(p.who.operational_first);
	assert_true(has(l, "TargetPortalGroupTag=1"));
	assert_true(has(l, "HeaderDigest=None"));
	login_free(l);
}

/* Debian's libiscsi 1.19 says ImmediateData=Yes over iSER and sends none. */
static void a_target_may_forbid_immediate_data(void **state)
{
	struct policy p = {0};
	struct login_target_config c = target_config(&p);
	struct login *l;

	(void)state;
	c.rdma = true;
	c.offer.immediate_data = false;
	l = login_target_new(&c);
	assert_int_equal(GIVE(l, request_pdu(OPERATIONAL, true, FULL),
				 IDENTIFIED LIBISCSI_OPERATIONAL
				 "\0InitiatorRecvDataSegmentLength=262144\0"
				 "TargetRecvDataSegmentLength=8192\0RDMAExtensions=Yes"),
		LOGIN_SEND_LAST);
	assert_true(has(l, "ImmediateData=No"));
	assert_true(has(l, "InitialR2T=Yes"));
	assert_true(has(l, "FirstBurstLength=Irrelevant"));
	login_free(l);
}

/* open-iscsi's discovery over iSER: digests and no RDMAExtensions. */
static void discovery_over_iser_needs_no_rdma_extensions(void **state)
{
	struct policy p = {0};
	struct login_target_config c = target_config(&p);
	struct login *l;

	(void)state;
	c.rdma = c.require_rdma_extensions = true;
	l = login_target_new(&c);
	assert_int_equal(
		GIVE(l, request_pdu(SECURITY, true, OPERATIONAL),
			"InitiatorName=" INITIATOR "\0SessionType=Discovery\0AuthMethod=None"),
		LOGIN_SEND);
	assert_false(has_key(l, "TargetPortalGroupTag"));
	assert_int_equal(GIVE(l, request_pdu(OPERATIONAL, true, FULL),
				 "HeaderDigest=CRC32C,None\0DataDigest=None\0DefaultTime2Wait=2\0"
				 "DefaultTime2Retain=0\0IFMarker=No\0OFMarker=No\0"
				 "ErrorRecoveryLevel=0\0MaxRecvDataSegmentLength=32768"),
		LOGIN_SEND_LAST);
	assert_true(has(l, "HeaderDigest=None"));
	assert_true(p.who.discovery);
	assert_null(p.who.target_name);
	login_free(l);
}

static enum login_step rdma_login(struct login **ret, bool require, const char *text, size_t length)
{
	static struct policy p; /* read by nobody */
	struct login_target_config c = target_config(&p);

	c.rdma = true;
	c.require_rdma_extensions = require;
	*ret = login_target_new(&c);
	return give(*ret, request_pdu(OPERATIONAL, true, FULL), text, length);
}

static void rdma_extensions_missing_is_the_configurations_matter(void **state)
{
	static const char missing[] = IDENTIFIED;
	static const char no[] = IDENTIFIED "RDMAExtensions=No";
	struct login *l;

	(void)state;
	assert_int_equal(rdma_login(&l, false, missing, sizeof(missing) - 1), LOGIN_SEND_LAST);
	assert_true(login_params(l)->rdma_extensions);
	login_free(l);
	REFUSED(l, rdma_login(&l, true, missing, sizeof(missing) - 1), LOGIN_INITIATOR_ERROR);
	login_free(l);
	REFUSED(l, rdma_login(&l, false, no, sizeof(no)), LOGIN_INITIATOR_ERROR);
	login_free(l);
}

/* The default would be Yes: who does not allow it must say so, and waits for the answer. */
static void what_an_initiator_leaves_at_a_default_too_large_is_proposed(void **state)
{
	struct policy p = {0};
	struct login_target_config c = target_config(&p);
	struct login *l;

	(void)state;
	c.offer.immediate_data = false;
	c.offer.max_burst_length = 4096;
	l = login_target_new(&c);
	assert_int_equal(GIVE(l, request_pdu(OPERATIONAL, true, FULL), IDENTIFIED), LOGIN_SEND);
	assert_false(l->pdu.login_response.transit);
	assert_true(has(l, "ImmediateData=No"));
	assert_true(has(l, "MaxBurstLength=4096"));
	assert_int_equal(p.established, 0);
	assert_int_equal(GIVE(l, request_pdu(OPERATIONAL, true, FULL),
				 "ImmediateData=No\0MaxBurstLength=1024"),
		LOGIN_SEND_LAST);
	assert_int_equal(login_params(l)->max_burst_length, 1024);
	assert_int_equal(login_params(l)->first_burst_length, 1024);
	login_free(l);
	l = login_target_new(&c);
	GIVE(l, request_pdu(OPERATIONAL, true, FULL), IDENTIFIED);
	REFUSED(l, GIVE(l, request_pdu(OPERATIONAL, true, FULL), ""), LOGIN_INITIATOR_ERROR);
	login_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_iscsi_over_tcp_logs_in),
		cmocka_unit_test(ib_iser_logs_in),
		cmocka_unit_test(libiscsi_logs_in_with_a_single_request),
		cmocka_unit_test(a_target_may_forbid_immediate_data),
		cmocka_unit_test(discovery_over_iser_needs_no_rdma_extensions),
		cmocka_unit_test(rdma_extensions_missing_is_the_configurations_matter),
		cmocka_unit_test(what_an_initiator_leaves_at_a_default_too_large_is_proposed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

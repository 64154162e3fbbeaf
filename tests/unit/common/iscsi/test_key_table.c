/* common/iscsi/key_table.c: the rows against RFC 7143 section 13 and RFC 7145 section 6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/iscsi/key_table.h"

static void every_row_is_found_by_its_name(void **state)
{
	(void)state;
	for (enum key_id id = 0; id < KEY_COUNT; id++) {
		assert_non_null(key_table[id].name);
		assert_in_range(strlen(key_table[id].name), 1, ISCSI_KEY_NAME_MAX);
		assert_int_equal(key_find(key_table[id].name), id);
		assert_int_not_equal(key_table[id].stages, 0);
		assert_int_not_equal(key_table[id].senders, 0);
	}
	assert_int_equal(key_find("initialr2t"), KEY_COUNT);
	assert_int_equal(key_find("X-com.example.foo"), KEY_COUNT);
}

/* Copied from the "Result function", "Default" and range of each section. */
static const struct {
	const char *name;
	enum key_result result;
	uint32_t minimum, maximum, standard;
} rfc[] = {
	{"MaxConnections", KEY_MIN, 1, 65535, 1},
	{"InitialR2T", KEY_OR, 0, 0, 1},
	{"ImmediateData", KEY_AND, 0, 0, 1},
	{"MaxRecvDataSegmentLength", KEY_DECLARE, 512, 16777215, 8192},
	{"MaxBurstLength", KEY_MIN, 512, 16777215, 262144},
	{"FirstBurstLength", KEY_MIN, 512, 16777215, 65536},
	{"DefaultTime2Wait", KEY_MAX, 0, 3600, 2},
	{"DefaultTime2Retain", KEY_MIN, 0, 3600, 20},
	{"MaxOutstandingR2T", KEY_MIN, 1, 65535, 1},
	{"DataPDUInOrder", KEY_OR, 0, 0, 1},
	{"DataSequenceInOrder", KEY_OR, 0, 0, 1},
	{"ErrorRecoveryLevel", KEY_MIN, 0, 2, 0},
	{"iSCSIProtocolLevel", KEY_MIN, 0, 31, 1},
	{"RDMAExtensions", KEY_AND, 0, 0, 0},
	{"TargetRecvDataSegmentLength", KEY_MIN, 512, 16777215, 8192},
	{"InitiatorRecvDataSegmentLength", KEY_MIN, 512, 16777215, 8192},
	{"MaxOutstandingUnexpectedPDUs", KEY_DECLARE, 2, UINT32_MAX, 0},
	{"MaxAHSLength", KEY_DECLARE, 2, UINT32_MAX, 256},
	{"TaggedBufferForSolicitedDataOnly", KEY_DECLARE, 0, 0, 0},
	{"iSERHelloRequired", KEY_DECLARE, 0, 0, 0},
};

static void rows_say_what_the_standard_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rfc); i++) {
		enum key_id id = key_find(rfc[i].name);

		assert_int_not_equal(id, KEY_COUNT);
		assert_int_equal(key_table[id].result, rfc[i].result);
		assert_int_equal(key_table[id].minimum, rfc[i].minimum);
		assert_int_equal(key_table[id].maximum, rfc[i].maximum);
		assert_int_equal(key_table[id].standard, rfc[i].standard);
	}
}

static void defaults_are_the_standards(void **state)
{
	struct iscsi_params p;

	(void)state;
	memset(&p, 0xff, sizeof(p));
	iscsi_params_default(&p);
	assert_int_equal(p.max_connections, 1);
	assert_true(p.initial_r2t);
	assert_true(p.immediate_data);
	assert_int_equal(p.max_burst_length, 262144);
	assert_int_equal(p.first_burst_length, 65536);
	assert_int_equal(p.default_time2wait, 2);
	assert_int_equal(p.default_time2retain, 20);
	assert_int_equal(p.max_outstanding_r2t, 1);
	assert_true(p.data_pdu_in_order);
	assert_true(p.data_sequence_in_order);
	assert_int_equal(p.error_recovery_level, 0);
	assert_int_equal(p.header_digest, ISCSI_DIGEST_NONE);
	assert_int_equal(p.data_digest, ISCSI_DIGEST_NONE);
	assert_int_equal(p.max_recv_data_segment_length, 8192);
	assert_int_equal(p.peer_max_recv_data_segment_length, 8192);
	assert_false(p.rdma_extensions);
	assert_int_equal(p.initiator_recv_data_segment_length, 8192);
	assert_int_equal(p.target_recv_data_segment_length, 8192);
	assert_int_equal(p.max_outstanding_unexpected_pdus, 0);
	assert_int_equal(p.max_ahs_length, 256);
	assert_false(p.tagged_buffer_for_solicited_data_only);
	assert_false(p.iser_hello_required);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_found_by_its_name),
		cmocka_unit_test(rows_say_what_the_standard_says),
		cmocka_unit_test(defaults_are_the_standards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

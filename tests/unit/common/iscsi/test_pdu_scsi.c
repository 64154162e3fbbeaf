/* The PDUs that carry SCSI (common/iscsi/pdu_scsi.c): RFC 7143 sections 11.3 to 11.8 and 11.16, as
 * bytes written down from the RFC's figures, decoded and encoded again. */
#include "tests/unit/common/iscsi/bhs.h"

static void scsi_command_of_a_read(void **state)
{
	struct iscsi_pdu p = both_ways("01 c1 0000 00 000000 0001000000000000 00000010 00001000"
				       "00000005 00000007 28000000123400000800 000000000000");

	(void)state;
	assert_int_equal(p.opcode, ISCSI_SCSI_COMMAND);
	assert_false(p.immediate);
	assert_true(p.final);
	assert_true(p.command.read);
	assert_false(p.command.write);
	assert_int_equal(p.command.attribute, ISCSI_ATTR_SIMPLE);
	assert_true(p.lun == 0x0001000000000000);
	assert_int_equal(p.itt, 0x10);
	assert_int_equal(p.command.expected_length, 0x1000);
	assert_int_equal(p.cmd_sn, 5);
	assert_int_equal(p.exp_stat_sn, 7);
	assert_int_equal(p.command.cdb[0], 0x28);
	assert_int_equal(p.command.cdb[8], 0x08);
}

static void scsi_command_with_immediate_data_and_ahs(void **state)
{
	struct iscsi_pdu p = both_ways("41 a1 0000 02 002000 4123000000000000 bce68711 00010000"
				       "fffffffe 00000001 8a000000000000000000000000800000");
	uint16_t lun;

	(void)state;
	assert_true(p.immediate);
	assert_true(p.command.write);
	assert_int_equal(p.ahs_words, 2);
	assert_int_equal(p.data_length, 8192);
	assert_int_equal(p.command.expected_length, 65536);
	assert_int_equal(iscsi_lun_decode(p.lun, &lun), 0);
	assert_int_equal(lun, 0x123);
}

static void scsi_response_with_sense_and_underflow(void **state)
{
	struct iscsi_pdu p = both_ways("21 82 0002 00 000014 0000000000000000 00000010 00000000"
				       "00000009 00000006 00000025 00000000 00000000 00000200");

	(void)state;
	assert_int_equal(p.response.response, ISCSI_RESPONSE_COMPLETED);
	assert_int_equal(p.response.status, 2);
	assert_true(p.response.underflow);
	assert_false(p.response.overflow);
	assert_int_equal(p.response.residual, 0x200);
	assert_int_equal(p.data_length, 20);
	assert_int_equal(p.stat_sn, 9);
	assert_int_equal(p.exp_cmd_sn, 6);
	assert_int_equal(p.max_cmd_sn, 0x25);
}

static void scsi_response_of_a_bidirectional_command(void **state)
{
	struct iscsi_pdu p = both_ways("21 94 0000 00 000000 0000000000000000 00000010 00000000"
				       "00000009 00000006 00000025 00000003 00000040 00000080");

	(void)state;
	assert_true(p.response.bidi_overflow);
	assert_true(p.response.overflow);
	assert_int_equal(p.response.exp_data_sn, 3);
	assert_int_equal(p.response.bidi_residual, 0x40);
	assert_int_equal(p.response.residual, 0x80);
}

static void task_management_and_its_response(void **state)
{
	struct iscsi_pdu p = both_ways("42 81 0000 00 000000 0001000000000000 00000011 00000010"
				       "00000005 00000007 00000004 00000000 00000000 00000000");

	(void)state;
	assert_int_equal(p.tmf.function, ISCSI_TMF_ABORT_TASK);
	assert_int_equal(p.tmf.referenced_tag, 0x10);
	assert_int_equal(p.tmf.ref_cmd_sn, 4);
	p = both_ways("22 80 ff00 00 000000 0000000000000000 00000011 00000000"
		      "00000009 00000006 00000025 00000000 00000000 00000000");
	assert_int_equal(p.tmf_response.response, ISCSI_TMF_REJECTED);
}

static void data_out_and_r2t(void **state)
{
	struct iscsi_pdu p = both_ways("31 80 0000 00 000000 0001000000000000 00000010 00000401"
				       "00000009 00000006 00000025 00000001 00040000 00010000");

	(void)state;
	assert_int_equal(p.r2t.ttt, 0x401);
	assert_int_equal(p.r2t.r2t_sn, 1);
	assert_int_equal(p.r2t.offset, 0x40000);
	assert_int_equal(p.r2t.length, 0x10000);
	p = both_ways("05 80 0000 00 010000 0001000000000000 00000010 00000401"
		      "00000000 00000007 00000000 00000002 00040000 00000000");
	assert_true(p.final);
	assert_int_equal(p.data_out.ttt, 0x401);
	assert_int_equal(p.data_out.data_sn, 2);
	assert_int_equal(p.data_out.offset, 0x40000);
	assert_int_equal(p.exp_stat_sn, 7);
}

static void data_in_with_status(void **state)
{
	struct iscsi_pdu p = both_ways("25 83 0000 00 000200 0000000000000000 00000010 ffffffff"
				       "00000009 00000006 00000025 00000004 00000600 00000200");

	(void)state;
	assert_true(p.data_in.has_status);
	assert_true(p.data_in.underflow);
	assert_int_equal(p.data_in.ttt, ISCSI_TAG_NONE);
	assert_int_equal(p.data_in.data_sn, 4);
	assert_int_equal(p.data_in.offset, 0x600);
	assert_int_equal(p.data_in.residual, 0x200);
	assert_int_equal(p.stat_sn, 9);
}

/* Section 11.7.3: residual flags mean something only together with S; both at once nothing. */
static void data_in_without_status_may_have_any_flags(void **state)
{
	(void)state;
	assert_int_equal(decode("25 86 0000 00 000200 0000000000000000 00000010 ffffffff"
				"00000000 00000000 00000025 00000004 00000600 00000200"),
		0);
	assert_int_equal(decode("25 87 0000 00 000200 0000000000000000 00000010 ffffffff"
				"00000000 00000000 00000025 00000004 00000600 00000200"),
		-EPROTO);
}

/* Section 11.8.5: ffffffffh means "no tag" elsewhere; Data-Out could not name it. */
static void r2t_without_a_tag_is_refused(void **state)
{
	(void)state;
	assert_int_equal(decode("31 80 0000 00 000000 0001000000000000 00000010 ffffffff"
				"00000009 00000006 00000025 00000001 00040000 00010000"),
		-EPROTO);
}

static void response_cannot_be_short_and_long_at_once(void **state)
{
	(void)state;
	assert_int_equal(decode("21 98 0000 00 000000 0000000000000000 00000010 00000000"
				"00000009 00000006 00000025 00000003 00000040 00000080"),
		-EPROTO);
}

/* Section 11.7.1: unsolicited data has the reserved tag, and no F until the last. */
static void unsolicited_data_out_that_goes_on(void **state)
{
	struct iscsi_pdu p = both_ways("05 00 0000 00 002000 0001000000000000 00000010 ffffffff"
				       "00000000 00000007 00000000 00000001 00002000 00000000");

	(void)state;
	assert_false(p.final);
	assert_int_equal(p.data_out.ttt, ISCSI_TAG_NONE);
	assert_int_equal(p.data_out.data_sn, 1);
	assert_int_equal(p.data_out.offset, 0x2000);
}

static void data_in_that_asks_for_an_acknowledgement(void **state)
{
	struct iscsi_pdu p = both_ways("25 40 0000 00 000200 0001000000000000 00000010 00000033"
				       "00000000 00000006 00000025 00000004 00000600 00000000");

	(void)state;
	assert_true(p.data_in.acknowledge);
	assert_false(p.final);
	assert_int_equal(p.data_in.ttt, 0x33);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scsi_command_of_a_read),
		cmocka_unit_test(scsi_command_with_immediate_data_and_ahs),
		cmocka_unit_test(scsi_response_with_sense_and_underflow),
		cmocka_unit_test(scsi_response_of_a_bidirectional_command),
		cmocka_unit_test(task_management_and_its_response),
		cmocka_unit_test(data_out_and_r2t),
		cmocka_unit_test(data_in_with_status),
		cmocka_unit_test(data_in_without_status_may_have_any_flags),
		cmocka_unit_test(r2t_without_a_tag_is_refused),
		cmocka_unit_test(response_cannot_be_short_and_long_at_once),
		cmocka_unit_test(unsolicited_data_out_that_goes_on),
		cmocka_unit_test(data_in_that_asks_for_an_acknowledgement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The Basic Header Segments of RFC 7143 section 11: every layout as bytes written down from the
 * RFC's figures (and the first bytes of peers' frames), decoded and encoded again. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/iscsi/pdu.h"

static void from_hex(const char *text, uint8_t out[ISCSI_BHS_SIZE])
{
	size_t n = 0;

	for (const char *at = text; *at; at++) {
		char pair[3] = {at[0], at[1], 0};

		if (*at == ' ')
			continue;
		assert_true(n < ISCSI_BHS_SIZE);
		out[n++] = (uint8_t)strtoul(pair, NULL, 16);
		at++;
	}
	assert_int_equal(n, ISCSI_BHS_SIZE);
}

/* Decodes, expects success, and expects the same bytes back. */
static struct iscsi_pdu both_ways(const char *text)
{
	uint8_t bhs[ISCSI_BHS_SIZE], again[ISCSI_BHS_SIZE];
	struct iscsi_pdu p;

	from_hex(text, bhs);
	assert_int_equal(iscsi_pdu_decode(bhs, &p), 0);
	iscsi_pdu_encode(&p, again);
	assert_memory_equal(bhs, again, ISCSI_BHS_SIZE);
	return p;
}

static int decode(const char *text)
{
	uint8_t bhs[ISCSI_BHS_SIZE];
	struct iscsi_pdu p;

	from_hex(text, bhs);
	return iscsi_pdu_decode(bhs, &p);
}

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

static void login_request_as_open_iscsi_begins_it(void **state)
{
	struct iscsi_pdu p = both_ways("43 87 00 00 00 0000e3 00023d000000 0000 00000000 0001 0000"
				       "00000001 00000000 00000000000000000000000000000000");

	(void)state;
	assert_true(p.immediate);
	assert_true(p.login.transit);
	assert_false(p.login.more);
	assert_int_equal(p.login.csg, ISCSI_STAGE_OPERATIONAL);
	assert_int_equal(p.login.nsg, ISCSI_STAGE_FULL_FEATURE);
	assert_int_equal(p.data_length, 0xe3);
	assert_memory_equal(p.login.isid.bytes, "\x00\x02\x3d\x00\x00\x00", 6);
	assert_int_equal(p.login.cid, 1);
	assert_int_equal(p.cmd_sn, 1);
}

static void login_response(void **state)
{
	struct iscsi_pdu p = both_ways("23 87 00 00 00 000040 00023d000000 0007 00000000 00000000"
				       "00000001 00000001 00000020 0201 0000 0000000000000000");

	(void)state;
	assert_true(p.login_response.transit);
	assert_int_equal(p.login_response.tsih, 7);
	assert_int_equal(p.login_response.status_class, 2);
	assert_int_equal(p.login_response.status_detail, 1);
}

static void text_request_that_goes_on(void **state)
{
	struct iscsi_pdu p = both_ways("04 40 0000 00 002000 0000000000000000 00000012 00000001"
				       "00000005 00000007 00000000000000000000000000000000");

	(void)state;
	assert_true(p.text.more);
	assert_false(p.final);
	assert_int_equal(p.text.ttt, 1);
	p = both_ways("24 80 0000 00 000020 0000000000000000 00000012 ffffffff"
		      "00000009 00000006 00000025 000000000000000000000000");
	assert_true(p.final);
}

static void logout_and_its_response(void **state)
{
	struct iscsi_pdu p = both_ways("46 81 0000 00 000000 0000000000000000 00000013 00020000"
				       "00000005 00000007 00000000000000000000000000000000");

	(void)state;
	assert_int_equal(p.logout.reason, ISCSI_LOGOUT_CONNECTION);
	assert_int_equal(p.logout.cid, 2);
	p = both_ways("26 80 0100 00 000000 0000000000000000 00000013 00000000"
		      "00000009 00000006 00000025 00000000 0002 0014 00000000");
	assert_int_equal(p.logout_response.response, ISCSI_LOGOUT_NO_CID);
	assert_int_equal(p.logout_response.time2wait, 2);
	assert_int_equal(p.logout_response.time2retain, 20);
}

static void nop_reject_async_snack(void **state)
{
	struct iscsi_pdu p = both_ways("40 80 0000 00 000000 0000000000000000 ffffffff 00000077"
				       "00000005 00000007 00000000000000000000000000000000");

	(void)state;
	assert_int_equal(p.nop.ttt, 0x77);
	p = both_ways("20 80 0000 00 000000 0000000000000000 ffffffff 00000078"
		      "00000009 00000006 00000025 000000000000000000000000");
	assert_int_equal(p.nop.ttt, 0x78);
	p = both_ways("3f 80 0900 00 000030 0000000000000000 ffffffff 00000000"
		      "00000009 00000006 00000025 00000003 0000000000000000");
	assert_int_equal(p.reject.reason, ISCSI_REJECT_INVALID_PDU_FIELD);
	assert_int_equal(p.reject.data_sn, 3);
	p = both_ways("32 80 0000 00 000000 0000000000000000 ffffffff 00000000"
		      "00000009 00000006 00000025 02 00 0001 0002 0014 00000000");
	assert_int_equal(p.async.event, ISCSI_ASYNC_CONNECTION_DROP);
	assert_int_equal(p.async.parameter1, 1);
	assert_int_equal(p.async.parameter3, 20);
	p = both_ways("10 81 0000 00 000000 0000000000000000 00000010 ffffffff"
		      "00000000 00000007 00000000 00000000 00000002 00000001");
	assert_int_equal(p.snack.type, 1);
	assert_int_equal(p.snack.begin_run, 2);
	assert_int_equal(p.snack.run_length, 1);
}

#define ZERO16 "00000000000000000000000000000000"

static void what_no_receiver_may_act_upon_is_refused(void **state)
{
	(void)state;
	/* neither F nor W */
	assert_int_equal(decode("01 41 0000 00 000000 0000000000000000 00000010 00000000"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* attribute 5 */
	assert_int_equal(decode("01 85 0000 00 000000 0000000000000000 00000010 00000000"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* the reserved tag */
	assert_int_equal(decode("01 81 0000 00 000000 0000000000000000 ffffffff 00000000"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* overflow and underflow at once */
	assert_int_equal(decode("21 86 0000 00 000000 0000000000000000 00000010 00000000"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* status without F */
	assert_int_equal(decode("25 01 0000 00 000000 0000000000000000 00000010 ffffffff"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* an R2T for nothing */
	assert_int_equal(decode("31 80 0000 00 000000 0000000000000000 00000010 00000001"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* a text that is final and goes on */
	assert_int_equal(decode("04 c0 0000 00 000000 0000000000000000 00000010 ffffffff"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* data, and AHS, where there is none */
	assert_int_equal(decode("02 81 0000 00 000004 0000000000000000 00000010 00000000"
				"00000000 00000000" ZERO16),
		-EPROTO);
	assert_int_equal(decode("00 80 0000 01 000000 0000000000000000 00000010 ffffffff"
				"00000000 00000000" ZERO16),
		-EPROTO);
}

static void unknown_opcode_still_tells_its_lengths(void **state)
{
	uint8_t bhs[ISCSI_BHS_SIZE];
	struct iscsi_pdu p;

	(void)state;
	from_hex("1f 80 0000 03 000123 0000000000000000 00000010 00000000"
		 "00000000 00000000" ZERO16,
		bhs);
	assert_int_equal(iscsi_pdu_decode(bhs, &p), -EOPNOTSUPP);
	assert_int_equal(p.opcode, 0x1f);
	assert_int_equal(p.ahs_words, 3);
	assert_int_equal(p.data_length, 0x123);
	assert_int_equal(p.itt, 0x10);
}

static void any_48_bytes_can_be_decoded(void **state)
{
	uint8_t *bhs = malloc(ISCSI_BHS_SIZE); /* its own block, so that ASan sees a read beyond */
	struct iscsi_pdu p;

	(void)state;
	srandom(1);
	for (int i = 0; i < 100000; i++) {
		for (size_t n = 0; n < ISCSI_BHS_SIZE; n++)
			bhs[n] = (uint8_t)random();
		(void)iscsi_pdu_decode(bhs, &p);
		assert_int_equal(p.opcode, bhs[0] & 0x3f);
	}
	free(bhs);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(iscsi_opcode_name(ISCSI_SCSI_COMMAND), "SCSI Command");
	assert_string_equal(iscsi_opcode_name(ISCSI_REJECT), "Reject");
	assert_string_equal(iscsi_opcode_name(0x1f), "unknown");
	assert_string_equal(iscsi_opcode_name(0xff), "unknown");
	assert_string_equal(iscsi_reject_name(ISCSI_REJECT_PROTOCOL_ERROR), "protocol error");
	assert_string_equal(iscsi_reject_name(0xff), "unknown");
}

static void requests_are_those_of_section_11_1_1(void **state)
{
	(void)state;
	for (unsigned opcode = 0; opcode < 256; opcode++)
		assert_int_equal(
			iscsi_opcode_is_request((uint8_t)opcode), opcode <= 0x06 || opcode == 0x10);
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
		cmocka_unit_test(login_request_as_open_iscsi_begins_it),
		cmocka_unit_test(login_response),
		cmocka_unit_test(text_request_that_goes_on),
		cmocka_unit_test(logout_and_its_response),
		cmocka_unit_test(nop_reject_async_snack),
		cmocka_unit_test(what_no_receiver_may_act_upon_is_refused),
		cmocka_unit_test(unknown_opcode_still_tells_its_lengths),
		cmocka_unit_test(any_48_bytes_can_be_decoded),
		cmocka_unit_test(names),
		cmocka_unit_test(requests_are_those_of_section_11_1_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

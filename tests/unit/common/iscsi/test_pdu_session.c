/* The PDUs of a session (common/iscsi/pdu_session.c): RFC 7143 sections 11.9 to 11.15 and 11.17 to
 * 11.19, as bytes written down from the RFC's figures and peers' frames, decoded and encoded again.
 */
#include "tests/unit/common/iscsi/bhs.h"

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

/* Figures of section 11.12: bit 6 is C, bits 3-2 CSG, bits 1-0 NSG. */
static void login_request_that_goes_on(void **state)
{
	struct iscsi_pdu p = both_ways("43 40 00 00 00 002000 80123456789a 0000 00000000 0001 0000"
				       "00000001 00000000 00000000000000000000000000000000");

	(void)state;
	assert_false(p.login.transit);
	assert_true(p.login.more);
	assert_int_equal(p.login.csg, ISCSI_STAGE_SECURITY);
	assert_memory_equal(p.login.isid.bytes, "\x80\x12\x34\x56\x78\x9a", 6);
}

/* I is part of a Login Request's opcode (section 11.12), whatever the caller says. */
static void login_request_is_always_immediate(void **state)
{
	struct iscsi_pdu p = {.opcode = ISCSI_LOGIN_REQUEST};
	uint8_t bhs[ISCSI_BHS_SIZE];

	(void)state;
	iscsi_pdu_encode(&p, bhs);
	assert_int_equal(bhs[0], 0x43);
}

/* What the target says of its own accord has no task: the tag is ffffffffh on the wire. */
static void reject_and_async_have_the_reserved_tag(void **state)
{
	struct iscsi_pdu reject = {.opcode = ISCSI_REJECT, .itt = 7};
	struct iscsi_pdu async = {.opcode = ISCSI_ASYNC, .itt = 7};
	uint8_t bhs[ISCSI_BHS_SIZE];

	(void)state;
	iscsi_pdu_encode(&reject, bhs);
	assert_int_equal(get_be32(bhs + 16), 0xffffffff);
	iscsi_pdu_encode(&async, bhs);
	assert_int_equal(get_be32(bhs + 16), 0xffffffff);
}

static void every_stage_of_a_login_response(void **state)
{
	(void)state;
	for (unsigned csg = 0; csg < 4; csg++)
		for (unsigned nsg = 0; nsg < 4; nsg++) {
			struct iscsi_pdu p = {
				.opcode = ISCSI_LOGIN_RESPONSE,
				.login_response = {.transit = true,
					.csg = (uint8_t)csg,
					.nsg = (uint8_t)nsg},
			};
			uint8_t bhs[ISCSI_BHS_SIZE];

			iscsi_pdu_encode(&p, bhs);
			assert_int_equal(bhs[1], 0x80 | csg << 2 | nsg);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(login_request_as_open_iscsi_begins_it),
		cmocka_unit_test(login_response),
		cmocka_unit_test(text_request_that_goes_on),
		cmocka_unit_test(logout_and_its_response),
		cmocka_unit_test(nop_reject_async_snack),
		cmocka_unit_test(login_request_that_goes_on),
		cmocka_unit_test(login_request_is_always_immediate),
		cmocka_unit_test(reject_and_async_have_the_reserved_tag),
		cmocka_unit_test(every_stage_of_a_login_response),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

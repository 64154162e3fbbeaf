/* A session over a mover without a network: life, tasks, window, pings, task management, and what
 * targets say of their own accord (RFC 7143 sections 4.2.2, 11.3 to 11.19). */
#include "tests/unit/initiator/fake_target.h"

static void login_and_logout_end_the_session_in_order(void **state)
{
	struct fake_owner o;

	(void)state;
	owner_setup(&o);
	ini_session_logout(o.session);
	fake_turns(o.fake);
	assert_int_equal(o.ended, 1);
	assert_int_equal(o.error, 0);
	assert_non_null(fake_last(o.fake, ISCSI_LOGOUT_REQUEST));
	assert_int_equal(
		fake_last(o.fake, ISCSI_LOGOUT_REQUEST)->logout.reason, ISCSI_LOGOUT_SESSION);
	owner_teardown(&o);
}

static void every_opcode_that_nobody_asked_for_ends_the_connection(void **state)
{
	static const uint8_t opcodes[] = {ISCSI_LOGIN_RESPONSE, ISCSI_TEXT_RESPONSE,
		ISCSI_TMF_RESPONSE, ISCSI_LOGOUT_RESPONSE, ISCSI_DATA_IN, ISCSI_R2T, 0x00, 0x1f};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct fake_owner o;

		owner_setup(&o);
		fake_answer_begin(o.fake->conn, opcodes[i], 77);
		fake_turns(o.fake);
		assert_int_equal(o.lost, 1);
		owner_teardown(&o);
	}
}

static void the_isid_is_stable_and_differs_by_portal_and_index(void **state)
{
	struct iscsi_isid a, b;

	(void)state;
	ini_isid_make("iqn.a", "iqn.b", "192.0.2.1:3260", 0, &a);
	ini_isid_make("iqn.a", "iqn.b", "192.0.2.1:3260", 0, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(a.bytes[0] & 0xc0, 0x80); /* T = 10b, random */
	ini_isid_make("iqn.a", "iqn.b", "192.0.2.1:3260", 1, &b);
	assert_memory_not_equal(&a, &b, sizeof(a));
	ini_isid_make("iqn.a", "iqn.b", "192.0.2.2:3260", 0, &b);
	assert_memory_not_equal(&a, &b, sizeof(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(login_and_logout_end_the_session_in_order),
		cmocka_unit_test(every_opcode_that_nobody_asked_for_ends_the_connection),
		cmocka_unit_test(the_isid_is_stable_and_differs_by_portal_and_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Pings of both directions (RFC 7143 sections 11.18 and 11.19). */
#include "tests/unit/initiator/fake_target.h"

static void a_silent_connection_is_pinged_and_then_dropped(void **state)
{
	struct fake_owner o = {.fake = fake_new()};
	struct ini_session_config c = owner_config(o.fake);

	(void)state;
	c.noop_interval_ns = 5 * LOOP_NS_PER_S;
	c.noop_timeout_ns = 5 * LOOP_NS_PER_S;
	owner_start(&o, &c);
	fake_seconds(o.fake, 6);
	assert_int_equal(fake_count(o.fake, ISCSI_NOP_OUT), 1);
	assert_true(fake_last(o.fake, ISCSI_NOP_OUT)->immediate);
	assert_int_equal(o.lost, 0);
	o.fake->mute = true;
	fake_seconds(o.fake, 11);
	assert_int_equal(o.lost, 1);
	assert_int_equal(o.error, -ETIMEDOUT);
	assert_int_equal(o.logged_in, 2);
	owner_teardown(&o);
}

static void a_ping_of_the_target_is_answered_with_its_tag(void **state)
{
	struct fake_owner o;

	(void)state;
	owner_setup(&o);
	fake_answer_begin(o.fake->conn, ISCSI_NOP_IN, ISCSI_TAG_NONE)->pdu.nop.ttt = 0x1234;
	fake_turns(o.fake);
	assert_int_equal(fake_count(o.fake, ISCSI_NOP_OUT), 1);
	assert_int_equal(fake_last(o.fake, ISCSI_NOP_OUT)->nop.ttt, 0x1234);
	assert_int_equal(fake_last(o.fake, ISCSI_NOP_OUT)->itt, ISCSI_TAG_NONE);
	owner_teardown(&o);
}

static void a_nop_in_without_tags_is_not_answered(void **state)
{
	struct fake_owner o;

	(void)state;
	owner_setup(&o);
	fake_answer_begin(o.fake->conn, ISCSI_NOP_IN, ISCSI_TAG_NONE)->pdu.nop.ttt = ISCSI_TAG_NONE;
	fake_turns(o.fake);
	assert_int_equal(fake_count(o.fake, ISCSI_NOP_OUT), 0);
	assert_int_equal(o.lost, 0);
	owner_teardown(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_connection_is_pinged_and_then_dropped),
		cmocka_unit_test(a_ping_of_the_target_is_answered_with_its_tag),
		cmocka_unit_test(a_nop_in_without_tags_is_not_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

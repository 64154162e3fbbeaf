/* The target's ping: a silent initiator is asked, and dropped when it does not answer; not before
 * its first request, and not in a discovery session. */
#include "tests/unit/target/target_kit.h"

static struct kit kit;

static int setup(void **state)
{
	(void)state;
	kit_start(&kit, "ping_interval: 30ms\nping_timeout: 100ms\n"
			"targets:\n- name: " KIT_TARGET "\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kit_stop(&kit);
	return 0;
}

static void wait_ms(unsigned ms)
{
	loop_advance(kit.worker->loop, ms * LOOP_NS_PER_MS);
}

static void say(struct kit_conn *c, uint32_t itt, uint32_t ttt)
{
	struct iscsi_pdu pdu = kit_request(c, ISCSI_NOP_OUT, itt);

	pdu.immediate = itt == ISCSI_TAG_NONE;
	if (pdu.immediate)
		c->cmd_sn--;
	pdu.nop.ttt = ttt;
	kit_deliver(&kit, c, &pdu, NULL, 0);
}

static const struct kit_sent *pinged(struct kit_conn *c)
{
	const struct kit_sent *s = kit_next(c);

	assert_non_null(s);
	assert_int_equal(s->pdu.opcode, ISCSI_NOP_IN);
	assert_int_equal(s->pdu.itt, ISCSI_TAG_NONE);
	assert_int_not_equal(s->pdu.nop.ttt, ISCSI_TAG_NONE);
	return s;
}

static void a_silent_initiator_that_answers_stays(void **state)
{
	const struct kit_sent *s;
	uint32_t stat_sn;
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, KIT_TARGET, 1));
	say(&c, 5, ISCSI_TAG_NONE);
	stat_sn = kit_next(&c)->pdu.stat_sn;
	wait_ms(50);
	s = pinged(&c);
	/* It carries the next StatSN without using it up (RFC 7143 section 11.19.2). */
	assert_int_equal(s->pdu.stat_sn, stat_sn + 1);
	say(&c, ISCSI_TAG_NONE, s->pdu.nop.ttt);
	assert_null(kit_next(&c));
	say(&c, 6, ISCSI_TAG_NONE);
	assert_int_equal(kit_next(&c)->pdu.stat_sn, stat_sn + 1);
	assert_false(c.terminated);
	kit_lose(&kit, &c);
}

static void a_silent_initiator_that_does_not_answer_is_dropped(void **state)
{
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, KIT_TARGET, 1));
	say(&c, 5, ISCSI_TAG_NONE);
	kit_next(&c);
	wait_ms(50);
	pinged(&c);
	wait_ms(150);
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

static void nobody_is_pinged_before_his_first_request(void **state)
{
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, KIT_TARGET, 1));
	wait_ms(100);
	assert_null(kit_next(&c));
	assert_false(c.terminated);
	kit_lose(&kit, &c);
}

static void a_discovery_session_is_not_pinged_but_does_not_stay_for_ever(void **state)
{
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, NULL, 1));
	say(&c, 5, ISCSI_TAG_NONE);
	kit_next(&c);
	wait_ms(100);
	assert_null(kit_next(&c));
	assert_false(c.terminated);
	wait_ms(300);
	assert_null(kit_next(&c));
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_silent_initiator_that_answers_stays),
		TEST(a_silent_initiator_that_does_not_answer_is_dropped),
		TEST(nobody_is_pinged_before_his_first_request),
		TEST(a_discovery_session_is_not_pinged_but_does_not_stay_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The end of the daemon (target/daemon/stop.c): initiators are asked, commands run to their end,
 * backends are flushed; and it ends also where somebody does not go along. */
#include "tests/unit/target/daemon/daemon_kit.h"

#include "target/daemon/broadcast.c"
#include "target/daemon/stop.c"

void rdma_portals_free(struct daemon *daemon)
{
	(void)daemon;
}

static struct kit_conn c;

static int setup(void **state)
{
	(void)state;
	daemon_kit_start("drain_timeout: 100ms\n"
			 "targets:\n- name: " KIT_TARGET "\n"
			 "  luns: [{lun: 0, backend: memory, size: 1M}]\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	daemon_kit_stop();
	return 0;
}

/* Until the stop's timer has expired once more. */
static void wait_for_stage(enum stop_stage stage)
{
	for (unsigned ms = 0; isertd.stage != stage && ms < 5000; ms++) {
		loop_advance(isertd.loop, LOOP_NS_PER_MS);
		kit_turn(&kit);
	}
	assert_int_equal(isertd.stage, stage);
}

static void a_daemon_without_sessions_is_drained_at_once(void **state)
{
	(void)state;
	daemon_stop(&isertd);
	assert_true(atomic_load(&isertd.targets->draining));
	daemon_kit_turn();
	assert_true(isertd.drained);
}

static void it_waits_for_initiators_that_were_asked(void **state)
{
	struct iscsi_pdu pdu;

	(void)state;
	assert_true(kit_login(&kit, &c, KIT_TARGET, 1));
	daemon_stop(&isertd);
	daemon_kit_turn();
	assert_int_equal(kit_next(&c)->pdu.opcode, ISCSI_ASYNC);
	assert_false(isertd.drained);
	pdu = kit_request(&c, ISCSI_LOGOUT_REQUEST, 9);
	pdu.immediate = true;
	kit_deliver(&kit, &c, &pdu, NULL, 0);
	assert_true(c.terminated && c.graceful);
	kit_lose(&kit, &c);
	daemon_kit_turn();
	assert_true(isertd.drained);
}

static void an_initiator_that_does_not_answer_is_closed_then(void **state)
{
	(void)state;
	assert_true(kit_login(&kit, &c, KIT_TARGET, 1));
	daemon_stop(&isertd);
	daemon_kit_turn();
	assert_false(c.terminated);
	wait_for_stage(STOP_CLOSING);
	daemon_kit_turn();
	assert_true(c.terminated && c.graceful);
	kit_lose(&kit, &c);
	daemon_kit_turn();
	assert_true(isertd.drained);
}

/* A transport that never says that it is gone, and a second SIGTERM. */
static void a_second_stop_does_not_wait_for_initiators(void **state)
{
	(void)state;
	assert_true(kit_login(&kit, &c, KIT_TARGET, 1));
	daemon_stop(&isertd);
	daemon_kit_turn();
	daemon_stop(&isertd);
	assert_int_equal(isertd.stage, STOP_ABORTING);
	daemon_kit_turn();
	assert_true(c.terminated && !c.graceful);
	daemon_stop(&isertd); /* a third changes nothing */
	assert_int_equal(isertd.stage, STOP_ABORTING);
	assert_false(isertd.drained);
	kit_lose(&kit, &c);
	daemon_kit_turn();
	assert_true(isertd.drained);
}

static void it_waits_for_what_is_under_way_between_the_loops(void **state)
{
	(void)state;
	isertd.broadcasts++; /* a question of isertadm */
	daemon_stop(&isertd);
	daemon_kit_turn();
	assert_false(isertd.drained);
	isertd.broadcasts--;
	daemon_stop_settle(&isertd);
	assert_true(isertd.drained);
}

static void nothing_settles_before_a_stop(void **state)
{
	(void)state;
	daemon_stop_settle(&isertd);
	assert_false(isertd.drained);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_daemon_without_sessions_is_drained_at_once),
		TEST(it_waits_for_initiators_that_were_asked),
		TEST(an_initiator_that_does_not_answer_is_closed_then),
		TEST(a_second_stop_does_not_wait_for_initiators),
		TEST(it_waits_for_what_is_under_way_between_the_loops),
		TEST(nothing_settles_before_a_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

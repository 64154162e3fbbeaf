/* The end of a worker's connections when the daemon stops (target/drain.c). */
#include "tests/unit/target/session_kit.h"

#include "target/drain.h"

static void a_stop_asks_and_then_closes(void **state)
{
	const struct kit_sent *s;
	struct kit_conn c, login;

	(void)state;
	ready(&c);
	kit_accept(&kit, &login);
	drain_ask(kit.worker, 10);
	kit_turn(&kit);
	assert_true(login.terminated);
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_ASYNC);
	assert_int_equal(s->pdu.async.event, ISCSI_ASYNC_LOGOUT_REQUESTED);
	assert_int_equal(s->pdu.async.parameter3, 10);
	assert_false(c.terminated);
	drain_close(kit.worker);
	kit_turn(&kit);
	assert_true(c.terminated);
	assert_true(c.graceful);
	kit_lose(&kit, &c);
	kit_lose(&kit, &login);
}

static unsigned idle;

static void count_idle(struct worker *w)
{
	(void)w;
	idle++;
}

static void a_worker_without_connections_is_idle_at_once(void **state)
{
	(void)state;
	idle = 0;
	kit.worker->idle = count_idle;
	drain_ask(kit.worker, 10);
	assert_int_equal(idle, 0); /* from the loop */
	kit_turn(&kit);
	assert_int_equal(idle, 1);
}

static void it_is_idle_when_the_last_has_gone(void **state)
{
	struct kit_conn one, two;

	(void)state;
	ready(&one);
	assert_true(kit_login(&kit, &two, KIT_TARGET, 2));
	idle = 0;
	kit.worker->idle = count_idle;
	drain_close(kit.worker);
	kit_turn(&kit);
	assert_true(one.graceful && two.graceful);
	kit_lose(&kit, &one);
	assert_int_equal(idle, 0);
	kit_lose(&kit, &two);
	assert_true(idle > 0);
}

/* Discovery sessions take no Async message (RFC 7143 section 4.3): they are closed. */
static void discovery_is_closed_and_not_asked(void **state)
{
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, NULL, 1));
	drain_ask(kit.worker, 10);
	kit_turn(&kit);
	assert_null(kit_next(&c));
	assert_true(c.terminated && c.graceful);
	kit_lose(&kit, &c);
}

static void new_commands_are_not_answered_while_it_closes(void **state)
{
	struct iscsi_pdu pdu;
	struct kit_conn c;

	(void)state;
	ready(&c);
	c.cmd_sn++;
	pdu = test_unit_ready(&c, 5); /* waits for its turn, so the session is not at rest */
	submit(&c, pdu);
	drain_close(kit.worker);
	kit_turn(&kit);
	assert_true(c.terminated && c.graceful);
	submit(&c, test_unit_ready(&c, 6));
	assert_null(kit_next(&c));
	kit_lose(&kit, &c);
	assert_int_equal(c.tasks_given_back, c.task_count);
}

static void what_is_left_is_aborted(void **state)
{
	struct kit_conn c, login;

	(void)state;
	ready(&c);
	kit_accept(&kit, &login);
	drain_abort(kit.worker);
	assert_true(c.terminated && !c.graceful);
	assert_true(login.terminated && !login.graceful);
	kit_lose(&kit, &c);
	kit_lose(&kit, &login);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stop_asks_and_then_closes),
		TEST(a_worker_without_connections_is_idle_at_once),
		TEST(it_is_idle_when_the_last_has_gone),
		TEST(discovery_is_closed_and_not_asked),
		TEST(new_commands_are_not_answered_while_it_closes),
		TEST(what_is_left_is_aborted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

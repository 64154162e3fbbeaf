/* A connection of the target (target/conn.c): what ends it, and what it may send. */
#include <errno.h>

#include "tests/unit/target/session_kit.h"

#include "target/drain.h"

static void a_login_in_the_full_feature_phase_ends_the_connection(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_LOGIN_REQUEST, .immediate = true};
	struct kit_conn c;

	(void)state;
	ready(&c);
	submit(&c, pdu);
	assert_true(c.terminated);
	assert_false(c.graceful);
	kit_lose(&kit, &c);
}

/* Over iSER some initiators do not survive an Async message, nor more than 128 bytes of data. */
static void over_rdma_no_async_is_sent_and_data_is_short(void **state)
{
	static char data[500];
	struct iscsi_pdu pdu;
	struct kit_conn c;

	(void)state;
	ready(&c);
	c.base.rdma = true;
	pdu = kit_request(&c, ISCSI_NOP_OUT, 9);
	kit_deliver(&kit, &c, &pdu, data, sizeof(data));
	assert_int_equal(kit_next(&c)->pdu.data_length, 128);
	drain_ask(kit.worker, 10);
	kit_turn(&kit);
	assert_null(kit_next(&c));
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

/* Section 6.3: "if ... the first PDU is not a Login Request, the target closes". */
static void something_else_than_a_login_ends_the_connection(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_NOP_OUT, .immediate = true, .final = true};
	struct kit_conn c;

	(void)state;
	kit_accept(&kit, &c);
	submit(&c, pdu);
	assert_true(c.terminated && !c.graceful);
	assert_null(kit_next(&c));
	/* What comes after is not looked at. */
	pdu.opcode = ISCSI_LOGIN_REQUEST;
	submit(&c, pdu);
	assert_null(kit_next(&c));
	kit_lose(&kit, &c);
	assert_int_equal(atomic_load(&kit.set->logins), 0);
}

static void a_malformed_second_login_request_is_answered_with_a_status(void **state)
{
	struct login_initiator_config config = kit_login_config(KIT_TARGET, 1);
	struct login *l = login_initiator_new(&config);
	uint8_t bhs[ISCSI_BHS_SIZE] = {0x43};
	const struct kit_sent *s;
	struct iscsi_pdu pdu;
	const void *data;
	struct kit_conn c;

	(void)state;
	kit_accept(&kit, &c);
	login_initiator_start(l);
	pdu = *login_out(l, &data);
	kit_deliver(&kit, &c, &pdu, data, pdu.data_length);
	assert_int_equal(kit_next(&c)->pdu.opcode, ISCSI_LOGIN_RESPONSE);
	pdu.data_length = 0;
	c.base.up->control_notify(c.base.owner, &pdu, bhs, -EPROTO, NULL, NULL, NULL);
	kit_turn(&kit);
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_LOGIN_RESPONSE);
	assert_int_equal(s->pdu.login_response.status_class, 2); /* initiator error */
	assert_int_equal(s->pdu.login_response.status_detail, 0);
	assert_true(c.terminated && c.graceful);
	login_free(l);
	kit_lose(&kit, &c);
}

/* The names that a log line tells the connection by. */
static void a_connection_is_named_by_its_peer_and_then_its_initiator(void **state)
{
	struct kit_conn c;
	char name[320];

	(void)state;
	kit_accept(&kit, &c);
	assert_string_equal(tgt_conn_name(c.base.owner, name, sizeof(name)), "192.0.2.7:4321");
	kit_lose(&kit, &c);
	logged_in(&c);
	assert_string_equal(tgt_conn_name(c.base.owner, name, sizeof(name)),
		"192.0.2.7:4321 (" KIT_INITIATOR ")");
	/* Cut, not overrun. */
	assert_string_equal(tgt_conn_name(c.base.owner, name, 5), "192.");
	kit_lose(&kit, &c);
}

/* MaxRecvDataSegmentLength of the initiator (8192 in the kit) bounds what it is sent. */
static void data_is_as_long_as_the_peer_declared(void **state)
{
	struct kit_conn c;

	(void)state;
	logged_in(&c);
	assert_int_equal(tgt_conn_data_limit(c.base.owner), 8192);
	c.base.rdma = true;
	assert_int_equal(tgt_conn_data_limit(c.base.owner), 128);
	c.base.rdma = false;
	kit_lose(&kit, &c);
	assert_true(kit_login(&kit, &c, NULL, 1));
	c.base.rdma = true;
	assert_true(tgt_conn_data_limit(c.base.owner) >= 8192);
	c.base.rdma = false;
	kit_lose(&kit, &c);
}

static int cannot_send(struct dm_conn *c, const struct iscsi_pdu *pdu, const void *ahs,
	const void *data, struct dm_task *task)
{
	(void)c, (void)pdu, (void)ahs, (void)data, (void)task;
	return -ENOMEM;
}

static void a_response_that_cannot_be_sent_ends_the_connection(void **state)
{
	struct dm_ops ops = kit_ops;
	struct kit_conn c;

	(void)state;
	ready(&c);
	ops.send_control = cannot_send;
	c.base.ops = &ops;
	submit(&c, test_unit_ready(&c, 1));
	assert_true(c.terminated && !c.graceful);
	kit_lose(&kit, &c);
	assert_int_equal(registry_count(&kit.set->registry), 0);
}

/* Data-out that breaks the rules, for a command that has not had its turn: nobody can be told. */
static void broken_data_of_a_command_that_waits_ends_the_connection(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	c.cmd_sn++;
	submit(&c, test_unit_ready(&c, 2));
	c.base.up->task_failed(c.base.owner, &c.tasks[c.task_count - 1], "DataSN is wrong");
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

static void no_memory_for_a_connection_is_survived(void **state)
{
	struct kit_conn c;

	(void)state;
	for (unsigned long n = 1; n <= 3; n++) {
		unsigned long live = alloc_live();

		alloc_fail_nth(n);
		kit_accept(&kit, &c);
		alloc_fail_nth(0);
		assert_true(c.terminated && !c.graceful);
		kit_lose(&kit, &c);
		assert_int_equal(alloc_live(), live);
		assert_int_equal(atomic_load(&kit.set->logins), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_login_in_the_full_feature_phase_ends_the_connection),
		TEST(over_rdma_no_async_is_sent_and_data_is_short),
		TEST(something_else_than_a_login_ends_the_connection),
		TEST(a_malformed_second_login_request_is_answered_with_a_status),
		TEST(a_connection_is_named_by_its_peer_and_then_its_initiator),
		TEST(data_is_as_long_as_the_peer_declared),
		TEST(a_response_that_cannot_be_sent_ends_the_connection),
		TEST(broken_data_of_a_command_that_waits_ends_the_connection),
		TEST(no_memory_for_a_connection_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Logout, by the initiator and on the target's request (target/logout.c): RFC 7143 sections 11.14,
 * 11.15 and 11.9. */
#include "tests/unit/target/session_kit.h"

static struct iscsi_pdu logout(struct kit_conn *c, uint8_t reason, uint16_t cid)
{
	struct iscsi_pdu pdu = kit_request(c, ISCSI_LOGOUT_REQUEST, 50);

	pdu.immediate = true;
	pdu.logout.reason = reason;
	pdu.logout.cid = cid;
	return pdu;
}

static void logouts(uint8_t reason, uint16_t cid, uint8_t response)
{
	const struct kit_sent *s;
	struct kit_conn c;

	ready(&c);
	submit(&c, logout(&c, reason, cid));
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_LOGOUT_RESPONSE);
	assert_int_equal(s->pdu.logout_response.response, response);
	assert_int_equal(c.terminated, response == ISCSI_LOGOUT_CLOSED);
	assert_int_equal(c.graceful, response == ISCSI_LOGOUT_CLOSED);
	kit_lose(&kit, &c);
	assert_int_equal(registry_count(&kit.set->registry), 0);
}

static void a_logout_is_answered_and_the_connection_closed(void **state)
{
	(void)state;
	logouts(ISCSI_LOGOUT_SESSION, 99, ISCSI_LOGOUT_CLOSED);
	logouts(ISCSI_LOGOUT_CONNECTION, 0, ISCSI_LOGOUT_CLOSED);
}

static void a_logout_of_another_connection_changes_nothing(void **state)
{
	(void)state;
	logouts(ISCSI_LOGOUT_CONNECTION, 99, ISCSI_LOGOUT_NO_CID);
	logouts(ISCSI_LOGOUT_RECOVERY, 0, ISCSI_LOGOUT_NO_RECOVERY);
}

/* Section 11.14.1: reasons above 2 are reserved. */
static void a_reason_that_does_not_exist_is_rejected(void **state)
{
	const struct kit_sent *s;
	struct kit_conn c;

	(void)state;
	ready(&c);
	submit(&c, logout(&c, 3, 0));
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_REJECT);
	assert_int_equal(s->pdu.reject.reason, ISCSI_REJECT_INVALID_PDU_FIELD);
	assert_false(c.terminated);
	kit_lose(&kit, &c);
}

/* Section 4.3: "a discovery session ... SHALL be closed" with reason 0 alone. */
static void a_discovery_session_is_logged_out_as_a_whole(void **state)
{
	const struct kit_sent *s;
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, NULL, 1));
	submit(&c, logout(&c, ISCSI_LOGOUT_CONNECTION, 0));
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_REJECT);
	assert_int_equal(s->pdu.reject.reason, ISCSI_REJECT_PROTOCOL_ERROR);
	submit(&c, logout(&c, ISCSI_LOGOUT_SESSION, 0));
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_LOGOUT_RESPONSE);
	assert_int_equal(s->pdu.logout_response.response, ISCSI_LOGOUT_CLOSED);
	assert_true(c.terminated && c.graceful);
	kit_lose(&kit, &c);
}

/* A command that waits for its turn will never have it: the initiator logged out. */
static void what_waits_is_given_back_and_not_answered(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	c.cmd_sn++;
	submit(&c, test_unit_ready(&c, 7));
	submit(&c, logout(&c, ISCSI_LOGOUT_SESSION, 0));
	assert_int_equal(kit_next(&c)->pdu.opcode, ISCSI_LOGOUT_RESPONSE);
	assert_null(kit_next(&c));
	kit_lose(&kit, &c);
	assert_int_equal(c.tasks_given_back, c.task_count);
}

static void what_follows_a_logout_is_ignored(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	submit(&c, logout(&c, ISCSI_LOGOUT_SESSION, 0));
	kit_next(&c);
	submit(&c, test_unit_ready(&c, 8));
	submit(&c, logout(&c, ISCSI_LOGOUT_SESSION, 0));
	assert_null(kit_next(&c));
	assert_int_equal(c.tasks_given_back, c.task_count);
	kit_lose(&kit, &c);
}

/* Section 11.9.1: event 1, Parameter3 is the time, with no task of its own. */
static void a_logout_that_the_target_asks_for(void **state)
{
	const struct kit_sent *s;
	struct kit_conn c;

	(void)state;
	ready(&c);
	tgt_logout_ask(list_first(&kit.worker->conns, struct tgt_conn, worker_link), 7);
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_ASYNC);
	assert_int_equal(s->pdu.itt, ISCSI_TAG_NONE);
	assert_int_equal(s->pdu.async.event, 1);
	assert_int_equal(s->pdu.async.parameter3, 7);
	/* Commands go on until it does. */
	submit(&c, test_unit_ready(&c, 1));
	responds(&c, 1, SCSI_GOOD);
	submit(&c, logout(&c, ISCSI_LOGOUT_SESSION, 0));
	assert_int_equal(kit_next(&c)->pdu.logout_response.response, ISCSI_LOGOUT_CLOSED);
	assert_true(c.terminated && c.graceful);
	kit_lose(&kit, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_logout_is_answered_and_the_connection_closed),
		TEST(a_logout_of_another_connection_changes_nothing),
		TEST(a_reason_that_does_not_exist_is_rejected),
		TEST(a_discovery_session_is_logged_out_as_a_whole),
		TEST(what_waits_is_given_back_and_not_answered),
		TEST(what_follows_a_logout_is_ignored),
		TEST(a_logout_that_the_target_asks_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

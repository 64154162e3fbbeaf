/* What a target says of its own accord: Asynchronous Message and Reject (RFC 7143 sections 11.9 and
 * 11.17). */
#include "tests/unit/initiator/fake_target.h"

static void a_logout_that_the_target_asks_for_is_followed_by_a_login(void **state)
{
	struct fake_owner o;
	struct fake_io io;

	(void)state;
	owner_setup(&o);
	o.fake->silent = true;
	fake_io_read(&o, &io, 3);
	fake_turns(o.fake);
	fake_answer_begin(o.fake->conn, ISCSI_ASYNC, ISCSI_TAG_NONE)->pdu.async.event =
		ISCSI_ASYNC_LOGOUT_REQUESTED;
	o.fake->silent = false;
	fake_seconds(o.fake, 2);
	assert_int_equal(fake_count(o.fake, ISCSI_LOGOUT_REQUEST), 1);
	assert_int_equal(o.logged_in, 2);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, 0);
	owner_teardown(&o);
}

static void a_target_that_drops_the_session_is_logged_in_to_again(void **state)
{
	struct fake_owner o;

	(void)state;
	owner_setup(&o);
	fake_answer_begin(o.fake->conn, ISCSI_ASYNC, ISCSI_TAG_NONE)->pdu.async.event =
		ISCSI_ASYNC_SESSION_DROP;
	fake_seconds(o.fake, 2);
	assert_int_equal(o.lost, 1);
	assert_int_equal(o.logged_in, 2);
	owner_teardown(&o);
}

static bool reject_commands(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	struct fake_answer *a;

	(void)task;
	if (pdu->opcode != ISCSI_SCSI_COMMAND)
		return false;
	a = fake_answer_begin(f->conn, ISCSI_REJECT, ISCSI_TAG_NONE);
	a->pdu.reject.reason = ISCSI_REJECT_INVALID_PDU_FIELD;
	a->pdu.data_length = ISCSI_BHS_SIZE;
	iscsi_pdu_encode(pdu, a->data);
	return true;
}

static void a_command_that_is_always_rejected_fails_in_the_end(void **state)
{
	struct fake_owner o;
	struct fake_io io;

	(void)state;
	owner_setup(&o);
	o.fake->override = reject_commands;
	fake_io_read(&o, &io, 3);
	fake_seconds(o.fake, 10);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, -EIO);
	owner_teardown(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_logout_that_the_target_asks_for_is_followed_by_a_login),
		cmocka_unit_test(a_target_that_drops_the_session_is_logged_in_to_again),
		cmocka_unit_test(a_command_that_is_always_rejected_fails_in_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

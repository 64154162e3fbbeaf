/* Tasks that take too long: abort, reset, a new connection (RFC 7143 sections 11.5 and 11.6). */
#include "tests/unit/initiator/fake_target.h"

static void a_task_that_is_not_answered_is_aborted_and_issued_again(void **state)
{
	struct fake_owner o;
	struct fake_io io;

	(void)state;
	owner_setup(&o);
	o.fake->silent = true;
	fake_io_read(&o, &io, 3);
	fake_turns(o.fake);
	o.fake->silent = false;
	fake_seconds(o.fake, 31);
	assert_int_equal(fake_count(o.fake, ISCSI_TMF_REQUEST), 1);
	assert_int_equal(fake_last(o.fake, ISCSI_TMF_REQUEST)->tmf.function, ISCSI_TMF_ABORT_TASK);
	assert_true(fake_last(o.fake, ISCSI_TMF_REQUEST)->immediate);
	assert_int_equal(fake_last(o.fake, ISCSI_TMF_REQUEST)->tmf.ref_cmd_sn, 1);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, 0);
	assert_int_equal(o.lost, 0);
	owner_teardown(&o);
}

static bool refuse_aborts(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	(void)task;
	if (pdu->opcode != ISCSI_TMF_REQUEST || pdu->tmf.function != ISCSI_TMF_ABORT_TASK)
		return pdu->opcode == ISCSI_SCSI_COMMAND;
	fake_answer_begin(f->conn, ISCSI_TMF_RESPONSE, pdu->itt)->pdu.tmf_response.response =
		ISCSI_TMF_NOT_SUPPORTED;
	return true;
}

static void an_abort_that_is_not_supported_becomes_a_reset(void **state)
{
	struct fake_owner o;
	struct fake_io io;

	(void)state;
	owner_setup(&o);
	o.fake->override = refuse_aborts;
	fake_io_read(&o, &io, 3);
	fake_seconds(o.fake, 31);
	assert_int_equal(fake_count(o.fake, ISCSI_TMF_REQUEST), 2);
	assert_int_equal(fake_last(o.fake, ISCSI_TMF_REQUEST)->tmf.function, ISCSI_TMF_LUN_RESET);
	assert_int_equal(io.done, 0);
	assert_int_equal(o.lost, 0);
	o.fake->override = NULL;
	fake_seconds(o.fake, 40);
	assert_int_equal(io.done, 1);
	owner_teardown(&o);
}

static void a_target_that_answers_nothing_loses_its_connection(void **state)
{
	struct fake_owner o;
	struct fake_io io;

	(void)state;
	owner_setup(&o);
	o.fake->mute = true;
	fake_io_read(&o, &io, 3);
	fake_seconds(o.fake, 30 + 15 + 31);
	assert_int_equal(o.lost, 1);
	assert_int_equal(io.done, 0); /* held */
	o.fake->mute = false;
	fake_seconds(o.fake, 32);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, 0);
	owner_teardown(&o);
}

static void an_aborted_task_ends_with_ecanceled(void **state)
{
	struct fake_owner o;
	struct fake_io io;

	(void)state;
	owner_setup(&o);
	o.fake->silent = true;
	fake_io_read(&o, &io, 3);
	fake_turns(o.fake);
	ini_session_abort(o.session, &io.task);
	assert_int_equal(io.done, 0);
	fake_seconds(o.fake, 1);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, -ECANCELED);
	owner_teardown(&o);
}

static void a_reset_that_was_asked_for_is_told(void *arg, int response)
{
	*(int *)arg = response;
}

static void a_lun_reset_issues_its_tasks_again(void **state)
{
	struct fake_owner o;
	struct fake_io io;
	int response = -1;

	(void)state;
	owner_setup(&o);
	o.fake->silent = true;
	fake_io_read(&o, &io, 3);
	fake_turns(o.fake);
	o.fake->silent = false;
	assert_int_equal(
		ini_session_reset_lun(o.session, 0, a_reset_that_was_asked_for_is_told, &response),
		0);
	assert_int_equal(
		ini_session_reset_lun(o.session, 0, a_reset_that_was_asked_for_is_told, &response),
		-EBUSY);
	fake_turns(o.fake);
	assert_int_equal(response, ISCSI_TMF_COMPLETE);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, 0);
	owner_teardown(&o);
}

static bool answer_no_reset(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	(void)f;
	(void)task;
	return pdu->opcode == ISCSI_TMF_REQUEST;
}

/* What would be issued while the reset is under way would be issued again when it is answered. */
static void a_lun_that_is_being_reset_gets_nothing_new(void **state)
{
	struct fake_owner o;
	struct fake_io io;
	int response = -1;

	(void)state;
	owner_setup(&o);
	o.fake->override = answer_no_reset;
	ini_session_reset_lun(o.session, 0, a_reset_that_was_asked_for_is_told, &response);
	fake_turns(o.fake);
	o.fake->sent_count = 0;
	fake_io_read(&o, &io, 3);
	fake_turns(o.fake);
	assert_int_equal(fake_count(o.fake, ISCSI_SCSI_COMMAND), 0);
	assert_int_equal(io.done, 0);
	o.fake->override = NULL;
	fake_seconds(o.fake, 31); /* the reset's time-out, and a new connection */
	assert_int_equal(response, -ETIMEDOUT);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, 0);
	owner_teardown(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_that_is_not_answered_is_aborted_and_issued_again),
		cmocka_unit_test(an_abort_that_is_not_supported_becomes_a_reset),
		cmocka_unit_test(a_target_that_answers_nothing_loses_its_connection),
		cmocka_unit_test(an_aborted_task_ends_with_ecanceled),
		cmocka_unit_test(a_lun_reset_issues_its_tasks_again),
		cmocka_unit_test(a_lun_that_is_being_reset_gets_nothing_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

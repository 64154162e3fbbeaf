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

static void a_read_brings_the_blocks(void **state)
{
	struct fake_owner o;
	struct fake_io io;

	(void)state;
	owner_setup(&o);
	memset(o.fake->disk + 5 * FAKE_BLOCK, 0xa5, FAKE_BLOCK);
	fake_io_read(&o, &io, 5);
	assert_int_equal(io.done, 0); /* never from inside */
	fake_turns(o.fake);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, 0);
	assert_int_equal(io.task.status, SCSI_GOOD);
	assert_int_equal(io.task.received, FAKE_BLOCK);
	assert_memory_equal(io.data, o.fake->disk + 5 * FAKE_BLOCK, FAKE_BLOCK);
	owner_teardown(&o);
}

static void sense_data_reach_the_task(void **state)
{
	struct fake_owner o;
	struct fake_io io = {0};
	struct scsi_sense sense;

	(void)state;
	owner_setup(&o);
	io.task.cdb[0] = 0xc1; /* vendor specific: the fake does not know it */
	io.task.done = fake_io_done;
	ini_session_submit(o.session, &io.task);
	fake_turns(o.fake);
	assert_int_equal(io.error, 0);
	assert_int_equal(io.task.status, SCSI_CHECK_CONDITION);
	assert_int_equal(io.task.sense_length, 18);
	assert_int_equal(scsi_sense_parse(io.task.sense, io.task.sense_length, &sense), 0);
	assert_int_equal(sense.key, SENSE_ILLEGAL_REQUEST);
	assert_int_equal(sense.asc, 0x20);
	owner_teardown(&o);
}

static bool answer_long_sense(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	struct fake_answer *a;

	if (pdu->opcode != ISCSI_SCSI_COMMAND)
		return false;
	fake_check(f, pdu, task, SENSE_MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR);
	a = &f->conn->answers[f->conn->answers_first];
	put_be16(a->data, 0xffff); /* SenseLength far beyond the data segment */
	return true;
}

static void a_sense_length_beyond_the_segment_is_cut(void **state)
{
	struct fake_owner o;
	struct fake_io io;

	(void)state;
	owner_setup(&o);
	o.fake->override = answer_long_sense;
	fake_io_read(&o, &io, 0);
	fake_turns(o.fake);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.task.sense_length, SENSE_FIXED_SIZE);
	owner_teardown(&o);
}

static void no_more_commands_than_the_window_allows_are_sent(void **state)
{
	static struct fake_io io[8];
	struct fake_owner o = {.fake = fake_new()};
	struct ini_session_config c = owner_config(o.fake);

	(void)state;
	o.fake->window = 3;
	o.fake->silent = true;
	owner_start(&o, &c);
	for (int i = 0; i < 8; i++)
		fake_io_read(&o, &io[i], (uint32_t)i);
	fake_turns(o.fake);
	assert_int_equal(fake_count(o.fake, ISCSI_SCSI_COMMAND), 3);
	o.fake->silent = false;
	/* the answer to the first opens the window by one, and so on */
	for (unsigned i = 0; i < o.fake->sent_count; i++)
		if (o.fake->sent[i].opcode == ISCSI_SCSI_COMMAND) {
			fake_data(o.fake, &o.fake->sent[i], &io[0].task.dm, io[0].data, FAKE_BLOCK);
			break;
		}
	fake_turns(o.fake);
	assert_int_equal(fake_count(o.fake, ISCSI_SCSI_COMMAND), 8);
	assert_int_equal(io[7].done, 1);
	assert_int_equal(io[1].done, 0); /* of the silent time */
	owner_teardown(&o);
	assert_int_equal(io[1].error, -ESHUTDOWN);
}

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

static void a_response_for_no_command_ends_the_connection(void **state)
{
	struct fake_owner o;

	(void)state;
	owner_setup(&o);
	fake_answer_begin(o.fake->conn, ISCSI_SCSI_RESPONSE, 0xdeadbeef);
	fake_turns(o.fake);
	assert_int_equal(o.lost, 1);
	assert_int_equal(o.error, -EPROTO);
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

static bool answer_busy_twice(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	unsigned *left = f->arg;

	if (pdu->opcode != ISCSI_SCSI_COMMAND || *left == 0)
		return false;
	fake_status(f, pdu, task, *left == 2 ? SCSI_BUSY : SCSI_TASK_SET_FULL, NULL);
	--*left;
	return true;
}

static void busy_and_task_set_full_are_tried_again_later(void **state)
{
	struct fake_owner o;
	struct fake_io io;
	unsigned left = 2;

	(void)state;
	owner_setup(&o);
	o.fake->override = answer_busy_twice;
	o.fake->arg = &left;
	fake_io_read(&o, &io, 3);
	fake_turns(o.fake);
	assert_int_equal(io.done, 0);
	assert_int_equal(fake_count(o.fake, ISCSI_SCSI_COMMAND), 1); /* not at once */
	fake_seconds(o.fake, 1);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.task.status, SCSI_GOOD);
	assert_int_equal(fake_count(o.fake, ISCSI_SCSI_COMMAND), 3);
	owner_teardown(&o);
}

static bool answer_attention(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	uint16_t *code = f->arg;

	if (pdu->opcode != ISCSI_SCSI_COMMAND || *code == 0)
		return false;
	fake_check(f, pdu, task, SENSE_UNIT_ATTENTION, *code);
	*code = 0;
	return true;
}

static void a_unit_attention_is_tried_again_and_changed_luns_are_told(void **state)
{
	struct fake_owner o;
	struct fake_io io;
	uint16_t code = ASC_REPORTED_LUNS_DATA_HAS_CHANGED;

	(void)state;
	owner_setup(&o);
	o.fake->override = answer_attention;
	o.fake->arg = &code;
	fake_io_read(&o, &io, 3);
	fake_turns(o.fake);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.task.status, SCSI_GOOD);
	assert_int_equal(o.luns_changed, 1);
	code = ASC_POWER_ON_RESET_OR_BUS_DEVICE_RESET;
	fake_io_read(&o, &io, 3);
	fake_turns(o.fake);
	assert_int_equal(io.task.status, SCSI_GOOD);
	assert_int_equal(o.luns_changed, 1);
	owner_teardown(&o);
}

static void a_unit_attention_reaches_a_command_that_may_not_be_repeated(void **state)
{
	struct fake_owner o;
	struct fake_io io = {.task = {.done = fake_io_done}};
	uint16_t code = ASC_POWER_ON_RESET_OR_BUS_DEVICE_RESET;

	(void)state;
	owner_setup(&o);
	o.fake->override = answer_attention;
	o.fake->arg = &code;
	ini_session_submit(o.session, &io.task); /* TEST UNIT READY */
	fake_turns(o.fake);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.task.status, SCSI_CHECK_CONDITION);
	owner_teardown(&o);
}

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

static void a_task_with_data_in_both_directions_is_refused(void **state)
{
	struct fake_owner o;
	struct fake_io io = {.task = {.done = fake_io_done}};

	(void)state;
	owner_setup(&o);
	io.task.read = io.task.write = (struct dm_buffer){.data = io.data, .length = 512};
	ini_session_submit(o.session, &io.task);
	assert_int_equal(io.done, 0);
	fake_turns(o.fake);
	assert_int_equal(io.error, -EINVAL);
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
		cmocka_unit_test(a_read_brings_the_blocks),
		cmocka_unit_test(sense_data_reach_the_task),
		cmocka_unit_test(a_sense_length_beyond_the_segment_is_cut),
		cmocka_unit_test(no_more_commands_than_the_window_allows_are_sent),
		cmocka_unit_test(a_silent_connection_is_pinged_and_then_dropped),
		cmocka_unit_test(a_ping_of_the_target_is_answered_with_its_tag),
		cmocka_unit_test(a_nop_in_without_tags_is_not_answered),
		cmocka_unit_test(a_response_for_no_command_ends_the_connection),
		cmocka_unit_test(every_opcode_that_nobody_asked_for_ends_the_connection),
		cmocka_unit_test(a_task_that_is_not_answered_is_aborted_and_issued_again),
		cmocka_unit_test(an_abort_that_is_not_supported_becomes_a_reset),
		cmocka_unit_test(a_target_that_answers_nothing_loses_its_connection),
		cmocka_unit_test(an_aborted_task_ends_with_ecanceled),
		cmocka_unit_test(busy_and_task_set_full_are_tried_again_later),
		cmocka_unit_test(a_unit_attention_is_tried_again_and_changed_luns_are_told),
		cmocka_unit_test(a_unit_attention_reaches_a_command_that_may_not_be_repeated),
		cmocka_unit_test(a_logout_that_the_target_asks_for_is_followed_by_a_login),
		cmocka_unit_test(a_target_that_drops_the_session_is_logged_in_to_again),
		cmocka_unit_test(a_command_that_is_always_rejected_fails_in_the_end),
		cmocka_unit_test(a_task_with_data_in_both_directions_is_refused),
		cmocka_unit_test(a_lun_reset_issues_its_tasks_again),
		cmocka_unit_test(the_isid_is_stable_and_differs_by_portal_and_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

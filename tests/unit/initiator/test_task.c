/* SCSI tasks of a session: the window, answers, sense data, what is tried again (RFC 7143 sections
 * 4.2.2, 11.3 and 11.4). */
#include "tests/unit/initiator/fake_target.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_brings_the_blocks),
		cmocka_unit_test(sense_data_reach_the_task),
		cmocka_unit_test(a_sense_length_beyond_the_segment_is_cut),
		cmocka_unit_test(no_more_commands_than_the_window_allows_are_sent),
		cmocka_unit_test(a_response_for_no_command_ends_the_connection),
		cmocka_unit_test(busy_and_task_set_full_are_tried_again_later),
		cmocka_unit_test(a_unit_attention_is_tried_again_and_changed_luns_are_told),
		cmocka_unit_test(a_unit_attention_reaches_a_command_that_may_not_be_repeated),
		cmocka_unit_test(a_task_with_data_in_both_directions_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

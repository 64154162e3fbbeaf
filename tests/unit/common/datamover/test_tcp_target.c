/* Tasks of the target of the iSCSI/TCP mover (common/datamover/tcp_target.c). */
#include "tests/unit/common/datamover/tcp_raw.h"

static void immediate_data_beyond_what_was_agreed_is_not_taken(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = command_of(true, 8192);
	struct kit_raw r;

	(void)state;
	params.first_burst_length = 4096;
	kit_raw_init(&r, true, &params);
	kit_raw_send(&r, &pdu, block, 4096);
	assert_int_equal(r.end.pdus[0].decode_error, 0);
	assert_int_equal(r.end.pdus[0].task->immediate_length, 4096);
	kit_raw_send(&r, &pdu, block, 4097);
	assert_int_equal(r.end.pdus[1].decode_error, -EPROTO);
	assert_null(r.end.pdus[1].task);
	pdu = command_of(true, 100);
	kit_raw_send(&r, &pdu, block, 101);
	assert_int_equal(r.end.pdus[2].decode_error, -EPROTO);
	pdu = command_of(false, 100);
	kit_raw_send(&r, &pdu, block, 100);
	assert_int_equal(r.end.pdus[3].decode_error, -EPROTO);
	kit_raw_release(&r);
}

static void more_commands_than_any_window_end_the_connection(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = command_of(false, 0);
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, &params);
	for (uint32_t i = 0; i < 1024; i++) {
		pdu.itt = i;
		kit_raw_send(&r, &pdu, NULL, 0);
	}
	assert_int_equal(r.end.terminated, 0);
	kit_raw_send(&r, &pdu, NULL, 0);
	assert_int_equal(r.end.error, -ENOBUFS);
	kit_raw_release(&r);
}

/* R and W say what the task's data may do; a command with neither moves nothing. */
static void a_task_moves_what_its_command_says(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = command_of(false, 512);
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, &params);
	kit_raw_send(&r, &pdu, NULL, 0);
	pdu = command_of(true, 512);
	pdu.itt = 8;
	kit_raw_send(&r, &pdu, NULL, 0);
	pdu = command_of(false, 0);
	pdu.command.read = false;
	pdu.itt = 9;
	kit_raw_send(&r, &pdu, NULL, 0);
	assert_true(r.end.pdus[0].task->can_put && !r.end.pdus[0].task->can_get);
	assert_true(r.end.pdus[1].task->can_get && !r.end.pdus[1].task->can_put);
	assert_true(!r.end.pdus[2].task->can_get && !r.end.pdus[2].task->can_put);
	assert_int_equal(r.end.pdus[2].task->itt, 9);
	for (unsigned i = 0; i < 3; i++)
		dm_deallocate_task_resources(r.end.conn, r.end.pdus[i].task);
	kit_raw_release(&r);
}

/* A record that was given back serves the next command. */
static void tasks_that_are_given_back_make_room(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = command_of(false, 0);
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, &params);
	for (uint32_t i = 0; i < 3000; i++) {
		pdu.itt = i;
		kit_raw_send(&r, &pdu, NULL, 0);
		assert_int_equal(r.end.terminated, 0);
		dm_deallocate_task_resources(
			r.end.conn, r.end.pdus[(r.end.count - 1) % KIT_PDUS].task);
	}
	kit_raw_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(immediate_data_beyond_what_was_agreed_is_not_taken),
		cmocka_unit_test(more_commands_than_any_window_end_the_connection),
		cmocka_unit_test(a_task_moves_what_its_command_says),
		cmocka_unit_test(tasks_that_are_given_back_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

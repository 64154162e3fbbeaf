/* Buffers that the iSER mover advertises, and who may take them away. */
#include "tests/kit/iser_ends.h"

static void buffer_outside_any_region_is_registered_for_its_task(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	uint8_t local[512] = {0};
	struct dm_task task = {.read = {local, sizeof(local), NULL}};
	struct transfer a;
	unsigned regions;

	(void)state;
	ends_fill(f->far, 5);
	fixture_session(f, &params);
	regions = memory_rdma_counts(f->provider).regions;
	ends_send_command(f, &task, 14);
	assert_int_equal(memory_rdma_counts(f->provider).regions, regions + 1);
	a = ends_transfer(f, 0, sizeof(local));
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), 0);
	ends_send_response(f, 14, f->t.task);
	fixture_turn(f);
	assert_memory_equal(local, f->far, sizeof(local));
	dm_deallocate_task_resources(f->i.conn, &task);
	assert_int_equal(memory_rdma_counts(f->provider).regions, regions);
	fixture_free(f);
}

static void deallocated_task_is_out_of_reach(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, 4096, f->near_region}};
	struct transfer a;

	(void)state;
	ends_fill(f->far, 6);
	fixture_session(f, &params);
	ends_send_command(f, &task, 16);
	dm_deallocate_task_resources(f->i.conn, &task);
	dm_deallocate_task_resources(f->i.conn, &task); /* harmless */
	a = ends_transfer(f, 0, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), 0);
	fixture_turn(f);
	assert_int_equal(a.done, 1);
	assert_int_equal(a.status, -EACCES);
	assert_int_equal(f->near[1], 0);
	assert_int_equal(f->t.terminated, 1);
	assert_int_equal(f->i.terminated, 1);
	fixture_free(f);
}

static void raw_respond(struct fixture *f, uint32_t itt, uint32_t stag)
{
	struct iscsi_pdu response = {.opcode = ISCSI_SCSI_RESPONSE, .final = true, .itt = itt};

	f->raw.send.invalidate = true;
	f->raw.send.invalidate_stag = stag;
	raw_send_pdu(f, &iser_ends_plain, &response, NULL);
}

static void invalidation_of_the_task_itself_is_taken(void **state)
{
	struct fixture *f = raw_target(&iser_ends_allow);
	struct dm_task task;
	struct iser_header h = raw_target_command(f, &task, 40);

	(void)state;
	raw_respond(f, 40, h.read_stag);
	assert_int_equal(f->i.terminated, 0);
	assert_ptr_equal(f->i.task, &task);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void invalidation_of_another_task_fails_the_connection(void **state)
{
	struct fixture *f = raw_target(&iser_ends_allow);
	struct dm_task one, two;
	struct iser_header h;

	(void)state;
	raw_target_command(f, &one, 41);
	h = raw_target_command(f, &two, 42);
	raw_respond(f, 41, h.read_stag);
	assert_int_equal(f->i.terminated, 1);
	assert_int_equal(f->i.error, -EPROTO);
	fixture_free(f);
}

static void invalidation_for_an_unknown_task_fails_the_connection(void **state)
{
	struct fixture *f = raw_target(&iser_ends_allow);
	struct dm_task task;
	struct iser_header h = raw_target_command(f, &task, 43);

	(void)state;
	raw_respond(f, 999, h.read_stag);
	assert_int_equal(f->i.error, -EPROTO);
	fixture_free(f);
}

static void invalidation_that_was_not_allowed_fails_the_connection(void **state)
{
	struct fixture *f = raw_target(&iser_ends_forbid);
	struct dm_task task;
	struct iser_header h = raw_target_command(f, &task, 44);

	(void)state;
	raw_respond(f, 44, h.read_stag);
	assert_int_equal(f->i.error, -EPROTO);
	fixture_free(f);
}

static void response_for_an_unknown_task_comes_without_one(void **state)
{
	struct iscsi_pdu response = {.opcode = ISCSI_SCSI_RESPONSE, .final = true, .itt = 777};
	struct fixture *f = raw_target(&iser_ends_allow);

	(void)state;
	raw_send_pdu(f, &iser_ends_plain, &response, NULL);
	assert_int_equal(f->i.pdu.itt, 777);
	assert_null(f->i.task);
	assert_int_equal(f->i.terminated, 0);
	fixture_free(f);
}

static void tasks_are_limited_by_the_receives_for_their_responses(void **state)
{
	const struct iser_mover_config config = {.queue_depth = 4};
	struct fixture *f = fixture_new(&config);
	struct iscsi_params params = fixture_params();
	struct dm_task tasks[64];
	struct iscsi_pdu pdu;
	unsigned n = 0;
	int r = 0;

	(void)state;
	fixture_session(f, &params);
	assert_int_equal(f->i.conn->tasks_max, 4);
	for (n = 0; n < ARRAY_SIZE(tasks) && r == 0; n++) {
		tasks[n] = (struct dm_task){.read = {f->near, 512, f->near_region}};
		pdu = ends_command(&tasks[n], 100 + n);
		r = dm_send_control(f->i.conn, &pdu, NULL, NULL, &tasks[n]);
	}
	assert_true(n > 4);
	assert_int_equal(r, -ENOBUFS);
	fixture_turn(f);
	assert_int_equal(f->i.terminated, 1);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffer_outside_any_region_is_registered_for_its_task),
		cmocka_unit_test(deallocated_task_is_out_of_reach),
		cmocka_unit_test(invalidation_of_the_task_itself_is_taken),
		cmocka_unit_test(invalidation_of_another_task_fails_the_connection),
		cmocka_unit_test(invalidation_for_an_unknown_task_fails_the_connection),
		cmocka_unit_test(invalidation_that_was_not_allowed_fails_the_connection),
		cmocka_unit_test(response_for_an_unknown_task_comes_without_one),
		cmocka_unit_test(tasks_are_limited_by_the_receives_for_their_responses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

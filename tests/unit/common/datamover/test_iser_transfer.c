/* Put_Data and Get_Data of the iSER mover as RDMA Writes and Reads. */
#include "tests/kit/iser_ends.h"

static void read_is_written_before_its_response_with_one_completion(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, IO_SIZE, f->near_region}};
	struct transfer a, b;
	struct memory_rdma_counts before, after;

	(void)state;
	ends_fill(f->far, 2);
	fixture_session(f, &params);
	ends_send_command(f, &task, 10);
	assert_true(f->t.task->can_put);
	assert_false(f->t.task->can_get);
	before = memory_rdma_counts(f->provider);
	a = ends_transfer(f, 0, 4096);
	b = ends_transfer(f, 4096, IO_SIZE - 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), 0);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &b.dm), 0);
	ends_send_response(f, 10, f->t.task);
	assert_int_equal(a.done, 0);
	fixture_turn(f);
	after = memory_rdma_counts(f->provider);
	assert_int_equal(after.writes - before.writes, 2);
	assert_int_equal(after.unsignalled - before.unsignalled, 2);
	assert_int_equal(after.flushes - before.flushes, 1);
	assert_int_equal(a.done, 1);
	assert_int_equal(b.done, 1);
	assert_int_equal(b.status, 0);
	assert_ptr_equal(f->i.task, &task);
	assert_int_equal(task.received, IO_SIZE);
	assert_memory_equal(f->near, f->far, IO_SIZE);
	dm_deallocate_task_resources(f->t.conn, f->t.task);
	dm_deallocate_task_resources(f->i.conn, &task);
	assert_int_equal(memory_rdma_counts(f->provider).tags, 0);
	fixture_free(f);
}

static void put_alone_is_done_without_a_response(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, IO_SIZE, f->near_region}};
	struct transfer a;

	(void)state;
	fixture_session(f, &params);
	ends_send_command(f, &task, 10);
	a = ends_transfer(f, 0, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), 0);
	fixture_turn(f);
	assert_int_equal(a.done, 1);
	assert_int_equal(memory_rdma_counts(f->provider).unsignalled, 0);
	fixture_free(f);
}

static void long_write_is_read_by_the_target(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.write = {f->near, IO_SIZE, f->near_region}};
	struct transfer a, b;

	(void)state;
	ends_fill(f->near, 3);
	fixture_session(f, &params);
	ends_send_command(f, &task, 11);
	assert_int_equal(task.immediate_length, 0);
	assert_true(f->t.task->can_get);
	a = ends_transfer(f, 0, 1024);
	b = ends_transfer(f, 1024, IO_SIZE - 1024);
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &b.dm), 0);
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &a.dm), 0);
	fixture_turn(f);
	assert_int_equal(a.done + b.done, 2);
	assert_memory_equal(f->near, f->far, IO_SIZE);
	dm_deallocate_task_resources(f->t.conn, f->t.task);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void transfers_of_a_released_command_are_cancelled(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, IO_SIZE, f->near_region}};
	struct transfer posted, waiting;

	(void)state;
	fixture_session(f, &params);
	ends_send_command(f, &task, 17);
	memory_rdma_hold(memory_rdma_newest(f->provider, false), true);
	posted = ends_transfer(f, 0, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &posted.dm), 0);
	fixture_turn(f);
	waiting = ends_transfer(f, 4096, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &waiting.dm), 0);
	dm_deallocate_task_resources(f->t.conn, f->t.task);
	assert_int_equal(waiting.done, 0); /* from the loop, never from inside the call */
	fixture_turn(f);
	assert_int_equal(waiting.done, 1);
	assert_int_equal(waiting.status, -ECANCELED);
	assert_int_equal(posted.done, 0); /* still in the provider's hands */
	memory_rdma_hold(memory_rdma_newest(f->provider, false), false);
	fixture_turn(f);
	assert_int_equal(posted.done, 1);
	assert_int_equal(posted.status, -ECANCELED);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void data_of_a_command_given_back_after_its_response_still_leaves(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, IO_SIZE, f->near_region}};
	struct transfer a;

	(void)state;
	ends_fill(f->far, 8);
	fixture_session(f, &params);
	ends_send_command(f, &task, 24);
	a = ends_transfer(f, 0, IO_SIZE);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), 0);
	ends_send_response(f, 24, f->t.task);
	dm_deallocate_task_resources(f->t.conn, f->t.task);
	fixture_turn(f);
	assert_int_equal(a.done, 1);
	assert_int_equal(a.status, 0);
	assert_memory_equal(f->near, f->far, IO_SIZE);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void transfers_out_of_bounds_are_refused(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, 4096, f->near_region}};
	struct transfer a;

	(void)state;
	fixture_session(f, &params);
	ends_send_command(f, &task, 18);
	a = ends_transfer(f, 1, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), -EINVAL);
	a = ends_transfer(f, 0, 4096);
	a.dm.offset = UINT32_MAX;
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), -EINVAL);
	a.dm.offset = 0;
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &a.dm), -EINVAL); /* a read */
	a.dm.length = 0;
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), -EINVAL);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void more_than_the_send_queue_holds_waits_its_turn(void **state)
{
	const struct iser_mover_config small = {.queue_depth = 1};
	struct fixture *f = fixture_new(&small);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, IO_SIZE, f->near_region}};
	struct transfer x[64];
	unsigned done = 0;

	(void)state;
	ends_fill(f->far, 7);
	fixture_session(f, &params);
	ends_send_command(f, &task, 22);
	for (uint32_t n = 0; n < 64; n++) {
		x[n] = ends_transfer(f, n * 1024, 1024);
		assert_int_equal(dm_put_data(f->t.conn, f->t.task, &x[n].dm), 0);
	}
	ends_send_response(f, 22, f->t.task);
	fixture_turn(f);
	for (uint32_t n = 0; n < 64; n++)
		done += x[n].done == 1 && x[n].status == 0;
	assert_int_equal(done, 64);
	assert_int_equal(f->i.pdu.opcode, ISCSI_SCSI_RESPONSE);
	assert_memory_equal(f->near, f->far, IO_SIZE);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

/* libiscsi 1.19, as Debian 12 ships it. */
static void declared_immediate_data_that_never_came_is_fetched(void **state)
{
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND,
		.itt = 32,
		.final = true,
		.data_length = 4096,
		.command = {.write = true, .expected_length = 4096}};
	struct iser_header h = {.opcode = ISER_CONTROL, .write_valid = true};
	struct fixture *f = raw_session();
	struct transfer a = ends_transfer(f, 0, 4096);

	(void)state;
	memset(f->raw.memory, 0x77, 4096);
	assert_int_equal(rdma_expose(f->raw.conn, f->raw.region, f->raw.memory, 4096,
				 RDMA_REMOTE_READ, &h.write_stag, &h.write_address),
		0);
	raw_send_pdu(f, &h, &command, NULL);
	assert_non_null(f->t.task);
	assert_int_equal(f->t.task->immediate_length, 0);
	assert_int_equal(f->t.pdu.data_length, 0);
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &a.dm), 0);
	fixture_turn(f);
	assert_int_equal(a.status, 0);
	assert_int_equal(a.done, 1);
	assert_int_equal(f->far[4095], 0x77);
	fixture_free(f);
}

/* ib_iser, 64 KiB with 8 KiB immediate: the address is that of the first byte that is not here. */
static void write_address_already_counts_the_immediate_data(void **state)
{
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND,
		.itt = 33,
		.final = true,
		.data_length = 8192,
		.command = {.write = true, .expected_length = 65536}};
	struct iser_header h = {.opcode = ISER_CONTROL, .write_valid = true};
	struct fixture *f = raw_session();
	struct transfer a = ends_transfer(f, 8192, 65536 - 8192);
	uint8_t *data = f->raw.memory;

	(void)state;
	ends_fill(data, 9);
	assert_int_equal(rdma_expose(f->raw.conn, f->raw.region, data, 65536, RDMA_REMOTE_READ,
				 &h.write_stag, &h.write_address),
		0);
	h.write_address += 8192;
	raw_send_pdu(f, &h, &command, data);
	assert_int_equal(f->t.task->immediate_length, 8192);
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &a.dm), 0);
	fixture_turn(f);
	assert_int_equal(a.status, 0);
	assert_memory_equal(f->far + 8192, data + 8192, 65536 - 8192);
	a.dm.offset = 4096;
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &a.dm), -EINVAL);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_is_written_before_its_response_with_one_completion),
		cmocka_unit_test(put_alone_is_done_without_a_response),
		cmocka_unit_test(long_write_is_read_by_the_target),
		cmocka_unit_test(transfers_of_a_released_command_are_cancelled),
		cmocka_unit_test(data_of_a_command_given_back_after_its_response_still_leaves),
		cmocka_unit_test(transfers_out_of_bounds_are_refused),
		cmocka_unit_test(more_than_the_send_queue_holds_waits_its_turn),
		cmocka_unit_test(declared_immediate_data_that_never_came_is_fetched),
		cmocka_unit_test(write_address_already_counts_the_immediate_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Send_Control of the iSER mover: immediate data, limits of peers, Send with Invalidate, order. */
#include "tests/kit/iser_ends.h"

static void small_write_goes_whole_with_its_command(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.write = {f->near, 8192, f->near_region}};

	(void)state;
	ends_fill(f->near, 4);
	fixture_session(f, &params);
	ends_send_command(f, &task, 12);
	assert_int_equal(task.immediate_length, 8192);
	assert_int_equal(f->t.task->immediate_length, 8192);
	assert_false(f->t.task->can_get); /* no tag where nothing is left */
	assert_memory_equal(f->t.data, f->near, 8192);
	assert_int_equal(memory_rdma_counts(f->provider).tags, 0);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void immediate_data_keeps_to_what_was_negotiated(void **state)
{
	static const struct {
		bool immediate;
		uint32_t segment, burst, length, expected;
	} rows[] = {
		{true, 262144, 65536, 8192, 8192}, /* LIO echoes any number */
		{true, 262144, 65536, 8193, 0},
		{true, 512, 65536, 512, 512}, /* SCST */
		{true, 512, 65536, 1024, 0},
		{true, 8192, 4096, 8192, 0},
		{false, 8192, 65536, 512, 0},
	};

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(rows); n++) {
		struct fixture *f = fixture_new(&iser_ends_allow);
		struct iscsi_params params = fixture_params();
		struct dm_task task = {.write = {f->near, rows[n].length, f->near_region}};

		params.immediate_data = rows[n].immediate;
		params.target_recv_data_segment_length = rows[n].segment;
		params.first_burst_length = rows[n].burst;
		fixture_session(f, &params);
		ends_send_command(f, &task, 13);
		assert_int_equal(f->t.task->immediate_length, rows[n].expected);
		assert_int_equal(f->t.task->can_get, rows[n].expected == 0);
		dm_deallocate_task_resources(f->i.conn, &task);
		fixture_free(f);
	}
}

static void long_cdb_travels_in_an_ahs(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.write = {f->near, 4096, f->near_region}};
	struct iscsi_pdu pdu = ends_command(&task, 23);
	uint8_t ahs[248];

	(void)state;
	memset(ahs, 0x5a, sizeof(ahs));
	fixture_session(f, &params);
	pdu.ahs_words = sizeof(ahs) / 4;
	assert_int_equal(dm_send_control(f->i.conn, &pdu, ahs, NULL, &task), 0);
	fixture_turn(f);
	assert_memory_equal(f->t.ahs, ahs, sizeof(ahs));
	assert_int_equal(f->t.task->immediate_length, 4096);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void target_sends_no_more_data_than_linux_has_room_for(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_IN, .final = true, .data_length = 4096};
	struct iscsi_pdu response = {.opcode = ISCSI_SCSI_RESPONSE, .data_length = 254};
	uint8_t sense[254] = {0, 252};

	(void)state;
	fixture_session(f, &params);
	assert_int_equal(dm_send_control(f->t.conn, &nop, NULL, f->far, NULL), 0);
	fixture_turn(f);
	assert_int_equal(f->i.pdu.data_length, 128);
	assert_int_equal(dm_send_control(f->t.conn, &response, NULL, sense, NULL), 0);
	fixture_turn(f);
	assert_int_equal(f->i.pdu.data_length, 128);
	assert_int_equal(get_be16(f->i.data), 126);
	nop.opcode = ISCSI_TEXT_RESPONSE;
	assert_int_equal(dm_send_control(f->t.conn, &nop, NULL, f->far, NULL), 0);
	fixture_turn(f);
	assert_int_equal(f->i.pdu.data_length, 4096);
	fixture_free(f);
}

static void response_takes_the_tag_away_where_both_allow_it(void **state)
{
	static const struct iser_mover_config *configs[] = {&iser_ends_allow, &iser_ends_forbid};

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		struct fixture *f = fixture_new(configs[n]);
		struct iscsi_params params = fixture_params();
		struct dm_task task = {.write = {f->near, IO_SIZE, f->near_region}};

		fixture_session(f, &params);
		ends_send_command(f, &task, 15);
		ends_send_response(f, 15, f->t.task);
		fixture_turn(f);
		assert_int_equal(memory_rdma_counts(f->provider).invalidations, n == 0);
		assert_int_equal(memory_rdma_counts(f->provider).tags, n == 1);
		dm_deallocate_task_resources(f->i.conn, &task);
		assert_int_equal(memory_rdma_counts(f->provider).tags, 0);
		fixture_free(f);
	}
}

/* A raw initiator, logged in, with one read command outstanding; tells whether the response came
 * with an invalidation. */
static bool raw_is_invalidated(const void *private_data, size_t length)
{
	static const struct iser_header header = {.opcode = ISER_CONTROL, .read_valid = true};
	struct iscsi_pdu login = {.opcode = ISCSI_LOGIN_REQUEST, .immediate = true};
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND,
		.itt = 30,
		.final = true,
		.command = {.read = true, .expected_length = 512}};
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct iser_header h = header;
	uint64_t address;
	bool invalidated;

	raw_connect(f, private_data, length);
	raw_send_pdu(f, &iser_ends_plain, &login, NULL);
	assert_int_equal(dm_allocate_connection_resources(f->t.conn, &params), 0);
	assert_int_equal(dm_enable(f->t.conn, &params), 0);
	assert_int_equal(rdma_expose(f->raw.conn, f->raw.region, f->raw.memory, 512,
				 RDMA_REMOTE_WRITE, &h.read_stag, &address),
		0);
	h.read_address = address;
	raw_send_pdu(f, &h, &command, NULL);
	assert_non_null(f->t.task);
	ends_send_response(f, 30, f->t.task);
	fixture_turn(f);
	assert_int_equal(f->raw.received, 1);
	invalidated = f->raw.last_invalidated;
	fixture_free(f);
	return invalidated;
}

static void silent_private_data_is_not_taken_for_consent(void **state)
{
	static const uint8_t zeros[56], linux_padded[56] = {0x80};

	(void)state;
	assert_false(raw_is_invalidated(NULL, 0));
	assert_false(raw_is_invalidated(zeros, sizeof(zeros)));
	assert_false(raw_is_invalidated("\xc0\0\0\0", 4));
	assert_true(raw_is_invalidated("\x80\0\0\0", 4));
	assert_true(raw_is_invalidated(linux_padded, sizeof(linux_padded)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_write_goes_whole_with_its_command),
		cmocka_unit_test(immediate_data_keeps_to_what_was_negotiated),
		cmocka_unit_test(long_cdb_travels_in_an_ahs),
		cmocka_unit_test(target_sends_no_more_data_than_linux_has_room_for),
		cmocka_unit_test(response_takes_the_tag_away_where_both_allow_it),
		cmocka_unit_test(silent_private_data_is_not_taken_for_consent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Put_Data of the iSCSI/TCP mover (common/datamover/tcp_put.c): Data-In, and the status in the
 * last. */
#include "tests/unit/common/datamover/tcp_raw.h"
#include "tests/unit/common/datamover/tcp_store.h"

static void good_status_travels_in_the_last_data_in(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {0};
	struct dm_conn_info info;
	struct kit_pair p;

	(void)state;
	kit_pair_init(&p, &params, 0);
	p.target.react = serve;
	p.target.arg = &server;
	one_read(&p, 4096);
	dm_conn_get_info(p.initiator.conn, &info);
	assert_int_equal(info.pdus_received, 1);
	assert_int_equal(p.initiator.pdus[0].pdu.stat_sn, 100);
	assert_int_equal(p.initiator.pdus[0].pdu.response.exp_data_sn, 1);
	assert_int_equal(p.initiator.pdus[0].pdu.max_cmd_sn, 64);
	server.respond_late = true;
	one_read(&p, 4096);
	dm_conn_get_info(p.initiator.conn, &info);
	assert_int_equal(info.pdus_received, 3);
	assert_int_equal(p.initiator.pdus[1].pdu.response.exp_data_sn, 1);
	kit_pair_release(&p);
}

/* The target's task is deallocated when its read has left in part. */
static void abort_in_mid_read(bool responded, int expected_status)
{
	struct iscsi_params params = kit_params();
	struct dm_transfer t = {.data = store, .length = 262144, .done = served};
	struct dm_task task = {.read = {.data = memory, .length = 262144}};
	struct server server = {.pending = 2};
	struct kit_pair p;

	store_fill();
	kit_pair_init(&p, &params, 4096);
	command_send(&p.initiator, &task, 1);
	kit_settle(p.loop);
	p.target.arg = &server;
	p.target.pdus[0].task->owner = &p.target;
	assert_int_equal(dm_put_data(p.target.conn, p.target.pdus[0].task, &t), 0);
	if (responded)
		respond(&p.target, p.target.pdus[0].task, 1);
	for (int i = 0; i < 5; i++)
		loop_turn(p.loop, 0);
	assert_int_equal(p.target.done_count, 0);
	dm_deallocate_task_resources(p.target.conn, p.target.pdus[0].task);
	kit_settle(p.loop);
	assert_int_equal(p.target.done_count, 1);
	assert_int_equal(p.target.done_status, expected_status);
	assert_int_equal(p.initiator.count, responded ? 1 : 0);
	assert_int_equal(task.received == 262144, responded);
	kit_pair_release(&p);
}

static void an_aborted_read_stops_unless_its_status_is_on_its_way(void **state)
{
	(void)state;
	abort_in_mid_read(false, -ECANCELED);
	abort_in_mid_read(true, 0);
}

/* Sections 11.7.3 and 13.13: each burst ends with F, and every PDU fits the initiator's
 * MaxRecvDataSegmentLength; DataSN and the offset go on over the bursts. */
static void data_is_cut_to_segments_and_bursts(void **state)
{
	static const struct {
		uint32_t offset, length;
		bool final;
	} rows[] = {
		{0, 1000, false},
		{1000, 1000, false},
		{2000, 500, true},
		{2500, 1000, false},
		{3500, 1000, false},
		{4500, 500, true},
		{5000, 24, true},
	};
	struct iscsi_params params = kit_params();
	struct dm_transfer t = {.data = store, .length = 5024, .done = kit_done};
	struct iscsi_pdu pdu = command_of(false, 5024);
	struct kit_raw r;

	(void)state;
	store_fill();
	params.peer_max_recv_data_segment_length = 1000;
	params.max_burst_length = 2500;
	kit_raw_init(&r, true, &params);
	kit_raw_send(&r, &pdu, NULL, 0);
	r.end.pdus[0].task->owner = &r.end;
	assert_int_equal(dm_put_data(r.end.conn, r.end.pdus[0].task, &t), 0);
	kit_settle(r.loop);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static uint8_t data[1024];

		assert_true(kit_raw_receive(&r, &pdu, data));
		assert_int_equal(pdu.opcode, ISCSI_DATA_IN);
		assert_int_equal(pdu.itt, 7);
		assert_int_equal(pdu.data_in.ttt, ISCSI_TAG_NONE);
		assert_int_equal(pdu.data_in.data_sn, i);
		assert_int_equal(pdu.data_in.offset, rows[i].offset);
		assert_int_equal(pdu.data_length, rows[i].length);
		assert_int_equal(pdu.final, rows[i].final);
		assert_false(pdu.data_in.has_status);
		assert_memory_equal(data, store + rows[i].offset, rows[i].length);
	}
	assert_int_equal(r.end.done_count, 1);
	dm_deallocate_task_resources(r.end.conn, r.end.pdus[0].task);
	kit_raw_release(&r);
}

/* Section 11.7.3: only a command that ended well has its status in the Data-In. */
static void bad_status_follows_the_data_in_its_own_pdu(void **state)
{
	struct iscsi_params params = kit_params();
	struct dm_transfer t = {.data = store, .length = 512, .done = kit_done};
	struct iscsi_pdu pdu = command_of(false, 4096);
	struct iscsi_pdu response = {
		.opcode = ISCSI_SCSI_RESPONSE,
		.final = true,
		.itt = 7,
		.response = {.status = 2, .underflow = true, .residual = 3584},
	};
	static uint8_t data[1024];
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, &params);
	kit_raw_send(&r, &pdu, NULL, 0);
	r.end.pdus[0].task->owner = &r.end;
	assert_int_equal(dm_put_data(r.end.conn, r.end.pdus[0].task, &t), 0);
	assert_int_equal(dm_send_control(r.end.conn, &response, NULL, NULL, r.end.pdus[0].task), 0);
	kit_settle(r.loop);
	assert_true(kit_raw_receive(&r, &pdu, data));
	assert_int_equal(pdu.opcode, ISCSI_DATA_IN);
	assert_false(pdu.data_in.has_status);
	assert_int_equal(pdu.data_length, 512);
	assert_true(kit_raw_receive(&r, &pdu, data));
	assert_int_equal(pdu.opcode, ISCSI_SCSI_RESPONSE);
	assert_int_equal(pdu.response.status, 2);
	assert_int_equal(pdu.response.residual, 3584);
	assert_int_equal(pdu.response.exp_data_sn, 1);
	dm_deallocate_task_resources(r.end.conn, r.end.pdus[0].task);
	kit_raw_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_status_travels_in_the_last_data_in),
		cmocka_unit_test(an_aborted_read_stops_unless_its_status_is_on_its_way),
		cmocka_unit_test(bad_status_follows_the_data_in_its_own_pdu),
		cmocka_unit_test(data_is_cut_to_segments_and_bursts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

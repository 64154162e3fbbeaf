/* The life of a connection of the iSCSI/TCP mover (common/datamover/tcp_conn.c): RFC 5047
 * sections 7.1.5 and 7.2.2. */
#include "tests/unit/common/datamover/tcp_raw.h"
#include "tests/unit/common/datamover/tcp_store.h"

static void what_was_queued_leaves_before_an_orderly_end(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_IN, .itt = 9};
	struct kit_pair p;

	(void)state;
	kit_pair_init(&p, &params, 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(dm_send_control(p.target.conn, &nop, NULL, NULL, NULL), 0);
	dm_terminate(p.target.conn, true);
	dm_terminate(p.target.conn, true);
	assert_int_equal(dm_send_control(p.target.conn, &nop, NULL, NULL, NULL), -ENOTCONN);
	kit_settle(p.loop);
	assert_int_equal(p.initiator.count, 100);
	assert_int_equal(p.initiator.terminated, 1);
	assert_int_equal(p.initiator.error, 0);
	assert_int_equal(p.target.error, 0);
	kit_pair_release(&p);
}

static void transfers_under_way_end_before_the_connection(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {.respond_late = true};
	struct dm_task task = {.read = {.data = memory, .length = STORE_SIZE}};
	struct kit_pair p;

	(void)state;
	kit_pair_init(&p, &params, 4096);
	p.target.react = serve;
	p.target.arg = &server;
	command_send(&p.initiator, &task, 1);
	for (int i = 0; i < 20; i++)
		loop_turn(p.loop, 0);
	assert_int_equal(p.target.done_count, 0);
	assert_in_range(task.received, 1, STORE_SIZE - 1);
	dm_terminate(p.initiator.conn, false);
	kit_settle(p.loop);
	assert_int_equal(p.target.done_count, 1);
	assert_true(p.target.done_status < 0);
	assert_true(p.target.error < 0);
	kit_pair_release(&p);
}

static void a_peer_that_ends_within_a_pdu(void **state)
{
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, NULL);
	assert_int_equal(write(r.fd, "C", 1), 1);
	close(r.fd);
	r.fd = -1;
	kit_settle(r.loop);
	assert_int_equal(r.end.error, -ECONNRESET);
	kit_raw_release(&r);
}

static void a_peer_that_does_not_read_is_given_up(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = {.opcode = ISCSI_NOP_IN, .itt = 7, .data_length = 8000};
	struct kit_raw r;
	int error = 0, n = 0;

	(void)state;
	kit_raw_init(&r, true, &params);
	while (!error && n++ < 100000) {
		error = dm_send_control(r.end.conn, &pdu, NULL, block, NULL);
		loop_turn(r.loop, 0);
	}
	assert_int_equal(error, -ENOBUFS);
	kit_settle(r.loop);
	assert_int_equal(r.end.error, -ENOBUFS);
	kit_raw_release(&r);
}

static void an_orderly_end_waits_a_second_for_the_peer(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_NOP_IN, .itt = 7}, got;
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, NULL);
	assert_int_equal(dm_send_control(r.end.conn, &pdu, NULL, NULL, NULL), 0);
	dm_terminate(r.end.conn, true);
	kit_settle(r.loop);
	assert_true(kit_raw_receive(&r, &got, NULL));
	assert_int_equal(r.end.terminated, 0);
	loop_advance(r.loop, LOOP_NS_PER_S - 1);
	assert_int_equal(r.end.terminated, 0);
	loop_advance(r.loop, 1);
	kit_settle(r.loop);
	assert_int_equal(r.end.terminated, 1);
	assert_int_equal(r.end.error, 0);
	kit_raw_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_queued_leaves_before_an_orderly_end),
		cmocka_unit_test(transfers_under_way_end_before_the_connection),
		cmocka_unit_test(a_peer_that_ends_within_a_pdu),
		cmocka_unit_test(a_peer_that_does_not_read_is_given_up),
		cmocka_unit_test(an_orderly_end_waits_a_second_for_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

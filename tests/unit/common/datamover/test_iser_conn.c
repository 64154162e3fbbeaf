/* The life of an iSER connection: login, keys, the ends. */
#include "tests/kit/iser_ends.h"

static void pdus_and_data_cross_in_login(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct iscsi_pdu pdu = {.opcode = ISCSI_TEXT_REQUEST, .itt = 5, .data_length = 8192};

	(void)state;
	ends_fill(f->near, 1);
	fixture_session(f, &params);
	assert_int_equal(dm_send_control(f->i.conn, &pdu, NULL, f->near, NULL), 0);
	fixture_turn(f);
	assert_int_equal(f->t.pdu.opcode, ISCSI_TEXT_REQUEST);
	assert_int_equal(f->t.pdu.data_length, 8192);
	assert_memory_equal(f->t.data, f->near, 8192);
	fixture_free(f);
}

static void keys_are_rdma_without_digests(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params(), offer;

	(void)state;
	fixture_session(f, &params);
	memset(&offer, 0, sizeof(offer));
	offer.header_digest = offer.data_digest = ISCSI_DIGEST_CRC32C;
	dm_declare_keys(f->t.conn, &offer);
	assert_true(offer.rdma_extensions);
	assert_true(offer.initial_r2t);
	assert_int_equal(offer.header_digest, ISCSI_DIGEST_NONE);
	assert_int_equal(offer.data_digest, ISCSI_DIGEST_NONE);
	assert_int_equal(offer.target_recv_data_segment_length, 8192);
	assert_int_equal(offer.initiator_recv_data_segment_length, 8192);
	fixture_free(f);
}

static void loss_of_the_connection_tells_every_transfer_then_both_ends_once(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, IO_SIZE, NULL}};
	struct transfer posted, waiting;

	(void)state;
	fixture_session(f, &params);
	ends_send_command(f, &task, 19);
	memory_rdma_hold(memory_rdma_newest(f->provider, false), true);
	posted = ends_transfer(f, 0, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &posted.dm), 0);
	ends_send_response(f, 19, f->t.task);
	fixture_turn(f);
	waiting = ends_transfer(f, 4096, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &waiting.dm), 0);
	memory_rdma_break(memory_rdma_newest(f->provider, false));
	fixture_turn(f);
	assert_int_equal(posted.status, -ECANCELED);
	assert_int_equal(posted.done, 1);
	assert_int_equal(waiting.status, -ECANCELED);
	assert_int_equal(waiting.done, 1);
	assert_int_equal(f->t.terminated, 1);
	assert_int_equal(f->t.error, -ECONNRESET);
	assert_int_equal(f->i.terminated, 1);
	fixture_free(f);
}

static void graceful_end_lets_the_last_pdu_leave(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct iscsi_pdu logout = {.opcode = ISCSI_LOGOUT_RESPONSE, .final = true, .itt = 20};
	struct dm_conn *conn;

	(void)state;
	fixture_session(f, &params);
	conn = f->t.conn;
	assert_int_equal(dm_send_control(conn, &logout, NULL, NULL, NULL), 0);
	dm_terminate(conn, true);
	dm_terminate(conn, true); /* harmless */
	assert_int_equal(dm_send_control(conn, &logout, NULL, NULL, NULL), -ENOTCONN);
	assert_int_equal(f->t.terminated, 0);
	fixture_turn(f);
	assert_int_equal(f->i.pdu.opcode, ISCSI_LOGOUT_RESPONSE);
	assert_int_equal(f->t.terminated, 1);
	assert_int_equal(f->t.error, 0);
	assert_int_equal(f->i.terminated, 1);
	assert_int_equal(f->i.error, 0);
	fixture_free(f);
}

static void graceful_end_takes_at_most_a_second(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct iscsi_pdu logout = {.opcode = ISCSI_LOGOUT_RESPONSE, .final = true, .itt = 21};

	(void)state;
	fixture_session(f, &params);
	memory_rdma_hold(memory_rdma_newest(f->provider, false), true);
	assert_int_equal(dm_send_control(f->t.conn, &logout, NULL, NULL, NULL), 0);
	dm_terminate(f->t.conn, true);
	fixture_turn(f);
	assert_int_equal(f->t.terminated, 0);
	loop_advance(f->loop, LOOP_NS_PER_S + 1);
	fixture_turn(f);
	assert_int_equal(f->t.terminated, 1);
	assert_int_equal(f->t.error, 0);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pdus_and_data_cross_in_login),
		cmocka_unit_test(keys_are_rdma_without_digests),
		cmocka_unit_test(loss_of_the_connection_tells_every_transfer_then_both_ends_once),
		cmocka_unit_test(graceful_end_lets_the_last_pdu_leave),
		cmocka_unit_test(graceful_end_takes_at_most_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

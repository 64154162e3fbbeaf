/* A connection of the software iWARP provider as an object (common/rdma/softiwarp_conn.c): what its
 * stream was made with. */
#include "tests/unit/common/rdma/softiwarp_fixture.h"

static void fpdus_are_kept_to_the_segment_size(void **state)
{
	struct softiwarp_config config = {.ulpdu_by_mss = true, .crc = SOFTIWARP_CRC_ON};

	(void)state;
	everything_once(&config, true);
}

static void posts_are_limited_by_the_depth(void **state)
{
	struct work *x;

	(void)state;
	world_connect(NULL);
	for (unsigned i = 0; i < limits.receive_depth; i++)
		receive(&w.active, 0, 64);
	x = work_new();
	assert_int_equal(rdma_post_receive(w.active.conn, &x->receive), -ENOBUFS);
	for (unsigned i = 0; i < limits.send_depth; i++)
		send_post(&w.passive, 0, 1, false);
	x = send_make(&w.passive, 0, 1, false);
	assert_int_equal(rdma_post_send(w.passive.conn, &x->send), -ENOBUFS);
	rdma_disconnect(w.passive.conn, false);
	assert_int_equal(rdma_post_send(w.passive.conn, &x->send), -ENOTCONN);
	turn();
	for (unsigned i = limits.receive_depth + 1; i < w.used - 1; i++)
		assert_int_equal(w.works[i].status, -ECANCELED); /* unsignalled, but not sent */
	world_close();
}

static void tags_are_of_one_connection_alone(void **state)
{
	struct end *other = alloc_zeroed(sizeof(*other));
	struct rdma_acceptor acceptor = w.acceptor;
	struct rdma_conn *first;
	uint32_t stag;
	uint64_t to;
	int fds[2];

	(void)state;
	(void)acceptor;
	world_connect(NULL);
	first = w.passive.conn;
	expose(&w.passive, 0, 100, RDMA_REMOTE_WRITE, &stag, &to);
	pair_make(fds);
	*other = (struct end){.provider = w.active.provider,
		.memory = w.active.memory,
		.region = w.active.region};
	assert_int_equal(softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor), 0);
	assert_int_equal(softiwarp_connect_fd(w.active.provider, fds[0], LOOP_NS_PER_S, &limits,
				 NULL, &upcalls, other, &other->conn),
		0);
	turn();
	assert_ptr_not_equal(w.passive.conn, first);
	write_post(other, 0, 10, stag, to);
	turn();
	assert_int_equal(other->closed, 1);
	assert_int_equal(w.active.closed, 0);
	assert_non_null(strstr(other->reason, "1.1.02"));
	alloc_free(other);
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fpdus_are_kept_to_the_segment_size),
		cmocka_unit_test(posts_are_limited_by_the_depth),
		cmocka_unit_test(tags_are_of_one_connection_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A connection of the software iWARP provider as an object (common/rdma/softiwarp_conn.c): what its
 * stream was made with. */
#include "tests/unit/common/rdma/softiwarp_fixture.h"

static void everything_once(const struct softiwarp_config *config, bool tcp)
{
	uint32_t stag, reader;
	uint64_t to, reader_to;
	struct work *r, *s, *x, *big;
	int fds[2];

	world_open(config);
	if (tcp)
		tcp_make(fds);
	else
		pair_make(fds);
	connect_over(fds, "hello");
	assert_int_equal(w.active.established, 1);
	greet();
	fill(w.active.memory, 1 << 20);
	expose(&w.passive, 0, 1 << 20, RDMA_REMOTE_WRITE | RDMA_REMOTE_READ, &stag, &to);
	expose(&w.active, 0, 1 << 20, RDMA_REMOTE_READ, &reader, &reader_to);
	r = receive(&w.passive, 2 << 20, 100000);
	x = write_post(&w.active, 0, 1 << 20, stag, to);
	s = send_make(&w.active, 1, 17, true);
	s->send.sge[1] = (struct rdma_sge){w.active.memory + 3, 70001, w.active.region};
	s->send.sge_count = 2;
	assert_int_equal(rdma_post_send(w.active.conn, &s->send), 0);
	turn();
	assert_true(x->done && !x->status && s->done && !s->status && r->done && !r->status);
	assert_true(x->order < s->order);
	assert_memory_equal(w.passive.memory, w.active.memory, 1 << 20);
	assert_int_equal(r->receive.length, 70018);
	assert_memory_equal(w.passive.memory + (2 << 20), w.active.memory + 1, 17);
	assert_memory_equal(w.passive.memory + (2 << 20) + 17, w.active.memory + 3, 70001);
	/* more reads than the ORD, of several sizes, then one of nothing */
	for (int i = 0; i < 6; i++)
		big = read_post(&w.passive, (2u << 20) + 150000u * (unsigned)i, 150000, reader,
			reader_to + 7);
	x = read_post(&w.passive, 0, 0, 0, 0);
	turn();
	assert_true(big->done && !big->status && x->done && !x->status);
	for (int i = 0; i < 6; i++)
		assert_memory_equal(w.passive.memory + (2u << 20) + 150000u * (unsigned)i,
			w.active.memory + 7, 150000);
	rdma_disconnect(w.active.conn, true);
	turn();
	assert_closed(&w.active, 0, "");
	assert_int_equal(w.passive.error, 0);
	world_close();
}

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

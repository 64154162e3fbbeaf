/* The provider's verbs: data in both directions, tags, depths. */
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

static void data_moves_with_any_fpdu_size_and_crc(void **state)
{
	static const uint32_t sizes[] = {128, 1460, 0, 65535};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (int mode = 0; mode < 4; mode++) {
			struct softiwarp_config config = {.max_ulpdu = sizes[i],
				.crc = mode & 1 ? SOFTIWARP_CRC_ON : SOFTIWARP_CRC_OFF};

			everything_once(&config, mode & 2);
		}
	}
}

static void fpdus_are_kept_to_the_segment_size(void **state)
{
	struct softiwarp_config config = {.ulpdu_by_mss = true, .crc = SOFTIWARP_CRC_ON};

	(void)state;
	everything_once(&config, true);
}

static void send_with_invalidate_ends_the_exposure(void **state)
{
	struct work *r, *s, *x;
	uint32_t stag;
	uint64_t to;

	(void)state;
	world_connect(NULL);
	greet();
	expose(&w.active, 0, 4096, RDMA_REMOTE_WRITE, &stag, &to);
	r = receive(&w.active, 8192, 64);
	s = send_make(&w.passive, 0, 10, false);
	s->send.invalidate = true;
	s->send.invalidate_stag = stag;
	assert_int_equal(rdma_post_send(w.passive.conn, &s->send), 0);
	turn();
	assert_true(r->done && r->receive.invalidated);
	assert_int_equal(r->receive.invalidated_stag, stag);
	assert_int_equal(s->done, 0);	  /* not signalled */
	rdma_revoke(w.active.conn, stag); /* harmless */
	x = write_post(&w.passive, 0, 16, stag, to);
	turn();
	assert_int_equal(x->done, 1);
	assert_closed(&w.active, -EPROTO, "invalid STag");
	world_close();
}

static void foreign_tag_cannot_be_invalidated(void **state)
{
	struct work *s;

	(void)state;
	world_connect(NULL);
	greet();
	receive(&w.active, 8192, 64);
	s = send_make(&w.passive, 0, 10, false);
	s->send.invalidate = true;
	s->send.invalidate_stag = 0x1234501;
	assert_int_equal(rdma_post_send(w.passive.conn, &s->send), 0);
	turn();
	assert_closed(&w.active, -EPROTO, "cannot be invalidated");
	world_close();
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

static void write_out_of_bounds(void **state)
{
	uint32_t stag;
	uint64_t to;

	(void)state;
	world_connect(NULL);
	expose(&w.passive, 0, 100, RDMA_REMOTE_WRITE, &stag, &to);
	write_post(&w.active, 0, 101, stag, to);
	turn();
	assert_closed(&w.passive, -EPROTO, "out of bounds");
	assert_int_equal(w.passive.memory[0], 0);
	assert_non_null(strstr(w.active.reason, "1.1.01"));
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

static void revoked_memory_is_not_read(void **state)
{
	struct work *x;
	uint32_t stag;
	uint64_t to;

	(void)state;
	world_connect(NULL);
	expose(&w.passive, 0, MEMORY, RDMA_REMOTE_READ, &stag, &to);
	x = read_post(&w.active, 0, MEMORY, stag, to);
	/* so large that it cannot have left in the turn in which it came */
	for (int i = 0; i < 4; i++)
		loop_turn(w.loop, 0);
	assert_int_equal(x->done, 0);
	rdma_revoke(w.passive.conn, stag);
	turn();
	assert_int_equal(x->done, 1);
	assert_true(x->status < 0);
	assert_closed(&w.passive, -EPROTO, "0.1");
	world_close();
}

#define SLOTS 6
#define SLOT 90000u

static uint32_t random_below(uint32_t n)
{
	static uint32_t x = 1;

	x = x * 1664525 + 1013904223;
	return (x >> 8) % n;
}

/* One piece of work in slot `i` of both memories: a Send, a Write or a Read of `length` bytes. */
struct piece {
	unsigned kind;
	uint32_t length, at;
	struct work *work, *receive;
	struct end *from, *to;
};

static void piece_post(struct piece *p, unsigned i, const uint32_t stag[2], const uint64_t to[2])
{
	bool active = p->to == &w.active;

	p->kind = random_below(3);
	p->length = random_below(4) ? random_below(SLOT) : random_below(3);
	p->at = i * SLOT;
	for (uint32_t k = 0; k < p->length; k++) {
		p->from->memory[p->at + k] = (uint8_t)(random_below(256) + k);
		p->to->memory[p->at + k] = 0;
	}
	if (p->kind == 0) {
		p->receive = receive(p->to, p->at, SLOT);
		p->work = send_post(p->from, p->at, p->length, true);
	} else if (p->kind == 1) {
		p->work = write_post(p->from, p->at, p->length, stag[active], to[active] + p->at);
	} else {
		p->work = read_post(p->to, p->at, p->length, stag[!active], to[!active] + p->at);
	}
}

/* TCP may need a timer of its own (a delayed acknowledgement) before its buffers move on. */
static void pieces_await(const struct piece *pieces)
{
	for (int ms = 0; ms < 10000; ms++) {
		unsigned left = 0;

		turn();
		for (unsigned i = 0; i < SLOTS; i++)
			left += !pieces[i].work->done;
		if (!left)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

static void pieces_check(const struct piece *pieces)
{
	for (const struct piece *p = pieces; p < pieces + SLOTS; p++) {
		assert_int_equal(p->work->done, 1);
		assert_int_equal(p->work->status, 0);
		if (p->receive)
			assert_int_equal(p->receive->receive.length, p->length);
		assert_memory_equal(p->from->memory + p->at, p->to->memory + p->at, p->length);
	}
}

static void rounds(bool tcp, const struct softiwarp_config *config)
{
	static const unsigned access = RDMA_REMOTE_READ | RDMA_REMOTE_WRITE;
	int fds[2], small = tcp ? 65536 : 8192;
	uint32_t stag[2];
	uint64_t to[2];

	world_open(config);
	if (tcp)
		tcp_make(fds);
	else
		pair_make(fds);
	for (int i = 0; i < 2; i++) /* buffers that are full in the middle of everything */
		setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	connect_over(fds, "");
	greet();
	expose(&w.passive, 0, SLOTS * SLOT, access, &stag[0], &to[0]);
	expose(&w.active, 0, SLOTS * SLOT, access, &stag[1], &to[1]);
	for (int round = 0; round < 40; round++) {
		struct piece pieces[SLOTS];

		memset(w.works, 0, sizeof(w.works));
		w.used = 0;
		for (unsigned i = 0; i < SLOTS; i++) {
			bool active = random_below(2);

			pieces[i] = (struct piece){.from = active ? &w.active : &w.passive,
				.to = active ? &w.passive : &w.active};
			piece_post(&pieces[i], i, stag, to);
		}
		pieces_await(pieces);
		pieces_check(pieces);
	}
	rdma_disconnect(random_below(2) ? w.active.conn : w.passive.conn, random_below(2));
	turn();
	world_close();
}

static void random_work_through_full_buffers(void **state)
{
	(void)state;
	for (int mode = 0; mode < 8; mode++) {
		struct softiwarp_config config = {
			.max_ulpdu = mode & 4 ? 1442 : 0,
			.crc = mode & 1 ? SOFTIWARP_CRC_ON : SOFTIWARP_CRC_OFF,
		};

		rounds(mode & 2, &config);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_moves_with_any_fpdu_size_and_crc),
		cmocka_unit_test(fpdus_are_kept_to_the_segment_size),
		cmocka_unit_test(send_with_invalidate_ends_the_exposure),
		cmocka_unit_test(foreign_tag_cannot_be_invalidated),
		cmocka_unit_test(posts_are_limited_by_the_depth),
		cmocka_unit_test(write_out_of_bounds),
		cmocka_unit_test(tags_are_of_one_connection_alone),
		cmocka_unit_test(revoked_memory_is_not_read),
		cmocka_unit_test(random_work_through_full_buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

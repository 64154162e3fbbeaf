/* Sending of the software iWARP provider (common/rdma/softiwarp_tx.c): full buffers, and memory
 * that is revoked before it was read. */
#include "tests/unit/common/rdma/softiwarp_fixture.h"

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

static bool pieces_are_done(const struct piece *pieces)
{
	unsigned left = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		left += !pieces[i].work->done;
	return !left;
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
		AWAIT(w.loop, pieces_are_done(pieces));
		speak(&w.active, &w.passive);
		speak(&w.passive, &w.active);
		pieces_check(pieces);
	}
	rdma_disconnect(random_below(2) ? w.active.conn : w.passive.conn, random_below(2));
	AWAIT(w.loop, w.active.closed && w.passive.closed);
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

/* Whichever call of the loop or of the socket fails, nobody waits for ever for what was posted. */
static void calls_fail(int error)
{
	bool all = false;

	for (unsigned long n = 1; !all; n++) {
		struct work *x;
		uint32_t stag;
		uint64_t to;

		world_connect(NULL);
		expose(&w.passive, 0, MEMORY, RDMA_REMOTE_READ, &stag, &to);
		x = read_post(&w.active, 0, MEMORY, stag, to);
		sys_fail_nth(n, error);
		turn();
		all = !sys_fail_happened();
		sys_fail_nth(0, 0);
		turn();
		assert_int_equal(x->done, 1);
		world_close();
	}
}

static void call_that_fails_leaves_nothing_waiting(void **state)
{
	(void)state;
	calls_fail(ENOMEM);
	calls_fail(EINTR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_work_through_full_buffers),
		cmocka_unit_test(revoked_memory_is_not_read),
		cmocka_unit_test(call_that_fails_leaves_nothing_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The provider's verbs: data in both directions, tags, depths. */
#include "tests/unit/common/rdma/softiwarp_fixture.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_moves_with_any_fpdu_size_and_crc),
		cmocka_unit_test(send_with_invalidate_ends_the_exposure),
		cmocka_unit_test(foreign_tag_cannot_be_invalidated),
		cmocka_unit_test(write_out_of_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

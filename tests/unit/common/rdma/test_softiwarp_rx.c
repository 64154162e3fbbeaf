/* Receiving of the software iWARP provider (common/rdma/softiwarp_rx.c): what does not fit, and
 * bytes that end. */
#include "tests/unit/common/rdma/softiwarp_fixture.h"

static void send_longer_than_the_receive(void **state)
{
	struct work *first, *second;

	(void)state;
	world_connect(NULL);
	first = receive(&w.passive, 0, 64);
	second = receive(&w.passive, 64, 64);
	send_post(&w.active, 0, 65, true);
	turn();
	assert_int_equal(first->status, -EMSGSIZE);
	assert_int_equal(second->status, -ECANCELED);
	assert_closed(&w.passive, -EPROTO, "no buffer");
	assert_int_equal(w.active.error, -ECONNRESET);
	assert_non_null(strstr(w.active.reason, "1.2.02"));
	world_close();
}

static void send_without_a_receive(void **state)
{
	(void)state;
	world_connect(NULL);
	send_post(&w.active, 0, 1, true);
	turn();
	assert_closed(&w.passive, -EPROTO, "no buffer");
	world_close();
}

static void close_within_an_fpdu(void **state)
{
	struct work *r;

	(void)state;
	RAW_ANSWER(REPLY);
	r = receive(&w.active, 0, 64);
	assert_int_equal(write(w.raw, "\x00\x22\x41\x43\0\0\0\0\0\0\0\0", 12), 12);
	turn();
	assert_int_equal(w.active.closed, 0);
	close(w.raw);
	w.raw = -1;
	turn();
	assert_int_equal(r->status, -ECANCELED);
	assert_int_equal(w.active.error, -ECONNRESET);
	world_close();
}

static void close_between_fpdus(void **state)
{
	(void)state;
	RAW_ANSWER(REPLY);
	shutdown(w.raw, SHUT_WR);
	turn();
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(w.active.error, 0);
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_longer_than_the_receive),
		cmocka_unit_test(send_without_a_receive),
		cmocka_unit_test(close_within_an_fpdu),
		cmocka_unit_test(close_between_fpdus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

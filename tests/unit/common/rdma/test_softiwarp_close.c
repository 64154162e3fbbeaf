/* Connections end: by faults, by Terminate, by close, in order; and the kick. */
#include "tests/unit/common/rdma/softiwarp_fixture.h"

static void read_that_is_refused(void **state)
{
	struct work *refused, *after;
	uint32_t stag;
	uint64_t to;

	(void)state;
	world_connect(NULL);
	expose(&w.passive, 0, 100, RDMA_REMOTE_WRITE, &stag, &to);
	refused = read_post(&w.active, 0, 10, stag, to);
	after = read_post(&w.active, 0, 10, stag, to);
	turn();
	assert_int_equal(refused->status, -EACCES);
	assert_int_equal(after->status, -ECANCELED);
	assert_closed(&w.passive, -EPROTO, "without the right");
	world_close();
}

static void abrupt_end_cancels_everything(void **state)
{
	struct work *r, *x;
	uint32_t stag;
	uint64_t to;

	(void)state;
	world_connect(NULL);
	expose(&w.passive, 0, 4096, RDMA_REMOTE_READ, &stag, &to);
	r = receive(&w.active, 0, 64);
	x = read_post(&w.active, 0, 4096, stag, to);
	rdma_disconnect(w.active.conn, false);
	rdma_disconnect(w.active.conn, true);
	assert_int_equal(r->done + x->done + w.active.closed, 0); /* from the loop only */
	turn();
	assert_int_equal(r->status, -ECANCELED);
	assert_int_equal(x->status, -ECANCELED);
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(w.passive.closed, 1);
	world_close();
}

static void graceful_end_lets_everything_leave(void **state)
{
	struct work *r, *s;

	(void)state;
	world_connect(NULL);
	r = receive(&w.passive, 0, MEMORY);
	s = send_post(&w.active, 0, MEMORY, true);
	rdma_disconnect(w.active.conn, true);
	turn();
	assert_int_equal(s->status, 0);
	assert_int_equal(r->done, 1);
	assert_int_equal(r->status, 0);
	assert_closed(&w.active, 0, "");
	world_close();
}

static void silent_peer_is_kicked_a_few_times(void **state)
{
	uint8_t bytes[256];
	unsigned kicks = 0;

	(void)state;
	RAW_ANSWER(REPLY);
	assert_int_equal(w.active.established, 1);
	send_post(&w.active, 0, 4, false);
	turn();
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 28);
	for (int i = 0; i < 20; i++) {
		loop_advance(w.loop, 150 * LOOP_NS_PER_MS);
		turn();
		if (!raw_read(bytes, sizeof(bytes)))
			continue;
		assert_memory_equal(bytes, "\x00\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 20);
		kicks++;
	}
	assert_int_equal(kicks, 5);
	world_close();
}

static void peer_that_answers_is_not_kicked(void **state)
{
	uint8_t bytes[256];

	(void)state;
	RAW_ANSWER(REPLY);
	send_post(&w.active, 0, 4, false);
	turn();
	raw_read(bytes, sizeof(bytes));
	assert_int_equal(write(w.raw, "\x00\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 20), 20);
	turn();
	loop_advance(w.loop, LOOP_NS_PER_S);
	turn();
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 0);
	world_close();
}

static void terminate_of_siw_is_understood(void **state)
{
	static const uint8_t terminate[] = "\x00\x2a\x41\x47\0\0\0\0\0\0\0\2\0\0\0\1\0\0\0\0"
					   "\x21\x03\x03\x00\x00\x10\x41\x43\0\0\0\0\0\0\0\0\0\0\0"
					   "\2\0\0\0\0\0\0\0\0";

	(void)state;
	RAW_ANSWER(REPLY);
	assert_int_equal(write(w.raw, terminate, 48), 48);
	turn();
	assert_int_equal(w.active.error, -ECONNRESET);
	assert_non_null(strstr(w.active.reason, "1.2.03"));
	world_close();
}

static void passive_end_holds_its_sends_back(void **state)
{
	uint8_t bytes[128];

	(void)state;
	RAW_REQUEST(REQUEST);
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 24);
	send_post(&w.passive, 0, 4, false);
	turn();
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 0);
	assert_int_equal(write(w.raw, "\x00\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 20), 20);
	turn();
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 28);
	world_close();
}

static void more_reads_than_agreed(void **state)
{
	uint8_t read_request[52] = "\x00\x2e\x41\x41\0\0\0\0\0\0\0\1\0\0\0\1";
	uint8_t all[5 * 52], bytes[256];
	size_t n;

	(void)state;
	RAW_REQUEST(REQUEST); /* ORD 1; our end serves 4 */
	raw_read(bytes, sizeof(bytes));
	for (unsigned i = 0; i < 5; i++) {
		read_request[15] = (uint8_t)(i + 1);
		memcpy(all + i * 52, read_request, 52);
	}
	assert_int_equal(write(w.raw, all, sizeof(all)), sizeof(all));
	turn();
	n = raw_read(bytes, sizeof(bytes));
	assert_true(n >= 28);
	assert_memory_equal(bytes + 20, "\x02\x07", 2);
	assert_int_equal(w.passive.error, -EPROTO);
	world_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_that_is_refused),
		cmocka_unit_test(abrupt_end_cancels_everything),
		cmocka_unit_test(graceful_end_lets_everything_leave),
		cmocka_unit_test(silent_peer_is_kicked_a_few_times),
		cmocka_unit_test(peer_that_answers_is_not_kicked),
		cmocka_unit_test(terminate_of_siw_is_understood),
		cmocka_unit_test(passive_end_holds_its_sends_back),
		cmocka_unit_test(more_reads_than_agreed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

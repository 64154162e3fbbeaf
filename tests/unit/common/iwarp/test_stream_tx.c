/* What a stream sends: frames like those of Linux siw, order, limits, revocation. */
#include "tests/unit/common/iwarp/stream_fixture.h"

static void send_is_built_as_siw_does(void **state)
{
	struct iwarp_message m = send_of(siw_send + 20, 16);
	struct world w;
	uint8_t out[256];

	(void)state;
	world_open(&w, true, 65528);
	iwarp_tx_post(w.a.s, &m);
	assert_int_equal(have_all(&w.a, out), 40);
	assert_memory_equal(out, siw_send, 40);
	world_close(&w);
}

static void send_with_pad_is_built(void **state)
{
	static const uint8_t frame[] = "\x00\x1f\x41\x43\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0"
				       "qqqqqqqqqqqqq\0\0\0\x2a\x58\xd5\x21";
	struct iwarp_message m = send_of("qqqqqqqqqqqqq", 13);
	struct world w;
	uint8_t out[256];

	(void)state;
	world_open(&w, true, 65528);
	iwarp_tx_post(w.a.s, &m);
	assert_int_equal(have_all(&w.a, out), 40);
	assert_memory_equal(out, frame, 40);
	world_close(&w);
}

static void kick_is_the_zero_length_write(void **state)
{
	static const uint8_t frame[] = "\x00\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\xeb\xd3\x4c\x5f";
	struct world w;
	uint8_t out[256];

	(void)state;
	world_open(&w, true, 65528);
	iwarp_tx_kick(w.a.s);
	assert_int_equal(have_all(&w.a, out), 20);
	assert_memory_equal(out, frame, 20);
	assert_int_equal(w.a.completions, 0);
	assert_int_equal(iwarp_rx_feed(w.b.s, out, 20), 0);
	world_close(&w);
}

static void read_request_is_one_fpdu_of_52_bytes(void **state)
{
	struct iwarp_message m;
	struct world w;
	uint8_t out[256];

	(void)state;
	world_open(&w, true, 65528);
	m = transfer_of(RDMAP_READ_REQUEST, &w.b, 16, w.a.memory, 60000);
	iwarp_tx_post(w.a.s, &m);
	assert_int_equal(have_all(&w.a, out), 52);
	assert_memory_equal(out, "\x00\x2e\x41\x41\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0", 20);
	assert_int_equal(get_be32(out + 32), 60000);
	assert_int_equal(get_be32(out + 36), w.b.stag);
	assert_true(get_be64(out + 40) == w.b.to + 16);
	world_close(&w);
}

static void passive_end_waits_for_the_first_fpdu(void **state)
{
	struct iwarp_message m = send_of("x", 1);
	const struct iovec *iov;
	struct world w;
	uint8_t inbox[16];

	(void)state;
	world_open(&w, true, 65528);
	receive_post(&w.b, inbox, sizeof(inbox));
	iwarp_tx_post(w.b.s, &m);
	assert_int_equal(iwarp_tx_have(w.b.s, &iov), 0);
	assert_false(iwarp_tx_pending(w.b.s));
	assert_int_equal(iwarp_rx_feed(w.b.s, siw_send, 39), 0);
	assert_int_equal(iwarp_tx_have(w.b.s, &iov), 0);
	assert_int_equal(iwarp_rx_feed(w.b.s, siw_send + 39, 1), 0);
	assert_true(iwarp_tx_pending(w.b.s));
	assert_int_equal(iwarp_tx_have(w.b.s, &iov), 1);
	world_close(&w);
}

static void reads_beyond_the_ord_wait(void **state)
{
	struct iwarp_message m[5];
	struct world w;
	uint8_t out[1024];

	(void)state;
	world_open(&w, false, 65528);
	for (int i = 0; i < 5; i++) {
		m[i] = transfer_of(RDMAP_READ_REQUEST, &w.b, 0, w.a.memory, 10);
		iwarp_tx_post(w.a.s, &m[i]);
	}
	assert_int_equal(have_all(&w.a, out), 2 * 52);
	assert_false(iwarp_tx_drained(w.a.s));
	assert_int_equal(iwarp_rx_feed(w.b.s, out, 2 * 52), 0);
	assert_int_equal(exchange(&w, 0, false), 0);
	assert_int_equal(w.a.completions, 5);
	world_close(&w);
}

static void sends_complete_in_order_behind_a_read(void **state)
{
	struct iwarp_message read, send = send_of("x", 1);
	struct world w;
	uint8_t out[1024], inbox[8];
	size_t n;

	(void)state;
	world_open(&w, false, 65528);
	receive_post(&w.b, inbox, sizeof(inbox));
	read = transfer_of(RDMAP_READ_REQUEST, &w.b, 0, w.a.memory, 10);
	iwarp_tx_post(w.a.s, &read);
	iwarp_tx_post(w.a.s, &send);
	n = have_all(&w.a, out);
	assert_int_equal(w.a.completions, 0);
	assert_int_equal(iwarp_rx_feed(w.b.s, out, n), 0);
	assert_int_equal(exchange(&w, 0, false), 0);
	assert_int_equal(w.a.completions, 2);
	assert_ptr_equal(w.a.completed[0], &read);
	world_close(&w);
}

static void revoked_while_the_response_waits_is_terminated(void **state)
{
	uint8_t frame[64], out[256];
	const struct iovec *iov;
	struct world w;

	(void)state;
	world_open(&w, true, 65528);
	assert_int_equal(iwarp_rx_feed(w.b.s, frame, read_frame(frame, &w.b, 1, 10)), 0);
	assert_int_equal(iwarp_stream_revoke(w.b.s, w.b.stag), 0);
	assert_int_equal(iwarp_tx_have(w.b.s, &iov), 0);
	assert_int_equal(iwarp_stream_fault(w.b.s), FAULT_READ_STAG);
	iwarp_tx_terminate(w.b.s, FAULT_READ_STAG);
	assert_int_equal(have_all(&w.b, out), 28);
	assert_memory_equal(out + 20, "\x01\x00\x00\x00", 4);
	world_close(&w);
}

static void revoked_while_the_response_leaves_is_cut_off(void **state)
{
	uint8_t frame[64];
	const struct iovec *iov;
	struct world w;

	(void)state;
	world_open(&w, true, 65528);
	iwarp_rx_feed(w.b.s, frame, read_frame(frame, &w.b, 1, 100000));
	assert_true(iwarp_tx_have(w.b.s, &iov) > 0);
	iwarp_tx_sent(w.b.s, 1000);
	assert_int_equal(iwarp_stream_revoke(w.b.s, w.b.stag), -EBUSY);
	assert_int_equal(iwarp_tx_have(w.b.s, &iov), 0);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_is_built_as_siw_does),
		cmocka_unit_test(send_with_pad_is_built),
		cmocka_unit_test(kick_is_the_zero_length_write),
		cmocka_unit_test(read_request_is_one_fpdu_of_52_bytes),
		cmocka_unit_test(passive_end_waits_for_the_first_fpdu),
		cmocka_unit_test(reads_beyond_the_ord_wait),
		cmocka_unit_test(sends_complete_in_order_behind_a_read),
		cmocka_unit_test(revoked_while_the_response_waits_is_terminated),
		cmocka_unit_test(revoked_while_the_response_leaves_is_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

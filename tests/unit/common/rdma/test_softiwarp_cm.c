/* Connections are made, refused, timed out; and what fails on the way. */
#include "tests/unit/common/rdma/softiwarp_fixture.h"

static void private_data_reaches_both_ends(void **state)
{
	int fds[2];

	(void)state;
	world_open(NULL);
	memcpy(w.reply.bytes, "welcome", 7);
	w.reply.length = 7;
	pair_make(fds);
	connect_over(fds, "hello");
	assert_int_equal(w.active.pd.length, 7);
	assert_memory_equal(w.active.pd.bytes, "welcome", 7);
	assert_false(w.active.conn->checksums_data); /* auto: both ends are here */
	world_close();
}

static void rejected_with_private_data(void **state)
{
	int fds[2];

	(void)state;
	world_open(NULL);
	w.reject = true;
	memcpy(w.reply.bytes, "no", 2);
	w.reply.length = 2;
	pair_make(fds);
	connect_over(fds, "hello");
	assert_int_equal(w.active.rejected, 1);
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(w.active.error, -ECONNREFUSED);
	assert_memory_equal(w.active.pd.bytes, "no", 2);
	assert_int_equal(w.passive.closed, 0);
	world_close();
}

static void accepted_later_after_the_peer_has_gone(void **state)
{
	int fds[2];

	(void)state;
	world_open(NULL);
	w.later = true;
	pair_make(fds);
	connect_over(fds, "hello");
	assert_non_null(w.passive.conn);
	rdma_disconnect(w.active.conn, false);
	turn();
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(rdma_accept(w.passive.conn, &limits, &w.reply, &upcalls, &w.passive), 0);
	turn();
	assert_int_equal(w.passive.closed, 1);
	assert_int_equal(w.passive.established, 0);
	world_close();
}

static void peer_that_says_nothing_is_timed_out(void **state)
{
	int fds[2];

	(void)state;
	world_open(NULL);
	pair_make(fds);
	assert_int_equal(softiwarp_connect_fd(w.active.provider, fds[0], LOOP_NS_PER_S, &limits,
				 NULL, &upcalls, &w.active, &w.active.conn),
		0);
	turn();
	loop_advance(w.loop, LOOP_NS_PER_S - 1);
	assert_int_equal(w.active.closed, 0);
	loop_advance(w.loop, 1);
	turn();
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(w.active.error, -ETIMEDOUT);
	close(fds[1]);
	world_close();
}

static void peer_that_does_not_ask_is_dropped(void **state)
{
	int fds[2];
	char byte;

	(void)state;
	world_open(NULL);
	pair_make(fds);
	assert_int_equal(softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor), 0);
	assert_int_equal(write(fds[0], "MPA ID", 6), 6);
	turn();
	loop_advance(w.loop, 5 * LOOP_NS_PER_S);
	turn();
	assert_int_equal(read(fds[0], &byte, 1), 0);
	close(fds[0]);
	world_close();
}

static void address_that_nobody_listens_on(void **state)
{
	struct address a;
	const char *why;

	(void)state;
	world_open(NULL);
	assert_int_equal(address_parse("127.0.0.1:1", 0, &a, &why), 0);
	if (!rdma_connect(w.active.provider, &a, LOOP_NS_PER_S, &limits, NULL, &upcalls, &w.active,
		    &w.active.conn)) {
		AWAIT(w.loop, w.active.closed);
		assert_int_equal(w.active.error, -ECONNREFUSED);
	}
	world_close();
}

static void crc_is_adopted_from_the_peer(void **state)
{
	struct softiwarp_config on = {.crc = SOFTIWARP_CRC_ON};
	struct rdma_conn_info info;
	int fds[2];

	(void)state;
	world_open(NULL);
	rdma_unregister(w.active.provider, w.active.region);
	rdma_provider_free(w.active.provider);
	alloc_free(w.active.memory);
	end_open(&w.active, &on);
	pair_make(fds);
	connect_over(fds, "");
	assert_true(w.active.conn->checksums_data && w.passive.conn->checksums_data);
	rdma_conn_get_info(w.passive.conn, &info);
	assert_string_equal(info.provider, "softiwarp");
	assert_true(info.crc);
	greet();
	world_close();
}

static void replies_that_cannot_be_used(void **state)
{
	uint8_t bytes[64];

	(void)state;
	RAW_ANSWER("HTTP/1.1 400 Bad Request\r\n");
	assert_int_equal(w.active.error, -EPROTO);
	assert_non_null(strstr(w.active.reason, "does not speak MPA"));
	world_close();
	RAW_ANSWER("MPA ID Rep Frame\x90\x02\x00\x04\x00\x01\x00\x01"); /* markers */
	assert_int_equal(w.active.error, -EPROTO);
	world_close();
	RAW_ANSWER("MPA ID Rep Frame\x10\x02\x00\x04\x00\x01\x00\xff"); /* ORD 255 */
	assert_int_equal(w.active.error, -EPROTO);
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 28);
	assert_memory_equal(bytes + 20, "\x20\x06\x00\x00", 4);
	world_close();
	RAW_ANSWER("MPA ID Rep Frame\x10\x03\x00\x04\x00\x01\x00\x01"); /* revision 3 */
	assert_int_equal(w.active.closed, 1);
	world_close();
}

static void peer_without_reads_cannot_be_read(void **state)
{
	struct work *x;

	(void)state;
	RAW_ANSWER("MPA ID Rep Frame\x10\x02\x00\x04\x00\x00\x00\x01");
	x = transfer_make(&w.active, 0, 10, 1, 0);
	assert_int_equal(rdma_post_read(w.active.conn, &x->transfer), -EOPNOTSUPP);
	world_close();
}

static void request_for_markers_is_refused(void **state)
{
	uint8_t bytes[64];

	(void)state;
	RAW_REQUEST("MPA ID Req Frame\x90\x02\x00\x04\x00\x01\x00\x01");
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 24);
	assert_memory_equal(bytes, "MPA ID Rep Frame\x30\x02\x00\x04\x00\x00\x00\x00", 24);
	assert_null(w.passive.conn);
	world_close();
}

static void request_of_a_peer_without_reads_is_rejected(void **state)
{
	static const char request[] =
		"MPA ID Req Frame\x10\x02\x00\x04\x00\x00\x00\x01"; /* IRD 0 */
	uint8_t bytes[64];
	int fds[2];

	(void)state;
	world_open(NULL);
	w.later = true;
	pair_make(fds);
	w.raw = fds[0];
	assert_int_equal(softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor), 0);
	assert_int_equal(write(w.raw, request, 24), 24);
	turn();
	assert_int_equal(
		rdma_accept(w.passive.conn, &limits, NULL, &upcalls, &w.passive), -EOPNOTSUPP);
	rdma_reject(w.passive.conn, NULL);
	turn();
	assert_true(raw_read(bytes, sizeof(bytes)) >= 20);
	assert_memory_equal(bytes, "MPA ID Rep Frame\x30\x02", 18);
	world_close();
}

static void ready_to_receive_read_is_answered(void **state)
{
	uint8_t bytes[128], rtr[52] = "\x00\x2e\x41\x41\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0\7";

	(void)state;
	RAW_REQUEST("MPA ID Req Frame\x10\x02\x00\x04\x80\x01\x40\x01"); /* A, D */
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 24);
	assert_memory_equal(bytes, "MPA ID Rep Frame\x10\x02\x00\x04\x80\x04\x40\x01", 24);
	assert_int_equal(write(w.raw, rtr, 52), 52);
	turn();
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 20);
	assert_memory_equal(bytes, "\x00\x0e\xc1\x42\0\0\0\7\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	assert_int_equal(w.passive.closed, 0);
	world_close();
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	for (unsigned long n = 1; n < 40; n++) {
		int fds[2], r;

		world_open(NULL);
		pair_make(fds);
		w.later = true;
		alloc_fail_nth(n);
		r = softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor);
		assert_true(r == 0 || r == -ENOMEM);
		r = softiwarp_connect_fd(w.active.provider, fds[0], LOOP_NS_PER_S, &limits, NULL,
			&upcalls, &w.active, &w.active.conn);
		assert_true(r == 0 || r == -ENOMEM);
		turn();
		if (w.passive.conn &&
			rdma_accept(w.passive.conn, &limits, NULL, &upcalls, &w.passive))
			rdma_reject(w.passive.conn, NULL);
		turn();
		alloc_fail_nth(0);
		world_close();
	}
}

static void every_call_may_fail(void **state)
{
	(void)state;
	for (unsigned long n = 1; n < 60; n++) {
		struct work *r = NULL, *s = NULL;
		int fds[2];

		world_open(NULL);
		pair_make(fds);
		sys_fail_nth(n, ECONNRESET);
		if (softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor) == 0)
			turn();
		if (softiwarp_connect_fd(w.active.provider, fds[0], LOOP_NS_PER_S, &limits, NULL,
			    &upcalls, &w.active, &w.active.conn) == 0)
			turn();
		if (w.passive.conn && w.passive.established)
			r = receive(&w.passive, 0, 100);
		if (w.active.conn && w.active.established)
			s = send_post(&w.active, 0, 100, true);
		turn();
		sys_fail_nth(0, 0);
		if (w.active.conn)
			rdma_disconnect(w.active.conn, true);
		turn();
		loop_advance(w.loop, 10 * LOOP_NS_PER_S);
		turn();
		assert_true((!r || r->done) && (!s || s->done));
		world_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_data_reaches_both_ends),
		cmocka_unit_test(rejected_with_private_data),
		cmocka_unit_test(accepted_later_after_the_peer_has_gone),
		cmocka_unit_test(peer_that_says_nothing_is_timed_out),
		cmocka_unit_test(peer_that_does_not_ask_is_dropped),
		cmocka_unit_test(address_that_nobody_listens_on),
		cmocka_unit_test(crc_is_adopted_from_the_peer),
		cmocka_unit_test(replies_that_cannot_be_used),
		cmocka_unit_test(peer_without_reads_cannot_be_read),
		cmocka_unit_test(request_for_markers_is_refused),
		cmocka_unit_test(request_of_a_peer_without_reads_is_rejected),
		cmocka_unit_test(ready_to_receive_read_is_answered),
		cmocka_unit_test(every_allocation_may_fail),
		cmocka_unit_test(every_call_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What the verbs provider computes without a device. Limits are those of IBTA volume 1 and of
 * librdmacm's manuals, traps those of known peers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/rdma/verbs_limits.h"

static const struct verbs_caps rxe = {
	.max_work = 1 << 20,
	.max_sge = 32,
	.max_completions = 32767,
	.max_message = 1u << 31,
	.max_windows = 524287,
	.reads_in = 128,
	.reads_out = 128,
	.windows = true,
	.send_invalidate = true,
};

static const struct rdma_conn_limits limits = {
	.send_depth = 416, .receive_depth = 212, .reads_out = 16, .reads_in = 16};

static void a_target_needs_no_windows(void **state)
{
	struct verbs_shape s = verbs_shape_make(&limits, &rxe, false);

	(void)state;
	assert_int_equal(s.sends, 416);
	assert_int_equal(s.receives, 212);
	assert_int_equal(s.sge, 2);
	assert_int_equal(s.windows, 0);
}

static void an_initiator_has_a_window_and_a_place_to_bind_it_per_command(void **state)
{
	struct verbs_shape s = verbs_shape_make(&limits, &rxe, true);

	(void)state;
	assert_int_equal(s.windows, 212);
	assert_int_equal(s.sends, 416 + 212);
}

static void a_device_without_windows_gets_plain_keys(void **state)
{
	struct verbs_caps siw = rxe, few = rxe;

	(void)state;
	siw.windows = false;
	assert_int_equal(verbs_shape_make(&limits, &siw, true).windows, 0);
	few.max_windows = 100;
	assert_int_equal(verbs_shape_make(&limits, &few, true).windows, 0);
}

static void queues_are_no_deeper_than_the_device_s(void **state)
{
	struct verbs_caps small = rxe;
	struct verbs_shape s;

	(void)state;
	small.max_work = 128;
	small.max_sge = 1;
	s = verbs_shape_make(&limits, &small, true);
	assert_int_equal(s.sends, 128);
	assert_int_equal(s.receives, 128);
	assert_int_equal(s.sge, 1);
}

static void reads_are_asked_for_within_the_device_s(void **state)
{
	struct verbs_caps few = rxe;
	struct verbs_reads r;

	(void)state;
	few.reads_in = 4;
	few.reads_out = 7;
	r = verbs_reads_ask(&limits, &few);
	assert_int_equal(r.responder_resources, 4);
	assert_int_equal(r.initiator_depth, 7);
}

/* ib_iser's REQ says responder_resources = what its device has, initiator_depth 1. librdmacm shows
 * a REQ turned round: initiator_depth is then what the peer serves. */
static void what_the_peer_serves_limits_what_this_end_has_outstanding(void **state)
{
	const struct verbs_reads asked = {.responder_resources = 1, .initiator_depth = 4};
	struct verbs_reads r = verbs_reads_answer(&limits, &rxe, &asked);

	(void)state;
	assert_int_equal(r.initiator_depth, 4);
	assert_int_equal(r.responder_resources, 1);
}

/* libiscsi: initiator_depth 0 in the REQ; its own reads, of which there are none. */
static void a_peer_that_reads_nothing_does_not_limit_this_end(void **state)
{
	const struct verbs_reads asked = {.responder_resources = 0, .initiator_depth = 4};
	struct verbs_reads r = verbs_reads_answer(&limits, &rxe, &asked);

	(void)state;
	assert_int_equal(r.initiator_depth, 4);
	assert_int_equal(r.responder_resources, 0);
}

static void a_peer_that_serves_no_reads_gets_none(void **state)
{
	const struct verbs_reads asked = {.responder_resources = 1, .initiator_depth = 0};

	(void)state;
	assert_int_equal(verbs_reads_answer(&limits, &rxe, &asked).initiator_depth, 0);
}

static void what_an_iwarp_peer_does_not_say_is_one_read_at_a_time(void **state)
{
	const struct verbs_reads unsaid = {.responder_resources = 0};
	struct verbs_caps iwarp = rxe;

	(void)state;
	iwarp.iwarp = true;
	assert_int_equal(verbs_reads_answer(&limits, &iwarp, &unsaid).initiator_depth, 1);
	iwarp.reads_out = 0;
	assert_int_equal(verbs_reads_answer(&limits, &iwarp, &unsaid).initiator_depth, 0);
}

static void a_transfer_within_one_message_is_not_cut(void **state)
{
	(void)state;
	assert_int_equal(verbs_part(&rxe, 1 << 20, 0), 1 << 20);
	assert_int_equal(verbs_part(&rxe, 1, 0), 1);
}

static void a_long_transfer_is_cut_into_whole_pages(void **state)
{
	struct verbs_caps small = rxe;
	uint32_t length = 100001, done = 0;
	unsigned parts = 0;

	(void)state;
	small.max_message = 33000; /* eight pages and some */
	while (done < length) {
		uint32_t part = verbs_part(&small, length, done);

		assert_true(part > 0 && part <= small.max_message);
		assert_true(part % 4096 == 0 || done + part == length);
		done += part;
		parts++;
	}
	assert_int_equal(done, length);
	assert_int_equal(parts, 4);
}

static void private_data_is_as_long_as_was_told(void **state)
{
	static const uint8_t bytes[196] = {0x80};
	struct rdma_private_data pd;

	(void)state;
	verbs_private_data_take(bytes, 4, &pd);
	assert_int_equal(pd.length, 4);
	assert_int_equal(pd.bytes[0], 0x80);
	verbs_private_data_take(bytes, 196, &pd); /* of a REP on InfiniBand */
	assert_int_equal(pd.length, RDMA_PRIVATE_DATA_MAX);
	verbs_private_data_take(NULL, 0, &pd);
	assert_int_equal(pd.length, 0);
}

static void a_cookie_comes_back_as_it_was(void **state)
{
	static const struct verbs_cookie all[] = {
		{0, 0, false, 0},
		{5, 3, true, 0},
		{VERBS_PLACES_MAX - 1, VERBS_GENERATIONS - 1, true, VERBS_INDEX_MAX - 1},
		{1, VERBS_GENERATIONS - 1, false, 415},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct verbs_cookie c = verbs_cookie_unpack(verbs_cookie_pack(&all[i]));

		assert_int_equal(c.place, all[i].place);
		assert_int_equal(c.generation, all[i].generation);
		assert_int_equal(c.receive, all[i].receive);
		assert_int_equal(c.index, all[i].index);
	}
}

static void rnr_timers_are_those_of_the_table(void **state)
{
	(void)state;
	assert_int_equal(verbs_rnr_timer_code(1), 1);	    /* 0.01 ms */
	assert_int_equal(verbs_rnr_timer_code(640), 12);    /* 0.64 ms */
	assert_int_equal(verbs_rnr_timer_code(30000), 23);  /* 30.72 ms */
	assert_int_equal(verbs_rnr_timer_code(491520), 31); /* 491.52 ms */
	assert_int_equal(verbs_rnr_timer_code(500000), 0);  /* 655.36 ms, the longest */
}

static void ack_timeouts_are_4096_ns_times_a_power_of_two(void **state)
{
	(void)state;
	assert_int_equal(verbs_ack_timeout_code(0), 0);
	assert_int_equal(verbs_ack_timeout_code(1), 1);
	assert_int_equal(verbs_ack_timeout_code(67109), 15); /* 134 ms */
	assert_int_equal(verbs_ack_timeout_code(67108), 14); /* 67.1 ms */
	assert_int_equal(verbs_ack_timeout_code(UINT64_MAX / 2000), 31);
}

static void a_small_memlock_limit_is_explained_with_its_cure(void **state)
{
	char text[256];

	(void)state;
	verbs_memlock_explain(64 << 20, 8 << 20, "rxe0", text, sizeof(text));
	assert_non_null(strstr(text, "65536 KiB"));
	assert_non_null(strstr(text, "8192 KiB"));
	assert_non_null(strstr(text, "LimitMEMLOCK=infinity"));
	assert_non_null(strstr(text, "ulimit -l unlimited"));
	assert_null(strchr(text, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_needs_no_windows),
		cmocka_unit_test(an_initiator_has_a_window_and_a_place_to_bind_it_per_command),
		cmocka_unit_test(a_device_without_windows_gets_plain_keys),
		cmocka_unit_test(queues_are_no_deeper_than_the_device_s),
		cmocka_unit_test(reads_are_asked_for_within_the_device_s),
		cmocka_unit_test(what_the_peer_serves_limits_what_this_end_has_outstanding),
		cmocka_unit_test(a_peer_that_reads_nothing_does_not_limit_this_end),
		cmocka_unit_test(a_peer_that_serves_no_reads_gets_none),
		cmocka_unit_test(what_an_iwarp_peer_does_not_say_is_one_read_at_a_time),
		cmocka_unit_test(a_transfer_within_one_message_is_not_cut),
		cmocka_unit_test(a_long_transfer_is_cut_into_whole_pages),
		cmocka_unit_test(private_data_is_as_long_as_was_told),
		cmocka_unit_test(a_cookie_comes_back_as_it_was),
		cmocka_unit_test(rnr_timers_are_those_of_the_table),
		cmocka_unit_test(ack_timeouts_are_4096_ns_times_a_power_of_two),
		cmocka_unit_test(a_small_memlock_limit_is_explained_with_its_cure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

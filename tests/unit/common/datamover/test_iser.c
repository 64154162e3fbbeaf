/* The iSER mover as a whole (RFC 7145): connecting, private data, what people are shown, no memory.
 */
#include "tests/kit/iser_ends.h"

static void private_data_is_always_sent(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);

	(void)state;
	raw_connect(f, NULL, 0);
	assert_true(f->raw.theirs.length >= 4);
	assert_memory_equal(f->raw.theirs.bytes, "\x80\0\0\0", 4);
	fixture_free(f);
	f = fixture_new(&iser_ends_forbid);
	raw_connect(f, NULL, 0);
	assert_memory_equal(f->raw.theirs.bytes, "\xc0\0\0\0", 4);
	fixture_free(f);
}

/* Keys that a device cannot take back by a peer's Send: the peer is told so. */
static void a_device_with_plain_keys_does_not_offer_remote_invalidation(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct dm_conn_info info;

	(void)state;
	memory_rdma_keep_tags(f->provider);
	raw_listen(f, NULL, 0);
	assert_int_equal(fixture_connect(f), 0);
	fixture_turn(f);
	assert_memory_equal(f->raw.theirs.bytes, "\xc0\0\0\0", 4);
	dm_conn_get_info(f->i.conn, &info);
	assert_false(info.remote_invalidate);
	fixture_free(f);
}

static void refused_connection_is_told_once(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);

	(void)state;
	memory_rdma_listen(f->provider, NULL);
	assert_int_equal(fixture_connect(f), -ECONNREFUSED);
	fixture_free(f);
}

static void info_tells_mover_and_provider(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	struct dm_conn_info info;

	(void)state;
	fixture_session(f, &params);
	dm_conn_get_info(f->i.conn, &info);
	assert_string_equal(info.mover, "iser");
	assert_string_equal(info.provider, "memory");
	assert_int_equal(info.pdus_sent, 1);
	assert_int_equal(info.pdus_received, 1);
	assert_true(info.queue_depth >= 128);
	fixture_free(f);
}

static void every_allocation_of_a_session_may_fail(void **state)
{
	const struct iser_mover_config small = {.queue_depth = 1};
	struct iscsi_params params = fixture_params();

	(void)state;
	for (unsigned long n = 1; n < 40; n++) {
		struct fixture *f = fixture_new(&small);
		struct end *e = &f->i;

		alloc_fail_nth(n);
		if (fixture_connect(f) == 0) {
			fixture_turn(f);
			if (e->conn && e->connected)
				dm_allocate_connection_resources(e->conn, &params);
			if (f->t.conn)
				dm_allocate_connection_resources(f->t.conn, &params);
		}
		alloc_fail_nth(0);
		fixture_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_data_is_always_sent),
		cmocka_unit_test(a_device_with_plain_keys_does_not_offer_remote_invalidation),
		cmocka_unit_test(refused_connection_is_told_once),
		cmocka_unit_test(info_tells_mover_and_provider),
		cmocka_unit_test(every_allocation_of_a_session_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

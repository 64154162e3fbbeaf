/* The registered buffers of an iSER connection: how many, how large, posted when. */
#include "tests/kit/iser_ends.h"

static uint32_t posted(struct dm_conn *c)
{
	struct dm_conn_info info;

	dm_conn_get_info(c, &info);
	return info.queue_depth;
}

static void login_has_few_and_full_feature_phase_the_whole_window(void **state)
{
	const struct iser_mover_config config = {.queue_depth = 64};
	struct fixture *f = fixture_new(&config);
	struct iscsi_params params = fixture_params();
	uint32_t login;

	(void)state;
	assert_int_equal(fixture_connect(f), 0);
	fixture_turn(f);
	login = posted(f->t.conn);
	assert_true(login >= 1 && login <= 8);
	assert_int_equal(dm_allocate_connection_resources(f->t.conn, &params), 0);
	assert_true(posted(f->t.conn) > 64);
	fixture_free(f);
}

static void resources_that_are_there_are_not_made_twice(void **state)
{
	struct fixture *f = fixture_new(&iser_ends_allow);
	struct iscsi_params params = fixture_params();
	uint32_t once;

	(void)state;
	fixture_session(f, &params);
	once = posted(f->t.conn);
	assert_true(dm_allocate_connection_resources(f->t.conn, &params) < 0); /* not in login */
	assert_int_equal(posted(f->t.conn), once);
	fixture_free(f);
}

static void longer_segments_are_received_where_they_were_declared(void **state)
{
	const struct iser_mover_config config = {.target_recv_data_segment_length = 12000};
	struct iscsi_pdu pdu = {.opcode = ISCSI_TEXT_REQUEST, .final = true, .data_length = 12000};
	static const uint8_t data[12000];
	struct fixture *f = fixture_new(&config);

	(void)state;
	raw_connect(f, NULL, 0);
	raw_send_pdu(f, &iser_ends_plain, &pdu, data);
	assert_int_equal(f->t.pdu.data_length, 12000);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(login_has_few_and_full_feature_phase_the_whole_window),
		cmocka_unit_test(resources_that_are_there_are_not_made_twice),
		cmocka_unit_test(longer_segments_are_received_where_they_were_declared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

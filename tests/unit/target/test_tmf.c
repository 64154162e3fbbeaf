/* Task management (target/tmf.c): what is aborted, on which loops, and that the
 * response comes only when all of it is at rest. Responses are RFC 7143 section 11.6.1, attentions
 * SPC-4 table 46. */
#include "tests/unit/target/tmf_kit.h"

static void abort_task_waits_for_the_store(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	send_read(s);
	send_read(s);
	manage(s, ISCSI_TMF_ABORT_TASK, 0, 0);
	assert_int_equal(s->tmf_responses, 0);
	server_advance(v, 10 * LOOP_NS_PER_MS);
	assert_int_equal(s->tmf_responses, 1);
	assert_int_equal(s->tmf_response, ISCSI_TMF_COMPLETE);
	assert_true(s->results[0].aborted && !s->results[0].responded);
	assert_true(s->results[1].responded);
	server_free(v);
}

static void abort_of_no_task(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	send_read(s);
	manage(s, ISCSI_TMF_ABORT_TASK, 0, 77);
	assert_int_equal(s->tmf_response, ISCSI_TMF_NO_TASK);
	assert_int_equal(s->tmf_responses, 1);
	server_free(v);
}

static void command_with_a_queued_response_is_no_task(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	s->mover_holds = true;
	send_read(s);
	server_turn(v);
	manage(s, ISCSI_TMF_ABORT_TASK, 0, 0);
	assert_int_equal(s->tmf_response, ISCSI_TMF_NO_TASK);
	assert_true(s->results[0].responded && !s->results[0].aborted);
	server_free(v);
}

/* Both came with one read of the socket: the request is not yet acted upon when the command is. */
static void abort_task_set_spares_what_came_after_it(void **state)
{
	static const uint8_t functions[] = {
		ISCSI_TMF_ABORT_TASK_SET, ISCSI_TMF_CLEAR_TASK_SET, ISCSI_TMF_LUN_RESET};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct server *v = server_new_with(slow);
		struct tgt_session *s = server_session(v, 0);

		send_read(s);
		request(s, functions[i], 0, 0);
		send_read(s);
		server_advance(v, 20 * LOOP_NS_PER_MS);
		assert_int_equal(s->tmf_response, ISCSI_TMF_COMPLETE);
		assert_true(s->results[0].aborted && !s->results[0].responded);
		assert_true(s->results[1].responded && !s->results[1].aborted);
		server_free(v);
	}
}

static void abort_task_set_spares_other_nexuses(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);

	(void)state;
	send_read(a);
	send_read(b);
	manage(a, ISCSI_TMF_ABORT_TASK_SET, 0, 0);
	server_advance(v, 10 * LOOP_NS_PER_MS);
	assert_true(a->results[0].aborted && b->results[0].responded);
	assert_false(nexus_has_attention(b->nexus));
	server_free(v);
}

static void lun_reset_aborts_all_and_tells_all(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);

	(void)state;
	send_read(a);
	send_read(b);
	manage(a, ISCSI_TMF_LUN_RESET, 0, 0);
	server_advance(v, 10 * LOOP_NS_PER_MS);
	assert_int_equal(a->tmf_responses, 1);
	assert_true(a->results[0].aborted && b->results[0].aborted);
	assert_true(has_attention(a, ASC_BUS_DEVICE_RESET_FUNCTION));
	assert_true(has_attention(b, ASC_BUS_DEVICE_RESET_FUNCTION));
	assert_false(nexus_has_attention(b->nexus));
	server_free(v);
}

static void lun_reset_ends_a_reserve(void **state)
{
	struct server *v = server_new();
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	cdb_reserve6(cdb);
	assert_good(server_none(a, cdb));
	manage(a, ISCSI_TMF_LUN_RESET, 0, 0);
	assert_true(has_attention(b, ASC_BUS_DEVICE_RESET_FUNCTION));
	assert_good(server_none(b, cdb));
	server_free(v);
}

static void target_reset_resets_every_lun(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);

	(void)state;
	send_read(b);
	manage(a, ISCSI_TMF_TARGET_WARM_RESET, 0, 0);
	server_advance(v, 10 * LOOP_NS_PER_MS);
	assert_int_equal(a->tmf_response, ISCSI_TMF_COMPLETE);
	assert_true(b->results[0].aborted);
	assert_int_equal(a->target_resets, 0);
	server_free(v);
}

static void target_cold_reset_ends_the_sessions_too(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);

	(void)state;
	send_read(b);
	manage(a, ISCSI_TMF_TARGET_COLD_RESET, 0, 0);
	assert_int_equal(a->target_resets, 0); /* not before the commands are at rest */
	server_advance(v, 10 * LOOP_NS_PER_MS);
	assert_int_equal(a->tmf_response, ISCSI_TMF_COMPLETE);
	assert_true(b->results[0].aborted);
	assert_int_equal(a->target_resets, 1);
	server_free(v);
}

static void what_cannot_be_done_is_said(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	manage(s, ISCSI_TMF_LUN_RESET, 9, 0);
	assert_int_equal(s->tmf_response, ISCSI_TMF_NO_LUN);
	manage(s, ISCSI_TMF_TASK_REASSIGN, 0, 0);
	assert_int_equal(s->tmf_response, ISCSI_TMF_NO_REASSIGNMENT);
	manage(s, ISCSI_TMF_CLEAR_ACA, 0, 0);
	assert_int_equal(s->tmf_response, ISCSI_TMF_NOT_SUPPORTED);
	manage(s, 0, 0, 0);
	assert_int_equal(s->tmf_response, ISCSI_TMF_NOT_SUPPORTED);
	manage(s, 99, 0, 0);
	assert_int_equal(s->tmf_response, ISCSI_TMF_NOT_SUPPORTED);
	server_free(v);
}

static void every_failed_allocation_is_answered(void **state)
{
	(void)state;
	for (unsigned long n = 1; n < 6; n++) {
		struct server *v = server_new_with(slow);
		struct tgt_session *a = server_session(v, 0);
		unsigned long live = alloc_live();

		server_session(v, 1);
		live = alloc_live();
		alloc_fail_nth(n);
		manage(a, ISCSI_TMF_LUN_RESET, 0, 0);
		alloc_fail_nth(0);
		assert_int_equal(a->tmf_responses, 1);
		if (n <= 4)
			assert_int_equal(a->tmf_response, ISCSI_TMF_REJECTED);
		assert_int_equal(alloc_live(), live);
		server_free(v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(abort_task_waits_for_the_store),
		cmocka_unit_test(abort_of_no_task),
		cmocka_unit_test(command_with_a_queued_response_is_no_task),
		cmocka_unit_test(abort_task_set_spares_what_came_after_it),
		cmocka_unit_test(abort_task_set_spares_other_nexuses),
		cmocka_unit_test(lun_reset_aborts_all_and_tells_all),
		cmocka_unit_test(lun_reset_ends_a_reserve),
		cmocka_unit_test(target_reset_resets_every_lun),
		cmocka_unit_test(target_cold_reset_ends_the_sessions_too),
		cmocka_unit_test(what_cannot_be_done_is_said),
		cmocka_unit_test(every_failed_allocation_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

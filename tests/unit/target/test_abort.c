/* Aborts that reach several loops (target/abort.c): a round ends when all that it aborted is at
 * rest, and not before. */
#include "tests/unit/target/tmf_kit.h"

static void second_abort_waits_too(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	send_read(s);
	manage(s, ISCSI_TMF_ABORT_TASK, 0, 0);
	manage(s, ISCSI_TMF_ABORT_TASK_SET, 0, 0);
	assert_int_equal(s->tmf_responses, 0);
	server_advance(v, 10 * LOOP_NS_PER_MS);
	assert_int_equal(s->tmf_responses, 2);
	server_free(v);
}

static void clear_task_set_reaches_other_loops(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1),
			   *c = server_session(v, 1);

	(void)state;
	send_read(a);
	send_read(b);
	manage(a, ISCSI_TMF_CLEAR_TASK_SET, 0, 0);
	assert_int_equal(a->tmf_responses, 0);
	server_advance(v, 10 * LOOP_NS_PER_MS);
	assert_int_equal(a->tmf_response, ISCSI_TMF_COMPLETE);
	assert_int_equal(a->tmf_responses, 1);
	assert_true(a->results[0].aborted && b->results[0].aborted);
	assert_true(has_attention(b, ASC_COMMANDS_CLEARED_BY_ANOTHER_INITIATOR));
	assert_false(nexus_has_attention(a->nexus));
	assert_false(nexus_has_attention(c->nexus)); /* had no commands */
	server_free(v);
}

static void other_session_that_ends_meanwhile_is_no_hindrance(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_TMF_REQUEST,
		.tmf = {.function = ISCSI_TMF_LUN_RESET},
	};

	(void)state;
	tmf_start(a, &pdu); /* the message for b is on its way */
	nexus_free(b->nexus);
	backend_close_channel(b->channel);
	b->nexus = NULL;
	server_turn(v);
	assert_int_equal(a->tmf_responses, 1);
	server_free(v);
}

static void count_done(void *argument)
{
	++*(unsigned *)argument;
}

static struct abort_round *new_round(struct tgt_session *home, unsigned *done)
{
	struct abort_config config = {
		.loop = home->worker->loop,
		.home = home->nexus,
		.done = count_done,
		.argument = done,
	};
	struct abort_round *r;

	assert_int_equal(abort_round_new(&config, &r), 0);
	return r;
}

/* Also then done() comes from the loop, not from inside the call. */
static void round_without_parts_ends_from_the_loop(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	unsigned done = 0;

	(void)state;
	abort_round_start(new_round(s, &done));
	assert_int_equal(done, 0);
	server_turn(v);
	assert_int_equal(done, 1);
	server_free(v);
}

static void only_the_named_command_is_aborted(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	struct abort_round *r;
	unsigned done = 0;
	struct command *second;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		send_read(s);
	server_turn(v);
	second = list_entry(s->nexus->commands.next->next, struct command, nexus_link);
	r = new_round(s, &done);
	assert_int_equal(abort_round_add(r, v->device, s->nexus), 0);
	abort_round_only(r, second->serial);
	abort_round_start(r);
	server_advance(v, 10 * LOOP_NS_PER_MS);
	assert_int_equal(done, 1);
	assert_true(s->results[1].aborted);
	assert_true(s->results[0].responded && s->results[2].responded);
	server_free(v);
}

/* A command that comes while the round waits belongs to the time after it. */
static void what_arrives_later_is_spared_and_not_waited_for(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	struct abort_round *r;
	unsigned done = 0;

	(void)state;
	send_read(s);
	r = new_round(s, &done);
	assert_int_equal(abort_round_add(r, v->device, s->nexus), 0);
	abort_round_start(r);
	server_turn(v);
	server_advance(v, 5 * LOOP_NS_PER_MS);
	send_read(s);
	server_advance(v, 5 * LOOP_NS_PER_MS);
	assert_int_equal(done, 1);
	assert_true(s->results[0].aborted);
	assert_false(s->results[1].responded);
	server_advance(v, 5 * LOOP_NS_PER_MS);
	assert_true(s->results[1].responded);
	server_free(v);
}

static void nexus_that_goes_while_waited_for_ends_its_part(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *a = server_session(v, 0), *b = server_session(v, 1);
	struct abort_round *r = new_round(a, &(unsigned){0});
	unsigned done = 0;

	(void)state;
	abort_round_free(r);
	r = new_round(a, &done);
	send_read(b);
	server_turn(v);
	assert_int_equal(abort_round_add(r, v->device, b->nexus), 0);
	abort_round_start(r);
	server_turn(v);
	assert_int_equal(done, 0);
	server_session_end(b);
	server_turn(v);
	assert_int_equal(done, 1);
	server_free(v);
}

static void round_that_is_given_up_holds_nothing(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	unsigned long live = alloc_live();
	unsigned references = atomic_load(&v->device->references);
	struct abort_round *r = new_round(s, NULL);

	(void)state;
	assert_int_equal(abort_round_add(r, v->device, s->nexus), 0);
	assert_int_equal(atomic_load(&v->device->references), references + 1);
	alloc_fail_nth(1);
	assert_int_equal(abort_round_add(r, v->device, s->nexus), -ENOMEM);
	alloc_fail_nth(0);
	abort_round_free(r);
	abort_round_free(NULL);
	assert_int_equal(atomic_load(&v->device->references), references);
	assert_int_equal(alloc_live(), live);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clear_task_set_reaches_other_loops),
		cmocka_unit_test(second_abort_waits_too),
		cmocka_unit_test(other_session_that_ends_meanwhile_is_no_hindrance),
		cmocka_unit_test(round_without_parts_ends_from_the_loop),
		cmocka_unit_test(only_the_named_command_is_aborted),
		cmocka_unit_test(what_arrives_later_is_spared_and_not_waited_for),
		cmocka_unit_test(nexus_that_goes_while_waited_for_ends_its_part),
		cmocka_unit_test(round_that_is_given_up_holds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

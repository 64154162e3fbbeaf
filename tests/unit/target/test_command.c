/* The life of a command (target/command.c, command_check.c): turns, fence, what is checked and in
 * which order. */
#include "tests/unit/target/device_server.h"

static const struct server_config slow = {.delay_ns = LOOP_NS_PER_MS};

static uint32_t send_read(struct tgt_session *s, uint8_t attribute)
{
	uint8_t cdb[CDB_SIZE];
	unsigned size;

	cdb_read_write(cdb, SCSI_DATA_IN, 0, 8, false, &size);
	return server_send(
		s, (struct server_send){
			   .cdb = cdb, .read = true, .length = 4096, .attribute = attribute});
}

static bool under_way(struct tgt_session *s, uint32_t itt)
{
	struct command *cmd;

	list_for_each(cmd, &s->commands, session_link)
		if (cmd->itt == itt)
			return cmd->pending > 0;
	return false;
}

static void simple_commands_run_together(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	send_read(s, ISCSI_ATTR_SIMPLE);
	send_read(s, ISCSI_ATTR_UNTAGGED);
	assert_true(under_way(s, 0) && under_way(s, 1));
	server_free(v);
}

static void ordered_command_waits_for_older_and_holds_younger(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	send_read(s, ISCSI_ATTR_SIMPLE);
	send_read(s, ISCSI_ATTR_ORDERED);
	send_read(s, ISCSI_ATTR_SIMPLE);
	assert_true(under_way(s, 0));
	assert_false(under_way(s, 1) || under_way(s, 2));
	server_advance(v, LOOP_NS_PER_MS);
	assert_true(s->results[0].responded && under_way(s, 1));
	assert_false(under_way(s, 2));
	server_advance(v, LOOP_NS_PER_MS);
	assert_true(s->results[1].responded && under_way(s, 2));
	server_free(v);
}

static void head_of_queue_waits_for_nothing(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	send_read(s, ISCSI_ATTR_SIMPLE);
	send_read(s, ISCSI_ATTR_ORDERED);
	send_read(s, ISCSI_ATTR_HEAD_OF_QUEUE);
	assert_true(under_way(s, 2));
	assert_false(under_way(s, 1));
	server_free(v);
}

static void aborted_ordered_command_lets_others_go(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	struct command *cmd;

	(void)state;
	send_read(s, ISCSI_ATTR_SIMPLE);
	send_read(s, ISCSI_ATTR_ORDERED);
	send_read(s, ISCSI_ATTR_SIMPLE);
	list_for_each(cmd, &s->commands, session_link)
		if (cmd->itt == 1)
			command_abort(cmd);
	server_turn(v);
	assert_true(s->results[1].aborted);
	assert_true(under_way(s, 2));
	server_free(v);
}

static void waiting_command_keeps_its_immediate_data(void **state)
{
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t *data = server_pattern(4096, 9), cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	send_read(s, ISCSI_ATTR_SIMPLE);
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 8, false, &size);
	assert_good(server_do(s, (struct server_send){.cdb = cdb,
					 .write = true,
					 .length = 4096,
					 .attribute = ISCSI_ATTR_ORDERED,
					 .out = data,
					 .immediate = 4096}));
	server_read(s, 0, 8, 4096);
	assert_memory_equal(v->memory, data, 4096);
	free(data);
	server_free(v);
}

/* Takes all of the arena, or gives it back. */
static void exhaust(struct arena *a, void *taken[4096], bool take)
{
	uint32_t capacity;

	for (unsigned i = 0; i < 4096; i++)
		if (take)
			taken[i] = arena_get(a, 512, &capacity);
		else
			arena_put(a, taken[i]);
}

static void immediate_data_that_finds_no_memory_is_task_set_full(void **state)
{
	static void *taken[4096];
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t *data = server_pattern(4096, 9), cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	send_read(s, ISCSI_ATTR_SIMPLE);
	exhaust(s->worker->arena, taken, true);
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 8, false, &size);
	server_send(s, (struct server_send){.cdb = cdb,
			       .write = true,
			       .length = 4096,
			       .attribute = ISCSI_ATTR_ORDERED,
			       .out = data,
			       .immediate = 4096});
	exhaust(s->worker->arena, taken, false);
	for (unsigned i = 0; i < 5; i++)
		server_advance(v, LOOP_NS_PER_MS);
	assert_int_equal(s->results[0].status, SCSI_GOOD);
	assert_true(s->results[1].responded);
	assert_int_equal(s->results[1].status, SCSI_TASK_SET_FULL);
	free(data);
	server_free(v);
}

/* Else nothing that waits could ever begin, and nothing would give a buffer back. */
static void immediate_data_leaves_what_one_command_needs(void **state)
{
	void *taken[100];
	struct server *v = server_new_with(slow);
	struct tgt_session *s = server_session(v, 0);
	uint8_t *data = server_pattern(4096, 9), cdb[CDB_SIZE];
	unsigned size, count = 0, small = 0;
	static void *smaller[4096];
	uint32_t capacity;

	(void)state;
	send_read(s, ISCSI_ATTR_SIMPLE);
	while ((taken[count] =
			arena_get_sparing(s->worker->arena, WORKER_LARGE_BUFFER, 2, &capacity)))
		count++;
	while ((smaller[small] = arena_get_sparing(s->worker->arena, 512, 2, &capacity)))
		small++;
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 8, false, &size);
	server_send(s, (struct server_send){.cdb = cdb,
			       .write = true,
			       .length = 4096,
			       .attribute = ISCSI_ATTR_ORDERED,
			       .out = data,
			       .immediate = 4096});
	for (unsigned i = 0; i < 5; i++)
		server_advance(v, LOOP_NS_PER_MS);
	assert_int_equal(s->results[0].status, SCSI_GOOD);
	assert_int_equal(s->results[1].status, SCSI_TASK_SET_FULL);
	while (small)
		arena_put(s->worker->arena, smaller[--small]);
	while (count)
		arena_put(s->worker->arena, taken[--count]);
	free(data);
	server_free(v);
}

static void medium_access_waits_for_the_fence(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE];

	(void)state;
	atomic_store(&s->nexus->fence, 2);
	send_read(s, ISCSI_ATTR_SIMPLE);
	cdb_test_unit_ready(cdb);
	assert_good(server_none(s, cdb)); /* touches no medium */
	assert_false(s->results[0].responded);
	atomic_store(&s->nexus->fence, 1);
	command_resume_fenced(s->nexus);
	server_turn(v);
	assert_false(s->results[0].responded);
	atomic_store(&s->nexus->fence, 0);
	command_resume_fenced(s->nexus);
	server_turn(v);
	assert_true(s->results[0].responded);
	server_free(v);
}

static void no_command_left_is_task_set_full(void **state)
{
	struct server *v =
		server_new_with((struct server_config){.delay_ns = LOOP_NS_PER_MS, .commands = 2});
	struct tgt_session *s = server_session(v, 0);

	(void)state;
	send_read(s, ISCSI_ATTR_SIMPLE);
	send_read(s, ISCSI_ATTR_SIMPLE);
	send_read(s, ISCSI_ATTR_SIMPLE);
	assert_int_equal(s->results[2].status, SCSI_TASK_SET_FULL);
	server_advance(v, LOOP_NS_PER_MS);
	assert_int_equal(s->results[0].status, SCSI_GOOD);
	server_free(v);
}

static void data_that_broke_the_protocol_ends_the_command(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t data[4096] = {0}, cdb[CDB_SIZE];
	unsigned size;

	(void)state;
	s->mover_holds = true;
	s->mover_status = -EBADMSG;
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 8, false, &size);
	server_send(
		s, (struct server_send){.cdb = cdb, .write = true, .length = 4096, .out = data});
	command_data_failed(list_first(&s->commands, struct command, session_link));
	server_let_go(s);
	server_turn(v);
	assert_sense(&s->results[0], SENSE_ABORTED_COMMAND, ASC_DATA_PHASE_ERROR);
	server_free(v);
}

static void parameter_list_that_is_cut_is_refused(void **state)
{
	struct server *v = server_new();
	struct tgt_session *s = server_session(v, 0);
	uint8_t cdb[CDB_SIZE], list[24] = {0};

	(void)state;
	cdb_unmap(cdb, 24);
	assert_sense(server_out(s, cdb, list, 16), SENSE_ILLEGAL_REQUEST,
		ASC_INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT);
	server_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple_commands_run_together),
		cmocka_unit_test(ordered_command_waits_for_older_and_holds_younger),
		cmocka_unit_test(head_of_queue_waits_for_nothing),
		cmocka_unit_test(aborted_ordered_command_lets_others_go),
		cmocka_unit_test(waiting_command_keeps_its_immediate_data),
		cmocka_unit_test(immediate_data_that_finds_no_memory_is_task_set_full),
		cmocka_unit_test(immediate_data_leaves_what_one_command_needs),
		cmocka_unit_test(medium_access_waits_for_the_fence),
		cmocka_unit_test(no_command_left_is_task_set_full),
		cmocka_unit_test(data_that_broke_the_protocol_ends_the_command),
		cmocka_unit_test(parameter_list_that_is_cut_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Every state of a SCSI command, and everything that it can wait for in it, meets every event: what
 * the mover, the backend, the session, memory and the fence can say to it, at that point and again.
 * It is responded to or aborted, once; its buffers, its range, its turn are given back; and others
 * go on. */
#include "tests/unit/target/device_server.h"

#include "common/scsi/mode.h"

#define DELAY_NS (10 * LOOP_NS_PER_MS)
#define BLOCKS 8u
#define BLOCK 512u
#define HOARD 512

struct world {
	struct server *v;
	struct tgt_session *s, *other;
	uint8_t out[BLOCKS * BLOCK];
	struct command *cmd;
	struct server_result *result;
	void *hoard[HOARD];
	unsigned hoarded;
};

/* ---- what a command may wait for ---- */

static void hoard(struct world *w)
{
	uint32_t capacity;
	void *b;

	while ((b = arena_get(w->s->worker->arena, 1, &capacity))) {
		assert_true(w->hoarded < HOARD);
		w->hoard[w->hoarded++] = b;
	}
}

static void hoard_free(struct world *w)
{
	while (w->hoarded)
		arena_put(w->s->worker->arena, w->hoard[--w->hoarded]);
	command_resume_starved(w->s->worker);
}

/* The newest command of the session is looked at. */
static void sent(struct world *w, uint32_t itt)
{
	w->result = server_result_of(w->s, itt);
	w->cmd = list_entry(w->s->commands.prev, struct command, session_link);
	assert_int_equal(w->cmd->itt, itt);
}

static void send_move(struct world *w, bool writes, uint8_t attribute, uint32_t immediate)
{
	uint8_t cdb[CDB_SIZE];
	unsigned size;

	cdb_read_write(cdb, writes ? SCSI_DATA_OUT : SCSI_DATA_IN, 0, BLOCKS, false, &size);
	sent(w, server_send(w->s, (struct server_send){.cdb = cdb,
					  .read = !writes,
					  .write = writes,
					  .attribute = attribute,
					  .length = BLOCKS * BLOCK,
					  .out = w->out,
					  .immediate = immediate}));
}

static void send_mode_select(struct world *w)
{
	uint8_t cdb[CDB_SIZE];

	cdb_mode_select6(cdb, false, 24);
	sent(w, server_send(w->s, (struct server_send){
					  .cdb = cdb, .write = true, .length = 24, .out = w->out}));
}

static void waits_for_its_turn(struct world *w)
{
	send_move(w, false, ISCSI_ATTR_ORDERED, 0);
	send_move(w, true, ISCSI_ATTR_SIMPLE, BLOCK);
	assert_true(w->cmd->waits_turn);
}

static void waits_for_the_fence(struct world *w)
{
	atomic_store(&w->s->nexus->fence, 1);
	send_move(w, true, ISCSI_ATTR_SIMPLE, BLOCK);
	assert_true(w->cmd->waits_fence);
}

static void waits_for_memory_of_its_parameters(struct world *w)
{
	hoard(w);
	send_mode_select(w);
	assert_true(w->cmd->waits_memory);
	assert_int_equal(w->cmd->state, COMMAND_ARRIVED);
}

static void fetches_its_parameters(struct world *w)
{
	w->s->mover_holds = true;
	send_mode_select(w);
	assert_int_equal(w->cmd->state, COMMAND_FETCHING);
}

static void waits_for_memory_of_its_data(struct world *w)
{
	hoard(w);
	send_move(w, true, ISCSI_ATTR_SIMPLE, 0);
	assert_true(w->cmd->waits_memory);
	assert_int_equal(w->cmd->state, COMMAND_EXECUTING);
}

static void waits_for_its_range(struct world *w)
{
	uint8_t cdb[CDB_SIZE];

	w->s->mover_holds = true;
	cdb_compare_and_write(cdb, 0, 1, false);
	server_send(w->s, (struct server_send){
				  .cdb = cdb, .write = true, .length = 2 * BLOCK, .out = w->out});
	sent(w, server_send(w->s,
			(struct server_send){
				.cdb = cdb, .write = true, .length = 2 * BLOCK, .out = w->out}));
}

static void gets_its_data(struct world *w)
{
	w->s->mover_holds = true;
	send_move(w, true, ISCSI_ATTR_SIMPLE, BLOCK);
	assert_int_equal(w->result->gets, 1);
}

static void waits_for_the_backend_to_read(struct world *w)
{
	send_move(w, false, ISCSI_ATTR_SIMPLE, 0);
	assert_int_equal(w->cmd->state, COMMAND_EXECUTING);
}

static void waits_for_the_backend_to_write(struct world *w)
{
	send_move(w, true, ISCSI_ATTR_SIMPLE, BLOCKS * BLOCK);
	assert_int_equal(w->cmd->state, COMMAND_EXECUTING);
}

static void responds_while_its_data_leave(struct world *w)
{
	w->s->mover_holds = true;
	send_move(w, false, ISCSI_ATTR_SIMPLE, 0);
	server_advance(w->v, DELAY_NS);
	assert_int_equal(w->result->puts, 1);
	assert_int_equal(w->cmd->state, COMMAND_RESPONDING);
}

static void is_aborted_while_the_backend_reads(struct world *w)
{
	waits_for_the_backend_to_read(w);
	command_abort(w->cmd);
	assert_int_equal(w->cmd->state, COMMAND_ABORTING);
}

static void is_aborted_while_data_come(struct world *w)
{
	gets_its_data(w);
	command_abort(w->cmd);
}

static void is_aborted_after_its_response(struct world *w)
{
	responds_while_its_data_leave(w);
	command_abort(w->cmd);
}

static void (*const states[])(struct world *w) = {
	waits_for_its_turn,
	waits_for_the_fence,
	waits_for_memory_of_its_parameters,
	fetches_its_parameters,
	waits_for_memory_of_its_data,
	waits_for_its_range,
	gets_its_data,
	waits_for_the_backend_to_read,
	waits_for_the_backend_to_write,
	responds_while_its_data_leave,
	is_aborted_while_the_backend_reads,
	is_aborted_while_data_come,
	is_aborted_after_its_response,
};

/* ---- events ---- */

/* Only while the command is there: nobody has a pointer to one that is over. */
static bool is_there(const struct world *w)
{
	const struct command *c;

	list_for_each(c, &w->s->commands, session_link)
		if (c == w->cmd)
			return true;
	return false;
}

static void nothing(struct world *w)
{
	(void)w;
}

static void abort_it(struct world *w)
{
	if (is_there(w))
		command_abort(w->cmd);
}

static void data_break_the_protocol(struct world *w)
{
	if (is_there(w) && w->cmd->task) /* the mover tells of tasks that it has */
		command_data_failed(w->cmd);
}

static void transfers_end_well(struct world *w)
{
	server_let_go(w->s);
	server_turn(w->v);
}

static void transfers_fail(struct world *w)
{
	w->s->mover_status = -ECONNRESET;
	server_let_go(w->s);
	server_turn(w->v);
	w->s->mover_status = 0;
}

static void backend_answers(struct world *w)
{
	server_advance(w->v, DELAY_NS);
}

static void memory_comes_free(struct world *w)
{
	hoard_free(w);
	server_turn(w->v);
}

static void fence_falls(struct world *w)
{
	atomic_store(&w->s->nexus->fence, 0);
	command_resume_fenced(w->s->nexus);
	server_turn(w->v);
}

static void the_others_are_aborted(struct world *w)
{
	struct command *c, *next;

	list_for_each_safe(c, next, &w->s->commands, session_link)
		if (c != w->cmd)
			command_abort(c);
	server_turn(w->v);
}

static void (*const events[])(struct world *w) = {
	nothing,
	abort_it,
	data_break_the_protocol,
	transfers_end_well,
	transfers_fail,
	backend_answers,
	memory_comes_free,
	fence_falls,
	the_others_are_aborted,
};

/* ---- walking ---- */

static void world_open(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->v = server_new_with((struct server_config){.delay_ns = DELAY_NS, .blocks = 1024});
	w->s = server_session(w->v, 0);
	w->other = server_session(w->v, 0);
}

/* All that was waited for comes; then nothing is left of any command. */
static void world_settle(struct world *w)
{
	struct nexus *n = w->s->nexus;
	const struct worker *worker = w->s->worker;

	memory_comes_free(w);
	fence_falls(w);
	transfers_end_well(w);
	for (unsigned i = 0; i < 20; i++)
		server_advance(w->v, DELAY_NS);
	assert_true(list_empty(&w->s->commands));
	assert_true(list_empty(&worker->starved));
	assert_int_equal(n->waiting_turn, 0);
	assert_int_equal(n->barriers, 0);
	assert_int_equal(pool_available(worker->commands), 64);
	/* One that was aborted behind its response has both. */
	assert_true(w->result->responded || w->result->aborted);
	server_write(w->other, 0, BLOCKS, w->out, sizeof(w->out));
	server_read(w->s, 0, BLOCKS, BLOCKS * BLOCK);
}

static void every_state_meets_every_two_events(void **state)
{
	unsigned long live = alloc_live();

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(states); s++) {
		struct world w;

		world_open(&w);
		for (size_t first = 0; first < ARRAY_SIZE(events); first++) {
			for (size_t second = 0; second < ARRAY_SIZE(events); second++) {
				states[s](&w);
				events[first](&w);
				events[second](&w);
				world_settle(&w);
			}
		}
		server_free(w.v);
		assert_int_equal(alloc_live(), live);
	}
}

/* Its turn comes while its end is on its way: it ends once. */
static void data_that_fail_while_a_command_waits_for_its_turn_end_it_once(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	waits_for_its_turn(&w);
	command_data_failed(w.cmd);
	assert_false(w.cmd->waits_turn);
	assert_int_equal(w.s->nexus->waiting_turn, 0);
	the_others_are_aborted(&w);
	assert_true(w.result->responded);
	assert_sense(w.result, SENSE_ABORTED_COMMAND, ASC_DATA_PHASE_ERROR);
	world_settle(&w);
	server_free(w.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_meets_every_two_events),
		cmocka_unit_test(data_that_fail_while_a_command_waits_for_its_turn_end_it_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

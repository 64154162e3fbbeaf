/* The life of a SCSI command (SAM-5 section 5): see command.h. Called by the session when a command
 * arrives or must go, by executors and transfer.c when it is over. What executors call is
 * command_reply.c; what is checked before a command is executed is command_check.c. */
#include "target/command.h"

#include <errno.h>

#include "common/base/bytes.h"
#include "common/base/pool.h"
#include "common/iscsi/pdu.h"
#include "target/abort.h"
#include "target/command_check.h"
#include "target/session.h"
#include "target/transfer.h"
#include "target/worker.h"

static void command_advance(struct command *cmd);

/* ---- turns: task attributes (SAM-5 section 8.6), within one nexus ---- */

static bool runs(const struct command *cmd)
{
	return !cmd->responded && !cmd->aborted;
}

/* HEAD OF QUEUE waits for nothing; ORDERED for all that is older; everybody else for older ORDERED
 * ones; and all for HEAD OF QUEUE. */
static bool turn_has_come(const struct command *cmd)
{
	const struct nexus *n = cmd->nexus;
	const struct command *c;
	bool older = true;

	if (!n || !n->barriers || cmd->attribute == ISCSI_ATTR_HEAD_OF_QUEUE)
		return true;
	list_for_each(c, &n->commands, nexus_link) {
		if (c == cmd)
			older = false;
		else if (runs(c) &&
			 (c->attribute == ISCSI_ATTR_HEAD_OF_QUEUE ||
				 (older && (c->attribute == ISCSI_ATTR_ORDERED ||
						   cmd->attribute == ISCSI_ATTR_ORDERED))))
			return false;
	}
	return true;
}

/* A command is over: who waited for it may have its turn. */
static void pass_turn(struct command *cmd)
{
	struct nexus *n = cmd->nexus;
	struct command *c, *tmp;

	if (!n)
		return;
	n->barriers -= cmd->barrier;
	cmd->barrier = false;
	if (!n->waiting_turn)
		return;
	list_for_each_safe(c, tmp, &n->commands, nexus_link)
		if (c->waits_turn && turn_has_come(c)) {
			c->waits_turn = false;
			n->waiting_turn--;
			command_advance(c);
		}
}

/* ---- the end ---- */

static void give_back(struct command *cmd)
{
	struct arena *a = cmd->worker->arena;

	range_lock_release(&cmd->range);
	transfer_free_buffers(cmd);
	arena_put(a, cmd->data);
	arena_put(a, cmd->stash);
	list_remove(&cmd->starved_link);
	list_remove(&cmd->session_link);
	list_remove(&cmd->nexus_link);
	if (cmd->task)
		dm_deallocate_task_resources(cmd->conn, cmd->task);
}

/* Everything is at rest. */
static void release(struct command *cmd)
{
	struct worker *w = cmd->worker;

	give_back(cmd);
	cmd->state = COMMAND_DONE;
	if (cmd->aborted) {
		pass_turn(cmd);
		if (cmd->nexus)
			abort_parts_check(cmd->nexus);
		tgt_session_command_aborted(cmd->session, cmd);
	}
	pool_put(w->commands, cmd);
	command_resume_starved(w);
}

static void respond(struct command *cmd)
{
	cmd->state = COMMAND_RESPONDING;
	cmd->responded = true;
	tgt_session_respond(cmd->session, cmd);
	pass_turn(cmd);
	if (!cmd->pending)
		release(cmd);
}

bool command_rest(struct command *cmd)
{
	cmd->pending--;
	if (!cmd->aborted && cmd->state != COMMAND_RESPONDING)
		return true;
	if (!cmd->pending)
		release(cmd);
	return false;
}

void command_mover_takes(struct command *cmd)
{
	command_busy(cmd);
	cmd->in_mover++;
	cmd->mover_ns = loop_now(cmd->worker->loop);
}

void command_mover_gives(struct command *cmd)
{
	cmd->in_mover--;
	cmd->mover_ns = loop_now(cmd->worker->loop);
}

static void stop_waiting(struct command *cmd)
{
	if (cmd->waits_turn)
		cmd->nexus->waiting_turn--;
	cmd->waits_turn = cmd->waits_fence = cmd->waits_memory = false;
	list_remove(&cmd->starved_link);
	/* A wake-up that is on its way counts as pending until it comes. */
	if (cmd->range.state == RANGE_WAITING && range_lock_cancel(&cmd->range))
		cmd->pending--;
}

void command_abort(struct command *cmd)
{
	if (cmd->aborted)
		return;
	cmd->aborted = true;
	cmd->state = COMMAND_ABORTING;
	stop_waiting(cmd);
	if (cmd->task)
		dm_deallocate_task_resources(cmd->conn, cmd->task);
	cmd->task = NULL;
	cmd->conn = NULL;
	loop_call_cancel(&cmd->advance);
	if (!cmd->pending)
		loop_defer(cmd->worker->loop, &cmd->advance);
}

void command_data_failed(struct command *cmd)
{
	if (cmd->failed || cmd->finished || cmd->aborted)
		return;
	command_fail(cmd, SENSE_ABORTED_COMMAND, ASC_DATA_PHASE_ERROR);
	if (cmd->plan)
		transfer_resume(cmd);
}

/* ---- parameter data ---- */

static void execute(struct command *cmd)
{
	cmd->state = COMMAND_EXECUTING;
	cmd->operation->execute(cmd);
}

static void fetched(struct dm_transfer *t, int status)
{
	struct command_extent *e = container_of(t, struct command_extent, transfer);
	struct command *cmd = e->cmd;

	command_mover_gives(cmd);
	if (!command_rest(cmd) || cmd->failed)
		return;
	if (status)
		command_fail(cmd, SENSE_ABORTED_COMMAND, ASC_DATA_PHASE_ERROR);
	else
		execute(cmd);
}

static void fetch_rest(struct command *cmd, uint32_t here)
{
	struct command_extent *e = &cmd->extents[0];

	e->cmd = cmd;
	e->transfer = (struct dm_transfer){
		.data = cmd->data + here,
		.length = cmd->parameter_length - here,
		.offset = here,
		.region = cmd->arena_region,
		.done = fetched,
	};
	command_mover_takes(cmd);
	if (!dm_get_data(cmd->conn, cmd->task, &e->transfer))
		return;
	command_mover_gives(cmd);
	cmd->pending--;
	command_fail(cmd, SENSE_ABORTED_COMMAND, ASC_DATA_PHASE_ERROR);
}

static void fetch(struct command *cmd)
{
	uint32_t here = min_u32(cmd->immediate_length, cmd->parameter_length);
	uint32_t size = cmd->parameter_length;

	if (size < cmd->buffer_size)
		size = cmd->buffer_size;
	cmd->data = arena_get(cmd->worker->arena, size, &cmd->data_capacity);
	if (!cmd->data) {
		command_starve(cmd);
		return;
	}
	cmd->state = COMMAND_FETCHING;
	if (here)
		memcpy(cmd->data, cmd->immediate, here);
	if (here == cmd->parameter_length)
		execute(cmd);
	else
		fetch_rest(cmd, here);
}

/* ---- the beginning ---- */

static bool fence_is_up(const struct command *cmd)
{
	return cmd->operation->flags & OPERATION_MEDIUM &&
	       atomic_load_explicit(&cmd->nexus->fence, memory_order_acquire);
}

static bool parameter_list_is_right(struct command *cmd)
{
	if (!cmd->parameter_length)
		return true;
	cmd->transfer_length = cmd->parameter_length;
	if (!command_check_direction(cmd, false))
		return false;
	/* A list that is cut is not the list that the CDB tells of. */
	if (cmd->expected_length >= cmd->parameter_length)
		return true;
	command_fail(cmd, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT);
	return false;
}

/* COMMAND_ARRIVED: takes its turn, is checked, passes the fence, gets its parameter data. */
static void start(struct command *cmd)
{
	if (!cmd->operation) {
		if (!turn_has_come(cmd)) {
			cmd->waits_turn = true;
			cmd->nexus->waiting_turn++;
			return;
		}
		if (!command_check(cmd) || !cmd->operation->parse(cmd))
			return;
	}
	if (fence_is_up(cmd)) {
		cmd->waits_fence = true;
		return;
	}
	if (!parameter_list_is_right(cmd))
		return;
	if (cmd->parameter_length)
		fetch(cmd);
	else
		execute(cmd);
}

static void command_advance(struct command *cmd)
{
	if (cmd->state == COMMAND_ABORTING || cmd->state == COMMAND_RESPONDING)
		release(cmd);
	else if (cmd->finished)
		respond(cmd);
	else if (cmd->state == COMMAND_ARRIVED)
		start(cmd);
	else if (cmd->plan)
		transfer_resume(cmd);
	else
		execute(cmd);
}

static void advance_called(struct loop_call *c)
{
	command_advance(container_of(c, struct command, advance));
}

void command_finish(struct command *cmd, uint8_t status)
{
	if (cmd->finished || cmd->aborted)
		return;
	cmd->finished = true;
	cmd->status = status;
	/* Its data may have failed while it waited: nothing shall wake it any more. */
	stop_waiting(cmd);
	/* Not from here: the session, or the mover, may have called us. */
	loop_defer(cmd->worker->loop, &cmd->advance);
}

/* ---- waiting ---- */

void command_starve(struct command *cmd)
{
	if (!cmd->waits_memory)
		list_append(&cmd->worker->starved, &cmd->starved_link);
	cmd->waits_memory = true;
}

void command_resume_starved(struct worker *w)
{
	/* More than a few at a time would look at the whole queue for
	 * each buffer that comes free. */
	for (unsigned tries = 0; tries < 4 && !list_empty(&w->starved); tries++) {
		struct command *cmd =
			list_entry(list_pop(&w->starved), struct command, starved_link);

		cmd->waits_memory = false;
		command_advance(cmd);
		if (!cmd->waits_memory)
			continue;
		/* It keeps its place. */
		list_remove(&cmd->starved_link);
		list_prepend(&w->starved, &cmd->starved_link);
		return;
	}
}

void command_resume_fenced(struct nexus *n)
{
	struct command *cmd, *tmp;

	if (atomic_load_explicit(&n->fence, memory_order_acquire))
		return;
	list_for_each_safe(cmd, tmp, &n->commands, nexus_link)
		if (cmd->waits_fence) {
			cmd->waits_fence = false;
			command_advance(cmd);
		}
}

/* ---- arrival ---- */

/* RFC 7143 section 11.2.2.3: length, type 1, a reserved byte that the length counts, then the CDB's
 * rest. */
static void extend_cdb(struct command *cmd, const uint8_t *ahs, size_t size)
{
	size_t length;

	if (size < 4 || ahs[2] != 0x01 || get_be16(ahs) < 1)
		return;
	length = min_size((size_t)get_be16(ahs) - 1, size - 4);
	memcpy(cmd->cdb + ISCSI_CDB_SIZE, ahs + 4,
		min_size(length, sizeof(cmd->cdb) - ISCSI_CDB_SIZE));
}

static void command_init(struct command *cmd, struct tgt_session *s, struct dm_conn *conn,
	struct dm_task *task, const struct iscsi_pdu *pdu)
{
	memset(cmd, 0, offsetof(struct command, extents));
	for (unsigned i = 0; i < COMMAND_EXTENTS; i++)
		cmd->extents[i].step = NULL;
	cmd->session = s;
	cmd->worker = tgt_session_worker(s);
	cmd->arena_region = tgt_session_mover(s)->arena;
	cmd->conn = conn;
	cmd->task = task;
	cmd->itt = pdu->itt;
	cmd->attribute = pdu->command.attribute;
	cmd->reads = pdu->command.read;
	cmd->writes = pdu->command.write;
	cmd->expected_length = pdu->command.expected_length;
	cmd->cmd_sn = pdu->cmd_sn;
	cmd->sense.field_bit = -1;
	cmd->advance.call = advance_called;
	memcpy(cmd->cdb, pdu->command.cdb, ISCSI_CDB_SIZE);
	list_init(&cmd->session_link);
	list_init(&cmd->nexus_link);
	list_init(&cmd->starved_link);
	if (!iscsi_lun_decode(pdu->lun, &cmd->lun))
		cmd->nexus = tgt_session_nexus(s, cmd->lun);
}

static void link_nexus(struct command *cmd)
{
	struct nexus *n = cmd->nexus;

	if (!n)
		return;
	cmd->serial = ++n->next_serial;
	cmd->barrier =
		cmd->attribute == ISCSI_ATTR_ORDERED || cmd->attribute == ISCSI_ATTR_HEAD_OF_QUEUE;
	n->barriers += cmd->barrier;
	list_append(&n->commands, &cmd->nexus_link);
}

/* Nothing of the command will be kept: the answer leaves at once, from where it stands. */
static void refuse_full(struct tgt_session *s, struct dm_conn *conn, struct dm_task *task,
	const struct iscsi_pdu *pdu)
{
	struct command cmd;

	command_init(&cmd, s, conn, task, pdu);
	cmd.status = SCSI_TASK_SET_FULL;
	tgt_session_respond(s, &cmd);
	dm_deallocate_task_resources(conn, task);
}

/* The most that one extent needs (transfer.c): with all buffers full of data put aside for commands
 * that have not begun, none could begin. */
#define STASH_SPARES 2

/* Immediate data is the mover's after command_arrive(): what is still needed is put aside. */
static void stash_immediate(struct command *cmd)
{
	uint32_t capacity;

	cmd->stash = arena_get_sparing(
		cmd->worker->arena, cmd->immediate_length, STASH_SPARES, &capacity);
	if (cmd->stash) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a length has its data */
		memcpy(cmd->stash, cmd->immediate, cmd->immediate_length);
		cmd->immediate = cmd->stash;
		return;
	}
	cmd->immediate_length = 0;
	cmd->failed = true;
	command_finish(cmd, SCSI_TASK_SET_FULL);
}

/* Whether immediate data will be looked at again: it waits for its start, or not all extents have
 * begun. */
static bool needs_immediate(const struct command *cmd)
{
	if (!cmd->immediate_length || cmd->finished)
		return false;
	/* An extent that ends within a block reads the medium first (transfer.h, steps_patch). */
	if (cmd->plan)
		return cmd->plan->gets &&
		       (cmd->total % cmd->nexus->device->block_size ||
			       (cmd->next < cmd->total && cmd->next < cmd->immediate_length));
	return cmd->state == COMMAND_ARRIVED;
}

void command_arrive(struct tgt_session *s, struct dm_conn *conn, struct dm_task *task,
	const struct iscsi_pdu *pdu, const uint8_t *ahs, const void *immediate)
{
	struct command *cmd = pool_get(tgt_session_worker(s)->commands);

	if (!cmd) {
		refuse_full(s, conn, task, pdu);
		return;
	}
	command_init(cmd, s, conn, task, pdu);
	if (ahs)
		extend_cdb(cmd, ahs, (size_t)pdu->ahs_words * 4);
	task->owner = cmd;
	cmd->immediate = immediate;
	if (immediate && cmd->writes)
		cmd->immediate_length = min_u32(pdu->data_length, cmd->expected_length);
	list_append(tgt_session_commands(s), &cmd->session_link);
	link_nexus(cmd);
	command_advance(cmd);
	if (needs_immediate(cmd))
		stash_immediate(cmd);
}

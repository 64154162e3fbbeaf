/* Moving the data of a command, in extents: see transfer.h. Up to COMMAND_EXTENTS are under way at
 * a time. An extent runs its steps until one has to wait for the backend or the mover, and goes on
 * from there when that is done. The response is queued together with the last data-in, not after
 * it. */
#include "target/transfer.h"

#include <errno.h>

#include "target/command.h"
#include "target/worker.h"

const struct transfer_plan transfer_read = {
	.steps = {STEP_READ, STEP_PUT},
	.steps_mapped = {STEP_PUT},
	.puts = true,
};

const struct transfer_plan transfer_write = {
	.steps = {STEP_GET, STEP_WRITE},
	.steps_patch = {STEP_READ, STEP_GET, STEP_WRITE},
	.steps_mapped = {STEP_GET},
	.gets = true,
};

/* What is read back must have been on the medium. */
const struct transfer_plan transfer_write_verify = {
	.steps = {STEP_GET, STEP_WRITE_THROUGH, STEP_READ_SECOND, STEP_COMPARE},
	.steps_patch = {STEP_READ, STEP_GET, STEP_WRITE_THROUGH, STEP_READ_SECOND, STEP_COMPARE},
	.gets = true,
	.second = true,
};

const struct transfer_plan transfer_verify_medium = {
	.steps = {STEP_READ},
};

const struct transfer_plan transfer_verify_data = {
	.steps = {STEP_GET, STEP_READ_SECOND, STEP_COMPARE},
	.gets = true,
	.second = true,
};

const struct transfer_plan transfer_orwrite = {
	.steps = {STEP_GET, STEP_READ_SECOND, STEP_MERGE, STEP_WRITE},
	.gets = true,
	.second = true,
	.exclusive = true,
};

const struct transfer_plan transfer_compare_and_write = {
	.steps = {STEP_GET, STEP_READ_SECOND, STEP_COMPARE, STEP_WRITE},
	.gets = true,
	.second = true,
	.exclusive = true,
	.doubled = true,
};

const struct transfer_plan transfer_write_same = {
	.steps = {STEP_WRITE},
	.repeats = true,
};

/* ---- what the backend and the mover say ---- */

static void extent_run(struct command_extent *e);

static void stored(struct backend_request *r, int status)
{
	struct command_extent *e = container_of(r, struct command_extent, request);
	struct command *cmd = e->cmd;

	if (!command_rest(cmd))
		return;
	if (status)
		command_fail_errno(cmd, -status, r->operation == BACKEND_WRITE);
	extent_run(e);
	transfer_resume(cmd);
}

static void moved(struct dm_transfer *t, int status)
{
	struct command_extent *e = container_of(t, struct command_extent, transfer);
	struct command *cmd = e->cmd;

	command_mover_gives(cmd);
	if (!command_rest(cmd))
		return;
	if (status)
		command_fail(cmd, SENSE_ABORTED_COMMAND, ASC_DATA_PHASE_ERROR);
	extent_run(e);
	transfer_resume(cmd);
}

/* ---- steps: true when done at once, false when something is waited for ---- */

static bool submit(struct command_extent *e, enum backend_operation operation, void *data, bool fua)
{
	e->request = (struct backend_request){
		.operation = operation,
		.offset = e->medium_offset,
		.length = e->medium_length,
		.data = data,
		.fua = fua,
		.done = stored,
	};
	command_busy(e->cmd);
	backend_submit(e->cmd->nexus->channel, &e->request);
	return false;
}

static bool step_read(struct command_extent *e)
{
	return submit(e, BACKEND_READ, e->data, false);
}

static bool step_read_second(struct command_extent *e)
{
	return submit(e, BACKEND_READ, e->second, false);
}

static bool step_write_through(struct command_extent *e)
{
	return submit(e, BACKEND_WRITE, e->data + e->write_skip, true);
}

/* With the write cache off, what has GOOD status is on stable storage. */
static bool step_write(struct command_extent *e)
{
	struct command *cmd = e->cmd;
	bool fua = cmd->fua ||
		   !atomic_load_explicit(&cmd->nexus->device->write_cache, memory_order_relaxed);

	return submit(e, BACKEND_WRITE, e->data + e->write_skip, fua);
}

static void prepare_transfer(struct command_extent *e, uint32_t done)
{
	struct command *cmd = e->cmd;

	e->transfer = (struct dm_transfer){
		.data = e->data + done,
		.length = e->length - done,
		.offset = e->offset + done,
		.region = e->mapped ? cmd->nexus->map_region : cmd->arena_region,
		.done = moved,
	};
	command_mover_takes(cmd);
}

/* A mover refuses when its connection is failing: the session will abort the command. */
static bool refused(struct command_extent *e)
{
	command_mover_gives(e->cmd);
	e->cmd->pending--;
	command_fail(e->cmd, SENSE_ABORTED_COMMAND, ASC_DATA_PHASE_ERROR);
	return true;
}

static bool step_get(struct command_extent *e)
{
	struct command *cmd = e->cmd;
	uint32_t here = 0;

	if (e->offset < cmd->immediate_length) {
		here = min_u32(e->length, cmd->immediate_length - e->offset);
		memcpy(e->data, cmd->immediate + e->offset, here);
	}
	if (here == e->length)
		return true;
	prepare_transfer(e, here);
	if (dm_get_data(cmd->conn, cmd->task, &e->transfer))
		return refused(e);
	return false;
}

/* Data-in leaves in ascending order, whatever order the backend reads in (RFC 7143 section 13.19,
 * DataSequenceInOrder): an extent that is too early is parked until those before it have left. */
static bool step_put(struct command_extent *e)
{
	struct command *cmd = e->cmd;

	e->parked = e->offset != cmd->put_next;
	if (e->parked) {
		e->step--;
		return false;
	}
	cmd->put_next += e->length;
	prepare_transfer(e, 0);
	if (dm_put_data(cmd->conn, cmd->task, &e->transfer))
		return refused(e);
	e->putting = true;
	cmd->extents_putting++;
	return false;
}

static bool step_compare(struct command_extent *e)
{
	struct command *cmd = e->cmd;
	uint32_t length = min_u32(e->length, e->medium_length);
	uint32_t at = 0;

	if (!memcmp(e->data, e->second, length))
		return true;
	while (e->data[at] == e->second[at])
		at++;
	/* SBC-3 section 5.2: the offset of the first byte that differs. */
	cmd->sense.information_valid = true;
	cmd->sense.information = e->offset + at;
	command_fail(cmd, SENSE_MISCOMPARE, ASC_MISCOMPARE_DURING_VERIFY);
	return true;
}

static bool step_merge(struct command_extent *e)
{
	memset(e->data + e->length, 0, e->medium_length - e->length);
	for (uint32_t i = 0; i < e->medium_length; i++)
		e->data[i] |= e->second[i];
	return true;
}

static bool (*const step_functions[TRANSFER_STEPS])(struct command_extent *e) = {
	[STEP_GET] = step_get,
	[STEP_PUT] = step_put,
	[STEP_READ] = step_read,
	[STEP_READ_SECOND] = step_read_second,
	[STEP_COMPARE] = step_compare,
	[STEP_MERGE] = step_merge,
	[STEP_WRITE] = step_write,
	[STEP_WRITE_THROUGH] = step_write_through,
};

/* ---- extents ---- */

static void put_buffers(struct command_extent *e)
{
	struct arena *a = e->cmd->worker->arena;

	if (!e->mapped && !e->cmd->plan->repeats)
		arena_put(a, e->data);
	arena_put(a, e->second);
	e->data = e->second = NULL;
}

static void extent_close(struct command_extent *e)
{
	put_buffers(e);
	e->step = NULL;
	e->cmd->extents_active--;
}

static void extent_run(struct command_extent *e)
{
	struct command *cmd = e->cmd;

	if (e->putting)
		cmd->extents_putting--;
	e->putting = false;
	while (!cmd->failed && *e->step != STEP_END)
		if (!step_functions[*e->step++](e))
			return;
	extent_close(e);
}

/* The backend's own memory for the whole command, where data can go straight from and to it. A sum
 * over memory that others may write would be wrong: what is checksummed on its way out is copied
 * first. */
static uint8_t *map_range(const struct command *cmd)
{
	const struct device *d = cmd->nexus->device;

	if (!cmd->plan->steps_mapped[0] || !cmd->nexus->map_region)
		return NULL;
	if (cmd->plan->puts && cmd->conn->checksums_data)
		return NULL;
	return backend_map(d->backend, cmd->lba * d->block_size, cmd->total);
}

/* One buffer of a first half to compare and a second half to write holds the whole command. */
static uint32_t extent_limit(const struct command *cmd)
{
	return cmd->plan->repeats ? cmd->data_capacity : WORKER_LARGE_BUFFER;
}

static bool get_buffers(struct command_extent *e, uint32_t size)
{
	struct command *cmd = e->cmd;
	struct arena *a = cmd->worker->arena;
	uint32_t capacity;

	if (cmd->plan->repeats) {
		e->data = cmd->data;
		return true;
	}
	e->data = arena_get(a, size, &capacity);
	e->second = e->data && cmd->plan->second ? arena_get(a, e->medium_length, &capacity) : NULL;
	if (e->data && (e->second || !cmd->plan->second))
		return true;
	/* Both or none: who holds one and waits for the other would keep it from others. */
	arena_put(a, e->data);
	e->data = NULL;
	return false;
}

static const uint8_t *extent_steps(const struct command_extent *e)
{
	const struct transfer_plan *plan = e->cmd->plan;

	if (e->mapped)
		return plan->steps_mapped;
	if (e->length % e->cmd->nexus->device->block_size && plan->steps_patch[0])
		return plan->steps_patch;
	return plan->steps;
}

/* False when there is no buffer for it. */
static bool extent_open(struct command *cmd, struct command_extent *e)
{
	const struct device *d = cmd->nexus->device;
	uint8_t *mapped = map_range(cmd);
	uint64_t left = cmd->total - cmd->next;

	e->cmd = cmd;
	e->mapped = mapped != NULL;
	e->parked = e->putting = false;
	e->offset = (uint32_t)cmd->next;
	e->length = (uint32_t)(mapped ? left : min_u64(left, extent_limit(cmd)));
	e->medium_length = (uint32_t)round_up(e->length, d->block_size);
	if (cmd->plan->doubled)
		e->medium_length /= 2;
	e->write_skip = cmd->plan->doubled ? e->medium_length : 0;
	e->medium_offset = cmd->lba * d->block_size + cmd->next;
	e->second = NULL;
	if (mapped)
		e->data = mapped;
	else if (!get_buffers(e, (uint32_t)round_up(e->length, d->block_size)))
		return false;
	e->step = extent_steps(e);
	cmd->next += e->length;
	cmd->extents_active++;
	return true;
}

static struct command_extent *free_extent(struct command *cmd)
{
	for (unsigned i = 0; i < COMMAND_EXTENTS; i++)
		if (!cmd->extents[i].step)
			return &cmd->extents[i];
	return NULL;
}

void transfer_free_buffers(struct command *cmd)
{
	for (unsigned i = 0; i < COMMAND_EXTENTS; i++)
		if (cmd->extents[i].step)
			extent_close(&cmd->extents[i]);
}

/* ---- the command ---- */

static void run_parked(struct command *cmd)
{
	for (unsigned i = 0; i < COMMAND_EXTENTS; i++) {
		struct command_extent *e = &cmd->extents[i];

		if (!e->step || !e->parked || (!cmd->failed && e->offset != cmd->put_next))
			continue;
		extent_run(e);
		i = UINT32_MAX; /* it may have let one go that was passed */
	}
}

static void range_woken(struct range_hold *h)
{
	struct command *cmd = container_of(h, struct command, range);

	if (command_rest(cmd))
		transfer_resume(cmd);
}

static bool take_range(struct command *cmd)
{
	struct device *d = cmd->nexus->device;
	uint64_t bytes = (uint64_t)cmd->blocks * d->block_size;
	/* What ends within a block reads its rest, and writes that again. */
	bool patches = cmd->plan->steps_patch[0] && cmd->total % d->block_size;

	if (cmd->range.state == RANGE_HELD)
		return true;
	cmd->range.loop = cmd->worker->loop;
	cmd->range.woken = range_woken;
	if (range_lock_take(&d->ranges, &cmd->range, cmd->lba * d->block_size, bytes,
		    cmd->plan->exclusive || patches))
		return true;
	command_busy(cmd);
	return false;
}

static void open_extents(struct command *cmd)
{
	while (cmd->next < cmd->total && !cmd->failed) {
		struct command_extent *e = free_extent(cmd);

		if (!e)
			return;
		if (!extent_open(cmd, e)) {
			if (!cmd->extents_active)
				command_starve(cmd);
			return;
		}
		extent_run(e);
		run_parked(cmd);
	}
}

void transfer_resume(struct command *cmd)
{
	if (cmd->finished || cmd->range.state == RANGE_WAITING || cmd->range.state == RANGE_WOKEN)
		return;
	if (!cmd->failed && cmd->total && !take_range(cmd))
		return;
	run_parked(cmd);
	open_extents(cmd);
	if (cmd->extents_active == cmd->extents_putting && (cmd->failed || cmd->next == cmd->total))
		command_finish(cmd, cmd->failed ? cmd->status : SCSI_GOOD);
}

void transfer_start(struct command *cmd, const struct transfer_plan *plan)
{
	uint64_t bytes = (uint64_t)cmd->blocks * cmd->nexus->device->block_size;
	bool wire = plan->gets || plan->puts;

	if (plan->doubled)
		bytes *= 2;
	if (wire)
		cmd->transfer_length = bytes;
	if (wire && bytes && !command_check_direction(cmd, plan->puts))
		return;
	cmd->plan = plan;
	cmd->total = wire ? min_u64(cmd->transfer_length, cmd->expected_length) : bytes;
	cmd->next = cmd->put_next = 0;
	transfer_resume(cmd);
}

/* Discarding and writing zeros: see ranges.h. One request of the backend at a time, under a shared
 * hold of its range. Used by sbc_same.c and sbc_unmap.c. */
#include "target/ranges.h"

#include "common/base/bytes.h"
#include "common/scsi/cdb.h"
#include "target/command.h"

enum {
	PRIVATE_OPERATION = 1, /* of executor_private; 0 is sbc_same.c's */
	PRIVATE_COUNT,	       /* of extents */
	PRIVATE_NEXT,
};

static void go_on(struct command *cmd);

/* cmd->lba and blocks of the extent that is next. */
static void load_extent(struct command *cmd)
{
	struct unmap_extent e;

	if (!cmd->executor_private[PRIVATE_COUNT])
		return;
	unmap_list_get(cmd->data, cmd->executor_private[PRIVATE_NEXT], &e);
	cmd->lba = e.lba;
	cmd->blocks = e.blocks;
}

static void woken(struct range_hold *h)
{
	struct command *cmd = container_of(h, struct command, range);

	if (command_rest(cmd))
		go_on(cmd);
}

static void done(struct backend_request *r, int status)
{
	struct command *cmd = container_of(r, struct command_extent, request)->cmd;

	if (!command_rest(cmd))
		return;
	range_lock_release(&cmd->range);
	if (status) {
		command_fail_errno(cmd, -status, true);
		return;
	}
	if (++cmd->executor_private[PRIVATE_NEXT] < cmd->executor_private[PRIVATE_COUNT]) {
		load_extent(cmd);
		go_on(cmd);
	} else {
		command_finish(cmd, SCSI_GOOD);
	}
}

/* With the write cache off, what has GOOD status stays: also that blocks were unmapped, since they
 * read as zeros from then on (LBPRZ). */
static void go_on(struct command *cmd)
{
	struct device *d = cmd->nexus->device;
	uint64_t offset = cmd->lba * d->block_size;
	uint64_t length = (uint64_t)cmd->blocks * d->block_size;

	cmd->range.loop = cmd->nexus->loop;
	cmd->range.woken = woken;
	if (!range_lock_take(&d->ranges, &cmd->range, offset, length, false)) {
		command_busy(cmd);
		return;
	}
	cmd->extents[0].request = (struct backend_request){
		.operation = (enum backend_operation)cmd->executor_private[PRIVATE_OPERATION],
		.offset = offset,
		.length = length,
		.fua = !atomic_load_explicit(&d->write_cache, memory_order_relaxed),
		.done = done,
	};
	command_backend_submit(cmd);
}

void ranges_start(struct command *cmd, enum backend_operation operation)
{
	cmd->executor_private[PRIVATE_OPERATION] = operation;
	go_on(cmd);
}

void ranges_start_list(struct command *cmd)
{
	cmd->executor_private[PRIVATE_OPERATION] = BACKEND_DISCARD;
	cmd->executor_private[PRIVATE_COUNT] = unmap_list_count(cmd->data, cmd->parameter_length);
	load_extent(cmd);
	go_on(cmd);
}

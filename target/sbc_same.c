/* WRITE SAME(10) and (16) (SBC-3 sections 5.40 and 5.41). Zeros, and blocks that may be unmapped,
 * are left to the store, which has faster ways than writing; any other block is repeated in a
 * buffer that is then written again and again. Called through opcodes.c. */
#include "common/base/bytes.h"
#include "common/scsi/cdb.h"
#include "target/command.h"
#include "target/executors.h"
#include "target/ranges.h"
#include "target/transfer.h"
#include "target/worker.h"

enum {
	PRIVATE_FLAGS, /* of executor_private */
};

bool sbc_write_same_parse(struct command *cmd)
{
	bool sixteen = cmd->operation->cdb_length == 16;
	const struct device *d = cmd->nexus->device;
	struct cdb_block b;

	if (cdb_block_decode(cmd->cdb, &b) || !sbc_check_range(cmd, b.lba, b.blocks))
		return false;
	/* WSNZ: 0, "to the end of the medium", is not taken (VPD B0h says so). */
	if (!b.blocks || b.blocks > sbc_max_write_same(cmd)) {
		command_fail_field(cmd, sixteen ? 10 : 7, -1);
		return false;
	}
	if (b.flags & CDB_WRITE_SAME_UNMAP && !d->thin) {
		command_fail_field(cmd, 1, 3);
		return false;
	}
	cmd->lba = b.lba;
	cmd->blocks = b.blocks;
	cmd->executor_private[PRIVATE_FLAGS] = b.flags;
	if (b.flags & CDB_WRITE_SAME_NDOB)
		return true;
	cmd->parameter_length = d->block_size;
	if (b.blocks > 1)
		cmd->buffer_size = (uint32_t)min_u64((uint64_t)b.blocks * d->block_size,
			b.blocks * d->block_size > WORKER_MEDIUM_BUFFER ? WORKER_LARGE_BUFFER
									: WORKER_MEDIUM_BUFFER);
	return true;
}

static bool is_zero(const uint8_t *block, uint32_t size)
{
	return !block[0] && !memcmp(block, block + 1, size - 1);
}

/* UNMAP with zeros: the blocks read as zeros afterwards (LBPRZ), so they may be unmapped. UNMAP
 * with anything else is written, which SBC-3 section 5.40 allows. */
static void write_zeros(struct command *cmd)
{
	bool unmap = cmd->executor_private[PRIVATE_FLAGS] & CDB_WRITE_SAME_UNMAP;

	ranges_start(cmd, unmap ? BACKEND_DISCARD : BACKEND_WRITE_ZEROES);
}

static void write_pattern(struct command *cmd)
{
	uint32_t size = cmd->nexus->device->block_size;
	uint64_t bytes = min_u64((uint64_t)cmd->blocks * size, cmd->data_capacity);

	/* Doubling what there is: few copies, each long. */
	for (uint64_t filled = size; filled < bytes; filled *= 2)
		memcpy(cmd->data + filled, cmd->data, min_u64(filled, bytes - filled));
	transfer_start(cmd, &transfer_write_same);
}

void sbc_write_same(struct command *cmd)
{
	uint32_t size = cmd->nexus->device->block_size;

	/* One block is asked for: more, or less, was meant otherwise. */
	if (cmd->parameter_length && cmd->expected_length != size) {
		command_fail(
			cmd, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT);
		return;
	}
	if (!cmd->parameter_length || is_zero(cmd->data, size))
		write_zeros(cmd);
	else
		write_pattern(cmd);
}

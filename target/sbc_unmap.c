/* UNMAP (SBC-3 section 5.28). Called through opcodes.c. */
#include "common/base/bytes.h"
#include "common/scsi/cdb.h"
#include "target/command.h"
#include "target/executors.h"
#include "target/ranges.h"
#include "target/worker.h"

enum {
	/* All the descriptors that VPD B0h allows. */
	LIST_MAX = UNMAP_HEADER_SIZE + SBC_MAX_UNMAP_DESCRIPTORS * UNMAP_DESCRIPTOR_SIZE,
};
_Static_assert(LIST_MAX <= WORKER_SMALL_BUFFER, "an UNMAP parameter list fits in a small buffer");

bool sbc_unmap_parse(struct command *cmd)
{
	uint16_t length = get_be16(cmd->cdb + 7);

	/* 0 is no error, and unmaps nothing. */
	if (length && length < UNMAP_HEADER_SIZE) {
		command_fail(cmd, SENSE_ILLEGAL_REQUEST, ASC_PARAMETER_LIST_LENGTH_ERROR);
		return false;
	}
	if (length > LIST_MAX) {
		command_fail_field(cmd, 7, -1);
		return false;
	}
	cmd->parameter_length = length;
	return true;
}

/* All descriptors are checked before the first is executed. */
static bool check_list(struct command *cmd, size_t count)
{
	uint64_t blocks = 0;

	for (size_t i = 0; i < count; i++) {
		struct unmap_extent e;

		unmap_list_get(cmd->data, i, &e);
		if (!sbc_check_range(cmd, e.lba, e.blocks))
			return false;
		blocks += e.blocks;
	}
	if (blocks <= sbc_max_unmap(cmd))
		return true;
	command_fail_parameter(cmd, ASC_INVALID_FIELD_IN_PARAMETER_LIST, UNMAP_HEADER_SIZE + 8, -1);
	return false;
}

void sbc_unmap(struct command *cmd)
{
	size_t count =
		cmd->parameter_length ? unmap_list_count(cmd->data, cmd->parameter_length) : 0;

	if (!count)
		command_finish(cmd, SCSI_GOOD);
	else if (check_list(cmd, count))
		ranges_start_list(cmd);
}

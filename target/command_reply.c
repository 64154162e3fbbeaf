/* What executors end a command with: see command.h. */
#include <errno.h>

#include "common/base/bytes.h"
#include "target/command.h"
#include "target/worker.h"

/* ---- failures ---- */

static void fail(struct command *cmd, uint8_t key, uint16_t code)
{
	cmd->failed = true;
	cmd->status = SCSI_CHECK_CONDITION;
	cmd->sense.key = key;
	cmd->sense.asc = (uint8_t)(code >> 8);
	cmd->sense.ascq = (uint8_t)code;
	/* What was moved before does not count: all of EDTL is residual. */
	cmd->transfer_length = 0;
	/* With extents under way transfer.c finishes, when they are at rest. */
	if (!cmd->plan)
		command_finish(cmd, SCSI_CHECK_CONDITION);
}

void command_fail(struct command *cmd, uint8_t key, uint16_t code)
{
	if (!cmd->failed)
		fail(cmd, key, code);
}

static void fail_at(struct command *cmd, uint16_t code, bool in_cdb, unsigned byte, int bit)
{
	if (cmd->failed)
		return;
	cmd->sense.field_valid = true;
	cmd->sense.field_in_cdb = in_cdb;
	cmd->sense.field_byte = (uint16_t)byte;
	cmd->sense.field_bit = (int8_t)bit;
	fail(cmd, SENSE_ILLEGAL_REQUEST, code);
}

void command_fail_field(struct command *cmd, unsigned cdb_byte, int bit)
{
	fail_at(cmd, ASC_INVALID_FIELD_IN_CDB, true, cdb_byte, bit);
}

void command_fail_parameter(struct command *cmd, uint16_t code, unsigned byte, int bit)
{
	fail_at(cmd, code, false, byte, bit);
}

struct errno_sense {
	int error;
	uint8_t key;
	uint16_t code;
};

static const struct errno_sense errno_senses[] = {
	{ENOSPC, SENSE_DATA_PROTECT, ASC_SPACE_ALLOCATION_FAILED_WRITE_PROTECT},
	{EDQUOT, SENSE_DATA_PROTECT, ASC_SPACE_ALLOCATION_FAILED_WRITE_PROTECT},
	{EROFS, SENSE_DATA_PROTECT, ASC_WRITE_PROTECTED},
	/* The medium is well: initiators try again, which they do not after a medium error. */
	{ENOMEM, SENSE_ABORTED_COMMAND, ASC_INSUFFICIENT_RESOURCES},
};

void command_fail_errno(struct command *cmd, int error, bool write)
{
	if (!cmd->failed)
		device_store_failed(cmd->nexus->device, cmd->operation->name, error,
			loop_now(cmd->worker->loop));
	for (unsigned i = 0; i < ARRAY_SIZE(errno_senses); i++)
		if (errno_senses[i].error == error) {
			command_fail(cmd, errno_senses[i].key, errno_senses[i].code);
			return;
		}
	command_fail(cmd, SENSE_MEDIUM_ERROR, write ? ASC_WRITE_ERROR : ASC_UNRECOVERED_READ_ERROR);
}

/* A CDB with data-in under the W bit alone is executed with no data moved, as the peers'
 * conformance suite wants it: all of EDTL is residual. One with data-out under the R bit would lose
 * data. */
bool command_check_direction(struct command *cmd, bool data_in)
{
	bool right = data_in ? cmd->reads : cmd->writes;
	bool wrong = data_in ? cmd->writes : cmd->reads;

	if (!wrong && (right || !cmd->expected_length))
		return true;
	if (data_in && !cmd->reads) {
		cmd->transfer_length = 0;
		return true;
	}
	command_fail(cmd, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_COMMAND_INFORMATION_UNIT);
	return false;
}

/* ---- data-in that an executor composed ---- */

bool command_reply_buffer(struct command *cmd, uint32_t size)
{
	if (!cmd->data)
		cmd->data = arena_get(cmd->worker->arena, size, &cmd->data_capacity);
	if (!cmd->data) {
		command_starve(cmd);
		return false;
	}
	memset(cmd->data, 0, size);
	return true;
}

/* The response has been queued behind it: nobody but the buffer waits for this. */
static void replied(struct dm_transfer *t, int status)
{
	struct command_extent *e = container_of(t, struct command_extent, transfer);

	(void)status;
	command_mover_gives(e->cmd);
	command_rest(e->cmd);
}

void command_reply(struct command *cmd, uint32_t length, uint32_t allocation_length)
{
	struct command_extent *e = &cmd->extents[0];
	uint32_t sent;

	cmd->transfer_length = min_u32(length, allocation_length);
	if (cmd->transfer_length && !command_check_direction(cmd, true))
		return;
	sent = (uint32_t)min_u64(cmd->transfer_length, cmd->expected_length);
	if (sent) {
		e->cmd = cmd;
		e->transfer = (struct dm_transfer){
			.data = cmd->data,
			.length = sent,
			.region = cmd->arena_region,
			.done = replied,
		};
		command_mover_takes(cmd);
		/* Refused only where the connection is failing; the session will abort. */
		if (dm_put_data(cmd->conn, cmd->task, &e->transfer)) {
			command_mover_gives(cmd);
			cmd->pending--;
		}
	}
	command_finish(cmd, SCSI_GOOD);
}

void command_backend_submit(struct command *cmd)
{
	cmd->extents[0].cmd = cmd;
	command_busy(cmd);
	backend_submit(cmd->nexus->channel, &cmd->extents[0].request);
}

static void flushed(struct backend_request *r, int status)
{
	struct command *cmd = container_of(r, struct command_extent, request)->cmd;

	if (!command_rest(cmd))
		return;
	if (status)
		command_fail_errno(cmd, -status, true);
	else
		cmd->flushed(cmd);
}

void command_good(struct command *cmd)
{
	command_finish(cmd, SCSI_GOOD);
}

void command_flush(struct command *cmd, void (*then)(struct command *cmd))
{
	cmd->flushed = then;
	cmd->extents[0].request = (struct backend_request){
		.operation = BACKEND_FLUSH,
		.done = flushed,
	};
	command_backend_submit(cmd);
}

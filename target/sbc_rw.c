/* READ, WRITE, ORWRITE, VERIFY, WRITE AND VERIFY and COMPARE AND WRITE (SBC-3 section 5): the CDB
 * is parsed and checked here, the work is a plan of transfer.c. Called through opcodes.c. */
#include "common/base/bytes.h"
#include "common/scsi/cdb.h"
#include "target/command.h"
#include "target/executors.h"
#include "target/transfer.h"

/* The field that tells how many blocks, for the field pointer. */
static unsigned length_field(const struct command *cmd)
{
	switch (cmd->operation->cdb_length) {
	case 6:
		return 4;
	case 10:
		return 7;
	case 12:
		return 6;
	default:
		return 10;
	}
}

static bool take_block(
	struct command *cmd, const struct cdb_block *b, uint32_t limit, unsigned field)
{
	if (!sbc_check_range(cmd, b->lba, b->blocks))
		return false;
	if (b->blocks > limit) {
		command_fail_field(cmd, field, -1);
		return false;
	}
	cmd->lba = b->lba;
	cmd->blocks = b->blocks;
	return true;
}

bool sbc_read_write_parse(struct command *cmd)
{
	struct cdb_block b;

	if (cdb_block_decode(cmd->cdb, &b))
		return false;
	cmd->fua = b.flags & CDB_FUA;
	cmd->dpo = b.flags & CDB_DPO;
	return take_block(cmd, &b, sbc_max_transfer(cmd), length_field(cmd));
}

static void read_start(struct command *cmd)
{
	transfer_start(cmd, &transfer_read);
}

/* FUA on a READ: nothing is told that a loss of power could take back. What is newer in the write
 * cache goes to the medium before (SBC-3 section 5.11). */
void sbc_read(struct command *cmd)
{
	const struct device *d = cmd->nexus->device;

	if (cmd->fua && atomic_load_explicit(&d->write_cache, memory_order_relaxed))
		command_flush(cmd, read_start);
	else
		read_start(cmd);
}

void sbc_write(struct command *cmd)
{
	transfer_start(cmd, &transfer_write);
}

void sbc_orwrite(struct command *cmd)
{
	transfer_start(cmd, &transfer_orwrite);
}

/* ---- VERIFY ---- */

enum {
	BYTCHK_NONE = 0,
	BYTCHK_ALL = 1, /* every block against its own data-out */
	BYTCHK_SHIFT = 1,
};

bool sbc_verify_parse(struct command *cmd)
{
	struct cdb_block b;
	unsigned check;

	if (cdb_block_decode(cmd->cdb, &b))
		return false;
	check = (b.flags & CDB_BYTCHK_MASK) >> BYTCHK_SHIFT;
	if (check > BYTCHK_ALL) {
		command_fail_field(cmd, 1, 2);
		return false;
	}
	cmd->executor_private[0] = check;
	cmd->dpo = b.flags & CDB_DPO;
	return take_block(cmd, &b, sbc_max_transfer(cmd), length_field(cmd));
}

void sbc_verify(struct command *cmd)
{
	bool with_data = cmd->executor_private[0] == BYTCHK_ALL;

	transfer_start(cmd, with_data ? &transfer_verify_data : &transfer_verify_medium);
}

/* With BYTCHK 0 the medium alone would have to be verified; reading back and comparing does that
 * too. */
void sbc_write_and_verify(struct command *cmd)
{
	transfer_start(cmd, &transfer_write_verify);
}

/* ---- COMPARE AND WRITE ---- */

bool sbc_compare_and_write_parse(struct command *cmd)
{
	struct cdb_block b;
	uint64_t bytes;

	cdb_compare_and_write_decode(cmd->cdb, &b);
	cmd->fua = b.flags & CDB_FUA;
	cmd->dpo = b.flags & CDB_DPO;
	if (!take_block(cmd, &b, sbc_max_compare_and_write(cmd), 13))
		return false;
	/* A half that is cut can be neither compared nor written; and data that is too long was
	 * meant for another range. */
	bytes = 2ull * b.blocks * cmd->nexus->device->block_size;
	if (bytes == cmd->expected_length)
		return true;
	command_fail_field(cmd, 13, -1);
	return false;
}

void sbc_compare_and_write(struct command *cmd)
{
	transfer_start(cmd, &transfer_compare_and_write);
}

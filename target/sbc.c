/* Block commands that move no data of the medium (SBC-3 section 5): capacity, cache, limits, START
 * STOP UNIT. Called through opcodes.c. */
#include "common/base/bytes.h"
#include "common/scsi/capacity.h"
#include "common/scsi/cdb.h"
#include "target/command.h"
#include "target/executors.h"
#include "target/worker.h"

/* ---- limits ---- */

enum {
	/* A command of 16 MiB goes through the arena in extents; more would let one command hold
	 * the window, and its abort, for long. */
	MAX_TRANSFER_BYTES = 16 * 1024 * 1024,
	/* What WRITE SAME(10) can say. */
	MAX_WRITE_SAME_BLOCKS = 65535,
	/* Seconds of work for a slow store. */
	MAX_UNMAP_BYTES = 512 * 1024 * 1024,
};

uint32_t sbc_max_transfer(const struct command *cmd)
{
	return MAX_TRANSFER_BYTES / cmd->nexus->device->block_size;
}

/* Both halves of the data-out lie in one buffer; and the CDB has one byte for it. */
uint32_t sbc_max_compare_and_write(const struct command *cmd)
{
	return min_u32(WORKER_LARGE_BUFFER / 2 / cmd->nexus->device->block_size, 255);
}

uint32_t sbc_max_write_same(const struct command *cmd)
{
	(void)cmd;
	return MAX_WRITE_SAME_BLOCKS;
}

uint32_t sbc_max_unmap(const struct command *cmd)
{
	return MAX_UNMAP_BYTES / cmd->nexus->device->block_size;
}

bool sbc_check_range(struct command *cmd, uint64_t lba, uint64_t blocks)
{
	uint64_t count =
		atomic_load_explicit(&cmd->nexus->device->block_count, memory_order_relaxed);

	if (lba <= count && blocks <= count - lba)
		return true;
	command_fail(cmd, SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE);
	return false;
}

/* ---- capacity ---- */

static struct scsi_capacity capacity(const struct device *d)
{
	uint32_t physical = d->backend->info.physical_block_size;
	struct scsi_capacity c = {
		.last_lba = atomic_load(&d->block_count) - 1,
		.block_size = d->block_size,
		.provisioning_managed = d->thin,
		.reads_zeros = d->thin,
	};

	while (c.physical_exponent < 15 && d->block_size << c.physical_exponent < physical)
		c.physical_exponent++;
	return c;
}

void sbc_read_capacity10(struct command *cmd)
{
	struct scsi_capacity c = capacity(cmd->nexus->device);
	bool partial = cmd->cdb[8] & 1;

	/* SBC-2: an LBA means something with PMI alone. */
	if (!partial && get_be32(cmd->cdb + 2)) {
		command_fail_field(cmd, 2, -1);
		return;
	}
	if (!command_reply_buffer(cmd, CAPACITY10_SIZE))
		return;
	capacity10_encode(&c, cmd->data);
	command_reply(cmd, CAPACITY10_SIZE, CAPACITY10_SIZE);
}

void sbc_read_capacity16(struct command *cmd)
{
	struct scsi_capacity c = capacity(cmd->nexus->device);

	if (!command_reply_buffer(cmd, CAPACITY16_SIZE))
		return;
	capacity16_encode(&c, cmd->data);
	command_reply(cmd, CAPACITY16_SIZE, get_be32(cmd->cdb + 10));
}

/* ---- GET LBA STATUS (SBC-3 section 5.6) ---- */

enum {
	LBA_STATUS_LENGTH = 24,
};

bool sbc_get_lba_status_parse(struct command *cmd)
{
	uint64_t lba = get_be64(cmd->cdb + 2);

	return sbc_check_range(cmd, lba, 1);
}

/* The stores do not tell what is mapped; "mapped" is what may always be
 * said (SBC-3 section 4.7.2). */
void sbc_get_lba_status(struct command *cmd)
{
	uint64_t lba = get_be64(cmd->cdb + 2);
	uint64_t left = atomic_load(&cmd->nexus->device->block_count) - lba;

	if (!command_reply_buffer(cmd, LBA_STATUS_LENGTH))
		return;
	put_be32(cmd->data, LBA_STATUS_LENGTH - 4);
	put_be64(cmd->data + 8, lba);
	put_be32(cmd->data + 16, (uint32_t)min_u64(left, UINT32_MAX));
	command_reply(cmd, LBA_STATUS_LENGTH, get_be32(cmd->cdb + 10));
}

/* ---- SYNCHRONIZE CACHE (SBC-3 sections 5.25 and 5.26), PRE-FETCH ---- */

static bool parse_range(struct command *cmd)
{
	struct cdb_block b;

	if (cdb_block_decode(cmd->cdb, &b))
		return false;
	/* 0 blocks: to the end of the medium. */
	return sbc_check_range(cmd, b.lba, b.blocks);
}

bool sbc_synchronize_cache_parse(struct command *cmd)
{
	return parse_range(cmd);
}

/* The whole store is flushed, which the range is part of. IMMED would let the status come first;
 * that it comes after does no harm. */
void sbc_synchronize_cache(struct command *cmd)
{
	command_flush(cmd, command_good);
}

bool sbc_pre_fetch_parse(struct command *cmd)
{
	return parse_range(cmd);
}

/* The cache is the store's own; GOOD means that not all blocks are known to fit (SBC-3
 * section 5.10). */
void sbc_pre_fetch(struct command *cmd)
{
	command_finish(cmd, SCSI_GOOD);
}

/* ---- START STOP UNIT (SBC-3 section 5.24), PREVENT ALLOW ---- */

enum {
	START_POWER_CONDITION = 0xf0,
	START_START = 0x01,
};

static void stopped(struct backend_request *r, int status)
{
	struct command *cmd = container_of(r, struct command_extent, request)->cmd;

	if (!command_rest(cmd))
		return;
	if (status) {
		command_fail_errno(cmd, -status, true);
		return;
	}
	atomic_store(&cmd->nexus->device->stopped, true);
	command_finish(cmd, SCSI_GOOD);
}

/* A stop writes back what is cached before, also with NO_FLUSH. Power conditions are taken and
 * change nothing; the medium cannot be loaded or ejected, so LOEJ has no say. */
void sbc_start_stop_unit(struct command *cmd)
{
	uint8_t how = cmd->cdb[4];

	if (how & START_POWER_CONDITION) {
		command_finish(cmd, SCSI_GOOD);
		return;
	}
	if (how & START_START) {
		atomic_store(&cmd->nexus->device->stopped, false);
		command_finish(cmd, SCSI_GOOD);
		return;
	}
	cmd->extents[0].request = (struct backend_request){
		.operation = BACKEND_FLUSH,
		.done = stopped,
	};
	command_backend_submit(cmd);
}

/* The medium is not removable: prevention is what there always is. */
void sbc_prevent_allow(struct command *cmd)
{
	command_finish(cmd, SCSI_GOOD);
}

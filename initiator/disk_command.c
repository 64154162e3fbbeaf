/* SCSI commands of a disk's I/Os (SBC-3 section 5): READ, WRITE, SYNCHRONIZE CACHE, UNMAP and WRITE
 * SAME, and what their answers mean. Called by disk.c. */
#include "initiator/disk_private.h"

#include <errno.h>
#include <string.h>

#include "common/base/log.h"

/* What WRITE SAME repeats, and what WRITE sends where there is no WRITE SAME. Never written to. */
static const uint8_t zeroes[DISK_ZEROES_SIZE];

/* ---- what each operation becomes ---- */

static uint64_t to_blocks(const struct disk *d, uint64_t bytes)
{
	return bytes / d->info.block_size;
}

static void build_transfer(struct disk_command *c, enum scsi_direction direction, bool fua)
{
	unsigned length;

	cdb_read_write(c->task.cdb, direction, to_blocks(c->disk, c->offset),
		(uint32_t)to_blocks(c->disk, c->length), fua, &length);
}

static struct dm_buffer io_buffer(const struct disk_command *c)
{
	return (struct dm_buffer){
		.data = (uint8_t *)c->io->data + (c->offset - c->io->offset),
		.length = c->length,
		.region = c->io->region,
	};
}

static void build_read(struct disk_command *c)
{
	build_transfer(c, SCSI_DATA_IN, false);
	c->task.read = io_buffer(c);
}

static void build_write(struct disk_command *c)
{
	build_transfer(c, SCSI_DATA_OUT, c->io->fua && c->disk->info.fua);
	c->task.write = io_buffer(c);
}

static void build_flush(struct disk_command *c)
{
	cdb_sync_cache10(c->task.cdb, 0, 0); /* 0 blocks: the whole medium */
	c->task.timeout_ns = DISK_SLOW_TIMEOUT_NS;
}

static void build_discard(struct disk_command *c)
{
	struct unmap_extent extent = {
		.lba = to_blocks(c->disk, c->offset),
		.blocks = (uint32_t)to_blocks(c->disk, c->length),
	};

	unmap_list_encode(&extent, 1, c->list, sizeof(c->list));
	cdb_unmap(c->task.cdb, sizeof(c->list));
	c->task.write = (struct dm_buffer){.data = c->list, .length = sizeof(c->list)};
	c->task.timeout_ns = DISK_SLOW_TIMEOUT_NS;
}

/* One block that is repeated, or blocks of zeroes where WRITE SAME is not to be had. A flush
 * follows in place of FUA, which WRITE SAME does not have. */
static void build_write_zeroes(struct disk_command *c)
{
	uint32_t length = c->length;

	c->same = c->disk->info.max_write_zeroes > 0;
	if (c->same) {
		cdb_write_same16(c->task.cdb, to_blocks(c->disk, c->offset),
			(uint32_t)to_blocks(c->disk, c->length),
			c->io->may_unmap && c->disk->info.same_unmaps, false);
		length = c->disk->info.block_size;
		c->task.timeout_ns = DISK_SLOW_TIMEOUT_NS;
	} else {
		build_transfer(c, SCSI_DATA_OUT, false);
	}
	c->task.write = (struct dm_buffer){.data = (void *)zeroes, .length = length};
}

static uint32_t most_transfer(const struct disk *d)
{
	return d->info.max_transfer;
}

static uint32_t most_discard(const struct disk *d)
{
	return d->info.max_discard;
}

static uint32_t most_write_zeroes(const struct disk *d)
{
	if (d->info.max_write_zeroes)
		return d->info.max_write_zeroes;
	return min_u32(d->info.max_transfer, DISK_ZEROES_SIZE);
}

static const struct {
	void (*build)(struct disk_command *c);
	uint32_t (*most)(const struct disk *d); /* bytes per command */
} operations[] = {
	[DISK_READ] = {build_read, most_transfer},
	[DISK_WRITE] = {build_write, most_transfer},
	[DISK_FLUSH] = {build_flush, NULL},
	[DISK_DISCARD] = {build_discard, most_discard},
	[DISK_WRITE_ZEROES] = {build_write_zeroes, most_write_zeroes},
};

static void command_answered(struct ini_task *t, int error);

static void command_begin(struct disk_command *c, struct disk_io *io)
{
	c->io = io;
	c->same = false;
	c->task = (struct ini_task){
		.lun = c->disk->info.lun, .repeatable = true, .done = command_answered};
}

/* ---- answers ---- */

/* A target that says GOOD must have moved all the data (a residual with
 * GOOD is a short transfer). */
static int check_transfer(const struct disk_command *c)
{
	const struct ini_task *t = &c->task;

	if (t->underflow || t->overflow || (t->read.length && t->received != t->read.length))
		return -EIO;
	return 0;
}

static void log_failure(const struct disk_command *c, int error, const char *why)
{
	log_warning("disk", "%s: LUN %u: command 0x%02x at byte %llu, %u bytes: %s (%s)",
		ini_session_config(c->disk->session)->target_name, c->disk->info.lun,
		c->task.cdb[0], (unsigned long long)c->offset, c->length, why, strerror(-error));
}

/* The next piece of what a refused WRITE SAME would have done. */
static void write_next_zeroes(struct disk_command *c)
{
	c->length = min_u32(c->left, most_write_zeroes(c->disk));
	c->left -= c->length;
	command_begin(c, c->io);
	build_write_zeroes(c);
	ini_session_submit(c->disk->session, &c->task);
}

/* The target has no WRITE SAME: from now on zeroes are written, and this command's range first. */
static bool falls_back(struct disk_command *c, int error)
{
	if (!c->same || (error != -EOPNOTSUPP && error != -EINVAL))
		return false;
	c->disk->info.max_write_zeroes = 0;
	c->left = c->length;
	c->length = 0;
	return true;
}

static int flush_result(const struct disk_command *c, int error)
{
	/* no volatile cache, no command for it */
	return error == -EOPNOTSUPP && !c->disk->info.write_cache ? 0 : error;
}

/* What disk.h promises. What a retry would help against has been tried again by the session. */
static int error_of_io(int error)
{
	static const struct {
		int from, to;
	} rows[] = {
		{-EAGAIN, -EIO},
		{-EBUSY, -EIO},
		{-EINVAL, -EIO},
		{-ERANGE, -ENOSPC}, /* beyond the end: it has shrunk */
		{-ECANCELED, -ESHUTDOWN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].from == error)
			return rows[i].to;
	return error;
}

static void command_answered(struct ini_task *t, int error)
{
	struct disk_command *c = container_of(t, struct disk_command, task);
	char why[160] = "not answered";

	c->disk->statistics.retries += t->attempts + t->timeouts;
	if (error == 0)
		error = task_result(t, why, sizeof(why));
	if (error == 0)
		error = check_transfer(c);
	if (t->cdb[0] == SCSI_SYNCHRONIZE_CACHE_10)
		error = flush_result(c, error);
	if (falls_back(c, error) || (error == 0 && c->left)) {
		c->offset += c->length;
		write_next_zeroes(c);
		return;
	}
	error = error_of_io(error);
	if (error < 0 && error != -ESHUTDOWN)
		log_failure(c, error, why);
	disk_command_done(c, error);
}

/* ---- issuing ---- */

bool disk_io_left(const struct disk *d, struct disk_io *io)
{
	(void)d;
	return io->operation != DISK_FLUSH && io_progress(io)->next < io->length;
}

void disk_command_issue(struct disk_command *c, struct disk_io *io)
{
	struct io_progress *p = io_progress(io);
	uint32_t most = operations[io->operation].most(c->disk);

	command_begin(c, io);
	c->left = 0;
	c->offset = io->offset + p->next;
	c->length = (uint32_t)min_u64(io->length - p->next, most);
	p->next += c->length;
	operations[io->operation].build(c);
	ini_session_submit(c->disk->session, &c->task);
}

void disk_command_flush(struct disk_command *c, struct disk_io *io)
{
	command_begin(c, io);
	c->left = 0;
	c->offset = 0;
	c->length = 0;
	build_flush(c);
	ini_session_submit(c->disk->session, &c->task);
}

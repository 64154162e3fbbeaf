/* Asking one LUN what it is, see probe.h. A table has one row per command: when it is asked, what
 * it is, and what is taken from its answer. */
#include "initiator/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/scsi/capacity.h"
#include "common/scsi/cdb.h"
#include "common/scsi/mode.h"
#include "common/scsi/sense.h"

#define NO_LIMIT_BLOCKS 0xffff /* WRITE SAME where no maximum is told, as Linux has it */

/* ---- results ---- */

static int check_condition(const struct ini_task *t, char *why, size_t size)
{
	struct scsi_sense sense;

	if (scsi_sense_parse(t->sense, t->sense_length, &sense) < 0) {
		if (why)
			snprintf(why, size, "CHECK CONDITION without sense data");
		return -EIO;
	}
	if (why)
		scsi_sense_print(&sense, why, size);
	return scsi_sense_to_errno(&sense);
}

int task_result(const struct ini_task *t, char *why, size_t size)
{
	if (t->status == SCSI_GOOD || t->status == SCSI_CONDITION_MET)
		return 0;
	if (t->status == SCSI_CHECK_CONDITION)
		return check_condition(t, why, size);
	if (why)
		snprintf(why, size, "%s", scsi_status_name(t->status));
	if (t->status == SCSI_RESERVATION_CONFLICT)
		return -EBADE;
	return t->status == SCSI_BUSY || t->status == SCSI_TASK_SET_FULL ? -EBUSY : -EIO;
}

/* ---- what is taken from the answers; negative errno: the LUN cannot be used ---- */

static int take_inquiry(struct probe *p, const uint8_t *data, size_t length)
{
	struct scsi_inquiry i;
	int r = inquiry_decode(data, length, &i);

	if (r < 0)
		return r;
	if (i.qualifier != 0 || i.type != INQUIRY_TYPE_DISK)
		return -ENODEV;
	memcpy(p->info.vendor, i.vendor, sizeof(p->info.vendor));
	memcpy(p->info.product, i.product, sizeof(p->info.product));
	memcpy(p->info.revision, i.revision, sizeof(p->info.revision));
	return 0;
}

static int take_pages(struct probe *p, const uint8_t *data, size_t length)
{
	p->pages_length = min_size(length, sizeof(p->pages));
	memcpy(p->pages, data, p->pages_length);
	return 0;
}

static int take_serial(struct probe *p, const uint8_t *data, size_t length)
{
	vpd_serial_decode(data, length, p->info.serial, sizeof(p->info.serial));
	return 0;
}

static int take_identification(struct probe *p, const uint8_t *data, size_t length)
{
	vpd_wwid_decode(data, length, p->info.wwid, sizeof(p->info.wwid));
	return 0;
}

static int take_limits(struct probe *p, const uint8_t *data, size_t length)
{
	vpd_block_limits_decode(data, length, &p->limits);
	return 0;
}

static int take_characteristics(struct probe *p, const uint8_t *data, size_t length)
{
	struct vpd_block_characteristics c = {0};

	vpd_block_characteristics_decode(data, length, &c);
	p->info.rotational = c.rotation_rate > VPD_NON_ROTATING;
	return 0;
}

static int take_provisioning(struct probe *p, const uint8_t *data, size_t length)
{
	vpd_provisioning_decode(data, length, &p->provisioning);
	return 0;
}

static int take_capacity(struct probe *p, const struct scsi_capacity *c)
{
	bool power_of_two = (c->block_size & (c->block_size - 1)) == 0;

	if (c->block_size < 512 || c->block_size > 65536 || !power_of_two ||
		c->last_lba >= UINT64_MAX / c->block_size) {
		snprintf(p->why, sizeof(p->why), "%llu blocks of %u bytes cannot be used",
			(unsigned long long)c->last_lba + 1, c->block_size);
		return -EMEDIUMTYPE;
	}
	p->info.block_size = c->block_size;
	p->info.physical_block_size = c->block_size << (c->physical_exponent & 7);
	p->info.size = (c->last_lba + 1) * c->block_size;
	p->info.unmap_zeroes |= c->reads_zeros;
	return 0;
}

static int take_capacity16(struct probe *p, const uint8_t *data, size_t length)
{
	struct scsi_capacity c;
	int r = capacity16_decode(data, length, &c);

	return r < 0 ? r : take_capacity(p, &c);
}

static int take_capacity10(struct probe *p, const uint8_t *data, size_t length)
{
	struct scsi_capacity c = {0};
	int r = capacity10_decode(data, length, &c);

	return r < 0 ? r : take_capacity(p, &c);
}

static int take_modes(struct probe *p, const uint8_t *data, size_t length)
{
	struct mode_caching caching;
	struct bytes_reader r = bytes_reader(data, length);
	struct mode_header header;

	if (mode_header_decode(&r, false, &header) == 0) {
		p->info.readonly = header.device_specific & MODE_WRITE_PROTECT;
		p->info.fua = header.device_specific & MODE_DPOFUA;
	}
	if (mode_caching_decode(data, length, false, &caching) == 0)
		p->info.write_cache = caching.write_cache;
	return 0;
}

/* ---- what is asked, and when ---- */

static unsigned ask_inquiry(struct probe *p, uint8_t *cdb)
{
	(void)p;
	return cdb_inquiry(cdb, INQUIRY_SIZE);
}

static bool has_page(const struct probe *p, uint8_t page)
{
	return page == VPD_SUPPORTED_PAGES || vpd_pages_has(p->pages, p->pages_length, page);
}

static bool capacity_unknown(const struct probe *p)
{
	return p->info.size == 0;
}

static unsigned ask_capacity16(struct probe *p, uint8_t *cdb)
{
	(void)p;
	return cdb_read_capacity16(cdb, CAPACITY16_SIZE);
}

static unsigned ask_capacity10(struct probe *p, uint8_t *cdb)
{
	(void)p;
	return cdb_read_capacity10(cdb);
}

static unsigned ask_modes(struct probe *p, uint8_t *cdb)
{
	(void)p;
	return cdb_mode_sense6(cdb, MODE_PAGE_CACHING, MODE_CURRENT, true, 64);
}

struct probe_row {
	const char *name;
	unsigned (*ask)(struct probe *p, uint8_t *cdb); /* NULL: INQUIRY of `page` */
	uint8_t page;
	uint16_t length; /* allocation length */
	bool required;
	bool (*wanted)(const struct probe *p); /* NULL: a page if the LUN has it, others always */
	int (*take)(struct probe *p, const uint8_t *data, size_t length);
};

static const struct probe_row rows[] = {
	{"INQUIRY", ask_inquiry, 0, INQUIRY_SIZE, true, NULL, take_inquiry},
	{"VPD 00h", NULL, VPD_SUPPORTED_PAGES, 255, false, NULL, take_pages},
	{"VPD 80h", NULL, VPD_UNIT_SERIAL_NUMBER, 255, false, NULL, take_serial},
	{"VPD 83h", NULL, VPD_DEVICE_IDENTIFICATION, PROBE_BUFFER_SIZE, false, NULL,
		take_identification},
	{"VPD B0h", NULL, VPD_BLOCK_LIMITS, 64, false, NULL, take_limits},
	{"VPD B1h", NULL, VPD_BLOCK_CHARACTERISTICS, 64, false, NULL, take_characteristics},
	{"VPD B2h", NULL, VPD_LOGICAL_BLOCK_PROVISIONING, 64, false, NULL, take_provisioning},
	{"READ CAPACITY(16)", ask_capacity16, 0, CAPACITY16_SIZE, false, NULL, take_capacity16},
	{"READ CAPACITY(10)", ask_capacity10, 0, CAPACITY10_SIZE, true, capacity_unknown,
		take_capacity10},
	{"MODE SENSE(6)", ask_modes, 0, 64, false, NULL, take_modes},
};

static bool row_wanted(const struct probe_row *row, const struct probe *p)
{
	if (row->wanted)
		return row->wanted(p);
	return row->ask || has_page(p, row->page);
}

/* ---- the whole ---- */

static uint32_t blocks_to_bytes(const struct probe *p, uint64_t blocks, uint32_t most)
{
	uint32_t most_blocks = most / p->info.block_size;

	return (uint32_t)min_u64(blocks, most_blocks) * p->info.block_size;
}

/* Bytes per command from the pages, against our own limits. */
static void derive_limits(struct probe *p)
{
	struct disk_info *i = &p->info;
	const struct vpd_block_limits *l = &p->limits;

	if (l->max_transfer)
		i->max_transfer = blocks_to_bytes(p, l->max_transfer, PROBE_MAX_TRANSFER);
	else
		i->max_transfer = blocks_to_bytes(
			p, UINT32_MAX, ini_session_config(p->session)->max_transfer);
	if (i->max_transfer == 0)
		i->max_transfer = i->block_size;
	if (p->provisioning.unmap)
		i->max_discard = blocks_to_bytes(p, l->max_unmap, PROBE_MAX_DISCARD);
	i->max_write_zeroes = blocks_to_bytes(
		p, l->max_write_same ? l->max_write_same : NO_LIMIT_BLOCKS, PROBE_MAX_WRITE_ZEROES);
	i->unmap_zeroes |= p->provisioning.reads_zeros & 1;
	i->same_unmaps = i->unmap_zeroes && p->provisioning.write_same16;
	i->optimal_io_size = blocks_to_bytes(p, l->optimal_transfer, PROBE_MAX_TRANSFER);
}

static void probe_ask(struct probe *p);

static void probe_finish(struct probe *p, int error)
{
	if (error == 0)
		derive_limits(p);
	p->done(p, error);
}

/* 0: go on; the LUN cannot be used otherwise. */
static int probe_take(struct probe *p)
{
	const struct probe_row *row = &rows[p->step];
	char reason[128] = "its answer makes no sense";
	int r = task_result(&p->task, reason, sizeof(reason));

	if (r == 0)
		r = row->take(p, p->buffer, p->task.received);
	if (r == 0 || (!row->required && r != -ENODEV && r != -EMEDIUMTYPE))
		return 0;
	if (!*p->why)
		snprintf(p->why, sizeof(p->why), "%s: %s", row->name, reason);
	return r;
}

static void probe_answered(struct ini_task *t, int error)
{
	struct probe *p = container_of(t, struct probe, task);

	if (error < 0)
		snprintf(p->why, sizeof(p->why), "%s: %s", rows[p->step].name, strerror(-error));
	else
		error = probe_take(p);
	if (error < 0) {
		probe_finish(p, error);
		return;
	}
	p->step++;
	probe_ask(p);
}

static void probe_ask(struct probe *p)
{
	const struct probe_row *row;

	while (p->step < ARRAY_SIZE(rows) && !row_wanted(&rows[p->step], p))
		p->step++;
	if (p->step == ARRAY_SIZE(rows)) {
		probe_finish(p, 0);
		return;
	}
	row = &rows[p->step];
	p->task = (struct ini_task){
		.lun = p->lun,
		.read = {.data = p->buffer, .length = row->length},
		.repeatable = true,
		.urgent = p->urgent,
		.done = probe_answered,
	};
	if (row->ask)
		row->ask(p, p->task.cdb);
	else
		cdb_inquiry_vpd(p->task.cdb, row->page, row->length);
	ini_session_submit(p->session, &p->task);
}

void probe_start(struct probe *p)
{
	p->info = (struct disk_info){.lun = p->lun, .write_cache = true};
	p->why[0] = 0;
	p->step = 0;
	p->pages_length = 0;
	p->limits = (struct vpd_block_limits){0};
	p->provisioning = (struct vpd_provisioning){0};
	probe_ask(p);
}

void probe_cancel(struct probe *p)
{
	ini_session_abort(p->session, &p->task);
}

bool probe_same_device(const struct disk_info *a, const struct disk_info *b)
{
	if (*a->wwid || *b->wwid)
		return strcmp(a->wwid, b->wwid) == 0;
	return strcmp(a->vendor, b->vendor) == 0 && strcmp(a->product, b->product) == 0 &&
	       strcmp(a->serial, b->serial) == 0;
}

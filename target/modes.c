/* Mode pages and MODE SENSE(6) and (10) (SPC-4 sections 6.11, 6.12, 7.5; SBC-3 section 6.4):
 * read-write error recovery, caching, control, informational exceptions. What MODE SELECT changed
 * stays for as long as the unit is exported; it is not saved over a restart. */
#include "target/modes.h"

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/scsi/mode.h"
#include "target/command.h"
#include "target/executors.h"
#include "target/mode_table.h"
#include "target/worker.h"

struct mode_pages {
	uint8_t defaults[MODE_TABLE_ROWS][MODE_PAGE_MAX];
};

const struct mode_row mode_rows[MODE_TABLE_ROWS] = {
	/* AWRE and ARRE: the store reallocates by itself. */
	{{MODE_PAGE_ERROR_RECOVERY, 0x0a, 0xc0}, {MODE_PAGE_ERROR_RECOVERY, 0x0a}},
	{{MODE_PAGE_CACHING, 0x12}, {MODE_PAGE_CACHING, 0x12, CACHING_WCE}},
	/* QUEUE ALGORITHM MODIFIER 1h: simple commands may be reordered. */
	{{MODE_PAGE_CONTROL, 0x0a, 0, 0x10}, {MODE_PAGE_CONTROL, 0x0a, 0, 0, CONTROL_SWP}},
	{{MODE_PAGE_INFORMATIONAL_EXCEPTIONS, 0x0a}, {MODE_PAGE_INFORMATIONAL_EXCEPTIONS, 0x0a}},
};

size_t mode_row_length(const struct mode_row *row)
{
	return 2 + (size_t)row->fixed[1];
}

const struct mode_row *mode_row_find(uint8_t code)
{
	for (size_t i = 0; i < MODE_TABLE_ROWS; i++)
		if (mode_rows[i].fixed[0] == code)
			return &mode_rows[i];
	return NULL;
}

/* The bits that live elsewhere in the device. */
static void put_current(const struct device *d, uint8_t *page)
{
	if (page[0] == MODE_PAGE_CACHING && atomic_load(&d->write_cache))
		page[2] |= CACHING_WCE;
	if (page[0] == MODE_PAGE_CONTROL && atomic_load(&d->write_protected))
		page[4] |= CONTROL_SWP;
}

struct mode_pages *modes_new(const struct device *d)
{
	struct mode_pages *m = alloc_zeroed(sizeof(*m));

	if (!m)
		return NULL;
	for (size_t i = 0; i < MODE_TABLE_ROWS; i++) {
		memcpy(m->defaults[i], mode_rows[i].fixed, MODE_PAGE_MAX);
		put_current(d, m->defaults[i]);
	}
	return m;
}

void modes_free(struct mode_pages *m)
{
	alloc_free(m);
}

void mode_page_current(const struct device *d, const struct mode_row *row, uint8_t *out)
{
	memcpy(out, row->fixed, MODE_PAGE_MAX);
	put_current(d, out);
}

/* ---- MODE SENSE ---- */

struct sense_request {
	bool ten, no_descriptor; /* DBD */
	uint8_t control, page, subpage;
	uint32_t allocation_length;
};

static struct sense_request decode(const struct command *cmd)
{
	bool ten = cmd->operation->cdb_length == 10;

	return (struct sense_request){
		.ten = ten,
		.no_descriptor = cmd->cdb[1] & 0x08,
		.control = cmd->cdb[2] >> 6,
		.page = cmd->cdb[2] & 0x3f,
		.subpage = cmd->cdb[3],
		.allocation_length = ten ? get_be16(cmd->cdb + 7) : cmd->cdb[4],
	};
}

bool modes_sense_parse(struct command *cmd)
{
	struct sense_request r = decode(cmd);

	if (r.control == MODE_SAVED) {
		command_fail(cmd, SENSE_ILLEGAL_REQUEST, ASC_SAVING_PARAMETERS_NOT_SUPPORTED);
		return false;
	}
	if (r.page != MODE_PAGE_ALL && !mode_row_find(r.page)) {
		command_fail_field(cmd, 2, 5);
		return false;
	}
	/* No page has subpages; "all subpages" are the pages themselves. */
	if (r.subpage && r.subpage != MODE_SUBPAGE_ALL) {
		command_fail_field(cmd, 3, -1);
		return false;
	}
	return true;
}

static void put_page(const struct device *d, size_t i, uint8_t control, struct bytes_writer *w)
{
	uint8_t page[MODE_PAGE_MAX];

	if (control == MODE_CHANGEABLE)
		memcpy(page, mode_rows[i].changeable, MODE_PAGE_MAX);
	else if (control == MODE_DEFAULT)
		memcpy(page, d->modes->defaults[i], MODE_PAGE_MAX);
	else
		mode_page_current(d, &mode_rows[i], page);
	bytes_write(w, page, mode_row_length(&mode_rows[i]));
}

static void put_length(bool ten, struct bytes_writer *w)
{
	if (ten)
		put_be16(w->start, (uint16_t)(w->used - 2));
	else
		w->start[0] = (uint8_t)(w->used - 1);
}

void modes_sense(struct command *cmd)
{
	const struct device *d = cmd->nexus->device;
	struct sense_request r = decode(cmd);
	bool protected = d->readonly || atomic_load(&d->write_protected);
	struct mode_header h = {
		.device_specific = (uint8_t)(MODE_DPOFUA | (protected ? MODE_WRITE_PROTECT : 0)),
		.block_descriptor_length = r.no_descriptor ? 0 : MODE_BLOCK_DESCRIPTOR_SIZE,
	};
	struct bytes_writer w;

	if (!command_reply_buffer(cmd, WORKER_SMALL_BUFFER))
		return;
	w = bytes_writer(cmd->data, WORKER_SMALL_BUFFER);
	mode_header_encode(&h, r.ten, &w);
	if (!r.no_descriptor)
		mode_block_descriptor_encode(atomic_load(&d->block_count), d->block_size, &w);
	for (size_t i = 0; i < MODE_TABLE_ROWS; i++)
		if (r.page == MODE_PAGE_ALL || mode_rows[i].fixed[0] == r.page)
			put_page(d, i, r.control, &w);
	put_length(r.ten, &w);
	command_reply(cmd, (uint32_t)w.used, r.allocation_length);
}

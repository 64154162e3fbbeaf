/* MODE SELECT(6) and (10) (SPC-4 sections 6.9, 6.10): WCE and SWP can be changed; everything else
 * must be sent as MODE SENSE told it. The whole list is checked before anything of it is put in
 * force. */
#include "common/base/bytes.h"
#include "common/scsi/mode.h"
#include "target/command.h"
#include "target/executors.h"
#include "target/mode_table.h"
#include "target/worker.h"

enum {
	SELECT_PF = 0x10,
	SELECT_SP = 0x01,
	PAGE_CODE_MASK = 0x3f,
};

/* What the list asks for. */
struct selection {
	bool write_cache, write_protected;
};

static bool is_ten(const struct command *cmd)
{
	return cmd->operation->cdb_length == 10;
}

bool modes_select_parse(struct command *cmd)
{
	uint32_t length = is_ten(cmd) ? get_be16(cmd->cdb + 7) : cmd->cdb[4];

	/* Pages of SCSI-1 (PF 0) are vendor specific, and nothing can be saved. */
	if (length && !(cmd->cdb[1] & SELECT_PF)) {
		command_fail_field(cmd, 1, 4);
		return false;
	}
	if (cmd->cdb[1] & SELECT_SP) {
		command_fail_field(cmd, 1, 0);
		return false;
	}
	if (length > WORKER_SMALL_BUFFER) {
		command_fail_field(cmd, 7, -1);
		return false;
	}
	cmd->parameter_length = length;
	return true;
}

static void list_too_short(struct command *cmd)
{
	command_fail(cmd, SENSE_ILLEGAL_REQUEST, ASC_PARAMETER_LIST_LENGTH_ERROR);
}

static bool check_page(struct command *cmd, const struct mode_page *page, struct selection *s)
{
	const struct mode_row *row = page->subpage ? NULL : mode_row_find(page->code);
	unsigned at = (unsigned)(page->bytes - cmd->data);
	uint8_t current[MODE_PAGE_MAX];

	if (!row || page->length != mode_row_length(row)) {
		command_fail_parameter(
			cmd, ASC_INVALID_FIELD_IN_PARAMETER_LIST, row ? at + 1 : at, row ? -1 : 5);
		return false;
	}
	mode_page_current(cmd->nexus->device, row, current);
	for (unsigned i = 2; i < page->length; i++)
		if ((page->bytes[i] ^ current[i]) & ~row->changeable[i]) {
			command_fail_parameter(
				cmd, ASC_INVALID_FIELD_IN_PARAMETER_LIST, at + i, -1);
			return false;
		}
	if (page->code == MODE_PAGE_CACHING)
		s->write_cache = page->bytes[2] & CACHING_WCE;
	if (page->code == MODE_PAGE_CONTROL)
		s->write_protected = page->bytes[4] & CONTROL_SWP;
	return true;
}

/* A block descriptor may be sent, but can change nothing: what it says is not looked at but for its
 * block length. */
static bool check_descriptors(
	struct command *cmd, const struct mode_header *h, struct bytes_reader *r)
{
	const uint8_t *d = bytes_read(r, h->block_descriptor_length);
	uint32_t size;

	if (!d) {
		list_too_short(cmd);
		return false;
	}
	if (h->block_descriptor_length != 0 &&
		h->block_descriptor_length != MODE_BLOCK_DESCRIPTOR_SIZE) {
		command_fail_parameter(
			cmd, ASC_INVALID_FIELD_IN_PARAMETER_LIST, is_ten(cmd) ? 6 : 3, -1);
		return false;
	}
	size = h->block_descriptor_length ? get_be24(d + 5) : 0;
	if (!size || size == cmd->nexus->device->block_size)
		return true;
	command_fail_parameter(
		cmd, ASC_INVALID_FIELD_IN_PARAMETER_LIST, (unsigned)(d + 5 - cmd->data), -1);
	return false;
}

static bool check_list(struct command *cmd, struct selection *s)
{
	struct bytes_reader r = bytes_reader(cmd->data, cmd->parameter_length);
	struct mode_header h;
	struct mode_page page;
	int more;

	if (mode_header_decode(&r, is_ten(cmd), &h)) {
		list_too_short(cmd);
		return false;
	}
	if (!check_descriptors(cmd, &h, &r))
		return false;
	while ((more = mode_page_next(&r, &page)) > 0)
		if (!check_page(cmd, &page, s))
			return false;
	if (more)
		list_too_short(cmd);
	return !more;
}

void modes_select(struct command *cmd)
{
	struct device *d = cmd->nexus->device;
	struct selection before = {atomic_load(&d->write_cache), atomic_load(&d->write_protected)};
	struct selection s = before;

	if (cmd->parameter_length && !check_list(cmd, &s))
		return;
	atomic_store(&d->write_cache, s.write_cache);
	atomic_store(&d->write_protected, s.write_protected);
	if (s.write_cache != before.write_cache || s.write_protected != before.write_protected)
		device_attention(d, cmd->nexus, ASC_MODE_PARAMETERS_CHANGED);
	/* With the cache off everything that had GOOD status is on stable storage: what was cached
	 * before, too. */
	if (before.write_cache && !s.write_cache)
		command_flush(cmd, command_good);
	else
		command_finish(cmd, SCSI_GOOD);
}

/* Primary commands (SPC-4 section 6): INQUIRY, REPORT LUNS, TEST UNIT READY, REQUEST SENSE. Called
 * through opcodes.c. The pages of INQUIRY are vpd.c. */
#include "common/base/bytes.h"
#include "common/iscsi/pdu.h"
#include "common/scsi/capacity.h"
#include "common/scsi/cdb.h"
#include "common/scsi/inquiry.h"
#include "target/command.h"
#include "target/command_check.h"
#include "target/executors.h"
#include "target/session.h"
#include "target/worker.h"

bool spc_no_parameters(struct command *cmd)
{
	(void)cmd;
	return true;
}

void spc_test_unit_ready(struct command *cmd)
{
	if (atomic_load(&cmd->nexus->device->stopped))
		command_fail(cmd, SENSE_NOT_READY,
			ASC_LOGICAL_UNIT_NOT_READY_INITIALIZING_COMMAND_REQUIRED);
	else
		command_finish(cmd, SCSI_GOOD);
}

/* ---- REQUEST SENSE (SPC-4 section 6.39) ---- */

static struct scsi_sense sense_of(uint8_t key, uint16_t code)
{
	return (struct scsi_sense){
		.key = key, .asc = (uint8_t)(code >> 8), .ascq = (uint8_t)code, .field_bit = -1};
}

/* A pending unit attention; else what hinders the unit; else nothing. */
static struct scsi_sense present_sense(struct command *cmd)
{
	uint16_t code;

	if (!cmd->nexus)
		return sense_of(SENSE_ILLEGAL_REQUEST, ASC_LOGICAL_UNIT_NOT_SUPPORTED);
	if (command_attention_take(cmd, &code))
		return sense_of(SENSE_UNIT_ATTENTION, code);
	if (atomic_load(&cmd->nexus->device->stopped))
		return sense_of(
			SENSE_NOT_READY, ASC_LOGICAL_UNIT_NOT_READY_INITIALIZING_COMMAND_REQUIRED);
	return sense_of(SENSE_NO_SENSE, ASC_NONE);
}

void spc_request_sense(struct command *cmd)
{
	size_t length = SENSE_FIXED_SIZE;
	struct scsi_sense s;

	if (!command_reply_buffer(cmd, SENSE_SIZE_MAX))
		return;
	s = present_sense(cmd);
	if (cmd->cdb[1] & 1)
		length = scsi_sense_put_descriptor(&s, cmd->data);
	else
		scsi_sense_put_fixed(&s, cmd->data);
	command_reply(cmd, (uint32_t)length, cmd->cdb[4]);
}

/* ---- REPORT LUNS (SPC-4 section 6.33) ---- */

enum {
	SELECT_ADDRESSABLE = 0x00, /* all logical units but well known ones */
	SELECT_WELL_KNOWN = 0x01,  /* there are none */
	SELECT_ALL = 0x02,
	REPORT_LUNS_ALLOCATION_MINIMUM = 16,
};

bool spc_report_luns_parse(struct command *cmd)
{
	if (cmd->cdb[2] > SELECT_ALL)
		command_fail_field(cmd, 2, -1);
	else if (get_be32(cmd->cdb + 6) < REPORT_LUNS_ALLOCATION_MINIMUM)
		command_fail_field(cmd, 6, -1);
	else
		return true;
	return false;
}

/* The list, and behind it the numbers that it is made from: 160 KiB for all 16,384 LUNs. */
void spc_report_luns(struct command *cmd)
{
	size_t count = 0, length;
	uint16_t *luns;

	if (cmd->cdb[2] != SELECT_WELL_KNOWN)
		count = tgt_session_luns(cmd->session, NULL, 0);
	count = min_size(count, DEVICE_LUNS_MAX);
	length = REPORT_LUNS_HEADER_SIZE + count * 8;
	if (!command_reply_buffer(cmd, (uint32_t)(length + count * sizeof(*luns))))
		return;
	luns = (uint16_t *)(void *)(cmd->data + length);
	count = min_size(count, tgt_session_luns(cmd->session, luns, count));
	put_be32(cmd->data, (uint32_t)(count * 8));
	for (size_t i = 0; i < count; i++)
		put_be64(cmd->data + REPORT_LUNS_HEADER_SIZE + i * 8, iscsi_lun_encode(luns[i]));
	tgt_session_luns_told(cmd->session);
	command_reply(cmd, (uint32_t)(REPORT_LUNS_HEADER_SIZE + count * 8), get_be32(cmd->cdb + 6));
}

/* ---- INQUIRY (SPC-4 section 6.6) ---- */

enum {
	INQUIRY_EVPD = 0x01,
};

bool spc_inquiry_parse(struct command *cmd)
{
	/* A page code without EVPD asks for nothing that there is. */
	if (!(cmd->cdb[1] & INQUIRY_EVPD) && cmd->cdb[2]) {
		command_fail_field(cmd, 2, -1);
		return false;
	}
	return true;
}

static void standard_inquiry(const struct device *d, struct bytes_writer *w)
{
	struct scsi_inquiry i = {
		.qualifier = d ? 0 : INQUIRY_QUALIFIER_NO_UNIT,
		.type = d ? INQUIRY_TYPE_DISK : INQUIRY_TYPE_UNKNOWN,
		.version = INQUIRY_VERSION_SPC4,
		.hierarchical = true,
		.command_queuing = true,
		/* SAM-5, SPC-4, SBC-3, iSCSI, each without a version claimed (SPC-4 annex E). */
		.version_descriptors = {0x00a0, 0x0460, 0x04c0, 0x0960},
	};

	memcpy(i.vendor, d ? d->vendor : "ISERAN", d ? sizeof(i.vendor) : 7);
	memcpy(i.product, d ? d->product : "", d ? sizeof(i.product) : 1);
	memcpy(i.revision, d ? d->revision : "", d ? sizeof(i.revision) : 1);
	inquiry_encode(&i, w);
}

void spc_inquiry(struct command *cmd)
{
	const struct device *d = cmd->nexus ? cmd->nexus->device : NULL;
	struct bytes_writer w;

	if (!command_reply_buffer(cmd, WORKER_SMALL_BUFFER))
		return;
	w = bytes_writer(cmd->data, WORKER_SMALL_BUFFER);
	if (!(cmd->cdb[1] & INQUIRY_EVPD))
		standard_inquiry(d, &w);
	else
		w.used = vpd_page_encode(cmd, cmd->cdb[2], w.start, w.size);
	if (w.used)
		command_reply(cmd, (uint32_t)w.used, get_be16(cmd->cdb + 3));
	else
		command_fail_field(cmd, 2, -1);
}

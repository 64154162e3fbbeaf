/* REPORT SUPPORTED OPERATION CODES and REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS (SPC-4
 * sections 6.35, 6.36): the table of opcodes.c, as initiators see it. */
#include "common/base/bytes.h"
#include "target/executors.h"
#include "target/opcodes.h"
#include "target/worker.h"

enum {
	REPORT_ALL = 0,
	REPORT_CODE = 1,	   /* an operation code without service actions */
	REPORT_SERVICE_ACTION = 2, /* an operation code with them */
	RCTD = 0x80,		   /* return command timeouts descriptors */
	SUPPORT_STANDARD = 0x03,   /* conforming to a standard */
	SUPPORT_NONE = 0x01,
	CTDP_ONE = 0x80,
	CTDP_ALL = 0x02,
	SERVACTV = 0x01,
	TIMEOUTS_LENGTH = 0x0a,
};

/* "No time-out reported": nominal and recommended time of 0 (SPC-4 section 6.35.4). */
static void put_timeouts(struct bytes_writer *w)
{
	uint8_t *out = bytes_reserve(w, 2 + TIMEOUTS_LENGTH);

	if (!out)
		return;
	memset(out, 0, 2 + TIMEOUTS_LENGTH);
	put_be16(out, TIMEOUTS_LENGTH);
}

static void put_descriptor(const struct command_operation *o, bool timeouts, struct bytes_writer *w)
{
	bool action = o->service_action >= 0;

	bytes_write_u8(w, o->opcode);
	bytes_write_u8(w, 0);
	bytes_write_be16(w, action ? (uint16_t)o->service_action : 0);
	bytes_write_u8(w, 0);
	bytes_write_u8(w, (uint8_t)((timeouts ? CTDP_ALL : 0) | (action ? SERVACTV : 0)));
	bytes_write_be16(w, o->cdb_length);
	if (timeouts)
		put_timeouts(w);
}

static void report_all(const struct nexus *n, bool timeouts, struct bytes_writer *w)
{
	bytes_write_be32(w, 0);
	for (size_t i = 0; i < opcodes_count(); i++)
		if (command_operation_offered(opcodes_row(i), n))
			put_descriptor(opcodes_row(i), timeouts, w);
	put_be32(w->start, (uint32_t)(w->used - 4));
}

static void report_one(const struct command_operation *o, bool timeouts, struct bytes_writer *w)
{
	uint8_t ctdp = timeouts ? CTDP_ONE : 0;

	bytes_write_u8(w, 0);
	bytes_write_u8(w, o ? SUPPORT_STANDARD | ctdp : SUPPORT_NONE);
	bytes_write_be16(w, o ? o->cdb_length : 0);
	if (!o)
		return;
	bytes_write(w, o->usage, o->cdb_length);
	if (o->service_action >= 0)
		/* The map has the service action itself in its field. */
		w->start[w->used - o->cdb_length + 1] = (uint8_t)o->service_action;
	if (timeouts)
		put_timeouts(w);
}

void opcodes_report(struct command *cmd)
{
	uint8_t options = cmd->cdb[2] & 7;
	uint8_t opcode = cmd->cdb[3];
	uint16_t action = get_be16(cmd->cdb + 4);
	bool timeouts = cmd->cdb[2] & RCTD;
	const struct command_operation *first = opcodes_first(opcode);
	struct bytes_writer w;

	if (options > REPORT_SERVICE_ACTION) {
		command_fail_field(cmd, 2, 2);
		return;
	}
	/* The option says whether the code has service actions; both must agree. */
	if (options && first &&
		(first->service_action >= 0) != (options == REPORT_SERVICE_ACTION)) {
		command_fail_field(cmd, 2, 2);
		return;
	}
	if (first && !command_operation_offered(first, cmd->nexus))
		first = NULL;
	if (!command_reply_buffer(cmd, WORKER_SMALL_BUFFER))
		return;
	w = bytes_writer(cmd->data, WORKER_SMALL_BUFFER);
	if (options == REPORT_ALL)
		report_all(cmd->nexus, timeouts, &w);
	else if (options == REPORT_CODE)
		report_one(first, timeouts, &w);
	else
		report_one(opcodes_service_action(opcode, action), timeouts, &w);
	command_reply(cmd, (uint32_t)w.used, get_be32(cmd->cdb + 6));
}

enum {
	TMF_REPD = 0x80, /* return extended parameter data */
	/* Byte 0: ABORT TASK, ABORT TASK SET, CLEAR TASK SET, LOGICAL UNIT RESET, TARGET RESET. */
	TMF_SUPPORTED = 0x80 | 0x40 | 0x10 | 0x08 | 0x02,
};

void opcodes_report_tmf(struct command *cmd)
{
	uint32_t length = cmd->cdb[2] & TMF_REPD ? 16 : 4;

	if (!command_reply_buffer(cmd, length))
		return;
	cmd->data[0] = TMF_SUPPORTED;
	if (length > 4)
		cmd->data[3] = (uint8_t)(length - 4);
	command_reply(cmd, length, get_be32(cmd->cdb + 6));
}

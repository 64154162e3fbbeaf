/* What is checked before a command is parsed: see command_check.h. The order is SAM-5 section 5.14
 * and SPC-4 section 5.13.3: a unit attention comes before a reservation conflict, and both before
 * what the command itself finds. */
#include "target/command_check.h"

#include "common/base/bytes.h"
#include "common/iscsi/pdu.h"
#include "target/command.h"
#include "target/reservations.h"
#include "target/session.h"

static bool check_operation(struct command *cmd)
{
	uint16_t code = 0;
	const struct command_operation *operation = opcodes_find(cmd->cdb, &code);

	if (!cmd->nexus && !(operation && operation->flags & OPERATION_ANY_LUN)) {
		command_fail(cmd, SENSE_ILLEGAL_REQUEST, ASC_LOGICAL_UNIT_NOT_SUPPORTED);
		return false;
	}
	if (operation && !command_operation_offered(operation, cmd->nexus)) {
		operation = NULL;
		code = ASC_INVALID_COMMAND_OPERATION_CODE;
	}
	cmd->operation = operation;
	if (operation)
		return true;
	if (code == ASC_INVALID_FIELD_IN_CDB)
		command_fail_field(cmd, 1, 4);
	else
		command_fail(cmd, SENSE_ILLEGAL_REQUEST, code);
	return false;
}

/* We have no ACA (INQUIRY says NORMACA 0), so nothing can be told to run in spite of one. */
static bool check_attribute(struct command *cmd)
{
	if (cmd->attribute < ISCSI_ATTR_ACA)
		return true;
	command_fail(cmd, SENSE_ILLEGAL_REQUEST, ASC_INVALID_MESSAGE_ERROR);
	return false;
}

static bool check_usage(struct command *cmd)
{
	const struct command_operation *o = cmd->operation;

	for (unsigned i = 1; i < o->cdb_length; i++) {
		unsigned wrong = cmd->cdb[i] & ~(unsigned)o->usage[i];

		if (wrong) {
			command_fail_field(cmd, i, 31 - __builtin_clz(wrong));
			return false;
		}
	}
	return true;
}

bool command_attention_take(struct command *cmd, uint16_t *ret_code)
{
	if (!cmd->nexus || !nexus_has_attention(cmd->nexus) ||
		!nexus_attention_take(cmd->nexus, ret_code))
		return false;
	if (*ret_code == ASC_REPORTED_LUNS_DATA_HAS_CHANGED)
		tgt_session_luns_told(cmd->session);
	return true;
}

static bool check_attention(struct command *cmd)
{
	uint16_t code;

	if (cmd->operation->flags & OPERATION_DESPITE_ATTENTION ||
		!command_attention_take(cmd, &code))
		return true;
	command_fail(cmd, SENSE_UNIT_ATTENTION, code);
	return false;
}

static bool check_reservation(struct command *cmd)
{
	if (!cmd->nexus ||
		!atomic_load_explicit(&cmd->nexus->device->reserved, memory_order_acquire) ||
		!reservation_conflicts(cmd))
		return true;
	command_finish(cmd, SCSI_RESERVATION_CONFLICT);
	return false;
}

static bool check_unit(struct command *cmd)
{
	const struct device *d = cmd->nexus ? cmd->nexus->device : NULL;
	unsigned flags = cmd->operation->flags;

	if (!d)
		return true;
	if (flags & OPERATION_MEDIUM && atomic_load_explicit(&d->stopped, memory_order_relaxed)) {
		command_fail(cmd, SENSE_NOT_READY,
			ASC_LOGICAL_UNIT_NOT_READY_INITIALIZING_COMMAND_REQUIRED);
		return false;
	}
	if (flags & OPERATION_WRITES &&
		(d->readonly || atomic_load_explicit(&d->write_protected, memory_order_relaxed))) {
		command_fail(cmd, SENSE_DATA_PROTECT, ASC_WRITE_PROTECTED);
		return false;
	}
	return true;
}

bool command_check(struct command *cmd)
{
	static bool (*const checks[])(struct command * cmd) = {
		check_operation,
		check_attribute,
		check_usage,
		check_attention,
		check_reservation,
		check_unit,
	};

	for (unsigned i = 0; i < ARRAY_SIZE(checks); i++)
		if (!checks[i](cmd))
			return false;
	return true;
}

/* The Basic Header Segment of every PDU (RFC 7143 section 11), wire <-> host: one row per opcode.
 * Used by both movers, and through them by both ends.
 *
 * What is refused here is what no receiver may act upon whatever its state. What a state decides
 * (login stages, tags, offsets) is left to the machine that knows the state, since its answer is
 * another one: a Login Response with a status, a failed task. Reserved bits are ignored (section
 * 11.1: "must be ignored when received"), as is a missing F bit where it can only be 1: peers
 * differ there and nothing depends on it. */
#include "common/iscsi/pdu.h"

#include <errno.h>

#include "common/iscsi/pdu_fields.h"

_Static_assert(BHS_MAX_CMD_SN + 16 == ISCSI_BHS_SIZE, "12 bytes follow MaxCmdSN");
_Static_assert(32 + ISCSI_CDB_SIZE == ISCSI_BHS_SIZE, "the CDB ends the SCSI Command's BHS");
_Static_assert(sizeof(struct iscsi_isid) == 6, "ISID is copied as it is");
_Static_assert(BHS_LUN + sizeof(struct iscsi_isid) + 2 == BHS_ITT, "ISID and TSIH fill the LUN");

enum row_flags {
	ROW_REQUEST = 1, /* from the initiator: I bit, ExpStatSN */
	ROW_CMD_SN = 2,	 /* request with a CmdSN */
	ROW_ANSWER = 4,	 /* from the target: StatSN, ExpCmdSN, MaxCmdSN */
	ROW_LUN = 8,
	ROW_DATA = 16, /* may have a data segment */
	ROW_AHS = 32,  /* may have AHS: Extended CDB and bidirectional length, section 11.2.2 */
	ROW_ITT = 64,  /* names a task: the ITT may not be the reserved value */
};

struct pdu_row {
	const char *name;
	unsigned flags; /* 0: no such opcode */
	int (*decode)(const uint8_t *b, struct iscsi_pdu *p);
	void (*encode)(const struct iscsi_pdu *p, uint8_t *b);
};

#define COMMAND (ROW_REQUEST | ROW_CMD_SN)

/* clang-format off */
static const struct pdu_row rows[OPCODE_MASK + 1] = {
	[ISCSI_NOP_OUT]         = { "NOP-Out", COMMAND | ROW_LUN | ROW_DATA,
				    pdu_nop_decode, pdu_nop_encode },
	[ISCSI_SCSI_COMMAND]    = { "SCSI Command", COMMAND | ROW_LUN | ROW_DATA | ROW_AHS | ROW_ITT,
				    pdu_command_decode, pdu_command_encode },
	[ISCSI_TMF_REQUEST]     = { "Task Management Request", COMMAND | ROW_LUN | ROW_ITT,
				    pdu_tmf_decode, pdu_tmf_encode },
	[ISCSI_LOGIN_REQUEST]   = { "Login Request", COMMAND | ROW_DATA,
				    pdu_login_decode, pdu_login_encode },
	[ISCSI_TEXT_REQUEST]    = { "Text Request", COMMAND | ROW_LUN | ROW_DATA | ROW_ITT,
				    pdu_text_decode, pdu_text_encode },
	[ISCSI_DATA_OUT]        = { "Data-Out", ROW_REQUEST | ROW_LUN | ROW_DATA,
				    pdu_data_out_decode, pdu_data_out_encode },
	[ISCSI_LOGOUT_REQUEST]  = { "Logout Request", COMMAND | ROW_ITT,
				    pdu_logout_decode, pdu_logout_encode },
	[ISCSI_SNACK_REQUEST]   = { "SNACK Request", ROW_REQUEST | ROW_LUN,
				    pdu_snack_decode, pdu_snack_encode },
	[ISCSI_NOP_IN]          = { "NOP-In", ROW_ANSWER | ROW_LUN | ROW_DATA,
				    pdu_nop_decode, pdu_nop_encode },
	[ISCSI_SCSI_RESPONSE]   = { "SCSI Response", ROW_ANSWER | ROW_DATA,
				    pdu_response_decode, pdu_response_encode },
	[ISCSI_TMF_RESPONSE]    = { "Task Management Response", ROW_ANSWER,
				    pdu_tmf_response_decode, pdu_tmf_response_encode },
	[ISCSI_LOGIN_RESPONSE]  = { "Login Response", ROW_ANSWER | ROW_DATA,
				    pdu_login_response_decode, pdu_login_response_encode },
	[ISCSI_TEXT_RESPONSE]   = { "Text Response", ROW_ANSWER | ROW_LUN | ROW_DATA,
				    pdu_text_decode, pdu_text_encode },
	[ISCSI_DATA_IN]         = { "Data-In", ROW_ANSWER | ROW_LUN | ROW_DATA,
				    pdu_data_in_decode, pdu_data_in_encode },
	[ISCSI_LOGOUT_RESPONSE] = { "Logout Response", ROW_ANSWER,
				    pdu_logout_response_decode, pdu_logout_response_encode },
	[ISCSI_R2T]             = { "R2T", ROW_ANSWER | ROW_LUN,
				    pdu_r2t_decode, pdu_r2t_encode },
	[ISCSI_ASYNC]           = { "Asynchronous Message", ROW_ANSWER | ROW_LUN | ROW_DATA,
				    pdu_async_decode, pdu_async_encode },
	[ISCSI_REJECT]          = { "Reject", ROW_ANSWER | ROW_DATA,
				    pdu_reject_decode, pdu_reject_encode },
};

static const char *const reject_names[] = {
	[ISCSI_REJECT_DATA_DIGEST]        = "data digest error",
	[ISCSI_REJECT_SNACK]              = "SNACK reject",
	[ISCSI_REJECT_PROTOCOL_ERROR]     = "protocol error",
	[ISCSI_REJECT_NOT_SUPPORTED]      = "command not supported",
	[ISCSI_REJECT_TOO_MANY_IMMEDIATE] = "too many immediate commands",
	[ISCSI_REJECT_TASK_IN_PROGRESS]   = "task in progress",
	[ISCSI_REJECT_INVALID_DATA_ACK]   = "invalid data ACK",
	[ISCSI_REJECT_INVALID_PDU_FIELD]  = "invalid PDU field",
	[ISCSI_REJECT_OUT_OF_RESOURCES]   = "out of resources",
	[ISCSI_REJECT_WAITING_FOR_LOGOUT] = "waiting for logout",
};
/* clang-format on */

static void common_decode(const struct pdu_row *row, const uint8_t *b, struct iscsi_pdu *p)
{
	p->final = b[BHS_FLAGS] & FLAG_FINAL;
	p->ahs_words = b[BHS_AHS_LENGTH];
	p->data_length = get_be24(b + BHS_DATA_LENGTH);
	p->itt = get_be32(b + BHS_ITT);
	if (row->flags & ROW_LUN)
		p->lun = get_be64(b + BHS_LUN);
	if (row->flags & ROW_REQUEST) {
		p->immediate = b[BHS_OPCODE] & OPCODE_IMMEDIATE;
		p->exp_stat_sn = get_be32(b + BHS_EXP_STAT_SN);
	}
	if (row->flags & ROW_CMD_SN)
		p->cmd_sn = get_be32(b + BHS_CMD_SN);
	if (row->flags & ROW_ANSWER) {
		p->stat_sn = get_be32(b + BHS_STAT_SN);
		p->exp_cmd_sn = get_be32(b + BHS_EXP_CMD_SN);
		p->max_cmd_sn = get_be32(b + BHS_MAX_CMD_SN);
	}
}

static int common_check(const struct pdu_row *row, const struct iscsi_pdu *p)
{
	if (p->data_length && !(row->flags & ROW_DATA))
		return -EPROTO;
	if (p->ahs_words && !(row->flags & ROW_AHS))
		return -EPROTO;
	if (p->itt == ISCSI_TAG_NONE && row->flags & ROW_ITT)
		return -EPROTO;
	return 0;
}

int iscsi_pdu_decode(const uint8_t bhs[ISCSI_BHS_SIZE], struct iscsi_pdu *ret)
{
	const struct pdu_row *row = &rows[bhs[BHS_OPCODE] & OPCODE_MASK];
	int error, common;

	*ret = (struct iscsi_pdu){.opcode = bhs[BHS_OPCODE] & OPCODE_MASK};
	common_decode(row, bhs, ret);
	if (!row->decode)
		return -EOPNOTSUPP;
	error = row->decode(bhs, ret);
	common = common_check(row, ret);
	return error ? error : common;
}

void iscsi_pdu_encode(const struct iscsi_pdu *pdu, uint8_t bhs[ISCSI_BHS_SIZE])
{
	const struct pdu_row *row = &rows[pdu->opcode & OPCODE_MASK];

	memset(bhs, 0, ISCSI_BHS_SIZE);
	bhs[BHS_OPCODE] = pdu->opcode & OPCODE_MASK;
	bhs[BHS_AHS_LENGTH] = pdu->ahs_words;
	put_be24(bhs + BHS_DATA_LENGTH, pdu->data_length);
	put_be32(bhs + BHS_ITT, pdu->itt);
	if (row->flags & ROW_LUN)
		put_be64(bhs + BHS_LUN, pdu->lun);
	if (row->flags & ROW_REQUEST) {
		bhs[BHS_OPCODE] |= pdu->immediate ? OPCODE_IMMEDIATE : 0;
		put_be32(bhs + BHS_EXP_STAT_SN, pdu->exp_stat_sn);
	}
	if (row->flags & ROW_CMD_SN)
		put_be32(bhs + BHS_CMD_SN, pdu->cmd_sn);
	if (row->flags & ROW_ANSWER) {
		put_be32(bhs + BHS_STAT_SN, pdu->stat_sn);
		put_be32(bhs + BHS_EXP_CMD_SN, pdu->exp_cmd_sn);
		put_be32(bhs + BHS_MAX_CMD_SN, pdu->max_cmd_sn);
	}
	if (row->encode)
		row->encode(pdu, bhs);
}

const char *iscsi_opcode_name(uint8_t opcode)
{
	const char *name = opcode <= OPCODE_MASK ? rows[opcode].name : NULL;

	return name ? name : "unknown";
}

const char *iscsi_reject_name(uint8_t reason)
{
	const char *name = reason < ARRAY_SIZE(reject_names) ? reject_names[reason] : NULL;

	return name ? name : "unknown";
}

bool iscsi_opcode_is_request(uint8_t opcode)
{
	return opcode <= OPCODE_MASK && rows[opcode].flags & ROW_REQUEST;
}

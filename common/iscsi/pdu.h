/* iSCSI PDUs (RFC 7143 section 11): the 48-byte Basic Header Segment, wire <-> host. No I/O. The
 * host structs carry fields in host order; nothing of the wire travels further in than this file.
 *
 * Data, AHS and digests are not here: iscsi/stream.h frames them for TCP, datamover/iser.c for
 * iSER. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ISCSI_BHS_SIZE 48
#define ISCSI_TAG_NONE 0xffffffffu /* the reserved value of ITT and TTT */
#define ISCSI_CDB_SIZE 16	   /* in the BHS; a longer CDB goes on in an AHS */
#define ISCSI_CDB_MAX 260	   /* SPC-4: the longest variable-length CDB */
#define ISCSI_VERSION 0x00
#define ISCSI_PORTAL_GROUP_TAG 1 /* every portal of one daemon is in one group */

enum iscsi_opcode {
	ISCSI_NOP_OUT = 0x00,
	ISCSI_SCSI_COMMAND = 0x01,
	ISCSI_TMF_REQUEST = 0x02,
	ISCSI_LOGIN_REQUEST = 0x03,
	ISCSI_TEXT_REQUEST = 0x04,
	ISCSI_DATA_OUT = 0x05,
	ISCSI_LOGOUT_REQUEST = 0x06,
	ISCSI_SNACK_REQUEST = 0x10,
	ISCSI_NOP_IN = 0x20,
	ISCSI_SCSI_RESPONSE = 0x21,
	ISCSI_TMF_RESPONSE = 0x22,
	ISCSI_LOGIN_RESPONSE = 0x23,
	ISCSI_TEXT_RESPONSE = 0x24,
	ISCSI_DATA_IN = 0x25,
	ISCSI_LOGOUT_RESPONSE = 0x26,
	ISCSI_R2T = 0x31,
	ISCSI_ASYNC = 0x32,
	ISCSI_REJECT = 0x3f,
};

enum iscsi_task_attribute { /* section 11.3.1, ATTR */
	ISCSI_ATTR_UNTAGGED = 0,
	ISCSI_ATTR_SIMPLE = 1,
	ISCSI_ATTR_ORDERED = 2,
	ISCSI_ATTR_HEAD_OF_QUEUE = 3,
	ISCSI_ATTR_ACA = 4,
};

enum iscsi_tmf { /* section 11.5.1 */
	ISCSI_TMF_ABORT_TASK = 1,
	ISCSI_TMF_ABORT_TASK_SET = 2,
	ISCSI_TMF_CLEAR_ACA = 3,
	ISCSI_TMF_CLEAR_TASK_SET = 4,
	ISCSI_TMF_LUN_RESET = 5,
	ISCSI_TMF_TARGET_WARM_RESET = 6,
	ISCSI_TMF_TARGET_COLD_RESET = 7,
	ISCSI_TMF_TASK_REASSIGN = 8,
};

enum iscsi_tmf_response { /* section 11.6.1 */
	ISCSI_TMF_COMPLETE = 0,
	ISCSI_TMF_NO_TASK = 1,
	ISCSI_TMF_NO_LUN = 2,
	ISCSI_TMF_STILL_ALLEGIANT = 3,
	ISCSI_TMF_NO_REASSIGNMENT = 4,
	ISCSI_TMF_NOT_SUPPORTED = 5,
	ISCSI_TMF_NOT_AUTHORIZED = 6,
	ISCSI_TMF_REJECTED = 255,
};

enum iscsi_reject_reason { /* section 11.17.1 */
	ISCSI_REJECT_DATA_DIGEST = 0x02,
	ISCSI_REJECT_SNACK = 0x03,
	ISCSI_REJECT_PROTOCOL_ERROR = 0x04,
	ISCSI_REJECT_NOT_SUPPORTED = 0x05,
	ISCSI_REJECT_TOO_MANY_IMMEDIATE = 0x06,
	ISCSI_REJECT_TASK_IN_PROGRESS = 0x07,
	ISCSI_REJECT_INVALID_DATA_ACK = 0x08,
	ISCSI_REJECT_INVALID_PDU_FIELD = 0x09,
	ISCSI_REJECT_OUT_OF_RESOURCES = 0x0a,
	ISCSI_REJECT_WAITING_FOR_LOGOUT = 0x0c,
};

enum iscsi_async_event { /* section 11.9.1 */
	ISCSI_ASYNC_SCSI = 0,
	ISCSI_ASYNC_LOGOUT_REQUESTED = 1,
	ISCSI_ASYNC_CONNECTION_DROP = 2,
	ISCSI_ASYNC_SESSION_DROP = 3,
	ISCSI_ASYNC_NEGOTIATE = 4,
	ISCSI_ASYNC_TASKS_TERMINATED = 5,
	ISCSI_ASYNC_VENDOR = 255,
};

enum iscsi_stage { /* section 11.12.3, CSG and NSG */
	ISCSI_STAGE_SECURITY = 0,
	ISCSI_STAGE_OPERATIONAL = 1,
	ISCSI_STAGE_FULL_FEATURE = 3,
};

enum iscsi_logout_reason { /* section 11.14.1 */
	ISCSI_LOGOUT_SESSION = 0,
	ISCSI_LOGOUT_CONNECTION = 1,
	ISCSI_LOGOUT_RECOVERY = 2,
};

enum iscsi_logout_response { /* section 11.15.1 */
	ISCSI_LOGOUT_CLOSED = 0,
	ISCSI_LOGOUT_NO_CID = 1,
	ISCSI_LOGOUT_NO_RECOVERY = 2,
	ISCSI_LOGOUT_CLEANUP_FAILED = 3,
};

enum iscsi_response { /* section 11.4.3: the iSCSI service response */
	ISCSI_RESPONSE_COMPLETED = 0,
	ISCSI_RESPONSE_TARGET_FAILURE = 1,
};

/* Initiator session ID (section 11.12.5), and the key under which a target finds the session that a
 * login reinstates. */
struct iscsi_isid {
	uint8_t bytes[6];
};

/* One PDU in host order. The sequence numbers of both directions are outside the union since nearly
 * every PDU carries them; a field that an opcode does not have is 0 in decode and ignored in
 * encode. "I": in PDUs from the initiator, "T": from the target. */
struct iscsi_pdu {
	uint8_t opcode;	      /* enum iscsi_opcode */
	bool immediate;	      /* I */
	bool final;	      /* F bit; for Login the T (transit) bit is in login.transit */
	uint8_t ahs_words;    /* TotalAHSLength, in 4-byte words */
	uint32_t data_length; /* DataSegmentLength, without padding, at most 0xffffff */
	uint64_t lun;	      /* SAM-5 form, as on the wire, big-endian value */
	uint32_t itt; /* opaque to the target, compared only; kept as read from the wire (be32) */

	uint32_t cmd_sn, exp_stat_sn;		  /* I */
	uint32_t stat_sn, exp_cmd_sn, max_cmd_sn; /* T */

	union {
		struct {
			bool read, write;
			uint8_t attribute;	  /* enum iscsi_task_attribute */
			uint32_t expected_length; /* EDTL; of the write if bidirectional */
			uint8_t cdb[ISCSI_CDB_SIZE];
		} command;
		struct {
			uint8_t response; /* enum iscsi_response */
			uint8_t status;	  /* SAM status */
			bool overflow, underflow, bidi_overflow, bidi_underflow;
			uint32_t snack_tag, exp_data_sn, residual, bidi_residual;
		} response;
		struct {
			uint8_t function; /* enum iscsi_tmf */
			uint32_t referenced_tag, ref_cmd_sn, exp_data_sn;
		} tmf;
		struct {
			uint8_t response; /* enum iscsi_tmf_response */
		} tmf_response;
		struct {
			uint32_t ttt, data_sn, offset;
		} data_out;
		struct {
			bool acknowledge, overflow, underflow, has_status;
			uint8_t status; /* meaningful with has_status */
			uint32_t ttt, data_sn, offset, residual;
		} data_in;
		struct {
			uint32_t ttt, r2t_sn, offset, length;
		} r2t;
		struct {
			bool transit, more; /* T and C bits */
			uint8_t csg, nsg;   /* enum iscsi_stage */
			uint8_t version_max, version_min;
			struct iscsi_isid isid;
			uint16_t tsih, cid;
		} login;
		struct {
			bool transit, more;
			uint8_t csg, nsg;
			uint8_t version_max, version_active;
			struct iscsi_isid isid;
			uint16_t tsih;
			uint8_t status_class, status_detail;
		} login_response;
		struct {
			bool more; /* C bit */
			uint32_t ttt;
		} text; /* request and response */
		struct {
			uint8_t reason; /* enum iscsi_logout_reason */
			uint16_t cid;
		} logout;
		struct {
			uint8_t response;		 /* enum iscsi_logout_response */
			uint16_t time2wait, time2retain; /* seconds */
		} logout_response;
		struct {
			uint32_t ttt;
		} nop; /* both directions */
		struct {
			uint8_t reason; /* enum iscsi_reject_reason */
			uint32_t data_sn;
		} reject;
		struct {
			uint8_t event, vendor_code;
			uint16_t parameter1, parameter2, parameter3;
		} async;
		struct {
			uint8_t type;
			uint32_t ttt, begin_run, run_length;
		} snack;
	};
};

/* Decodes one BHS. 0; -EPROTO when a field that must have one value has another (the caller answers
 * with Reject "invalid PDU field" or closes); -EOPNOTSUPP for an unknown opcode. *ret is filled as
 * far as the common fields go even then, so that a Reject can be built. */
int iscsi_pdu_decode(const uint8_t bhs[ISCSI_BHS_SIZE], struct iscsi_pdu *ret);
/* Encodes, reserved fields zero. pdu->data_length and ahs_words are put as they are. */
void iscsi_pdu_encode(const struct iscsi_pdu *pdu, uint8_t bhs[ISCSI_BHS_SIZE]);
/* "SCSI Command", "Login Response", ...; "opcode 0x1f" is "unknown". */
const char *iscsi_opcode_name(uint8_t opcode);
const char *iscsi_reject_name(uint8_t reason);
/* True for the opcodes that an initiator may send (0x00-0x06, 0x10). */
bool iscsi_opcode_is_request(uint8_t opcode);

#define ISCSI_LUNS 16384 /* numbers that one level of addressing can give */
/* A LUN 0..16383 in its 8-byte form: peripheral addressing up to 255, flat space above (SAM-5
 * section 4.7). */
uint64_t iscsi_lun_encode(uint16_t lun);
/* The number in an 8-byte LUN, both addressing methods; -ENOENT for any other form. */
int iscsi_lun_decode(uint64_t wire, uint16_t *ret_lun);

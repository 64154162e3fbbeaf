/* One SCSI command of the target: its life from arrival to response (SAM-5 section 5), advanced by
 * command_advance() alone. The executors of spc.c, sbc.c and reservations.c parse it once and do its
 * work; transfer.c moves its data; session.c is told when it is done. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/datamover/datamover.h"
#include "common/loop/loop.h"
#include "common/scsi/sense.h"
#include "target/backend/backend.h"
#include "target/device.h"

struct tgt_session;
struct command;

enum command_state {
	COMMAND_ARRIVED, /* waits for its turn (fence, ordered attribute, memory) */
	COMMAND_FETCHING, /* waits for parameter data: dm_get_data() */
	COMMAND_EXECUTING, /* waits for the backend, and for the transfers of its extents */
	COMMAND_RESPONDING, /* its response is queued; waits for the last dm_put_data() to be done */
	COMMAND_DONE,
	COMMAND_ABORTING, /* waits for backend and mover to give its buffers back; then no response */
};

/* One row per operation code (and service action): opcodes.c. */
struct command_operation {
	uint8_t opcode;
	int16_t service_action; /* -1: none */
	const char *name;
	uint8_t cdb_length;
	uint8_t usage[32]; /* CDB usage map, for REPORT SUPPORTED OPERATION CODES (SPC-4 6.27) and to
			      refuse reserved bits */
	unsigned flags; /* enum command_operation_flags */
	/* Checks the CDB; sets cmd->parameter_length (data-out to fetch first), lba, blocks ... True, or
	 * false after command_fail(). */
	bool (*parse)(struct command *cmd);
	/* Does the work; ends in command_finish() or command_fail(), now or later. */
	void (*execute)(struct command *cmd);
};

enum command_operation_flags {
	OPERATION_MEDIUM = 1, /* reads or writes the medium: waits for the fence, needs a started unit */
	OPERATION_WRITES = 2, /* refused on a write-protected unit */
	OPERATION_DESPITE_ATTENTION = 4, /* INQUIRY, REPORT LUNS, REQUEST SENSE: a unit attention is not
					    reported (SAM-5 5.14) */
	OPERATION_DESPITE_RESERVATION = 8, /* allowed to others while the unit is reserved (SPC-4 table) */
	OPERATION_ANY_LUN = 16, /* INQUIRY, REPORT LUNS, REQUEST SENSE: also where there is no such LUN */
};

struct command {
	/* set on arrival */
	struct tgt_session *session;
	struct nexus *nexus; /* NULL: no such LUN */
	struct dm_conn *conn;
	struct dm_task *task;
	uint32_t itt;
	uint16_t lun;
	uint8_t attribute; /* enum iscsi_task_attribute */
	bool reads, writes; /* R and W bits */
	uint32_t expected_length; /* EDTL */
	uint8_t cdb[260];
	uint32_t cmd_sn;
	uint32_t reset_count; /* the device's, when it arrived */
	enum command_state state;

	/* set by parse */
	const struct command_operation *operation;
	uint64_t lba;
	uint32_t blocks;
	bool fua, dpo;
	uint32_t parameter_length; /* data-out that execute() wants in cmd->data */
	void *executor_private[4];

	/* a buffer of the loop's arena, COMMAND_DATA_MAX bytes, when parameter_length or
	 * command_reply() asked for one */
	uint8_t *data;
	uint32_t data_capacity;

	/* the outcome */
	uint8_t status; /* SAM */
	struct scsi_sense sense; /* with CHECK CONDITION */
	uint64_t transfer_length; /* bytes that the CDB asks for in its direction: the residual is
				     expected_length against this */
	struct list session_link, nexus_link;
	struct loop_call advance;
};

/* ---- for executors ---- */

/* The command is over with `status` (data-in already handed over by command_reply() or transfer.c). */
void command_finish(struct command *cmd, uint8_t status);
/* CHECK CONDITION with fixed-format sense. */
void command_fail(struct command *cmd, uint8_t key, uint8_t asc, uint8_t ascq);
/* The same with the field pointer of SPC-4 4.5.2.4 (byte of the CDB, and bit or -1). */
void command_fail_field(struct command *cmd, unsigned cdb_byte, int bit);
/* A backend's errno as sense: ENOSPC is DATA PROTECT, SPACE ALLOCATION FAILED WRITE PROTECT
 * (27h/07h); EROFS is DATA PROTECT 27h/00h; else MEDIUM ERROR, 11h/00h for reads, 0ch/00h for writes. */
void command_fail_errno(struct command *cmd, int error, bool write);
/* A buffer for data-in that execute() composes: `size` bytes, zeroed, at cmd->data; false after
 * command_fail() if there is none. */
bool command_reply_buffer(struct command *cmd, uint32_t size);
/* Data-in of `length` bytes composed in cmd->data, cut to the CDB's allocation length and to EDTL, then
 * GOOD. */
void command_reply(struct command *cmd, uint32_t length, uint32_t allocation_length);

/* ---- for session.c ---- */

struct worker;

/* A SCSI command in its CmdSN's turn. `immediate` (immediate_length bytes, valid during the call) is the
 * data that came with it, `ahs` an Additional Header Segment or NULL. When the worker has no command left,
 * the response is TASK SET FULL. The command answers through tgt_session_respond(). */
void command_arrive(struct tgt_session *s, struct dm_conn *conn, struct dm_task *task,
	const struct iscsi_pdu *pdu, const uint8_t *ahs, const void *immediate);
/* Aborts: no response will be sent; tgt_session_command_aborted() follows from the loop when the backend
 * and the mover have given everything back. Idempotent. */
void command_abort(struct command *cmd);
/* The data of `cmd` broke the protocol (dm_upcalls.task_failed): CHECK CONDITION, ABORTED COMMAND. */
void command_data_failed(struct command *cmd);
/* A buffer came free, or a fence fell: starts what waited for it. */
void command_resume_starved(struct worker *w);
void command_resume_fenced(struct nexus *n);

/* ---- tmf.c ---- */

/* A task management request (RFC 7143 section 11.5, SAM-5 section 7); answers through
 * tgt_session_tmf_respond() when all that it aborts is at rest, on this loop and on others. */
void tmf_start(struct tgt_session *s, const struct iscsi_pdu *pdu);

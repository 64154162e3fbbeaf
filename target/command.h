/* One SCSI command of the target: its life from arrival to response (SAM-5 section 5), advanced by
 * command_advance() alone. The executors of spc.c, sbc.c and reservations.c parse it once and do
 * its work; transfer.c moves its data; session.c is told when it is done. */
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
#include "target/range_lock.h"

struct tgt_session;
struct worker;
struct command;
struct transfer_plan;

enum command_state {
	/* waits for its turn (task attributes, fence, memory for parameter data) */
	COMMAND_ARRIVED,
	COMMAND_FETCHING,  /* waits for parameter data: dm_get_data() */
	COMMAND_EXECUTING, /* waits for its range, for memory, for the backend, and for the
			      transfers of its extents */
	/* its response is queued; waits for the last dm_put_data() to be done */
	COMMAND_RESPONDING,
	COMMAND_DONE,
	/* waits for backend and mover to give its buffers back; then no response */
	COMMAND_ABORTING,
};

/* One row per operation code (and service action): opcodes.c. */
struct command_operation {
	uint8_t opcode;
	int16_t service_action; /* -1: none */
	const char *name;
	uint8_t cdb_length;
	uint8_t usage[32]; /* CDB usage map, for REPORT SUPPORTED OPERATION CODES (SPC-4 6.27) and
			      to refuse reserved bits */
	unsigned flags;	   /* enum command_operation_flags */
	/* Checks the CDB; sets cmd->parameter_length (data-out to fetch first), lba, blocks ...
	 * True, or false after command_fail(). */
	bool (*parse)(struct command *cmd);
	/* Does the work; ends in command_finish() or command_fail(), now or later. */
	void (*execute)(struct command *cmd);
};

enum command_operation_flags {
	OPERATION_MEDIUM =
		1, /* reads or writes the medium: waits for the fence, needs a started unit */
	OPERATION_WRITES = 2, /* refused on a write-protected unit */
	/* INQUIRY, REPORT LUNS, REQUEST SENSE: a unit attention is not reported (SAM-5 5.14) */
	OPERATION_DESPITE_ATTENTION = 4,
	/* Allowed to others under a persistent reservation (SPC-4 table 65, SBC-3 table 7); under
	 * its Write Exclusive types only; under a RESERVE (SPC-2 table 9). */
	OPERATION_DESPITE_RESERVATION = 8,
	OPERATION_READS_RESERVED = 16,
	OPERATION_DESPITE_RESERVE = 32,
	/* INQUIRY, REPORT LUNS, REQUEST SENSE: also where there is no such LUN */
	OPERATION_ANY_LUN = 64,
	OPERATION_THIN = 128, /* UNMAP: there is no such command on other units */
};

/* A piece of a command's data under way: one buffer, one request of the backend, one transfer of
 * the mover, at most one of the latter two at a time. */
struct command_extent {
	struct command *cmd;
	const uint8_t *step;	/* what comes next, enum transfer_step; NULL: the extent is free */
	uint8_t *data, *second; /* buffers of the arena; data may be the backend's own memory */
	bool mapped;		/* it is */
	bool putting;		/* it is data-in that the mover has */
	bool parked;		/* its data-in waits for that of earlier extents */
	uint32_t offset;	/* in the command's data, bytes */
	uint32_t length;	/* bytes that the initiator sends or gets */
	uint32_t medium_length; /* bytes of the medium, whole blocks */
	uint64_t medium_offset; /* bytes */
	uint32_t write_skip;	/* what is written begins so far behind data */
	struct backend_request request;
	struct dm_transfer transfer;
};

/* Extents of one command that are under way at a time: the backend reads ahead of the mover, and
 * the other way round, while a single command cannot take the whole arena. */
#define COMMAND_EXTENTS 4

struct command {
	/* set on arrival */
	struct tgt_session *session;
	struct worker *worker;
	struct dm_region *arena_region; /* of the worker's arena, as the session's mover knows it */
	struct nexus *nexus;		/* NULL: no such LUN */
	struct dm_conn *conn;
	struct dm_task *task;
	uint32_t itt;
	uint16_t lun;
	uint8_t attribute;	  /* enum iscsi_task_attribute */
	bool reads, writes;	  /* R and W bits */
	uint32_t expected_length; /* EDTL */
	uint8_t cdb[260];
	uint32_t cmd_sn;
	uint64_t serial; /* the nexus's, ascending: who is older */
	enum command_state state;
	/* Immediate data: the mover's memory during command_arrive(),
	 * then a buffer of the arena. */
	const uint8_t *immediate;
	uint32_t immediate_length;
	uint8_t *stash;

	/* set by parse */
	const struct command_operation *operation;
	uint64_t lba;
	uint32_t blocks;
	bool fua, dpo;
	uint32_t parameter_length; /* data-out that execute() wants in cmd->data */
	uint32_t buffer_size; /* of cmd->data, where execute() needs more than parameter_length */
	uint64_t executor_private[4];

	/* a buffer of the loop's arena, when parameter_length or command_reply_buffer() asked for
	 * one */
	uint8_t *data;
	uint32_t data_capacity;

	/* transfer.c */
	const struct transfer_plan *plan;
	uint64_t total, next,
		put_next; /* bytes to move; where the next extent begins, and the next data-in */
	unsigned extents_active, extents_putting;
	struct range_hold range;
	void (*flushed)(struct command *cmd); /* command_flush() goes on there */

	/* what is not at rest: requests in the backend, transfers in the mover, messages */
	unsigned pending;
	/* the transfers among them, and when the last began or ended (overdue.c) */
	unsigned in_mover;
	uint64_t mover_ns;
	bool waits_turn, waits_fence, waits_memory;
	bool barrier; /* ORDERED or HEAD OF QUEUE */
	bool failed, finished, responded, aborted;

	/* the outcome */
	uint8_t status;		  /* SAM */
	struct scsi_sense sense;  /* with CHECK CONDITION */
	uint64_t transfer_length; /* bytes that the CDB asks for in its direction: the residual is
				     expected_length against this */
	struct list session_link, nexus_link, starved_link;
	struct loop_call advance;
	/* Last, and not zeroed on arrival, but for `step`: who uses an extent fills it. */
	struct command_extent extents[COMMAND_EXTENTS];
};

/* ---- for executors ---- */

/* The command is over with `status` (data-in already handed over by
 * command_reply() or transfer.c). */
void command_finish(struct command *cmd, uint8_t status);
/* CHECK CONDITION; `code` is ASC << 8 | ASCQ (enum scsi_additional_sense). The first failure
 * counts; the response leaves when the command's extents are at rest. */
void command_fail(struct command *cmd, uint8_t key, uint16_t code);
/* ILLEGAL REQUEST, INVALID FIELD IN CDB, with the field pointer of SPC-4 4.5.2.4 (byte of the CDB,
 * and bit or -1); and the same for the parameter list. */
void command_fail_field(struct command *cmd, unsigned cdb_byte, int bit);
void command_fail_parameter(struct command *cmd, uint16_t code, unsigned byte, int bit);
/* A backend's errno as sense: ENOSPC is DATA PROTECT, SPACE ALLOCATION FAILED WRITE PROTECT
 * (27h/07h); EROFS is DATA PROTECT 27h/00h; ENOMEM is ABORTED COMMAND 55h/03h; else MEDIUM ERROR,
 * 11h/00h for reads, 0ch/00h for writes. */
void command_fail_errno(struct command *cmd, int error, bool write);
/* A buffer for data-in that execute() composes, of cmd->data_capacity bytes, zeroed, at cmd->data.
 * False when there is none: execute() returns, and is called again when a buffer came free. */
bool command_reply_buffer(struct command *cmd, uint32_t size);
/* Data-in of `length` bytes composed in cmd->data, cut to the CDB's allocation length and to EDTL,
 * then GOOD. */
void command_reply(struct command *cmd, uint32_t length, uint32_t allocation_length);

/* Whether the command's R and W bits allow data-in, or data-out: also where nothing is expected,
 * and what the CDB moves is residual. Data-in under the W bit is allowed with cmd->transfer_length
 * set to 0. False after command_fail(). */
bool command_check_direction(struct command *cmd, bool data_in);
/* A request of the backend that belongs to no extent (a flush, a discard), in
 * cmd->extents[0].request, whose `done` must begin with command_rest(). */
void command_backend_submit(struct command *cmd);
/* What the store has cached goes to stable storage; then `then` goes on with the command, or it
 * ends with what failed. command_good() is the end of a command that is nothing but that. */
void command_flush(struct command *cmd, void (*then)(struct command *cmd));
void command_good(struct command *cmd);

/* ---- for transfer.c and opcodes.c ---- */

/* One transfer, request or message more is not at rest. */
static inline void command_busy(struct command *cmd)
{
	cmd->pending++;
}
/* A transfer that the mover has been given, or has given back (command_rest() follows). */
void command_mover_takes(struct command *cmd);
void command_mover_gives(struct command *cmd);
/* One less. True: the command goes on; false: it was aborted or is done, and may be gone. */
bool command_rest(struct command *cmd);
/* Waits in the worker's queue for a buffer; the command goes on from its
 * state when one came free. */
void command_starve(struct command *cmd);
/* The operation of a CDB; NULL and the sense code to fail with if there is none. */
const struct command_operation *opcodes_find(const uint8_t *cdb, uint16_t *ret_code);
/* Whether the unit of `n` knows it. */
static inline bool command_operation_offered(
	const struct command_operation *o, const struct nexus *n)
{
	return !(o->flags & OPERATION_THIN) || (n && n->device->thin);
}

/* ---- for session.c ---- */

/* A SCSI command in its CmdSN's turn. `immediate` (immediate_length bytes, valid during the call)
 * is the data that came with it, `ahs` an Additional Header Segment or NULL. When the worker has no
 * command left, the response is TASK SET FULL. The command answers
 * through tgt_session_respond(). */
void command_arrive(struct tgt_session *s, struct dm_conn *conn, struct dm_task *task,
	const struct iscsi_pdu *pdu, const uint8_t *ahs, const void *immediate);
/* Aborts: no response will be sent; tgt_session_command_aborted() follows from the loop, once, when
 * the backend and the mover have given everything back. Idempotent. Takes the task from the mover
 * at once, and touches the connection no more. A command whose response has been queued
 * (cmd->responded: the window was opened then) is let go in the same way. */
void command_abort(struct command *cmd);
/* The data of `cmd` broke the protocol (dm_upcalls.task_failed): CHECK
 * CONDITION, ABORTED COMMAND. */
void command_data_failed(struct command *cmd);
/* A buffer came free, or a fence fell: starts what waited for it. */
void command_resume_starved(struct worker *w);
void command_resume_fenced(struct nexus *n);

/* ---- tmf.c ---- */

/* A task management request (RFC 7143 section 11.5, SAM-5 section 7); answers through
 * tgt_session_tmf_respond() when all that it aborts is at rest, on this loop and on others. */
void tmf_start(struct tgt_session *s, const struct iscsi_pdu *pdu);

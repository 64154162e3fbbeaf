/* Moving the data of a command between initiator and medium, in extents (command.h). What an extent
 * goes through is a plan: a row of steps. sbc_*.c choose the plan. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct command;

enum transfer_step {
	STEP_END,
	STEP_GET,	    /* data-out into `data`, what came as immediate data first */
	STEP_PUT,	    /* `data` as data-in, in order of offsets */
	STEP_READ,	    /* the medium into `data` */
	STEP_READ_SECOND,   /* the medium into `second` */
	STEP_COMPARE,	    /* `second` against `data`: MISCOMPARE */
	STEP_MERGE,	    /* `data` becomes `data` or `second` (ORWRITE) */
	STEP_WRITE,	    /* `data`, from write_skip on, to the medium */
	STEP_WRITE_THROUGH, /* the same, on stable storage when done */
	TRANSFER_STEPS,
};

struct transfer_plan {
	uint8_t steps[7];
	/* For an extent that ends within a block, since EDTL is less than the CDB asks for: the
	 * block's rest stays as it is. All STEP_END: as `steps`. */
	uint8_t steps_patch[7];
	/* Straight from or into the backend's memory. All STEP_END: it is not done. */
	uint8_t steps_mapped[3];
	bool gets, puts; /* there is data-out, data-in */
	bool second;	 /* a second buffer is needed */
	bool exclusive;	 /* alone on its range */
	bool doubled;	 /* data-out is twice the range: what to compare with, and what to write */
	bool repeats;	 /* every extent writes cmd->data, from its start */
};

extern const struct transfer_plan transfer_read, transfer_write, transfer_write_verify,
	transfer_verify_medium, transfer_verify_data, transfer_orwrite, transfer_compare_and_write,
	transfer_write_same;

/* Begins to move cmd->blocks from cmd->lba on; ends in command_finish(). cmd->transfer_length is
 * set from the plan. */
void transfer_start(struct command *cmd, const struct transfer_plan *plan);
/* Goes on: a buffer came free, or the range. */
void transfer_resume(struct command *cmd);
/* For command.c: gives the buffers of all extents back; nothing is under way. */
void transfer_free_buffers(struct command *cmd);

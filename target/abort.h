/* Aborting the commands of several nexuses, which may belong to several loops, and being told when
 * all of them are at rest (SAM-5 section 5.6: a task management function, and PREEMPT AND ABORT,
 * are complete only then). Used by tmf.c and reservations_out.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/loop/loop.h"

struct command;
struct device;
struct nexus;

struct abort_round;

struct abort_config {
	struct loop *loop;	     /* where the round begins, and done() is called */
	const struct nexus *home;    /* who asked for it; or NULL */
	const struct command *spare; /* a command of the home nexus that is not aborted (PERSISTENT
					RESERVE OUT itself); or NULL */
	/* Other nexuses whose commands were aborted get COMMANDS CLEARED BY ANOTHER INITIATOR
	 * (SPC-4 table 46), unless the caller tells them of it in another way. */
	bool attention;
	void (*done)(void *argument); /* called once; `argument` lives until then */
	void *argument;
};

/* -ENOMEM. */
int abort_round_new(const struct abort_config *config, struct abort_round **ret);
/* Adds one nexus, by pointer on its loop, or by id under its device's mutex. -ENOMEM. */
int abort_round_add(struct abort_round *r, struct device *d, const struct nexus *n);
/* Only the command with this serial, of the nexus added last. */
void abort_round_only(struct abort_round *r, uint64_t serial);
/* Sends the messages; done() follows from the loop, also where nothing was to be aborted. No mutex
 * is held. */
void abort_round_start(struct abort_round *r);
/* Before abort_round_start(): gives it up. */
void abort_round_free(struct abort_round *r);

/* ---- for command.c and nexus.c ---- */

/* An aborted command of the nexus is at rest. */
void abort_parts_check(struct nexus *n);
void abort_parts_nexus_gone(struct nexus *n);

/* A short story with something of everything: writes (immediate and solicited) and reads of a fast
 * and of a slow LUN, a command without data, an abort, a LUN reset. What tests cut, hold and starve
 * at every point. Each task has a buffer of its own; once a task is told, its buffer is poisoned:
 * who writes into it afterwards or sends from it is found, and (under ASan) who touches it at all.
 */
#pragma once

#include "tests/kit/two_ends.h"

#define BUSY_TASKS 10u

struct busy_task {
	struct two_task task;
	struct busy *story;
	uint8_t *data;
	size_t length;
	unsigned wrong; /* told twice, or with other data than were written */
};

struct busy {
	struct two_ends *ends;
	struct two_session session;
	struct busy_task tasks[BUSY_TASKS];
	unsigned told;
	unsigned tmf_asked, tmf_told;
	uint8_t generation; /* of what is written */
};

/* Prepares the target's memory, and the tasks; none is submitted. */
void busy_init(struct busy *b, struct two_ends *e, uint8_t generation);
/* Submits everything to the session, which was started; with `resets` an abort and a LUN reset are
 * in it. */
void busy_submit(struct busy *b, bool resets);
/* Waits until every task and reset is told. */
void busy_wait(struct busy *b);
/* Fails the test where a task is not told once, a buffer was written after its task was told, or
 * the target has other data than were sent. To be called at the end of the session. */
void busy_check(struct busy *b);
/* Tasks that were told GOOD. */
unsigned busy_good(const struct busy *b);
void busy_free(struct busy *b);

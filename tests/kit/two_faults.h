/* Trouble for two_ends.h that is planned in advance: connections that break or stand still at a
 * chosen point, provider operations of which the n-th fails; and the proof, between two runs, that
 * nothing is left. */
#pragma once

#include "tests/kit/two_ends.h"

/* What shall happen to the next connection (plan->frames is filled in). Over memory there are no
 * bytes, and messages are counted over all connections from here on. */
void two_ends_plan(struct two_ends *e, const struct pipe_plan *plan);
/* Of the newest connection: messages of one way (0: from the initiator); bytes of both. */
uint64_t two_ends_messages(struct two_ends *e, unsigned way);
uint64_t two_ends_bytes(struct two_ends *e);

/* The n-th provider operation of either end from now on fails (0: none does). Register, connect,
 * accept, the four posts and expose count. */
void two_ends_provider_fail_nth(struct two_ends *e, unsigned long n);
/* Operations asked for since then. */
unsigned long two_ends_provider_asked(const struct two_ends *e);

/* Waits until the target has no more than `sessions` connections and sessions, gives the pipes of
 * finished connections back, and returns how many allocations live. Fails the test if
 * a command or (with `sessions` 0) a tag is still held, or a login is still counted. */
unsigned long two_ends_rest(struct two_ends *e, unsigned sessions);

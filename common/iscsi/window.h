/* Sequence numbers in serial arithmetic (RFC 1982, RFC 7143 section 4.2.2) and the command window
 * of both ends. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* a < b in 32-bit serial arithmetic. */
static inline bool sn_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool sn_at_or_before(uint32_t a, uint32_t b)
{
	return !sn_before(b, a);
}

/* ---- the initiator's view ---- */

struct window_initiator {
	uint32_t cmd_sn;		 /* of the next non-immediate command */
	uint32_t exp_cmd_sn, max_cmd_sn; /* as last told by the target */
};

/* True when one more non-immediate command may be sent. */
static inline bool window_open(const struct window_initiator *w)
{
	return sn_at_or_before(w->cmd_sn, w->max_cmd_sn);
}

/* Takes the target's ExpCmdSN and MaxCmdSN (section 4.2.2.1: MaxCmdSN < ExpCmdSN - 1 is ignored, as
 * are values older than what is known). */
void window_update(struct window_initiator *w, uint32_t exp_cmd_sn, uint32_t max_cmd_sn);

/* ---- the target's view ---- */

enum window_verdict {
	WINDOW_NOW,    /* deliver it: it is immediate, or its CmdSN is the expected one */
	WINDOW_LATER,  /* in the window but early: keep it until its turn */
	WINDOW_IGNORE, /* outside the window: dropped in silence (section 4.2.2.1) */
};

struct window_target {
	uint32_t exp_cmd_sn;
	uint32_t size; /* CmdSNs from ExpCmdSN to MaxCmdSN: what may come now */
};

/* For a non-immediate command with `cmd_sn`. On WINDOW_NOW exp_cmd_sn has moved past it. */
enum window_verdict window_arrive(struct window_target *w, uint32_t cmd_sn);

/* The command window (RFC 7143 section 4.2.2.1), both ends. Used by the sessions of the initiator
 * and of the target. */
#include "common/iscsi/window.h"

void window_update(struct window_initiator *w, uint32_t exp_cmd_sn, uint32_t max_cmd_sn)
{
	if (sn_before(max_cmd_sn, exp_cmd_sn - 1))
		return;
	if (sn_before(w->exp_cmd_sn, exp_cmd_sn))
		w->exp_cmd_sn = exp_cmd_sn;
	if (sn_before(w->max_cmd_sn, max_cmd_sn))
		w->max_cmd_sn = max_cmd_sn;
}

enum window_verdict window_arrive(struct window_target *w, uint32_t cmd_sn)
{
	/* One unsigned comparison covers both edges: a CmdSN before ExpCmdSN wraps to a distance
	 * of nearly 2^32, and `size` is far below 2^31. */
	if (cmd_sn - w->exp_cmd_sn >= w->size)
		return WINDOW_IGNORE;
	if (cmd_sn != w->exp_cmd_sn)
		return WINDOW_LATER;
	w->exp_cmd_sn++;
	return WINDOW_NOW;
}

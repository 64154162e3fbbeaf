/* Data that never come, or are never taken: an initiator that answers pings and yet leaves a
 * transfer alone would keep a command's buffers, which its worker's other sessions wait for, and
 * its range of the medium. Called by the connection's timer (nop.c). */
#include "target/command.h"
#include "target/session_state.h"

/* Initiators give a command up after 30 s (Linux), 60 s (Windows) or 180 s (VMware's guests), and
 * abort it: this is longer than all of them, so that who takes his time is never cut off. */
#define OVERDUE_NS (300 * LOOP_NS_PER_S)

bool tgt_data_overdue(const struct tgt_session *s, uint64_t now_ns)
{
	const struct command *cmd;

	list_for_each(cmd, &s->commands, session_link)
		if (cmd->in_mover && !cmd->aborted && now_ns - cmd->mover_ns >= OVERDUE_NS)
			return true;
	return false;
}

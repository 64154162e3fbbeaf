/* Discarding, or writing zeros to, one range or a list of them: UNMAP and WRITE SAME. */
#pragma once

#include "target/backend/backend.h"

struct command;

/* `operation` on cmd->blocks from cmd->lba on, alone; ends in command_finish(). */
void ranges_start(struct command *cmd, enum backend_operation operation);
/* BACKEND_DISCARD of every descriptor of the UNMAP parameter list in cmd->data, which has been
 * checked. */
void ranges_start_list(struct command *cmd);

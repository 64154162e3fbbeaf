/* What is checked before a command is parsed. */
#pragma once

#include <stdbool.h>

struct command;

/* Finds cmd->operation and checks, in this order: the unit and the operation exist, the task
 * attribute, reserved bits of the CDB, unit attentions, reservations, that the unit is started and
 * not write protected. False after command_fail() or command_finish(). */
bool command_check(struct command *cmd);

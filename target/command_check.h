/* What is checked before a command is parsed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct command;

/* Finds cmd->operation and checks, in this order: the unit and the operation exist, the task
 * attribute, reserved bits of the CDB, unit attentions, reservations, that the unit is started and
 * not write protected. False after command_fail() or command_finish(). */
bool command_check(struct command *cmd);
/* The oldest unit attention of the command's nexus, which it will report;
 * false when there is none. */
bool command_attention_take(struct command *cmd, uint16_t *ret_code);

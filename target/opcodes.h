/* The table of operations: opcodes.c. Read by command_check.c and opcodes_report.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "target/command.h"

size_t opcodes_count(void);
const struct command_operation *opcodes_row(size_t row);
/* The first row of an operation code, or NULL: it has service actions if that row has one. */
const struct command_operation *opcodes_first(uint8_t opcode);
const struct command_operation *opcodes_service_action(uint8_t opcode, uint16_t action);

/* UTF-8 (RFC 3629): JSON (RFC 8259 section 8.1) and iSCSI names (RFC 7143 section 4.2.7.2) are in
 * it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool utf8_valid(const char *text);
/* Puts '?' for every byte that belongs to no character. */
void utf8_tame(char *text, size_t length);
/* Bytes of the control character (U+0001 to U+001F, U+007F to U+009F) that `text` begins with; 0:
 * it begins with none. */
size_t utf8_control_length(const char *text);

/* UTF-8 (RFC 3629): JSON (RFC 8259 section 8.1) and iSCSI names (RFC 7143 section 4.2.7.2) are in
 * it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool utf8_valid(const char *text);
/* Puts '?' for every byte that belongs to no character. */
void utf8_tame(char *text, size_t length);

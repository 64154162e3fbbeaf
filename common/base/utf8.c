/* UTF-8 (RFC 3629 section 4), byte by byte. Called where names and values are checked and by the
 * control socket, whose lines hold what peers and people wrote. */
#include "common/base/utf8.h"

#include <stdint.h>
#include <string.h>

#include "common/base/bytes.h"

/* First bytes of the rows of the syntax, and what the second may be: the rest is excluded as too
 * long, a surrogate, or beyond U+10FFFF. */
static const struct utf8_row {
	uint8_t first, last, second_min, second_max;
	size_t length;
} utf8_rows[] = {
	{0x00, 0x7f, 0x00, 0x00, 1},
	{0xc2, 0xdf, 0x80, 0xbf, 2},
	{0xe0, 0xe0, 0xa0, 0xbf, 3},
	{0xe1, 0xec, 0x80, 0xbf, 3},
	{0xed, 0xed, 0x80, 0x9f, 3},
	{0xee, 0xef, 0x80, 0xbf, 3},
	{0xf0, 0xf0, 0x90, 0xbf, 4},
	{0xf1, 0xf3, 0x80, 0xbf, 4},
	{0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Bytes of the character at `text`; 0: it is none. */
static size_t utf8_length(const uint8_t *text, size_t have)
{
	const struct utf8_row *row = utf8_rows;

	while (row < utf8_rows + ARRAY_SIZE(utf8_rows) && text[0] > row->last)
		row++;
	if (row == utf8_rows + ARRAY_SIZE(utf8_rows) || text[0] < row->first || have < row->length)
		return 0;
	if (row->length > 1 && (text[1] < row->second_min || text[1] > row->second_max))
		return 0;
	for (size_t i = 2; i < row->length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return row->length;
}

bool utf8_valid(const char *text)
{
	size_t have = strlen(text), n = 0;

	for (size_t i = 0; i < have; i += n) {
		n = utf8_length((const uint8_t *)text + i, have - i);
		if (n == 0)
			return false;
	}
	return true;
}

void utf8_tame(char *text, size_t length)
{
	size_t n;

	for (size_t i = 0; i < length; i += n) {
		n = utf8_length((const uint8_t *)text + i, length - i);
		if (n)
			continue;
		text[i] = '?';
		n = 1;
	}
}

size_t utf8_control_length(const char *text)
{
	const uint8_t *c = (const uint8_t *)text;

	/* Terminals take U+009B for what begins a command, as they do ESC [. */
	if (c[0] == 0xc2 && (c[1] & 0xe0) == 0x80)
		return 2;
	return c[0] && (c[0] < 0x20 || c[0] == 0x7f);
}

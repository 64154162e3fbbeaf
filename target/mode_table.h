/* The table of mode pages: modes.c. Read by mode_select.c too. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct device;

#define MODE_TABLE_ROWS 4
#define MODE_PAGE_MAX 20 /* the caching page */

enum mode_bits {
	CACHING_WCE = 0x04, /* byte 2 of the caching page */
	CONTROL_SWP = 0x08, /* byte 4 of the control page */
};

struct mode_row {
	uint8_t fixed[MODE_PAGE_MAX]; /* header included; bits that can be changed are 0 */
	uint8_t changeable[MODE_PAGE_MAX];
};

extern const struct mode_row mode_rows[MODE_TABLE_ROWS];

const struct mode_row *mode_row_find(uint8_t code);
size_t mode_row_length(const struct mode_row *row); /* header included */
/* The page's current values, MODE_PAGE_MAX bytes. */
void mode_page_current(const struct device *d, const struct mode_row *row, uint8_t *out);

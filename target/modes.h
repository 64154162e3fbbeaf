/* Mode pages of a logical unit (SPC-4 section 7.5, SBC-3 section 6.4). Made by device.c; read and
 * changed by MODE SENSE and MODE SELECT. */
#pragma once

struct device;
struct mode_pages;

/* NULL when there is no memory. */
struct mode_pages *modes_new(const struct device *d);
void modes_free(struct mode_pages *m); /* NULL is allowed */

/* Mode parameter lists (SPC-4 section 7.5, SBC-3 section 6.4): headers of MODE SENSE and MODE
 * SELECT(6) and (10), block descriptors, and a walk over pages. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

#define MODE_HEADER6_SIZE 4
#define MODE_HEADER10_SIZE 8
#define MODE_BLOCK_DESCRIPTOR_SIZE 8

enum mode_page_code {
	MODE_PAGE_ERROR_RECOVERY = 0x01,	   /* SBC-3 6.4.7 */
	MODE_PAGE_CACHING = 0x08,		   /* SBC-3 6.4.5 */
	MODE_PAGE_CONTROL = 0x0a,		   /* SPC-4 7.5.8 */
	MODE_PAGE_INFORMATIONAL_EXCEPTIONS = 0x1c, /* SBC-3 6.4.6 */
	MODE_PAGE_ALL = 0x3f,
	MODE_SUBPAGE_ALL = 0xff,
};

enum mode_page_control { /* PC of MODE SENSE */
	MODE_CURRENT = 0,
	MODE_CHANGEABLE = 1,
	MODE_DEFAULT = 2,
	MODE_SAVED = 3,
};

enum mode_device_specific { /* SBC-3 6.4.1, direct access devices */
	MODE_WRITE_PROTECT = 0x80,
	MODE_DPOFUA = 0x10,
};

struct mode_header {
	uint16_t data_length; /* bytes that follow the field itself; reserved in MODE SELECT */
	uint8_t medium_type, device_specific;
	bool long_lba; /* 16-byte block descriptors; in the 10-byte header only */
	uint16_t block_descriptor_length; /* bytes */
};

/* Writes a header of MODE_HEADER6_SIZE or MODE_HEADER10_SIZE bytes. */
void mode_header_encode(const struct mode_header *h, bool ten, struct bytes_writer *w);
/* Reads the header, and leaves the reader at the block descriptors. 0,
 * or -EPROTO when it is cut. */
int mode_header_decode(struct bytes_reader *r, bool ten, struct mode_header *ret);
/* A short block descriptor; more blocks than fit are FFFFFFFFh (SBC-3 section 6.4.2.2). */
void mode_block_descriptor_encode(uint64_t blocks, uint32_t block_size, struct bytes_writer *w);

/* One page, both formats (page_0 and sub_page). */
struct mode_page {
	uint8_t code, subpage;
	bool savable;	      /* PS */
	size_t length;	      /* of the whole page, header included */
	const uint8_t *bytes; /* the whole page */
};

/* The next page: 1 and *ret, 0 at the end, -EPROTO for a page that is cut. */
int mode_page_next(struct bytes_reader *r, struct mode_page *ret);

/* The caching page's bits that matter to who reads and writes. */
struct mode_caching {
	bool write_cache, read_cache_disabled; /* WCE, RCD */
};

/* From a whole mode parameter list as MODE SENSE gave it. 0; -EPROTO; -ENOENT when the page is not
 * there. */
int mode_caching_decode(const void *data, size_t length, bool ten, struct mode_caching *ret);
/* Whether the medium is write protected, from the header of MODE SENSE data. */
int mode_write_protect_decode(const void *data, size_t length, bool ten, bool *ret);

/* Where the messages of a byte stream begin and end: iSCSI PDUs (RFC 7143 section 11.2) and MPA
 * frames (RFC 5044 sections 4 and 7.1). The byte pipe (pipe.h) cuts, holds and counts by them. It
 * reads lengths as the standards lay them out, with nothing of the code under test. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frames_kind {
	FRAMES_NONE,  /* bytes without messages */
	FRAMES_ISCSI, /* no digests */
	FRAMES_ISCSI_DIGESTS,
	FRAMES_MPA, /* no markers; each FPDU has its CRC field */
};

#define FRAMES_HEADER_MAX 48

struct frames {
	enum frames_kind kind;
	uint8_t header[FRAMES_HEADER_MAX];
	size_t have;	   /* bytes of the present header */
	size_t left;	   /* bytes of the present message behind its header */
	uint64_t messages; /* that have ended */
};

/* Takes bytes of the stream up to the end of the present message; how many that were. `*ret_ended`
 * tells whether it has ended. */
size_t frames_take(struct frames *f, const uint8_t *bytes, size_t length, bool *ret_ended);

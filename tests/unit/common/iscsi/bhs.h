/* Basic Header Segments as hexadecimal text, for the tests of the PDUs. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/iscsi/pdu.h"

static inline void from_hex(const char *text, uint8_t out[ISCSI_BHS_SIZE])
{
	size_t n = 0;

	for (const char *at = text; *at; at++) {
		char pair[3] = {at[0], at[1], 0};

		if (*at == ' ')
			continue;
		assert_true(n < ISCSI_BHS_SIZE);
		out[n++] = (uint8_t)strtoul(pair, NULL, 16);
		at++;
	}
	assert_int_equal(n, ISCSI_BHS_SIZE);
}

/* Decodes, expects success, and expects the same bytes back. */
static inline struct iscsi_pdu both_ways(const char *text)
{
	uint8_t bhs[ISCSI_BHS_SIZE], again[ISCSI_BHS_SIZE];
	struct iscsi_pdu p;

	from_hex(text, bhs);
	assert_int_equal(iscsi_pdu_decode(bhs, &p), 0);
	iscsi_pdu_encode(&p, again);
	assert_memory_equal(bhs, again, ISCSI_BHS_SIZE);
	return p;
}

static inline int decode(const char *text)
{
	uint8_t bhs[ISCSI_BHS_SIZE];
	struct iscsi_pdu p;

	from_hex(text, bhs);
	return iscsi_pdu_decode(bhs, &p);
}

/* Three PDUs as one run of bytes, for the tests of the stream in both directions. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/iscsi/stream.h"

static inline uint32_t crc_by_definition(const uint8_t *data, size_t length)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < length; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static int sent_count;

static inline void count_sent(struct iscsi_tx_pdu *p)
{
	(void)p;
	sent_count++;
}

/* A NOP-Out with `length` bytes, and a SCSI Command with AHS, as one run of bytes. */
struct run {
	uint8_t bytes[8192];
	size_t length;
	uint8_t data[1001], ahs[8];
};

static inline void gather(struct iscsi_tx *tx, struct run *r)
{
	struct iovec iov[64];
	size_t bytes;
	int n = iscsi_tx_have(tx, iov, 64, &bytes);

	r->length = 0;
	for (int i = 0; i < n; i++) {
		memcpy(r->bytes + r->length, iov[i].iov_base, iov[i].iov_len);
		r->length += iov[i].iov_len;
	}
	assert_int_equal(bytes, r->length);
	assert_int_equal(bytes, tx->queued_bytes);
}

static inline void run_make(struct run *r, bool header_digest, bool data_digest)
{
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_OUT, .itt = 7};
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND,
		.itt = 8,
		.final = true,
		.ahs_words = 2,
		.command.write = true};
	struct iscsi_pdu logout = {.opcode = ISCSI_LOGOUT_REQUEST, .itt = 9};
	struct iscsi_tx_pdu p[3] = {
		{.sent = count_sent}, {.sent = count_sent}, {.sent = count_sent}};
	struct iscsi_tx tx;

	for (size_t i = 0; i < sizeof(r->data); i++)
		r->data[i] = (uint8_t)(i * 7);
	memcpy(r->ahs, "\x00\x05\x01\x00\xaa\xbb\xcc\xdd", 8);
	iscsi_tx_init(&tx);
	tx.header_digest = header_digest;
	tx.data_digest = data_digest;
	iscsi_tx_queue(&tx, &p[0], &nop, NULL, r->data, 1001);
	iscsi_tx_queue(&tx, &p[1], &command, r->ahs, r->data, 6);
	iscsi_tx_queue(&tx, &p[2], &logout, NULL, NULL, 0);
	gather(&tx, r);
	sent_count = 0;
	/* Retired in odd pieces, each PDU once. */
	for (size_t left = r->length; left;) {
		size_t n = min_size(left, 37);

		iscsi_tx_sent(&tx, n);
		left -= n;
	}
	assert_int_equal(sent_count, 3);
	assert_true(list_empty(&tx.queue));
	assert_int_equal(tx.queued_bytes, 0);
}

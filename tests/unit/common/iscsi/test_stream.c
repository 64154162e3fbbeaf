/* PDUs over bytes (RFC 7143 section 11.2), both directions: digests, AHS, padding, and every
 * chunking. Digests' values are computed by the bit-wise definition of CRC32C (section 13.1), not
 * by crc32c.h. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/iscsi/stream.h"

static uint32_t crc_by_definition(const uint8_t *data, size_t length)
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

static void count_sent(struct iscsi_tx_pdu *p)
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

static void gather(struct iscsi_tx *tx, struct run *r)
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

static void run_make(struct run *r, bool header_digest, bool data_digest)
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

static void digests_padding_and_ahs_are_laid_out_as_the_standard_says(void **state)
{
	static struct run r;
	uint8_t padded[1004] = {0};
	size_t at = ISCSI_BHS_SIZE;

	(void)state;
	run_make(&r, true, true);
	assert_int_equal(r.length, (48 + 4 + 1004 + 4) + (48 + 8 + 4 + 8 + 4) + (48 + 4));
	assert_int_equal(get_be24(r.bytes + 5), 1001);
	assert_int_equal(get_le32(r.bytes + at), crc_by_definition(r.bytes, 48));
	memcpy(padded, r.data, 1001);
	assert_memory_equal(r.bytes + at + 4, padded, 1004);
	assert_int_equal(get_le32(r.bytes + at + 4 + 1004), crc_by_definition(padded, 1004));
	at = 48 + 4 + 1004 + 4;
	assert_int_equal(r.bytes[at + 4], 2);
	assert_memory_equal(r.bytes + at + 48, r.ahs, 8);
	assert_int_equal(get_le32(r.bytes + at + 56), crc_by_definition(r.bytes + at, 56));
}

static void without_digests_there_is_only_padding(void **state)
{
	static struct run r;

	(void)state;
	run_make(&r, false, false);
	assert_int_equal(r.length, (48 + 1004) + (48 + 8 + 8) + 48);
}

/* What the receiver of a run must have seen. */
struct seen {
	const struct run *run;
	uint8_t data[1001];
	int pdus, headers;
};

static void see(struct iscsi_rx *rx, int event, struct seen *s)
{
	if (event == ISCSI_RX_HEADER) {
		s->headers++;
		memset(s->data, 0xee, sizeof(s->data));
		iscsi_rx_place(rx, s->data);
	}
	if (event != ISCSI_RX_PDU)
		return;
	assert_int_equal(rx->decode_error, 0);
	assert_false(rx->data_digest_bad);
	assert_int_equal(rx->pdu.itt, 7 + s->pdus);
	assert_memory_equal(s->data, s->run->data, rx->pdu.data_length);
	if (rx->pdu.itt == 8)
		assert_memory_equal(iscsi_rx_ahs(rx), s->run->ahs, 8);
	else
		assert_null(iscsi_rx_ahs(rx));
	s->pdus++;
}

static void feed(struct iscsi_rx *rx, const uint8_t *bytes, size_t length, struct seen *s)
{
	while (length) {
		size_t used;
		int event = iscsi_rx_feed(rx, bytes, length, &used);

		assert_true(event >= 0);
		assert_true(used > 0);
		see(rx, event, s);
		bytes += used;
		length -= used;
	}
}

static void direct(struct iscsi_rx *rx, const uint8_t *bytes, size_t length, struct seen *s)
{
	while (length) {
		void *place;
		size_t n = min_size(iscsi_rx_want(rx, &place), length);

		assert_true(n > 0);
		memcpy(place, bytes, n);
		see(rx, iscsi_rx_got(rx, n), s);
		bytes += n;
		length -= n;
	}
}

static void receive_in_pieces(bool header_digest, bool data_digest, size_t piece, bool mixed)
{
	static struct run r;
	struct seen s = {.run = &r};
	struct iscsi_rx rx;
	size_t at = 0;

	run_make(&r, header_digest, data_digest);
	iscsi_rx_init(&rx, 8192);
	rx.header_digest = header_digest;
	rx.data_digest = data_digest;
	while (at < r.length) {
		size_t n = min_size(r.length - at, piece ? piece : 1 + (size_t)random() % 90);

		(mixed && random() & 1 ? direct : feed)(&rx, r.bytes + at, n, &s);
		at += n;
	}
	assert_int_equal(s.pdus, 3);
	assert_int_equal(s.headers, 2);
	assert_true(iscsi_rx_idle(&rx));
}

static void every_chunking_gives_the_same_pdus(void **state)
{
	(void)state;
	srandom(2);
	for (int digests = 0; digests < 4; digests++) {
		bool header = digests & 1, data = digests & 2;

		for (size_t piece = 1; piece < 64; piece++)
			receive_in_pieces(header, data, piece, true);
		receive_in_pieces(header, data, 8192, false);
		for (int i = 0; i < 200; i++)
			receive_in_pieces(header, data, 0, true);
	}
}

static void header_digest_mismatch_breaks_the_stream_for_good(void **state)
{
	static struct run r;
	struct iscsi_rx rx;
	size_t used;

	(void)state;
	run_make(&r, true, false);
	r.bytes[20] ^= 1;
	iscsi_rx_init(&rx, 8192);
	rx.header_digest = true;
	assert_int_equal(iscsi_rx_feed(&rx, r.bytes, r.length, &used), -EBADMSG);
	assert_int_equal(used, 52);
	assert_int_equal(iscsi_rx_feed(&rx, r.bytes, r.length, &used), -EBADMSG);
	assert_int_equal(used, 0);
	assert_int_equal(iscsi_rx_got(&rx, 1), -EBADMSG);
}

static void data_digest_mismatch_is_told_with_the_pdu(void **state)
{
	static struct run r;
	struct iscsi_rx rx;
	uint8_t data[1001];
	size_t used, more;

	(void)state;
	run_make(&r, false, true);
	r.bytes[48 + 500] ^= 1;
	iscsi_rx_init(&rx, 8192);
	rx.data_digest = true;
	assert_int_equal(iscsi_rx_feed(&rx, r.bytes, r.length, &used), ISCSI_RX_HEADER);
	iscsi_rx_place(&rx, data);
	assert_int_equal(iscsi_rx_feed(&rx, r.bytes + used, r.length - used, &more), ISCSI_RX_PDU);
	assert_true(rx.data_digest_bad);
	/* The next PDU is not tainted by it. */
	used += more;
	assert_int_equal(
		iscsi_rx_feed(&rx, r.bytes + used, r.length - used, &more), ISCSI_RX_HEADER);
	used += more;
	assert_int_equal(iscsi_rx_feed(&rx, r.bytes + used, r.length - used, &more), ISCSI_RX_PDU);
	assert_false(rx.data_digest_bad);
}

static void data_segment_longer_than_declared_is_refused(void **state)
{
	static struct run r;
	struct iscsi_rx rx;
	size_t used;

	(void)state;
	run_make(&r, false, false);
	iscsi_rx_init(&rx, 1000);
	assert_int_equal(iscsi_rx_feed(&rx, r.bytes, r.length, &used), -EMSGSIZE);
	assert_int_equal(used, 48);
}

static void ahs_longer_than_allowed_is_refused(void **state)
{
	uint8_t bhs[48] = {0x01, 0x80, 0, 0, 255};
	struct iscsi_rx rx;
	size_t used;

	(void)state;
	iscsi_rx_init(&rx, 1000);
	rx.max_ahs_length = 1016;
	assert_int_equal(iscsi_rx_feed(&rx, bhs, 48, &used), -EMSGSIZE);
}

static void the_longest_ahs_fits(void **state)
{
	static uint8_t bytes[48 + 1020 + 4] = {0x01, 0x80, 0, 0, 255};
	struct iscsi_rx rx;
	size_t used;

	(void)state;
	put_le32(bytes + 1068, crc_by_definition(bytes, 1068));
	iscsi_rx_init(&rx, 1000);
	rx.header_digest = true;
	assert_int_equal(iscsi_rx_feed(&rx, bytes, sizeof(bytes), &used), ISCSI_RX_PDU);
	assert_int_equal(used, sizeof(bytes));
}

static void place_taken_back_in_mid_segment_is_not_touched_again(void **state)
{
	static struct run r;
	uint8_t data[1001];
	struct iscsi_rx rx;
	size_t used, more;

	(void)state;
	run_make(&r, false, true);
	memset(data, 0xee, sizeof(data));
	iscsi_rx_init(&rx, 8192);
	rx.data_digest = true;
	assert_int_equal(iscsi_rx_feed(&rx, r.bytes, r.length, &used), ISCSI_RX_HEADER);
	iscsi_rx_place(&rx, data);
	assert_int_equal(iscsi_rx_data_left(&rx), 1001);
	assert_int_equal(iscsi_rx_body_size(&rx), 1004 + 4);
	assert_int_equal(iscsi_rx_feed(&rx, r.bytes + used, 100, &more), ISCSI_RX_NONE);
	iscsi_rx_place(&rx, NULL);
	assert_int_equal(iscsi_rx_data_left(&rx), 0);
	used += more;
	assert_int_equal(iscsi_rx_feed(&rx, r.bytes + used, r.length - used, &more), ISCSI_RX_PDU);
	assert_false(rx.data_digest_bad);
	assert_memory_equal(data, r.data, 100);
	assert_int_equal(data[100], 0xee);
}

static void queued_pdu_can_be_taken_back_until_it_has_begun(void **state)
{
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_OUT};
	struct iscsi_tx_pdu a = {.sent = count_sent}, b = {.sent = count_sent};
	struct iovec iov[10];
	struct iscsi_tx tx;
	size_t bytes;

	(void)state;
	iscsi_tx_init(&tx);
	iscsi_tx_queue(&tx, &a, &nop, NULL, "abcd", 4);
	iscsi_tx_queue(&tx, &b, &nop, NULL, "efgh", 4);
	assert_false(iscsi_tx_begun(&tx, &a));
	iscsi_tx_sent(&tx, 50);
	assert_true(iscsi_tx_begun(&tx, &a));
	assert_false(iscsi_tx_begun(&tx, &b));
	iscsi_tx_remove(&tx, &b);
	assert_int_equal(iscsi_tx_have(&tx, iov, 10, &bytes), 1);
	assert_int_equal(bytes, 2);
	assert_memory_equal(iov[0].iov_base, "cd", 2);
	assert_int_equal(tx.queued_bytes, 2);
	/* Fewer iovecs than one PDU may need: nothing is torn. */
	assert_int_equal(iscsi_tx_have(&tx, iov, 4, &bytes), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_padding_and_ahs_are_laid_out_as_the_standard_says),
		cmocka_unit_test(without_digests_there_is_only_padding),
		cmocka_unit_test(every_chunking_gives_the_same_pdus),
		cmocka_unit_test(header_digest_mismatch_breaks_the_stream_for_good),
		cmocka_unit_test(data_digest_mismatch_is_told_with_the_pdu),
		cmocka_unit_test(data_segment_longer_than_declared_is_refused),
		cmocka_unit_test(ahs_longer_than_allowed_is_refused),
		cmocka_unit_test(the_longest_ahs_fits),
		cmocka_unit_test(place_taken_back_in_mid_segment_is_not_touched_again),
		cmocka_unit_test(queued_pdu_can_be_taken_back_until_it_has_begun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

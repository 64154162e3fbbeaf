/* PDUs out of a byte stream (common/iscsi/stream_rx.c): digests, AHS, padding, and every chunking.
 */
#include "tests/unit/common/iscsi/stream_run.h"

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

/* The length is believed only when the digest has vouched for it: a spoiled length is a spoiled
 * header, not a reason to wait for 16 MiB. */
static void spoiled_length_is_a_digest_error(void **state)
{
	static struct run r;
	struct iscsi_rx rx;
	size_t used;

	(void)state;
	run_make(&r, true, false);
	r.bytes[5] ^= 0xff;
	iscsi_rx_init(&rx, 8192);
	rx.header_digest = true;
	assert_int_equal(iscsi_rx_feed(&rx, r.bytes, r.length, &used), -EBADMSG);
}

/* A data segment that nobody placed is read to its end and thrown away. */
static void data_without_a_place_is_read_past(void **state)
{
	static struct run r;
	struct iscsi_rx rx;
	void *place;
	size_t used, at;

	(void)state;
	run_make(&r, false, true);
	iscsi_rx_init(&rx, 8192);
	rx.data_digest = true;
	assert_int_equal(iscsi_rx_feed(&rx, r.bytes, r.length, &used), ISCSI_RX_HEADER);
	assert_int_equal(iscsi_rx_data_left(&rx), 0);
	for (at = used;;) {
		size_t n = iscsi_rx_want(&rx, &place);
		int event;

		assert_true(n > 0 && n <= 1001);
		memcpy(place, r.bytes + at, n);
		at += n;
		event = iscsi_rx_got(&rx, n);
		if (event == ISCSI_RX_PDU)
			break;
		assert_int_equal(event, ISCSI_RX_NONE);
	}
	assert_false(rx.data_digest_bad);
	assert_int_equal(at, 48 + 1004 + 4);
	assert_true(iscsi_rx_idle(&rx));
}

/* Digests begin with the PDU behind the login (section 6.3.4). */
static void digests_take_effect_with_the_next_pdu(void **state)
{
	static struct run plain, digested;
	struct iscsi_rx rx;
	uint8_t data[1001];
	size_t used, more;

	(void)state;
	run_make(&plain, false, false);
	run_make(&digested, true, true);
	iscsi_rx_init(&rx, 8192);
	assert_int_equal(iscsi_rx_feed(&rx, plain.bytes, 48 + 1004, &used), ISCSI_RX_HEADER);
	assert_int_equal(
		iscsi_rx_feed(&rx, plain.bytes + used, 48 + 1004 - used, &more), ISCSI_RX_PDU);
	rx.header_digest = rx.data_digest = true;
	assert_int_equal(
		iscsi_rx_feed(&rx, digested.bytes, digested.length, &used), ISCSI_RX_HEADER);
	assert_int_equal(used, 52);
	iscsi_rx_place(&rx, data);
	assert_int_equal(iscsi_rx_feed(&rx, digested.bytes + used, digested.length - used, &more),
		ISCSI_RX_PDU);
	assert_false(rx.data_digest_bad);
}

/* A malformed PDU is told with its decode error, and the stream goes on behind it. */
static void malformed_pdu_does_not_break_the_stream(void **state)
{
	uint8_t bytes[96] = {0x1f, 0x80}; /* no such opcode */
	struct iscsi_rx rx;
	size_t used;

	(void)state;
	bytes[48] = 0x40; /* a NOP-Out */
	bytes[49] = 0x80;
	iscsi_rx_init(&rx, 8192);
	assert_int_equal(iscsi_rx_feed(&rx, bytes, 96, &used), ISCSI_RX_PDU);
	assert_int_equal(rx.decode_error, -EOPNOTSUPP);
	assert_int_equal(iscsi_rx_feed(&rx, bytes + used, 96 - used, &used), ISCSI_RX_PDU);
	assert_int_equal(rx.decode_error, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_chunking_gives_the_same_pdus),
		cmocka_unit_test(header_digest_mismatch_breaks_the_stream_for_good),
		cmocka_unit_test(data_digest_mismatch_is_told_with_the_pdu),
		cmocka_unit_test(data_segment_longer_than_declared_is_refused),
		cmocka_unit_test(ahs_longer_than_allowed_is_refused),
		cmocka_unit_test(the_longest_ahs_fits),
		cmocka_unit_test(place_taken_back_in_mid_segment_is_not_touched_again),
		cmocka_unit_test(spoiled_length_is_a_digest_error),
		cmocka_unit_test(data_without_a_place_is_read_past),
		cmocka_unit_test(digests_take_effect_with_the_next_pdu),
		cmocka_unit_test(malformed_pdu_does_not_break_the_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

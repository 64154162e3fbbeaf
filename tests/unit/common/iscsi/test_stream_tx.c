/* PDUs into a byte stream (common/iscsi/stream_tx.c): RFC 7143 section 11.2. Digests' values are
 * computed by the bit-wise definition of CRC32C (section 13.1), not by crc32c.h. */
#include "tests/unit/common/iscsi/stream_run.h"

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

/* Section 13.1: a PDU without data has no data digest. */
static void no_data_has_no_digest(void **state)
{
	struct iscsi_pdu logout = {.opcode = ISCSI_LOGOUT_REQUEST, .itt = 9};
	struct iscsi_tx_pdu p = {.sent = count_sent};
	struct iscsi_tx tx;

	(void)state;
	iscsi_tx_init(&tx);
	tx.data_digest = true;
	iscsi_tx_queue(&tx, &p, &logout, NULL, NULL, 0);
	assert_int_equal(tx.queued_bytes, 48);
	tx.header_digest = true; /* for what is queued from now on */
	assert_int_equal(tx.queued_bytes, 48);
	iscsi_tx_sent(&tx, 48);
	assert_int_equal(tx.queued_bytes, 0);
}

static void every_length_is_padded_to_four(void **state)
{
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_OUT};

	(void)state;
	for (uint32_t length = 1; length < 9; length++) {
		struct iscsi_tx_pdu p = {.sent = count_sent};
		struct iscsi_tx tx;
		struct iovec iov[5];
		size_t bytes;
		int n;

		iscsi_tx_init(&tx);
		iscsi_tx_queue(&tx, &p, &nop, NULL, "12345678", length);
		n = iscsi_tx_have(&tx, iov, 5, &bytes);
		assert_int_equal(bytes, 48 + (length + 3) / 4 * 4);
		assert_int_equal(get_be24(p.header + 5), length);
		if (length % 4) {
			assert_int_equal(iov[n - 1].iov_len, 4 - length % 4);
			assert_memory_equal(iov[n - 1].iov_base, "\0\0\0", 4 - length % 4);
		}
	}
}

/* Whatever has left, the rest is the rest of the same bytes. */
static void what_has_left_is_not_offered_again(void **state)
{
	static struct run whole, rest;
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_OUT};
	struct iscsi_tx_pdu p = {.sent = count_sent};
	struct iscsi_tx tx;

	(void)state;
	iscsi_tx_init(&tx);
	tx.header_digest = tx.data_digest = true;
	iscsi_tx_queue(&tx, &p, &nop, NULL, "12345", 5);
	gather(&tx, &whole);
	assert_int_equal(whole.length, 48 + 4 + 8 + 4);
	sent_count = 0;
	for (size_t left = 1; left < whole.length; left++) {
		iscsi_tx_sent(&tx, 1);
		gather(&tx, &rest);
		assert_int_equal(rest.length, whole.length - left);
		assert_memory_equal(rest.bytes, whole.bytes + left, rest.length);
		assert_int_equal(sent_count, 0);
	}
	iscsi_tx_sent(&tx, 1);
	assert_int_equal(sent_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_padding_and_ahs_are_laid_out_as_the_standard_says),
		cmocka_unit_test(without_digests_there_is_only_padding),
		cmocka_unit_test(queued_pdu_can_be_taken_back_until_it_has_begun),
		cmocka_unit_test(no_data_has_no_digest),
		cmocka_unit_test(every_length_is_padded_to_four),
		cmocka_unit_test(what_has_left_is_not_offered_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

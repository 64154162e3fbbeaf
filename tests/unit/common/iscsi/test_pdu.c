/* The Basic Header Segments of RFC 7143 section 11, as far as they have it in common
 * (common/iscsi/pdu.c), and what no receiver may act upon. */
#include "tests/unit/common/iscsi/bhs.h"

#define ZERO16 "00000000000000000000000000000000"

static void what_no_receiver_may_act_upon_is_refused(void **state)
{
	(void)state;
	/* neither F nor W */
	assert_int_equal(decode("01 41 0000 00 000000 0000000000000000 00000010 00000000"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* attribute 5 */
	assert_int_equal(decode("01 85 0000 00 000000 0000000000000000 00000010 00000000"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* the reserved tag */
	assert_int_equal(decode("01 81 0000 00 000000 0000000000000000 ffffffff 00000000"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* overflow and underflow at once */
	assert_int_equal(decode("21 86 0000 00 000000 0000000000000000 00000010 00000000"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* status without F */
	assert_int_equal(decode("25 01 0000 00 000000 0000000000000000 00000010 ffffffff"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* an R2T for nothing */
	assert_int_equal(decode("31 80 0000 00 000000 0000000000000000 00000010 00000001"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* a text that is final and goes on */
	assert_int_equal(decode("04 c0 0000 00 000000 0000000000000000 00000010 ffffffff"
				"00000000 00000000" ZERO16),
		-EPROTO);
	/* data, and AHS, where there is none */
	assert_int_equal(decode("02 81 0000 00 000004 0000000000000000 00000010 00000000"
				"00000000 00000000" ZERO16),
		-EPROTO);
	assert_int_equal(decode("00 80 0000 01 000000 0000000000000000 00000010 ffffffff"
				"00000000 00000000" ZERO16),
		-EPROTO);
}

static void unknown_opcode_still_tells_its_lengths(void **state)
{
	uint8_t bhs[ISCSI_BHS_SIZE];
	struct iscsi_pdu p;

	(void)state;
	from_hex("1f 80 0000 03 000123 0000000000000000 00000010 00000000"
		 "00000000 00000000" ZERO16,
		bhs);
	assert_int_equal(iscsi_pdu_decode(bhs, &p), -EOPNOTSUPP);
	assert_int_equal(p.opcode, 0x1f);
	assert_int_equal(p.ahs_words, 3);
	assert_int_equal(p.data_length, 0x123);
	assert_int_equal(p.itt, 0x10);
}

static void any_48_bytes_can_be_decoded(void **state)
{
	uint8_t *bhs = malloc(ISCSI_BHS_SIZE); /* its own block, so that ASan sees a read beyond */
	struct iscsi_pdu p;

	(void)state;
	srandom(1);
	for (int i = 0; i < 100000; i++) {
		for (size_t n = 0; n < ISCSI_BHS_SIZE; n++)
			bhs[n] = (uint8_t)random();
		(void)iscsi_pdu_decode(bhs, &p);
		assert_int_equal(p.opcode, bhs[0] & 0x3f);
	}
	free(bhs);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(iscsi_opcode_name(ISCSI_SCSI_COMMAND), "SCSI Command");
	assert_string_equal(iscsi_opcode_name(ISCSI_REJECT), "Reject");
	assert_string_equal(iscsi_opcode_name(0x1f), "unknown");
	assert_string_equal(iscsi_opcode_name(0xff), "unknown");
	assert_string_equal(iscsi_reject_name(ISCSI_REJECT_PROTOCOL_ERROR), "protocol error");
	assert_string_equal(iscsi_reject_name(0xff), "unknown");
}

static void requests_are_those_of_section_11_1_1(void **state)
{
	(void)state;
	for (unsigned opcode = 0; opcode < 256; opcode++)
		assert_int_equal(
			iscsi_opcode_is_request((uint8_t)opcode), opcode <= 0x06 || opcode == 0x10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_no_receiver_may_act_upon_is_refused),
		cmocka_unit_test(unknown_opcode_still_tells_its_lengths),
		cmocka_unit_test(any_48_bytes_can_be_decoded),
		cmocka_unit_test(names),
		cmocka_unit_test(requests_are_those_of_section_11_1_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

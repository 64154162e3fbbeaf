/* Words for sense and status. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/scsi/sense.h"

static void line_for_a_person(void **state)
{
	struct scsi_sense s = {.key = SENSE_ILLEGAL_REQUEST,
		.asc = 0x24,
		.field_valid = true,
		.field_in_cdb = true,
		.field_byte = 1,
		.field_bit = 3};
	char out[160];

	(void)state;
	assert_string_equal(scsi_sense_print(&s, out, sizeof(out)),
		"Illegal Request: Invalid field in CDB (24h/00h), CDB byte 1 bit 3");
	s = (struct scsi_sense){.key = SENSE_MISCOMPARE,
		.asc = 0x1d,
		.information_valid = true,
		.information = 512,
		.field_bit = -1};
	assert_string_equal(scsi_sense_print(&s, out, sizeof(out)),
		"Miscompare: Miscompare during verify operation (1dh/00h), information 512");
}

static void line_is_cut_at_every_size(void **state)
{
	struct scsi_sense s = {.key = SENSE_ILLEGAL_REQUEST,
		.asc = 0x24,
		.field_valid = true,
		.field_byte = 1,
		.field_bit = 3,
		.information_valid = true};
	char whole[200], out[200];

	(void)state;
	scsi_sense_print(&s, whole, sizeof(whole));
	for (size_t n = 1; n <= strlen(whole) + 1; n++) {
		memset(out, 'x', sizeof(out));
		scsi_sense_print(&s, out, n);
		assert_int_equal(strlen(out), n - 1);
		assert_memory_equal(out, whole, n - 1);
		assert_int_equal(out[n], 'x');
	}
}

static void unknown_codes_have_a_word(void **state)
{
	(void)state;
	assert_string_equal(scsi_additional_sense_name(0xff, 0xff), "unknown");
	assert_string_equal(scsi_status_name(0x77), "unknown");
	assert_string_equal(scsi_status_name(0x18), "RESERVATION CONFLICT");
	assert_string_equal(scsi_sense_key_name(0x6), "Unit Attention");
	assert_string_equal(
		scsi_additional_sense_name(0x27, 0x07), "Space allocation failed write protect");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_for_a_person),
		cmocka_unit_test(line_is_cut_at_every_size),
		cmocka_unit_test(unknown_codes_have_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

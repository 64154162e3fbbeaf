/* Sense data of SPC-4 section 4.5, both formats, as bytes written down from its tables. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/scsi/sense.h"

static const struct scsi_sense invalid_field = {
	.key = SENSE_ILLEGAL_REQUEST,
	.asc = 0x24,
	.field_valid = true,
	.field_in_cdb = true,
	.field_byte = 0x0102,
	.field_bit = 3,
};

static void fixed_format_with_a_field_pointer(void **state)
{
	static const uint8_t expected[18] = {
		0x70, 0, 0x05, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0x00, 0, 0xcb, 0x01, 0x02};
	uint8_t out[18];
	struct scsi_sense s;

	(void)state;
	scsi_sense_put_fixed(&invalid_field, out);
	assert_memory_equal(out, expected, 18);
	assert_int_equal(scsi_sense_parse(expected, 18, &s), 0);
	scsi_sense_put_fixed(&s, out);
	assert_memory_equal(out, expected, 18);
}

static void descriptor_format_with_information_and_pointer(void **state)
{
	static const uint8_t expected[28] = {0x72, 0x05, 0x24, 0x00, 0, 0, 0, 20, 0x00, 0x0a, 0x80,
		0, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x02, 0x06, 0, 0, 0xcb, 0x01,
		0x02, 0};
	struct scsi_sense s = invalid_field, again;
	uint8_t out[28];

	(void)state;
	s.information_valid = true;
	s.information = 0x0102030405060708;
	assert_int_equal(scsi_sense_put_descriptor(&s, out), 28);
	assert_memory_equal(out, expected, 28);
	assert_int_equal(scsi_sense_parse(expected, 28, &again), 0);
	assert_int_equal(again.information, s.information);
	assert_int_equal(again.field_bit, 3);
	assert_int_equal(again.field_byte, 0x0102);
}

static void information_of_more_than_32_bits_is_not_in_fixed_format(void **state)
{
	struct scsi_sense s = {.key = SENSE_MISCOMPARE,
		.asc = 0x1d,
		.information_valid = true,
		.information = UINT32_MAX,
		.field_bit = -1};
	uint8_t out[18];

	(void)state;
	scsi_sense_put_fixed(&s, out);
	assert_int_equal(out[0], 0xf0);
	assert_int_equal(get_be32(out + 3), UINT32_MAX);
	s.information++;
	scsi_sense_put_fixed(&s, out);
	assert_int_equal(out[0], 0x70);
}

static void whole_byte_has_no_bit_pointer(void **state)
{
	struct scsi_sense s = invalid_field, again;
	uint8_t out[18];

	(void)state;
	s.field_bit = -1;
	s.field_in_cdb = false;
	scsi_sense_put_fixed(&s, out);
	assert_int_equal(out[15], 0x80);
	assert_int_equal(scsi_sense_parse(out, 18, &again), 0);
	assert_int_equal(again.field_bit, -1);
	assert_false(again.field_in_cdb);
}

/* Whatever its length, sense that was cut yields what is there, and nothing beyond is read. */
static void cut_sense_of_every_length(void **state)
{
	uint8_t fixed[18], descriptor[28], copy[28];
	struct scsi_sense s = invalid_field, again;

	(void)state;
	s.information_valid = true;
	scsi_sense_put_fixed(&s, fixed);
	scsi_sense_put_descriptor(&s, descriptor);
	for (size_t n = 0; n <= 18; n++) {
		memcpy(copy, fixed, n);
		assert_int_equal(scsi_sense_parse(copy, n, &again), n < 3 ? -EPROTO : 0);
		if (n >= 3)
			assert_int_equal(again.asc, n > 12 ? 0x24 : 0);
	}
	for (size_t n = 0; n <= 28; n++) {
		memcpy(copy, descriptor, n);
		assert_int_equal(scsi_sense_parse(copy, n, &again), n < 4 ? -EPROTO : 0);
		if (n >= 4)
			assert_int_equal(again.information_valid, n >= 20);
	}
}

static void other_response_codes_are_refused(void **state)
{
	uint8_t in[18] = {0};
	struct scsi_sense s = {.key = 0xf};

	(void)state;
	for (unsigned code = 0; code < 0x80; code++) {
		in[0] = (uint8_t)code;
		assert_int_equal(
			scsi_sense_parse(in, 18, &s), code >= 0x70 && code <= 0x73 ? 0 : -EPROTO);
	}
	in[0] = 0x71;
	assert_int_equal(scsi_sense_parse(in, 18, &s), 0);
	assert_true(s.deferred);
}

static void meaning_as_errno(void **state)
{
	static const struct {
		uint8_t key, asc, ascq;
		int error;
	} rows[] = {
		{SENSE_NO_SENSE, 0, 0, 0},
		{SENSE_RECOVERED_ERROR, 0x17, 0, 0},
		{SENSE_NOT_READY, 0x04, 0x01, -EAGAIN},
		{SENSE_NOT_READY, 0x04, 0x0a, -EAGAIN},
		{SENSE_NOT_READY, 0x04, 0x02, -EIO},
		{SENSE_MEDIUM_ERROR, 0x11, 0, -ENODATA},
		{SENSE_HARDWARE_ERROR, 0x44, 0, -EIO},
		{SENSE_ILLEGAL_REQUEST, 0x20, 0, -EOPNOTSUPP},
		{SENSE_ILLEGAL_REQUEST, 0x21, 0, -ERANGE},
		{SENSE_ILLEGAL_REQUEST, 0x24, 0, -EINVAL},
		{SENSE_ILLEGAL_REQUEST, 0x25, 0, -ENODEV},
		{SENSE_UNIT_ATTENTION, 0x29, 0, -EAGAIN},
		{SENSE_DATA_PROTECT, 0x27, 0x07, -ENOSPC},
		{SENSE_DATA_PROTECT, 0x27, 0x00, -EROFS},
		{SENSE_ABORTED_COMMAND, 0x4b, 0, -EAGAIN},
		{SENSE_MISCOMPARE, 0x1d, 0, -EILSEQ},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scsi_sense s = {
			.key = rows[i].key, .asc = rows[i].asc, .ascq = rows[i].ascq};

		assert_int_equal(scsi_sense_to_errno(&s), rows[i].error);
		/* SPC-4 section 4.5.5: the command that tells of another's was not executed. */
		s.deferred = true;
		assert_int_equal(scsi_sense_to_errno(&s), rows[i].error ? rows[i].error : -EAGAIN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_format_with_a_field_pointer),
		cmocka_unit_test(descriptor_format_with_information_and_pointer),
		cmocka_unit_test(information_of_more_than_32_bits_is_not_in_fixed_format),
		cmocka_unit_test(whole_byte_has_no_bit_pointer),
		cmocka_unit_test(cut_sense_of_every_length),
		cmocka_unit_test(other_response_codes_are_refused),
		cmocka_unit_test(meaning_as_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

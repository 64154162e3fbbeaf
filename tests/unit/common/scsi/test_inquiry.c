/* INQUIRY data and the VPD pages of SPC-4 that are lists (common/scsi/inquiry.c). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/scsi/inquiry.h"

static const struct scsi_inquiry disk = {
	.version = INQUIRY_VERSION_SPC4,
	.hierarchical = true,
	.target_port_groups = 1,
	.third_party_copy = true,
	.command_queuing = true,
	.vendor = "ACME",
	.product = "A PRODUCT",
	.revision = "0001",
	.version_descriptors = {0x00a0, 0x0460},
};

static void standard_data_in_bytes(void **state)
{
	uint8_t out[INQUIRY_SIZE];
	struct bytes_writer w = bytes_writer(out, sizeof(out));

	(void)state;
	inquiry_encode(&disk, &w);
	assert_int_equal(w.used, 96);
	assert_memory_equal(out, "\x00\x00\x06\x12\x5b\x18\x00\x02", 8);
	assert_memory_equal(out + 8, "ACME    A PRODUCT       0001", 28);
	assert_memory_equal(out + 58, "\x00\xa0\x04\x60\x00", 5);
	w = bytes_writer(out, 95);
	inquiry_encode(&disk, &w);
	assert_true(w.overflow);
}

static void decoded_as_encoded(void **state)
{
	uint8_t out[INQUIRY_SIZE], again[INQUIRY_SIZE];
	struct bytes_writer w = bytes_writer(out, sizeof(out));
	struct scsi_inquiry i;

	(void)state;
	inquiry_encode(&disk, &w);
	assert_int_equal(inquiry_decode(out, sizeof(out), &i), 0);
	w = bytes_writer(again, sizeof(again));
	inquiry_encode(&i, &w);
	assert_memory_equal(again, out, sizeof(out));
}

static void cut_and_hostile_data(void **state)
{
	uint8_t in[INQUIRY_SIZE];
	struct scsi_inquiry i;

	(void)state;
	memset(in, 0xff, sizeof(in));
	for (size_t n = 0; n <= sizeof(in); n++)
		assert_int_equal(inquiry_decode(in, n, &i), n < 36 ? -EPROTO : 0);
	assert_string_equal(i.vendor, "????????");
	assert_int_equal(i.qualifier, 7);
	in[4] = 0; /* ADDITIONAL LENGTH says that there is nothing more */
	assert_int_equal(inquiry_decode(in, sizeof(in), &i), 0);
	assert_int_equal(i.version_descriptors[0], 0);
}

static void list_of_pages(void **state)
{
	static const uint8_t pages[] = {0x00, 0x80, 0xb0};
	uint8_t out[8];
	struct bytes_writer w = bytes_writer(out, sizeof(out));

	(void)state;
	vpd_pages_encode(0, pages, 3, &w);
	assert_memory_equal(out, "\x00\x00\x00\x03\x00\x80\xb0", 7);
	assert_true(vpd_pages_has(out, w.used, 0xb0));
	assert_false(vpd_pages_has(out, w.used, 0x83));
	assert_false(vpd_pages_has(out, 6, 0xb0)); /* cut */
	assert_false(vpd_pages_has(out, 3, 0x00));
}

static void serial_number_is_trimmed(void **state)
{
	uint8_t out[32];
	struct bytes_writer w = bytes_writer(out, sizeof(out));
	char text[16];

	(void)state;
	vpd_serial_encode(0, "  A12 ", &w);
	assert_memory_equal(out, "\x00\x80\x00\x06  A12 ", 10);
	assert_int_equal(vpd_serial_decode(out, w.used, text, sizeof(text)), 0);
	assert_string_equal(text, "A12");
	assert_int_equal(vpd_serial_decode(out, w.used, text, 3), 0);
	assert_string_equal(text, "A1");
	assert_int_equal(vpd_serial_decode(out, 4, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	out[1] = 0x83;
	assert_int_equal(vpd_serial_decode(out, w.used, text, sizeof(text)), -EPROTO);
}

static void extended_inquiry_data(void **state)
{
	struct vpd_extended e = {.simple = true,
				    .ordered = true,
				    .head_of_queue = true,
				    .volatile_cache = true},
			    again;
	uint8_t out[64], out2[64];
	struct bytes_writer w = bytes_writer(out, sizeof(out));

	(void)state;
	vpd_extended_encode(0, &e, &w);
	assert_int_equal(w.used, 64);
	assert_memory_equal(out, "\x00\x86\x00\x3c\x00\x07\x01\x00", 8);
	assert_int_equal(vpd_extended_decode(out, 64, &again), 0);
	w = bytes_writer(out2, sizeof(out2));
	vpd_extended_encode(0, &again, &w);
	assert_memory_equal(out2, out, 64);
	for (size_t n = 4; n < 64; n++)
		assert_int_equal(vpd_extended_decode(out, n, &again), 0);
	assert_int_equal(vpd_extended_decode(out, 3, &again), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(standard_data_in_bytes),
		cmocka_unit_test(decoded_as_encoded),
		cmocka_unit_test(cut_and_hostile_data),
		cmocka_unit_test(list_of_pages),
		cmocka_unit_test(serial_number_is_trimmed),
		cmocka_unit_test(extended_inquiry_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

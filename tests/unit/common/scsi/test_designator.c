/* Device identification, VPD page 83h (common/scsi/designator.c): SPC-4 section 7.8.6. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/scsi/inquiry.h"

static void name_string_is_padded(void **state)
{
	uint8_t out[64];
	struct bytes_writer w = bytes_writer(out, sizeof(out));

	(void)state;
	vpd_name_encode(VPD_LOGICAL_UNIT, "iqn.x", &w);
	assert_memory_equal(out, "\x03\x08\x00\x08iqn.x\0\0\0", 12);
	w = bytes_writer(out, sizeof(out));
	vpd_name_encode(VPD_TARGET_PORT, "iqn", &w);
	assert_memory_equal(out, "\x53\x98\x00\x04iqn\0", 8);
	w = bytes_writer(out, 7);
	vpd_name_encode(VPD_TARGET_PORT, "iqn", &w);
	assert_true(w.overflow);
}

static size_t page(uint8_t *out, size_t size, const char *designators, size_t length)
{
	struct bytes_writer w = bytes_writer(out, size);
	size_t begun = vpd_begin(0, VPD_DEVICE_IDENTIFICATION, &w);

	bytes_write(&w, designators, length);
	vpd_end(begun, &w);
	return w.used;
}

static void best_name_of_a_unit(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		const char *name;
	} rows[] = {
		{"\x02\x01\x00\x0b"
		 "VEND    ab1"
		 "\x01\x03\x00\x08\x60\x01\x02\x03\x04\x05\x06\x07",
			27, "naa.6001020304050607"},
		{"\x01\x02\x00\x08\x00\x11\x22\x33\x44\x55\x66\x77", 12, "eui.0011223344556677"},
		{"\x03\x08\x00\x08iqn.a,L\0", 12, "name.iqn.a,L"},
		{"\x02\x01\x00\x0bVEND    ab1", 15, "t10.VEND____ab1"},
	};
	uint8_t out[64];
	char name[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t length = page(out, sizeof(out), rows[i].bytes, rows[i].length);

		assert_int_equal(vpd_wwid_decode(out, length, name, sizeof(name)), 0);
		assert_string_equal(name, rows[i].name);
	}
}

static void name_of_a_port_is_no_name_of_the_unit(void **state)
{
	uint8_t out[64];
	char name[64] = "untouched";
	size_t length = page(out, sizeof(out), "\x51\x93\x00\x04\x30\x00\x00\x01", 8);

	(void)state;
	assert_int_equal(vpd_wwid_decode(out, length, name, sizeof(name)), -ENOENT);
	assert_string_equal(name, "untouched");
	assert_int_equal(vpd_wwid_decode(out, 3, name, sizeof(name)), -EPROTO);
}

static void cut_designators_end_the_walk(void **state)
{
	uint8_t out[64], copy[64];
	char name[80];
	size_t length =
		page(out, sizeof(out), "\x01\x03\x00\x08\x60\x01\x02\x03\x04\x05\x06\x07", 12);

	(void)state;
	for (size_t n = 4; n < length; n++) {
		memcpy(copy, out, n);
		assert_int_equal(vpd_wwid_decode(copy, n, name, sizeof(name)), -ENOENT);
	}
	for (size_t n = 1; n < 22; n++) {
		assert_int_equal(vpd_wwid_decode(out, length, name, n), 0);
		assert_true(strlen(name) < n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_string_is_padded),
		cmocka_unit_test(best_name_of_a_unit),
		cmocka_unit_test(name_of_a_port_is_no_name_of_the_unit),
		cmocka_unit_test(cut_designators_end_the_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* READ CAPACITY data and REPORT LUNS lists (common/scsi/capacity.c): SBC-3 section 5.15, SPC-4
 * section 6.33. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/scsi/capacity.h"

static void ten_in_bytes(void **state)
{
	struct scsi_capacity c = {.last_lba = 0x1ffff, .block_size = 512}, again;
	uint8_t out[8];

	(void)state;
	capacity10_encode(&c, out);
	assert_memory_equal(out, "\x00\x01\xff\xff\x00\x00\x02\x00", 8);
	assert_int_equal(capacity10_decode(out, 8, &again), 0);
	assert_int_equal(again.last_lba, 0x1ffff);
	for (size_t n = 0; n < 8; n++)
		assert_int_equal(capacity10_decode(out, n, &again), -EPROTO);
	c.last_lba = 0x100000000;
	capacity10_encode(&c, out);
	assert_int_equal(get_be32(out), UINT32_MAX);
	assert_int_equal(capacity10_decode(out, 8, &again), -EOVERFLOW);
	memset(out, 0, sizeof(out));
	assert_int_equal(capacity10_decode(out, 8, &again), -EPROTO);
}

static void sixteen_in_bytes(void **state)
{
	struct scsi_capacity c = {.last_lba = 0x100000000,
				     .block_size = 4096,
				     .physical_exponent = 3,
				     .lowest_aligned_lba = 1,
				     .provisioning_managed = true,
				     .reads_zeros = true},
			     again;
	uint8_t out[32], out2[32];

	(void)state;
	capacity16_encode(&c, out);
	assert_memory_equal(
		out, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x10\x00\x00\x03\xc0\x01", 16);
	assert_int_equal(capacity16_decode(out, 32, &again), 0);
	capacity16_encode(&again, out2);
	assert_memory_equal(out2, out, 32);
	for (size_t n = 0; n < 32; n++)
		assert_int_equal(capacity16_decode(out, n, &again), n < 12 ? -EPROTO : 0);
	memset(out, 0, sizeof(out));
	assert_int_equal(capacity16_decode(out, 32, &again), -EPROTO);
}

static void list_of_luns(void **state)
{
	static const uint64_t luns[] = {0, 1ull << 48};
	uint64_t again[4];
	uint8_t out[24];
	size_t total;

	(void)state;
	assert_int_equal(report_luns_encode(luns, 2, out, sizeof(out)), 24);
	assert_memory_equal(out, "\x00\x00\x00\x10\x00\x00\x00\x00", 8);
	assert_int_equal(report_luns_decode(out, 24, again, 4, &total), 2);
	assert_int_equal(total, 2);
	assert_memory_equal(again, luns, 16);
	assert_int_equal(report_luns_decode(out, 23, again, 4, &total), 1);
	assert_int_equal(total, 2);
	assert_int_equal(report_luns_decode(out, 24, again, 1, &total), 1);
	assert_int_equal(report_luns_decode(out, 7, again, 4, &total), -EPROTO);
	assert_int_equal(report_luns_encode(luns, 2, out, 8), 24);
}

static void list_that_lies_about_its_length(void **state)
{
	uint8_t in[16] = {0xff, 0xff, 0xff, 0xff};
	uint64_t luns[4];
	size_t total;

	(void)state;
	assert_int_equal(report_luns_decode(in, 16, luns, 4, &total), 1);
	assert_int_equal(total, UINT32_MAX / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_in_bytes),
		cmocka_unit_test(sixteen_in_bytes),
		cmocka_unit_test(list_of_luns),
		cmocka_unit_test(list_that_lies_about_its_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

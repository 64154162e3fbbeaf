/* VPD pages B0h, B1h, B2h (common/scsi/block_pages.c): SBC-3 section 6.5. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/scsi/inquiry.h"

static void block_limits_in_bytes(void **state)
{
	static const uint8_t expected[44] = {0x00, 0xb0, 0x00, 0x3c, 0x01, 0xff, 0x00, 0x08, 0, 0,
		0x80, 0, 0, 0, 0x08, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0x01, 0, 0, 0, 0, 0x08,
		0x80, 0, 0, 0x03, 0, 0, 0, 0, 0, 0x20, 0, 0};
	struct vpd_block_limits b = {.write_same_non_zero = true,
					.max_compare_and_write = 255,
					.optimal_granularity = 8,
					.max_transfer = 0x8000,
					.optimal_transfer = 0x800,
					.max_unmap = 0x100000,
					.max_unmap_descriptors = 256,
					.unmap_granularity = 8,
					.unmap_alignment_valid = true,
					.unmap_alignment = 3,
					.max_write_same = 0x200000},
				again;
	uint8_t out[64], out2[64];
	struct bytes_writer w = bytes_writer(out, sizeof(out));

	(void)state;
	vpd_block_limits_encode(0, &b, &w);
	assert_int_equal(w.used, 64);
	assert_memory_equal(out, expected, 44);
	assert_int_equal(vpd_block_limits_decode(out, 64, &again), 0);
	w = bytes_writer(out2, sizeof(out2));
	vpd_block_limits_encode(0, &again, &w);
	assert_memory_equal(out2, out, 64);
}

/* An older peer's page is shorter: what is not there is "not reported". */
static void short_block_limits(void **state)
{
	static const uint8_t in[16] = {0, 0xb0, 0, 0x0c, 0, 0, 0, 8, 0, 0, 1, 0, 0, 0, 0, 64};
	struct vpd_block_limits b;

	(void)state;
	assert_int_equal(vpd_block_limits_decode(in, sizeof(in), &b), 0);
	assert_int_equal(b.max_transfer, 256);
	assert_int_equal(b.optimal_transfer, 64);
	assert_int_equal(b.max_unmap, 0);
	assert_int_equal(b.max_write_same, 0);
	for (size_t n = 4; n < sizeof(in); n++)
		assert_int_equal(vpd_block_limits_decode(in, n, &b), 0);
}

static void characteristics(void **state)
{
	struct vpd_block_characteristics c = {.rotation_rate = 7200,
						 .form_factor = 2,
						 .fua_behaviour = true},
					 again;
	uint8_t out[64], out2[64];
	struct bytes_writer w = bytes_writer(out, sizeof(out));

	(void)state;
	vpd_block_characteristics_encode(0, &c, &w);
	assert_memory_equal(out, "\x00\xb1\x00\x3c\x1c\x20\x00\x02\x02", 9);
	assert_int_equal(vpd_block_characteristics_decode(out, 64, &again), 0);
	w = bytes_writer(out2, sizeof(out2));
	vpd_block_characteristics_encode(0, &again, &w);
	assert_memory_equal(out2, out, 64);
}

static void provisioning(void **state)
{
	struct vpd_provisioning p = {.unmap = true,
					.write_same16 = true,
					.write_same10 = true,
					.reads_zeros = 1,
					.type = VPD_THIN_PROVISIONED},
				again;
	uint8_t out[8], out2[8];
	struct bytes_writer w = bytes_writer(out, sizeof(out));

	(void)state;
	vpd_provisioning_encode(0, &p, &w);
	assert_memory_equal(out, "\x00\xb2\x00\x04\x00\xe4\x02\x00", 8);
	assert_int_equal(vpd_provisioning_decode(out, 8, &again), 0);
	w = bytes_writer(out2, sizeof(out2));
	vpd_provisioning_encode(0, &again, &w);
	assert_memory_equal(out2, out, 8);
	assert_int_equal(vpd_provisioning_decode(out, 3, &again), -EPROTO);
	w = bytes_writer(out, 7);
	vpd_provisioning_encode(0, &p, &w);
	assert_true(w.overflow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(block_limits_in_bytes),
		cmocka_unit_test(short_block_limits),
		cmocka_unit_test(characteristics),
		cmocka_unit_test(provisioning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

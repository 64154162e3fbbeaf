/* LUNs in the 8-byte form of SAM-5 section 4.7. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/iscsi/pdu.h"

static void small_luns_are_peripheral_larger_ones_flat(void **state)
{
	(void)state;
	assert_true(iscsi_lun_encode(0) == 0);
	assert_true(iscsi_lun_encode(255) == 0x00ff000000000000);
	assert_true(iscsi_lun_encode(256) == 0x4100000000000000);
	assert_true(iscsi_lun_encode(16383) == 0x7fff000000000000);
}

static void every_lun_comes_back(void **state)
{
	(void)state;
	for (uint16_t lun = 0; lun < 16384; lun++) {
		uint16_t again = 1;

		assert_int_equal(iscsi_lun_decode(iscsi_lun_encode(lun), &again), 0);
		assert_int_equal(again, lun);
	}
}

static void a_small_lun_may_be_flat(void **state)
{
	uint16_t lun;

	(void)state;
	assert_int_equal(iscsi_lun_decode(0x4001000000000000, &lun), 0);
	assert_int_equal(lun, 1);
}

/* libiscsi's iscsi_pdu_set_lun() and Linux' int_to_scsilun() */
static void a_large_lun_may_be_written_as_a_plain_number(void **state)
{
	uint16_t lun;

	(void)state;
	assert_int_equal(iscsi_lun_decode(0x012c000000000000, &lun), 0);
	assert_int_equal(lun, 300);
	assert_int_equal(iscsi_lun_decode(0x3fff000000000000, &lun), 0);
	assert_int_equal(lun, 16383);
}

static void other_forms_name_no_unit(void **state)
{
	static const uint64_t forms[] = {
		0x8001000000000000, /* logical unit addressing */
		0xc101000000000000, /* well-known */
		0xd200000100000000, /* extended flat space */
		0x0001000100000000, /* two levels */
		0x0001000000000001,
	};
	uint16_t lun = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		assert_int_equal(iscsi_lun_decode(forms[i], &lun), -ENOENT);
	assert_int_equal(lun, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_luns_are_peripheral_larger_ones_flat),
		cmocka_unit_test(every_lun_comes_back),
		cmocka_unit_test(a_small_lun_may_be_flat),
		cmocka_unit_test(a_large_lun_may_be_written_as_a_plain_number),
		cmocka_unit_test(other_forms_name_no_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Byte sizes as people write them (common/base/size.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/options.h"

static void sizes_are_powers_of_1024(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t bytes;
	} rows[] = {
		{"0", 0, 0},
		{"512", 0, 512},
		{"4K", 0, 4096},
		{"4k", 0, 4096},
		{"4KiB", 0, 4096},
		{"1M", 0, 1048576},
		{"2G", 0, 2147483648},
		{"1T", 0, 1099511627776},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"16777216T", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"K", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1.5G", -EINVAL, 0},
		{"1KB", -EINVAL, 0},
		{"1X", -EINVAL, 0},
		{"1 G", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t bytes = 0;

		if (size_parse(rows[i].text, &bytes) != rows[i].rc || bytes != rows[i].bytes)
			fail_msg("'%s'", rows[i].text);
	}
}

static void what_does_not_fit_is_told_from_what_is_no_size(void **state)
{
	uint64_t bytes = 7;

	(void)state;
	assert_int_equal(-ERANGE, size_parse("18446744073709551616", &bytes));
	assert_int_equal(-ERANGE, size_parse("16384P", &bytes));
	assert_int_equal(-ERANGE, size_parse("18014398509481984K", &bytes));
	assert_int_equal(0, size_parse("16383P", &bytes));
	assert_int_equal(16383ull << 50, bytes);
	bytes = 7;
	assert_int_equal(-EINVAL, size_parse("1KB", &bytes)); /* 1000 or 1024? */
	assert_int_equal(-EINVAL, size_parse("1Ki", &bytes));
	assert_int_equal(-EINVAL, size_parse("1 K", &bytes));
	assert_int_equal(-EINVAL, size_parse("+1", &bytes));
	assert_int_equal(-EINVAL, size_parse("1KiBs", &bytes));
	assert_int_equal(-EINVAL, size_parse("0x10", &bytes));
	assert_int_equal(7, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(what_does_not_fit_is_told_from_what_is_no_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

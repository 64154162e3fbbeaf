/* The histogram of latencies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/base/histogram.h"

static void no_value_gives_zero(void **state)
{
	struct histogram h = {0};

	(void)state;
	assert_int_equal(0, histogram_quantile(&h, 500));
	assert_int_equal(0, histogram_mean(&h));
}

static void small_values_are_exact(void **state)
{
	struct histogram h = {0};

	(void)state;
	for (uint64_t v = 1; v <= 100; v++)
		histogram_add(&h, v);
	assert_int_equal(50, histogram_quantile(&h, 500));
	assert_int_equal(1, histogram_quantile(&h, 0));
	assert_int_equal(50, histogram_mean(&h));
	assert_int_equal(100, h.max);
}

static void assert_near(uint64_t value, uint64_t found)
{
	uint64_t off = found > value ? found - value : value - found;

	assert_true(off * 1000 <= value * 16);
}

static void every_magnitude_is_within_one_and_a_half_percent(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < HISTOGRAM_VALUE_BITS; bit++)
		for (unsigned eighth = 8; eighth < 16; eighth++) {
			struct histogram h = {0};
			uint64_t v = ((UINT64_C(1) << bit) * eighth) / 8;

			histogram_add(&h, v);
			histogram_add(&h, UINT64_C(1) << 50);
			assert_near(v, histogram_quantile(&h, 500));
		}
}

static void percentiles_of_a_uniform_range(void **state)
{
	struct histogram h = {0};

	(void)state;
	for (uint64_t v = 1; v <= 1000000; v++)
		histogram_add(&h, v);
	assert_near(500000, histogram_quantile(&h, 500));
	assert_near(990000, histogram_quantile(&h, 990));
	assert_near(999000, histogram_quantile(&h, 999));
	assert_int_equal(1000000, histogram_quantile(&h, 1000));
}

static void one_late_value_shows_in_the_last_percentile_only(void **state)
{
	struct histogram h = {0};

	(void)state;
	for (int i = 0; i < 998; i++)
		histogram_add(&h, 20);
	histogram_add(&h, 9000000);
	histogram_add(&h, 9000000);
	assert_int_equal(20, histogram_quantile(&h, 990));
	assert_near(9000000, histogram_quantile(&h, 999));
	assert_int_equal(9000000, h.max);
}

static void value_beyond_the_range_counts_as_the_largest(void **state)
{
	struct histogram h = {0};

	(void)state;
	histogram_add(&h, UINT64_MAX / 2);
	assert_int_equal(UINT64_MAX / 2, h.max);
	assert_true(histogram_quantile(&h, 500) > 0);
	assert_true(histogram_quantile(&h, 500) < UINT64_C(1) << HISTOGRAM_VALUE_BITS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_value_gives_zero),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(every_magnitude_is_within_one_and_a_half_percent),
		cmocka_unit_test(percentiles_of_a_uniform_range),
		cmocka_unit_test(one_late_value_shows_in_the_last_percentile_only),
		cmocka_unit_test(value_beyond_the_range_counts_as_the_largest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The heap's door. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"

static void memory_comes_zeroed_and_is_counted(void **state)
{
	unsigned long asked = alloc_asked(), live = alloc_live();
	uint8_t zeros[100] = {0};
	uint8_t *p = alloc_zeroed(100), *q = alloc_array(10, 10), *r = alloc_aligned(4096, 100);

	(void)state;
	assert_memory_equal(zeros, p, 100);
	assert_memory_equal(zeros, q, 100);
	assert_memory_equal(zeros, r, 100);
	assert_int_equal(0, (uintptr_t)r % 4096);
	assert_int_equal(asked + 3, alloc_asked());
	assert_int_equal(live + 3, alloc_live());
	alloc_free(p);
	alloc_free(q);
	alloc_free(r);
	alloc_free(NULL);
	assert_int_equal(live, alloc_live());
}

static void what_is_given_away_is_not_counted_as_living(void **state)
{
	unsigned long asked = alloc_asked(), live = alloc_live();
	uint8_t zeros[100] = {0};
	uint8_t *p = alloc_given_away(100);

	(void)state;
	assert_memory_equal(zeros, p, 100);
	assert_int_equal(asked + 1, alloc_asked());
	assert_int_equal(live, alloc_live());
	free(p);
	alloc_fail_nth(1);
	assert_null(alloc_given_away(1));
}

static void nth_allocation_fails_and_no_other(void **state)
{
	(void)state;
	for (unsigned long n = 1; n <= 3; n++) {
		alloc_fail_nth(n);
		for (unsigned long i = 1; i <= 5; i++) {
			void *p = alloc_zeroed(1);

			assert_int_equal(i == n, p == NULL);
			alloc_free(p);
		}
	}
	alloc_fail_nth(1);
	alloc_fail_nth(0);
	alloc_free(alloc_zeroed(1));
}

static void every_kind_can_fail(void **state)
{
	char *p = alloc_string("old");

	(void)state;
	alloc_fail_nth(1);
	assert_null(alloc_resize(p, 100));
	assert_string_equal("old", p);
	alloc_fail_nth(1);
	assert_null(alloc_string("x"));
	alloc_fail_nth(1);
	assert_null(alloc_printf("%d", 1));
	alloc_fail_nth(1);
	assert_null(alloc_aligned(64, 64));
	assert_null(alloc_array(SIZE_MAX / 2, 3));
	alloc_free(p);
}

static void texts_are_copied(void **state)
{
	unsigned long live = alloc_live();
	char *a = alloc_string("iqn"), *b = alloc_printf("%s.%d", a, 2026);

	(void)state;
	assert_string_equal("iqn", a);
	assert_string_equal("iqn.2026", b);
	assert_null(alloc_string(NULL));
	a = alloc_resize(a, 1000);
	assert_string_equal("iqn", a);
	alloc_free(a);
	alloc_free(b);
	assert_int_equal(live, alloc_live());
}

static void nothing_is_something_to_free(void **state)
{
	void *p = alloc_zeroed(0), *q = alloc_array(0, 8), *r = alloc_resize(NULL, 0);

	(void)state;
	assert_non_null(p);
	assert_non_null(q);
	assert_non_null(r);
	alloc_free(p);
	alloc_free(q);
	alloc_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_comes_zeroed_and_is_counted),
		cmocka_unit_test(what_is_given_away_is_not_counted_as_living),
		cmocka_unit_test(nth_allocation_fails_and_no_other),
		cmocka_unit_test(every_kind_can_fail),
		cmocka_unit_test(texts_are_copied),
		cmocka_unit_test(nothing_is_something_to_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Fixed pools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/base/alloc.h"
#include "common/base/pool.h"

static void objects_are_aligned_and_apart(void **state)
{
	struct pool *p = pool_new(10, 100);
	char *objects[10];

	(void)state;
	for (int i = 0; i < 10; i++) {
		objects[i] = pool_get(p);
		assert_int_equal(0, (uintptr_t)objects[i] % 64);
		memset(objects[i], i, 100);
	}
	assert_null(pool_get(p));
	for (int i = 0; i < 10; i++) {
		assert_int_equal(i, objects[i][0]);
		assert_int_equal(i, objects[i][99]);
		pool_put(p, objects[i]);
	}
	assert_int_equal(10, pool_available(p));
	pool_free(p);
}

static void object_put_last_is_got_first(void **state)
{
	struct pool *p = pool_new(3, 1);
	void *a = pool_get(p), *b = pool_get(p);

	(void)state;
	assert_int_equal(1, pool_available(p));
	pool_put(p, b);
	pool_put(p, a);
	assert_ptr_equal(a, pool_get(p));
	assert_ptr_equal(b, pool_get(p));
	pool_free(p);
}

static void pool_without_memory_is_none(void **state)
{
	unsigned long live = alloc_live();

	(void)state;
	for (unsigned long n = 1; n <= 2; n++) {
		alloc_fail_nth(n);
		assert_null(pool_new(3, 10));
	}
	assert_null(pool_new(SIZE_MAX / 64, 128));
	assert_null(pool_new(1, SIZE_MAX));
	assert_null(pool_new(SIZE_MAX / 4, 1));
	assert_int_equal(live, alloc_live());
	pool_free(NULL);
}

static void empty_pool_gives_nothing(void **state)
{
	struct pool *p = pool_new(0, 10);

	(void)state;
	assert_non_null(p);
	assert_null(pool_get(p));
	pool_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_aligned_and_apart),
		cmocka_unit_test(object_put_last_is_got_first),
		cmocka_unit_test(pool_without_memory_is_none),
		cmocka_unit_test(empty_pool_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The growing pools of the iSCSI/TCP mover. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/datamover/tcp_slab.h"

static void objects_are_distinct_aligned_and_used_again(void **state)
{
	struct tcp_slab s;
	void *objects[100];
	unsigned long asked;

	(void)state;
	tcp_slab_init(&s, 100, 8);
	for (int i = 0; i < 100; i++) {
		objects[i] = tcp_slab_get(&s);
		assert_non_null(objects[i]);
		assert_int_equal((uintptr_t)objects[i] % 64, 0);
		memset(objects[i], i, 100);
	}
	for (int i = 0; i < 100; i++) {
		assert_int_equal(*(uint8_t *)objects[i], i);
		tcp_slab_put(&s, objects[i]);
	}
	asked = alloc_asked();
	for (int i = 0; i < 100; i++)
		assert_non_null(tcp_slab_get(&s));
	assert_int_equal(alloc_asked(), asked);
	tcp_slab_release(&s);
	assert_int_equal(alloc_live(), 0);
}

static void no_memory_for_a_chunk_is_survived(void **state)
{
	struct tcp_slab s;

	(void)state;
	tcp_slab_init(&s, 8, 4);
	alloc_fail_nth(1);
	assert_null(tcp_slab_get(&s));
	alloc_fail_nth(0);
	assert_non_null(tcp_slab_get(&s));
	tcp_slab_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_distinct_aligned_and_used_again),
		cmocka_unit_test(no_memory_for_a_chunk_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Command buffers (target/arena.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "target/worker.h"

static unsigned take_all(struct arena *a, size_t size)
{
	uint32_t capacity;
	unsigned n = 0;

	while (arena_get(a, size, &capacity)) {
		assert_true(capacity >= size);
		n++;
	}
	return n;
}

static void buffers_lie_in_the_range_and_do_not_overlap(void **state)
{
	struct arena *a = arena_new(0);
	size_t length;
	uint8_t *memory = arena_memory(a, &length), *b;
	uint32_t capacity;
	uint8_t seen[2048] = {0};

	(void)state;
	while ((b = arena_get(a, 1, &capacity))) {
		assert_true(b >= memory && b + capacity <= memory + length);
		assert_int_equal((b - memory) % 4096, 0); /* O_DIRECT */
		assert_int_equal(seen[(b - memory) / 8192], 0);
		for (uint32_t i = 0; i < capacity / 8192; i++)
			seen[(b - memory) / 8192 + i] = 1;
	}
	arena_free(a);
}

static void large_takers_leave_the_small_buffers(void **state)
{
	struct arena *a = arena_new(64u << 20);

	(void)state;
	assert_int_equal(take_all(a, WORKER_LARGE_BUFFER), 40);
	assert_int_equal(take_all(a, WORKER_MEDIUM_BUFFER), 256);
	assert_int_equal(take_all(a, WORKER_SMALL_BUFFER), 1024);
	arena_free(a);
}

static void small_takers_borrow_from_larger_classes(void **state)
{
	struct arena *a = arena_new(64u << 20);

	(void)state;
	assert_int_equal(take_all(a, 1), 1024 + 256 + 40);
	arena_free(a);
}

static void what_is_put_back_can_be_had_again(void **state)
{
	struct arena *a = arena_new(0);
	uint32_t capacity;
	void *b;

	(void)state;
	take_all(a, 1);
	assert_null(arena_get(a, 1, &capacity));
	a = (arena_free(a), arena_new(0));
	b = arena_get(a, WORKER_LARGE_BUFFER, &capacity);
	take_all(a, WORKER_LARGE_BUFFER);
	arena_put(a, b);
	arena_put(a, NULL);
	assert_ptr_equal(arena_get(a, WORKER_LARGE_BUFFER, &capacity), b);
	arena_free(a);
}

static void who_spares_leaves_the_last_large_buffers(void **state)
{
	struct arena *a = arena_new(0);
	void *taken[100];
	uint32_t capacity;
	unsigned count = 0;

	(void)state;
	while ((taken[count] = arena_get_sparing(a, WORKER_LARGE_BUFFER, 2, &capacity)))
		count++;
	taken[count++] = arena_get(a, WORKER_LARGE_BUFFER, &capacity);
	taken[count++] = arena_get(a, WORKER_LARGE_BUFFER, &capacity);
	assert_non_null(taken[count - 2]);
	assert_non_null(taken[count - 1]);
	assert_null(arena_get(a, WORKER_LARGE_BUFFER, &capacity));
	while (count)
		arena_put(a, taken[--count]);
	arena_free(a);
}

static void longer_than_large_is_never_there(void **state)
{
	struct arena *a = arena_new(0);
	uint32_t capacity;

	(void)state;
	assert_null(arena_get(a, WORKER_LARGE_BUFFER + 1, &capacity));
	arena_free(a);
	arena_free(NULL);
}

static void without_memory_there_is_no_arena(void **state)
{
	unsigned long live = alloc_live();

	(void)state;
	for (unsigned long n = 1; n <= 2; n++) {
		alloc_fail_nth(n);
		assert_null(arena_new(0));
	}
	alloc_fail_nth(0);
	assert_int_equal(alloc_live(), live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_lie_in_the_range_and_do_not_overlap),
		cmocka_unit_test(large_takers_leave_the_small_buffers),
		cmocka_unit_test(small_takers_borrow_from_larger_classes),
		cmocka_unit_test(what_is_put_back_can_be_had_again),
		cmocka_unit_test(who_spares_leaves_the_last_large_buffers),
		cmocka_unit_test(longer_than_large_is_never_there),
		cmocka_unit_test(without_memory_there_is_no_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What the stores that stack on another have in common (target/backend/stack.c). */
#include "tests/unit/target/backend/stacked.h"

static void no_memory_is_survived_and_frees_the_store_below(void **state)
{
	struct fault_config fault = {.rule_count = 0};
	struct delay_config delay = {0};
	struct backend *b = NULL;
	struct backend_channel *c = NULL;
	char why[128];

	struct backend *under = memory();
	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, fault_backend_new(under, &fault, &b, why, sizeof(why)));
	under = memory();
	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, delay_backend_new(under, &delay, &b, why, sizeof(why)));
	assert_int_equal(0, fault_backend_new(memory(), &fault, &b, why, sizeof(why)));
	assert_int_equal(0, delay_backend_new(b, &delay, &b, why, sizeof(why)));
	for (unsigned long n = 1; n <= 3; n++) {
		alloc_fail_nth(n);
		assert_int_equal(-ENOMEM, backend_open_channel(b, *state, &c));
	}
	assert_int_equal(0, backend_open_channel(b, *state, &c));
	assert_int_equal(0, run(c, BACKEND_READ, 0, 512));
	stack_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_memory_is_survived_and_frees_the_store_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The store that fails (target/backend/fault.c): which requests a rule hits. */
#include "tests/unit/target/backend/stacked.h"

static struct backend_channel *fault_open(
	struct loop *l, const struct fault_rule *rules, size_t count)
{
	struct fault_config config = {.rule_count = count};
	struct backend_channel *c = NULL;
	struct backend *b = NULL;
	char why[128];

	memcpy(config.rules, rules, count * sizeof(*rules));
	assert_int_equal(0, fault_backend_new(memory(), &config, &b, why, sizeof(why)));
	assert_int_equal(0, backend_open_channel(b, l, &c));
	return c;
}

static void rule_hits_its_operation_alone(void **state)
{
	const struct fault_rule rule = {.operation = BACKEND_WRITE, .error = ENOSPC};
	struct backend_channel *c = fault_open(*state, &rule, 1);

	assert_int_equal(-ENOSPC, run(c, BACKEND_WRITE, 0, 512));
	assert_int_equal(0, run(c, BACKEND_READ, 0, 512));
	assert_int_equal(0, run(c, BACKEND_FLUSH, 0, 0));
	stack_close(c);
}

static void rule_hits_what_touches_its_range(void **state)
{
	const struct fault_rule rule = {
		.every_operation = true, .from = 1024, .to = 2048, .error = EIO};
	struct backend_channel *c = fault_open(*state, &rule, 1);

	assert_int_equal(0, run(c, BACKEND_READ, 0, 1024));
	assert_int_equal(0, run(c, BACKEND_READ, 2048, 512));
	assert_int_equal(-EIO, run(c, BACKEND_READ, 512, 1024));
	assert_int_equal(-EIO, run(c, BACKEND_WRITE, 1536, 512));
	assert_int_equal(-EIO, run(c, BACKEND_DISCARD, 0, SIZE));
	stack_close(c);
}

static void rule_lets_the_first_pass_and_ends_after_its_count(void **state)
{
	const struct fault_rule rules[] = {
		{.operation = BACKEND_READ, .after = 2, .count = 3, .error = EIO},
		{.operation = BACKEND_READ, .after = 6, .error = ENOMEM},
	};
	struct backend_channel *c = fault_open(*state, rules, 2);
	/* The second rule sees only what the first let pass: five of the first eight. */
	static const int expected[] = {0, 0, -EIO, -EIO, -EIO, 0, 0, 0, 0, -ENOMEM, -ENOMEM};

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_int_equal(expected[i], run(c, BACKEND_READ, 0, 512));
	stack_close(c);
}

static void failed_write_does_not_reach_the_store_below(void **state)
{
	const struct fault_rule rule = {.operation = BACKEND_WRITE, .count = 1, .error = EIO};
	struct backend_channel *c = fault_open(*state, &rule, 1);
	uint8_t data[512] = {1}, back[512];

	assert_int_equal(-EIO, io_run(c, BACKEND_WRITE, 0, data, 512));
	assert_int_equal(0, io_run(c, BACKEND_READ, 0, back, 512));
	assert_int_equal(0, back[0]);
	stack_close(c);
}

static void impossible_rules_are_refused_with_a_line(void **state)
{
	struct fault_config config = {.rule_count = 1};
	struct backend *b = NULL;
	char why[128] = "";

	(void)state;
	assert_int_equal(-EINVAL, fault_backend_new(memory(), &config, &b, why, sizeof(why)));
	assert_true(strlen(why) > 0);
	config.rule_count = 17;
	assert_int_equal(-EINVAL, fault_backend_new(memory(), &config, &b, why, sizeof(why)));
	assert_null(b);
}

/* A flush has no range: a bad block may be among what it writes. */
static void flush_is_hit_by_rules_of_any_range(void **state)
{
	const struct fault_rule rule = {
		.operation = BACKEND_FLUSH, .from = 4096, .to = 8192, .error = EIO};
	struct backend_channel *c = fault_open(*state, &rule, 1);

	assert_int_equal(-EIO, run(c, BACKEND_FLUSH, 0, 0));
	assert_int_equal(0, run(c, BACKEND_WRITE, 4096, 512));
	stack_close(c);
}

static void channels_count_together(void **state)
{
	const struct fault_rule rule = {
		.operation = BACKEND_READ, .after = 1, .count = 1, .error = EIO};
	struct backend_channel *a = fault_open(*state, &rule, 1), *b = NULL;

	assert_int_equal(0, backend_open_channel(a->backend, *state, &b));
	assert_int_equal(0, run(a, BACKEND_READ, 0, 512));
	assert_int_equal(-EIO, run(b, BACKEND_READ, 0, 512));
	assert_int_equal(0, run(a, BACKEND_READ, 0, 512));
	backend_close_channel(b);
	stack_close(a);
}

static void first_rule_that_fails_counts(void **state)
{
	const struct fault_rule rules[] = {
		{.operation = BACKEND_WRITE, .error = ENOSPC},
		{.every_operation = true, .error = EIO},
	};
	struct backend_channel *c = fault_open(*state, rules, 2);

	assert_int_equal(-ENOSPC, run(c, BACKEND_WRITE, 0, 512));
	assert_int_equal(-EIO, run(c, BACKEND_READ, 0, 512));
	stack_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rule_hits_its_operation_alone),
		TEST(rule_hits_what_touches_its_range),
		TEST(rule_lets_the_first_pass_and_ends_after_its_count),
		TEST(failed_write_does_not_reach_the_store_below),
		TEST(impossible_rules_are_refused_with_a_line),
		TEST(flush_is_hit_by_rules_of_any_range),
		TEST(channels_count_together),
		TEST(first_rule_that_fails_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

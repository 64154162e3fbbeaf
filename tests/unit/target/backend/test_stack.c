/* The stores that stack on another: delay, and fault. On a virtual clock. */
#include "tests/unit/target/backend/store.h"

#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"

#define SIZE (64u * 1024)

static int setup(void **state)
{
	*state = loop_new(&(struct loop_config){.virtual_clock = true});
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	loop_free(*state);
	return alloc_live() == 0 ? 0 : -1;
}

static struct backend *memory(void)
{
	struct backend *b = NULL;
	char why[128];

	assert_int_equal(
		0, memory_backend_new(&(struct memory_config){.size = SIZE}, &b, why, sizeof(why)));
	return b;
}

static struct backend_channel *delay_open(struct loop *l, uint64_t read, uint64_t write)
{
	struct delay_config config = {.read_ns = read, .write_ns = write};
	struct backend_channel *c = NULL;
	struct backend *b = NULL;
	char why[128];

	assert_int_equal(0, delay_backend_new(memory(), &config, &b, why, sizeof(why)));
	assert_int_equal(0, backend_open_channel(b, l, &c));
	return c;
}

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

static void stack_close(struct backend_channel *c)
{
	struct backend *b = c->backend;

	backend_close_channel(c);
	backend_free(b);
}

static void delayed_requests_are_done_after_their_time(void **state)
{
	struct loop *l = *state;
	struct backend_channel *c = delay_open(l, 1000, 5000);
	struct io read = {0}, write = {0}, flush = {0};
	uint8_t data[512] = {9}, back[512];

	io_start(c, &write, BACKEND_WRITE, 0, data, 512);
	io_start(c, &read, BACKEND_READ, 512, back, 512);
	io_start(c, &flush, BACKEND_FLUSH, 0, NULL, 0);
	loop_turn(l, 0);
	assert_true(flush.done);
	loop_advance(l, 999);
	assert_false(read.done);
	loop_advance(l, 1);
	assert_true(read.done);
	assert_false(write.done);
	loop_advance(l, 4000);
	assert_true(write.done);
	stack_close(c);
}

static void each_delayed_request_has_its_own_time(void **state)
{
	struct loop *l = *state;
	struct backend_channel *c = delay_open(l, 100, 0);
	struct io ios[10] = {0};
	uint8_t back[512];

	for (int i = 0; i < 10; i++) {
		io_start(c, &ios[i], BACKEND_READ, 0, back, 512);
		loop_advance(l, 10);
	}
	for (int i = 0; i < 10; i++) {
		assert_true(ios[i].done);
		assert_true(i == 9 || !ios[i + 1].done);
		loop_advance(l, 10);
	}
	stack_close(c);
}

static void delay_without_memory_for_a_timer_is_early_not_lost(void **state)
{
	struct loop *l = *state;
	struct backend_channel *c = delay_open(l, 100, 0);
	struct io io = {0};
	uint8_t back[512];

	alloc_fail_nth(1);
	io_start(c, &io, BACKEND_READ, 0, back, 512);
	alloc_fail_nth(0);
	loop_advance(l, 100);
	assert_true(io.done);
	stack_close(c);
}

static int run(struct backend_channel *c, enum backend_operation op, uint64_t at, uint64_t length)
{
	static uint8_t data[SIZE];

	return io_run(c, op, at, data, length);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(delayed_requests_are_done_after_their_time),
		TEST(each_delayed_request_has_its_own_time),
		TEST(delay_without_memory_for_a_timer_is_early_not_lost),
		TEST(rule_hits_its_operation_alone),
		TEST(rule_hits_what_touches_its_range),
		TEST(rule_lets_the_first_pass_and_ends_after_its_count),
		TEST(failed_write_does_not_reach_the_store_below),
		TEST(impossible_rules_are_refused_with_a_line),
		TEST(no_memory_is_survived_and_frees_the_store_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The store that is slow (target/backend/delay.c), on a virtual clock. */
#include "tests/unit/target/backend/stacked.h"

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

/* Zeros are written, and discarding is writing too; a flush has a time of its own. */
static void every_operation_has_its_lane(void **state)
{
	static const struct {
		enum backend_operation operation;
		uint64_t ns;
	} rows[] = {
		{BACKEND_READ, 100},
		{BACKEND_WRITE, 200},
		{BACKEND_DISCARD, 200},
		{BACKEND_WRITE_ZEROES, 200},
		{BACKEND_FLUSH, 300},
	};
	struct delay_config config = {.read_ns = 100, .write_ns = 200, .flush_ns = 300};
	struct backend_channel *c = NULL;
	struct backend *b = NULL;
	char why[128];
	uint8_t data[512] = {0};

	assert_int_equal(0, delay_backend_new(memory(), &config, &b, why, sizeof(why)));
	assert_int_equal(0, backend_open_channel(b, *state, &c));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct io io = {0};

		io_start(c, &io, rows[i].operation, 0, data, 512);
		loop_advance(*state, rows[i].ns - 1);
		assert_false(io.done);
		loop_advance(*state, 1);
		assert_true(io.done);
	}
	stack_close(c);
}

/* A slow read holds up no write, and what was read is what the store had when it was due. */
static void lanes_do_not_wait_for_each_other(void **state)
{
	struct backend_channel *c = delay_open(*state, 1000, 10);
	uint8_t data[512] = {7}, back[512] = {0};
	struct io read = {0}, write = {0};

	io_start(c, &read, BACKEND_READ, 0, back, 512);
	io_start(c, &write, BACKEND_WRITE, 0, data, 512);
	loop_advance(*state, 10);
	assert_true(write.done && !read.done);
	loop_advance(*state, 990);
	assert_true(read.done);
	assert_int_equal(7, back[0]);
	stack_close(c);
}

/* What is told of the store below is told of this one. */
static void it_looks_like_the_store_below_but_for_its_memory(void **state)
{
	struct backend_channel *c = delay_open(*state, 1, 1);

	assert_int_equal(SIZE, c->backend->info.size);
	assert_int_equal(512, c->backend->info.block_size);
	/* Data that went straight from memory would not be slow. */
	assert_null(backend_map(c->backend, 0, 512));
	stack_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(delayed_requests_are_done_after_their_time),
		TEST(each_delayed_request_has_its_own_time),
		TEST(delay_without_memory_for_a_timer_is_early_not_lost),
		TEST(every_operation_has_its_lane),
		TEST(lanes_do_not_wait_for_each_other),
		TEST(it_looks_like_the_store_below_but_for_its_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

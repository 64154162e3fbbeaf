/* The memory store. */
#include "tests/unit/target/backend/memory_store.h"

static void fresh_memory_reads_as_zeros(void **state)
{
	struct fixture *f = *state;
	uint8_t data[512], zeros[512] = {0};

	memset(data, 0xff, sizeof(data));
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, SIZE - 512, data, 512));
	assert_memory_equal(zeros, data, 512);
}

static void what_was_written_is_read(void **state)
{
	struct fixture *f = *state;
	char data[512] = "written", back[512];

	assert_int_equal(0, io_run(f->channel, BACKEND_WRITE, 1024, data, 512));
	assert_int_equal(0, io_run(f->channel, BACKEND_FLUSH, 0, NULL, 0));
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 1024, back, 512));
	assert_memory_equal(data, back, 512);
}

static void mapped_content_needs_no_copy(void **state)
{
	struct fixture *f = *state;
	char *at = backend_map(f->backend, 4096, 512);

	strcpy(at, "put here by the mover");
	assert_int_equal(0, io_run(f->channel, BACKEND_WRITE, 4096, at, 512));
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 4096, at, 512));
	assert_string_equal("put here by the mover", at);
}

/* Every edge: inside one page, over a page border, with whole pages within. */
static void zeroed_range_is_zero_and_its_neighbours_are_not(struct fixture *f)
{
	static const struct {
		uint64_t at, length;
	} ranges[] = {
		{0, SIZE}, {512, 512}, {3584, 1024}, {512, 3 * 4096}, {4096, 8192}, {4608, 0}};
	uint8_t *content = backend_map(f->backend, 0, SIZE);

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		memset(content, 0xee, SIZE);
		assert_int_equal(
			0, io_run(f->channel, i % 2 ? BACKEND_DISCARD : BACKEND_WRITE_ZEROES,
				   ranges[i].at, NULL, ranges[i].length));
		for (uint64_t at = 0; at < SIZE; at++)
			if (content[at] !=
				(at >= ranges[i].at && at < ranges[i].at + ranges[i].length ? 0
											    : 0xee))
				fail_msg("range %zu, byte %llu", i, (unsigned long long)at);
	}
}

static void discarded_range_reads_as_zeros(void **state)
{
	zeroed_range_is_zero_and_its_neighbours_are_not(*state);
}

static void discarded_range_of_pinned_memory_reads_as_zeros(void **state)
{
	struct fixture *f = *state;
	size_t length;

	assert_ptr_equal(
		backend_map(f->backend, 0, SIZE), f->backend->ops->memory(f->backend, &length));
	assert_true(length >= SIZE);
	f->backend->ops->pin(f->backend);
	zeroed_range_is_zero_and_its_neighbours_are_not(f);
}

/* A file system that is made on a large store discards all of it first. */
static void discarding_what_was_never_written_allocates_nothing(void **state)
{
	struct fixture *f = *state;
	struct backend_channel *c;
	struct backend *b;
	size_t length;
	unsigned char resident[16];
	char why[128];
	uint8_t *memory;

	assert_int_equal(0, memory_backend_new(&(struct memory_config){.size = 1ull << 40}, &b, why,
				    sizeof(why)));
	memory = b->ops->memory(b, &length);
	assert_int_equal(0, backend_open_channel(b, f->loop, &c));
	assert_int_equal(0, io_run(c, BACKEND_DISCARD, 0, NULL, 1ull << 40));
	assert_int_equal(0, mincore(memory + (1ull << 39), sizeof(resident) * 4096, resident));
	for (size_t i = 0; i < sizeof(resident); i++)
		assert_int_equal(0, resident[i] & 1);
	backend_close_channel(c);
	backend_free(b);
}

static void readonly_memory_refuses_what_changes_it(void **state)
{
	struct fixture *f = *state;
	uint8_t data[512] = {1};

	f->backend->info.readonly = true;
	assert_int_equal(-EROFS, io_run(f->channel, BACKEND_WRITE, 0, data, 512));
	assert_int_equal(-EROFS, io_run(f->channel, BACKEND_DISCARD, 0, NULL, 512));
	assert_int_equal(-EROFS, io_run(f->channel, BACKEND_WRITE_ZEROES, 0, NULL, 512));
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 0, data, 512));
	assert_int_equal(0, data[0]);
}

static void no_memory_is_survived(void **state)
{
	struct fixture *f = *state;
	struct memory_config config = {.size = SIZE};
	struct backend_channel *c = NULL;
	struct backend *b = NULL;
	char why[128];

	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, memory_backend_new(&config, &b, why, sizeof(why)));
	sys_fail_nth(1, ENOMEM);
	assert_int_equal(-ENOMEM, memory_backend_new(&config, &b, why, sizeof(why)));
	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, null_backend_new(&config, &b, why, sizeof(why)));
	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, backend_open_channel(f->backend, f->loop, &c));
	assert_null(b);
	assert_null(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fresh_memory_reads_as_zeros),
		TEST(what_was_written_is_read),
		TEST(mapped_content_needs_no_copy),
		TEST(discarded_range_reads_as_zeros),
		TEST(discarded_range_of_pinned_memory_reads_as_zeros),
		TEST(discarding_what_was_never_written_allocates_nothing),
		TEST(readonly_memory_refuses_what_changes_it),
		TEST(no_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The store that forgets (target/backend/null.c). */
#include "tests/unit/target/backend/memory_store.h"

static void null_store_reads_zeros_and_forgets_writes(void **state)
{
	struct fixture *f = *state;
	struct memory_config config = {.size = SIZE, .block_size = 4096};
	struct backend_channel *c;
	struct backend *b;
	uint8_t data[4096], zeros[4096] = {0};
	char why[128];

	assert_int_equal(0, null_backend_new(&config, &b, why, sizeof(why)));
	assert_int_equal(4096, b->info.block_size);
	assert_int_equal(0, backend_open_channel(b, f->loop, &c));
	memset(data, 7, sizeof(data));
	assert_int_equal(0, io_run(c, BACKEND_WRITE, 0, data, sizeof(data)));
	assert_int_equal(0, io_run(c, BACKEND_READ, 0, data, sizeof(data)));
	assert_memory_equal(zeros, data, sizeof(data));
	assert_int_equal(0, io_run(c, BACKEND_FLUSH, 0, NULL, 0));
	assert_null(backend_map(b, 0, 512));
	b->info.readonly = true;
	assert_int_equal(-EROFS, io_run(c, BACKEND_WRITE, 0, data, sizeof(data)));
	backend_close_channel(c);
	backend_free(b);
}

static void null_store_never_completes_from_inside(void **state)
{
	struct fixture *f = *state;
	struct memory_config config = {.size = 4096};
	struct io ios[3] = {0};
	struct backend_channel *c;
	struct backend *b;
	uint8_t data[512];
	char why[128];

	assert_int_equal(0, null_backend_new(&config, &b, why, sizeof(why)));
	assert_int_equal(0, backend_open_channel(b, f->loop, &c));
	for (size_t i = 0; i < 3; i++)
		io_start(c, &ios[i], BACKEND_READ, 0, data, 512);
	loop_turn(f->loop, 0);
	for (size_t i = 0; i < 3; i++)
		assert_true(ios[i].done);
	assert_int_equal(0, io_run(c, BACKEND_DISCARD, 0, NULL, 4096));
	assert_int_equal(0, io_run(c, BACKEND_WRITE_ZEROES, 0, NULL, 4096));
	backend_close_channel(c);
	backend_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(null_store_reads_zeros_and_forgets_writes),
		TEST(null_store_never_completes_from_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Requests of a file store through io_uring (target/backend/file_uring.c). */
#include "tests/unit/target/backend/file_store.h"

static void story_many(struct fixture *f)
{
	enum {
		MANY = 300
	};
	static struct io ios[MANY];

	fill(f->data, SIZE, 3);
	memset(ios, 0, sizeof(ios));
	for (size_t i = 0; i < MANY; i++) {
		ios[i].request.fua = i % 100 == 0;
		io_start(f->channel, &ios[i], BACKEND_WRITE, i * 4096, f->data + i * 4096, 4096);
	}
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(0, io_wait(f->channel, &ios[i]));
	for (size_t i = 0; i < MANY; i++)
		io_start(f->channel, &ios[i], BACKEND_READ, i * 4096, f->back + i * 4096, 4096);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(0, io_wait(f->channel, &ios[i]));
	assert_memory_equal(f->data, f->back, MANY * 4096);
}

static void more_requests_than_the_ring_holds(void **state)
{
	with_every_engine(state, story_many);
}

static void story_arena(struct fixture *f)
{
	const struct backend_ops *ops = f->backend->ops;

	fill(f->data, SIZE, 4);
	/* May be refused (RLIMIT_MEMLOCK), and must then do without. */
	ops->register_arena(f->channel, f->data, SIZE);
	assert_int_equal(0, io_run(f->channel, BACKEND_WRITE, 0, f->data, SIZE));
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 0, f->back, SIZE));
	assert_memory_equal(f->data, f->back, SIZE);
	memset(f->data, 0, SIZE);
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 4096, f->data + 8192, 128 * 1024));
	assert_memory_equal(f->back + 4096, f->data + 8192, 128 * 1024);
}

static void registered_memory_is_read_into_and_written_from(void **state)
{
	with_every_engine(state, story_arena);
}

static void refused_ring_leads_to_threads(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(0, file_backend_new(&f->config, &f->backend, f->why, sizeof(f->why)));
	sys_fail_nth(1, EPERM);
	assert_int_equal(0, backend_open_channel(f->backend, f->loop, &f->channel));
	assert_true(sys_fail_happened());
	story_write_and_read(f);
	close_all(f);
	f->config.engine = FILE_ENGINE_URING;
	assert_int_equal(0, file_backend_new(&f->config, &f->backend, f->why, sizeof(f->why)));
	sys_fail_nth(1, EPERM);
	assert_int_equal(-EPERM, backend_open_channel(f->backend, f->loop, &f->channel));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(more_requests_than_the_ring_holds),
		TEST(registered_memory_is_read_into_and_written_from),
		TEST(refused_ring_leads_to_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Requests of a file store through io_uring (target/backend/file_uring.c). */
#include <fcntl.h>

#include "tests/unit/target/backend/file_store.h"

#include "target/backend/file.h"

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

/* Reads of an empty pipe stay in the kernel. */
static void full_ring_is_waited_for_asleep(void **state)
{
	enum {
		MANY = 300
	};
	static struct io ios[MANY];
	struct fixture *f = *state;
	struct file_backend b = {0};
	struct file_uring *u;
	int ends[2];

	assert_int_equal(0, pipe2(ends, O_CLOEXEC));
	b.fd = ends[0];
	if (file_uring_new(&b, f->loop, NULL, &u) < 0)
		skip();
	for (size_t i = 0; i < MANY; i++) {
		ios[i] = (struct io){.request = {.operation = BACKEND_READ,
					     .length = 4096,
					     .data = f->back + i * 4096,
					     .done = io_done}};
		file_uring_submit(u, &ios[i].request);
	}
	for (int turns = 0; turns < 10; turns++)
		loop_turn(f->loop, 0);
	assert_false(loop_turn(f->loop, 0));
	close(ends[1]);
	for (size_t i = 0; i < MANY; i++) {
		AWAIT(f->loop, ios[i].done);
		assert_int_equal(-EIO, ios[i].status);
	}
	file_uring_free(u);
	close(ends[0]);
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
		TEST(full_ring_is_waited_for_asleep),
		TEST(registered_memory_is_read_into_and_written_from),
		TEST(refused_ring_leads_to_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

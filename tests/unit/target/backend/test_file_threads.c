/* Requests of a file store by threads of its own (target/backend/file_threads.c). */
#include "tests/unit/target/backend/file_store.h"

#include "target/backend/file.h"
#include "tests/kit/await.h"

enum {
	MANY = 200
};

static struct file_backend open_file(struct fixture *f)
{
	struct file_backend b = {.write_cache = true};

	b.fd = open(f->path, O_RDWR | O_CLOEXEC);
	assert_true(b.fd >= 0);
	return b;
}

static void submit(struct file_threads *t, struct io *io, enum backend_operation operation,
	uint64_t at, void *data)
{
	*io = (struct io){.request = {.operation = operation,
				  .offset = at,
				  .length = 4096,
				  .data = data,
				  .done = io_done}};
	file_threads_submit(t, &io->request);
}

static void wait_for(struct loop *l, const struct io *io)
{
	AWAIT(l, io->done);
}

static void many_requests_by_few_threads(void **state)
{
	struct fixture *f = *state;
	struct file_backend b = open_file(f);
	static struct io ios[MANY];
	struct file_threads *t;

	fill(f->data, SIZE, 1);
	assert_int_equal(0, file_threads_new(&b, f->loop, 3, &t));
	for (size_t i = 0; i < MANY; i++)
		submit(t, &ios[i], BACKEND_WRITE, i * 4096, f->data + i * 4096);
	for (size_t i = 0; i < MANY; i++) {
		wait_for(f->loop, &ios[i]);
		assert_int_equal(0, ios[i].status);
	}
	for (size_t i = 0; i < MANY; i++)
		submit(t, &ios[i], BACKEND_READ, i * 4096, f->back + i * 4096);
	for (size_t i = 0; i < MANY; i++)
		wait_for(f->loop, &ios[i]);
	assert_memory_equal(f->data, f->back, MANY * 4096);
	file_threads_free(t);
	close(b.fd);
}

/* done() comes on the loop's thread, not on one of the pool's. */
static void requests_are_done_by_the_loop(void **state)
{
	struct fixture *f = *state;
	struct file_backend b = open_file(f);
	struct file_threads *t;
	struct io io;

	assert_int_equal(0, file_threads_new(&b, f->loop, 1, &t));
	submit(t, &io, BACKEND_READ, 0, f->back);
	usleep(20000); /* the thread may be through with it */
	assert_false(io.done);
	wait_for(f->loop, &io);
	file_threads_free(t);
	close(b.fd);
}

static void failure_comes_with_its_error(void **state)
{
	struct fixture *f = *state;
	struct file_backend b = {.fd = -1};
	struct file_threads *t;
	struct io io;

	assert_int_equal(0, file_threads_new(&b, f->loop, 2, &t));
	submit(t, &io, BACKEND_READ, 0, f->back);
	wait_for(f->loop, &io);
	assert_int_equal(-EBADF, io.status);
	file_threads_free(t);
	file_threads_free(NULL);
}

static void any_failed_allocation_leaves_no_thread_behind(void **state)
{
	struct fixture *f = *state;
	unsigned long live = alloc_live();
	struct file_backend b = {.fd = -1};
	struct file_threads *t = NULL;

	for (unsigned long n = 1; n <= 7; n++) { /* the pool, and two buffers of each thread */
		alloc_fail_nth(n);
		assert_int_equal(-ENOMEM, file_threads_new(&b, f->loop, 3, &t));
		alloc_fail_nth(0);
		assert_null(t);
		assert_int_equal(live, alloc_live());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(many_requests_by_few_threads),
		TEST(requests_are_done_by_the_loop),
		TEST(failure_comes_with_its_error),
		TEST(any_failed_allocation_leaves_no_thread_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

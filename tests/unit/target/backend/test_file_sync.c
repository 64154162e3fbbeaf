/* What a file store says after a failed write-back (target/backend/file_sync.c). */
#include "tests/unit/target/backend/file_store.h"

#include <fcntl.h>

#include "target/backend/file.h"

static const struct backend_request flush = {.operation = BACKEND_FLUSH};

static int write_durably(struct fixture *f)
{
	struct io io = {.request.fua = true};

	io_start(f->channel, &io, BACKEND_WRITE, 0, f->data, 4096);
	return io_wait(f->channel, &io);
}

static void story_flush_fails(struct fixture *f)
{
	int later = f->config.direct ? 0 : -EIO;

	assert_int_equal(-EIO, file_sync_result(file_of(f->backend), &flush, -EIO));
	assert_int_equal(later, io_run(f->channel, BACKEND_FLUSH, 0, NULL, 0));
	assert_int_equal(later, write_durably(f));
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 0, f->back, 4096));
	if (f->config.write_cache)
		assert_int_equal(0, io_run(f->channel, BACKEND_WRITE, 0, f->data, 4096));
	close_all(f);
	assert_int_equal(0, open_all(f));
	assert_int_equal(0, io_run(f->channel, BACKEND_FLUSH, 0, NULL, 0));
}

static void flush_behind_a_failed_one_is_not_good(void **state)
{
	with_every_engine(state, story_flush_fails);
}

static void failed_flush_of_a_thread_is_remembered(void **state)
{
	struct fixture *f = *state;
	struct file_backend b = {.path = f->path, .write_cache = true};

	b.fd = open(f->path, O_RDWR | O_CLOEXEC);
	assert_true(b.fd >= 0);
	sys_fail_nth(1, EIO); /* fdatasync() */
	assert_int_equal(-EIO, file_execute(&b, &flush, NULL));
	sys_fail_nth(0, 0);
	assert_int_equal(-EIO, file_execute(&b, &flush, NULL));
	close(b.fd);
}

/* A pipe cannot be synced. */
static void failed_flush_of_the_ring_is_remembered(void **state)
{
	struct fixture *f = *state;
	struct file_backend b = {.path = "a pipe", .write_cache = true};
	struct io io = {.request = {.operation = BACKEND_FLUSH, .done = io_done}};
	struct file_uring *u;
	int ends[2];

	assert_int_equal(0, pipe2(ends, O_CLOEXEC));
	b.fd = ends[0];
	if (file_uring_new(&b, f->loop, NULL, &u) < 0)
		skip();
	file_uring_submit(u, &io.request);
	AWAIT(f->loop, io.done);
	assert_true(io.status < 0);
	assert_int_equal(io.status, atomic_load(&b.lost));
	file_uring_free(u);
	close(ends[0]);
	close(ends[1]);
}

static int result(struct file_backend *f, enum backend_operation operation, bool fua, int status)
{
	const struct backend_request r = {.operation = operation, .fua = fua, .length = 4096};

	return file_sync_result(f, &r, status);
}

static void durable_write_may_tell_of_another_write(void **state)
{
	struct file_backend b = {.path = "x", .write_cache = true};

	(void)state;
	assert_int_equal(-EIO, result(&b, BACKEND_WRITE, true, -EIO));
	assert_int_equal(-EIO, result(&b, BACKEND_FLUSH, false, 0));
	assert_int_equal(-EIO, result(&b, BACKEND_DISCARD, true, 0));
	assert_int_equal(0, result(&b, BACKEND_DISCARD, false, 0));
	assert_int_equal(-EINVAL, result(&b, BACKEND_WRITE, true, -EINVAL));
}

static void failures_that_lose_nothing_are_forgotten(void **state)
{
	struct file_backend b = {.path = "x", .write_cache = true};

	(void)state;
	assert_int_equal(-EIO, result(&b, BACKEND_WRITE, false, -EIO));
	assert_int_equal(-EIO, result(&b, BACKEND_READ, true, -EIO));
	assert_int_equal(-ENOSPC, result(&b, BACKEND_WRITE, true, -ENOSPC));
	assert_int_equal(-ENOMEM, result(&b, BACKEND_FLUSH, false, -ENOMEM));
	assert_int_equal(0, result(&b, BACKEND_FLUSH, false, 0));
	assert_int_equal(-ENOSPC, result(&b, BACKEND_FLUSH, false, -ENOSPC));
	assert_int_equal(-ENOSPC, result(&b, BACKEND_FLUSH, false, 0));
}

static void without_a_write_cache_every_write_is_durable(void **state)
{
	struct file_backend b = {.path = "x"};

	(void)state;
	assert_int_equal(-EIO, result(&b, BACKEND_WRITE, false, -EIO));
	assert_int_equal(-EIO, result(&b, BACKEND_WRITE, false, 0));
	assert_int_equal(0, result(&b, BACKEND_READ, false, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(flush_behind_a_failed_one_is_not_good),
		TEST(failed_flush_of_a_thread_is_remembered),
		TEST(failed_flush_of_the_ring_is_remembered),
		TEST(durable_write_may_tell_of_another_write),
		TEST(failures_that_lose_nothing_are_forgotten),
		TEST(without_a_write_cache_every_write_is_durable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

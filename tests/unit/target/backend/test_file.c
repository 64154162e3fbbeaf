/* The file store (target/backend/file.c) as a whole, each test through each engine. */
#include "tests/unit/target/backend/file_store.h"

static void what_was_written_is_read(void **state)
{
	with_every_engine(state, story_write_and_read);
}

static void story_shortened(struct fixture *f)
{
	assert_int_equal(0, truncate(f->path, 4096));
	assert_int_equal(-EIO, io_run(f->channel, BACKEND_READ, 8192, f->back, 4096));
	assert_int_equal(-EIO, io_run(f->channel, BACKEND_READ, 0, f->back, 1024 * 1024));
	assert_int_equal(0, truncate(f->path, SIZE));
}

static void file_that_became_shorter_fails_and_does_not_hang(void **state)
{
	with_every_engine(state, story_shortened);
}

static void story_readonly(struct fixture *f)
{
	close_all(f);
	f->config.readonly = true;
	assert_int_equal(0, open_all(f));
	assert_true(f->backend->info.readonly);
	assert_int_equal(-EROFS, io_run(f->channel, BACKEND_WRITE, 0, f->data, 4096));
	assert_int_equal(-EROFS, io_run(f->channel, BACKEND_DISCARD, 0, NULL, 4096));
	assert_int_equal(-EROFS, io_run(f->channel, BACKEND_WRITE_ZEROES, 0, NULL, 4096));
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 0, f->back, 4096));
	f->config.readonly = false;
}

static void readonly_store_refuses_what_changes_it(void **state)
{
	with_every_engine(state, story_readonly);
}

/* Every call fails once, one after the other: the request fails or succeeds, but always ends, and
 * the next read is fine. EINTR and EAGAIN are nobody's failure. */
static void story_failures(struct fixture *f)
{
	static const int errors[] = {EIO, ENOSPC, EINTR, EAGAIN};

	for (size_t e = 0; e < ARRAY_SIZE(errors); e++)
		for (unsigned long n = 1; n < 8; n++) {
			int rc;

			sys_fail_nth(n, errors[e]);
			rc = io_run(f->channel, BACKEND_WRITE, 0, f->data, 256 * 1024);
			assert_true(rc == 0 || rc == -errors[e]);
			assert_true(rc == 0 || e < 2);
			sys_fail_nth(n, errors[e]);
			rc = io_run(f->channel, BACKEND_READ, 0, f->back, 4096);
			assert_true(rc == 0 || (rc == -errors[e] && e < 2));
			sys_fail_nth(0, 0);
			assert_int_equal(
				0, io_run(f->channel, BACKEND_READ, 0, f->back, 256 * 1024));
			/* A lost write-back is remembered (file_sync.c): not here. */
			close_all(f);
			assert_int_equal(0, open_all(f));
		}
}

static void any_failed_call_ends_one_request_at_most(void **state)
{
	with_every_engine(state, story_failures);
}

static void any_failed_allocation_or_call_while_opening_is_survived(void **state)
{
	static const enum file_engine engines[] = {
		FILE_ENGINE_AUTO, FILE_ENGINE_URING, FILE_ENGINE_THREADS};
	struct fixture *f = *state;

	f->config.direct = true;
	for (size_t e = 0; e < ARRAY_SIZE(engines); e++) {
		f->config.engine = engines[e];
		for (unsigned long n = 1; n < 40; n++) {
			alloc_fail_nth(n);
			open_all(f);
			alloc_fail_nth(0);
			if (f->channel)
				assert_int_equal(
					0, io_run(f->channel, BACKEND_READ, 0, f->back, 4096));
			close_all(f);
		}
		for (unsigned long n = 1; n < 20; n++) {
			sys_fail_nth(n, EIO);
			open_all(f);
			sys_fail_nth(0, 0);
			if (f->channel)
				assert_int_equal(
					0, io_run(f->channel, BACKEND_READ, 0, f->back, 4096));
			close_all(f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_written_is_read),
		TEST(file_that_became_shorter_fails_and_does_not_hang),
		TEST(readonly_store_refuses_what_changes_it),
		TEST(any_failed_call_ends_one_request_at_most),
		TEST(any_failed_allocation_or_call_while_opening_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

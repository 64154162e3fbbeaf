/* The file store, each test through each engine, buffered and direct; and what is wrong with paths.
 */
#include "tests/unit/target/backend/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/sys.h"

#define SIZE (4u * 1024 * 1024)

struct fixture {
	char path[64];
	struct file_config config;
	struct loop *loop;
	struct backend *backend;
	struct backend_channel *channel;
	uint8_t *data, *back; /* page-aligned, SIZE each */
	char why[256];
};

static void no_line(void *arg, enum log_level level, const char *line)
{
	(void)arg;
	(void)level;
	(void)line;
}

static int make(void **state, const char *directory)
{
	struct fixture *f = alloc_zeroed(sizeof(*f));
	int fd;

	*state = f;
	snprintf(f->path, sizeof(f->path), "%s/store-XXXXXX", directory);
	fd = mkstemp(f->path);
	if (fd < 0 || ftruncate(fd, SIZE) < 0)
		return -1;
	close(fd);
	f->config = (struct file_config){.path = f->path, .write_cache = true};
	f->loop = loop_new(NULL);
	f->data = alloc_aligned(4096, SIZE);
	f->back = alloc_aligned(4096, SIZE);
	log_set_sink(no_line, NULL);
	return f->loop && f->data && f->back ? 0 : -1;
}

/* tests/ runs where /tmp may be a tmpfs that knows no direct I/O; /var/tmp is a disk. */
static int setup(void **state)
{
	return make(state, "/var/tmp");
}

static int setup_tmpfs(void **state)
{
	return make(state, "/dev/shm");
}

static void close_all(struct fixture *f)
{
	backend_close_channel(f->channel);
	backend_free(f->backend);
	f->channel = NULL;
	f->backend = NULL;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close_all(f);
	loop_free(f->loop);
	alloc_free(f->data);
	alloc_free(f->back);
	unlink(f->path);
	alloc_free(f);
	log_set_sink(NULL, NULL);
	return alloc_live() == 0 ? 0 : -1;
}

static int open_all(struct fixture *f)
{
	int rc = file_backend_new(&f->config, &f->backend, f->why, sizeof(f->why));

	return rc < 0 ? rc : backend_open_channel(f->backend, f->loop, &f->channel);
}

static void fill(uint8_t *data, size_t length, unsigned seed)
{
	for (size_t i = 0; i < length; i++)
		data[i] = (uint8_t)rand_r(&seed);
}

/* ---- every engine ---- */

typedef void story(struct fixture *f);

/* Tells each story with io_uring and with threads, through the page cache and past it, and with
 * every write durable. A kernel that refuses io_uring leaves the threads. */
static void with_every_engine(void **state, story *tell)
{
	static const struct {
		enum file_engine engine;
		bool direct, write_cache;
	} ways[] = {
		{FILE_ENGINE_URING, false, true},
		{FILE_ENGINE_URING, true, true},
		{FILE_ENGINE_URING, false, false},
		{FILE_ENGINE_THREADS, false, true},
		{FILE_ENGINE_THREADS, true, false},
		{FILE_ENGINE_AUTO, false, true},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		int rc;

		f->config.engine = ways[i].engine;
		f->config.direct = ways[i].direct;
		f->config.write_cache = ways[i].write_cache;
		rc = open_all(f);
		if (ways[i].engine == FILE_ENGINE_URING && (rc == -EPERM || rc == -ENOSYS)) {
			close_all(f);
			continue;
		}
		assert_int_equal(0, rc);
		tell(f);
		close_all(f);
	}
}

static void story_write_and_read(struct fixture *f)
{
	fill(f->data, SIZE, 1);
	assert_int_equal(0, io_run(f->channel, BACKEND_WRITE, 0, f->data, SIZE));
	assert_int_equal(0, io_run(f->channel, BACKEND_FLUSH, 0, NULL, 0));
	memset(f->back, 0, SIZE);
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 0, f->back, SIZE));
	assert_memory_equal(f->data, f->back, SIZE);
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, SIZE - 4096, f->back, 4096));
	assert_memory_equal(f->data + SIZE - 4096, f->back, 4096);
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 0, f->back, 0));
	assert_int_equal(0, io_run(f->channel, BACKEND_WRITE, 0, f->back, 0));
}

static void what_was_written_is_read(void **state)
{
	with_every_engine(state, story_write_and_read);
}

static void story_misaligned(struct fixture *f)
{
	fill(f->data, SIZE, 2);
	/* Memory at an odd address, larger than a bounce buffer. */
	assert_int_equal(0, io_run(f->channel, BACKEND_WRITE, 8192, f->data + 3, 1024 * 1024));
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 8192, f->back + 5, 1024 * 1024));
	assert_memory_equal(f->data + 3, f->back + 5, 1024 * 1024);
}

static void memory_at_any_address_will_do(void **state)
{
	with_every_engine(state, story_misaligned);
}

static void story_many(struct fixture *f)
{
	enum {
		MANY = 700
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

static void story_zero(struct fixture *f)
{
	static const enum backend_operation operations[] = {BACKEND_DISCARD, BACKEND_WRITE_ZEROES};

	for (size_t i = 0; i < 2; i++) {
		struct io io = {.request.fua = i == 1};

		memset(f->data, 0xcc, SIZE);
		assert_int_equal(0, io_run(f->channel, BACKEND_WRITE, 0, f->data, SIZE));
		io_start(f->channel, &io, operations[i], 4096, NULL, 1024 * 1024);
		assert_int_equal(0, io_wait(f->channel, &io));
		memset(f->data + 4096, 0, 1024 * 1024);
		assert_int_equal(0, io_run(f->channel, BACKEND_READ, 0, f->back, SIZE));
		assert_memory_equal(f->data, f->back, SIZE);
		assert_int_equal(0, io_run(f->channel, operations[i], 0, NULL, 0));
	}
}

static void discarded_and_zeroed_ranges_read_as_zeros(void **state)
{
	with_every_engine(state, story_zero);
}

static void zeroes_are_written_where_the_file_system_cannot(void **state)
{
	struct fixture *f = *state;

	f->config.engine = FILE_ENGINE_THREADS;
	f->config.threads = 1;
	assert_int_equal(0, open_all(f));
	memset(f->data, 0xcc, SIZE);
	assert_int_equal(0, io_run(f->channel, BACKEND_WRITE, 0, f->data, SIZE));
	for (unsigned long n = 1; n <= 2; n++) {
		struct io io = {0};

		io_start(f->channel, &io, BACKEND_DISCARD, n * 4096, NULL, SIZE / 2);
		assert_int_equal(0, io_wait(f->channel, &io));
	}
	/* On a tmpfs without ZERO_RANGE, WRITE_ZEROES punches. */
	assert_int_equal(0, io_run(f->channel, BACKEND_WRITE_ZEROES, 0, NULL, SIZE));
	memset(f->data, 0, SIZE);
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 0, f->back, SIZE));
	assert_memory_equal(f->data, f->back, SIZE);
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
 * the next one is fine. EINTR and EAGAIN are nobody's failure. */
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
		}
}

static void any_failed_call_ends_one_request_at_most(void **state)
{
	with_every_engine(state, story_failures);
}

/* ---- opening ---- */

static void story_info(struct fixture *f)
{
	const struct backend_info *info = &f->backend->info;

	assert_int_equal(SIZE, info->size);
	assert_int_equal(512, info->block_size);
	assert_int_equal(4096, info->physical_block_size);
	assert_int_equal(f->config.write_cache, info->volatile_cache);
	assert_false(info->readonly);
}

static void store_knows_what_it_is(void **state)
{
	with_every_engine(state, story_info);
}

static void assert_refused(struct fixture *f, int error, const char *word)
{
	f->why[0] = '\0';
	assert_int_equal(-error, open_all(f));
	assert_null(f->backend);
	if (!strstr(f->why, word))
		fail_msg("'%s' is not in: %s", word, f->why);
	if (!strstr(f->why, f->config.path))
		fail_msg("the path is not in: %s", f->why);
}

static void wrong_paths_are_refused_with_a_line(void **state)
{
	struct fixture *f = *state;

	f->config.path = "/no/such/file";
	assert_refused(f, ENOENT, "no such file");
	f->config.path = "/etc/passwd/x";
	assert_refused(f, ENOTDIR, "not a directory");
	f->config.path = "/tmp";
	assert_refused(f, EISDIR, "is a directory");
	f->config.path = "/dev/null";
	assert_refused(f, EINVAL, "neither a regular file nor a block device");
}

static void wrong_sizes_are_refused_with_a_line(void **state)
{
	struct fixture *f = *state;

	f->config.size = SIZE + 512;
	assert_refused(f, EINVAL, "too short");
	f->config.size = 1000;
	assert_refused(f, EINVAL, "multiple of the block size");
	f->config.size = 0;
	f->config.block_size = 1024;
	assert_refused(f, EINVAL, "block size of 1024");
	f->config.block_size = 4096;
	assert_int_equal(0, truncate(f->path, SIZE + 512));
	assert_refused(f, EINVAL, "multiple of the block size");
	assert_int_equal(0, truncate(f->path, 0));
	assert_refused(f, EINVAL, "too short");
}

static void part_of_a_file_may_be_exported(void **state)
{
	struct fixture *f = *state;

	f->config.size = SIZE / 2;
	f->config.block_size = 4096;
	assert_int_equal(0, open_all(f));
	assert_int_equal(SIZE / 2, f->backend->info.size);
	assert_int_equal(4096, f->backend->info.block_size);
}

static void file_has_one_writer_or_many_readers(void **state)
{
	struct fixture *f = *state;
	struct backend *second = NULL;
	char why[256];

	assert_int_equal(0, open_all(f));
	assert_int_equal(-EBUSY, file_backend_new(&f->config, &second, why, sizeof(why)));
	assert_non_null(strstr(why, "already in use"));
	f->config.readonly = true;
	assert_int_equal(-EBUSY, file_backend_new(&f->config, &second, why, sizeof(why)));
	close_all(f);
	assert_int_equal(0, open_all(f));
	assert_int_equal(0, file_backend_new(&f->config, &second, why, sizeof(why)));
	backend_free(second);
}

static void file_in_use_may_be_looked_at(void **state)
{
	struct fixture *f = *state;
	struct backend *second = NULL;
	char why[256];

	assert_int_equal(0, open_all(f));
	f->config.look = true;
	assert_int_equal(0, file_backend_new(&f->config, &second, why, sizeof(why)));
	assert_int_equal(f->backend->info.size, second->info.size);
	backend_free(second);
	f->config.look = false;
	/* Looking has not taken the file away from who has it. */
	assert_int_equal(-EBUSY, file_backend_new(&f->config, &second, why, sizeof(why)));
}

static void grown_file_is_noticed_on_refresh(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(0, open_all(f));
	assert_int_equal(0, truncate(f->path, 2 * SIZE + 100));
	assert_int_equal(0, f->backend->ops->refresh(f->backend));
	assert_int_equal(2 * SIZE, f->backend->info.size);
	close_all(f);
	f->config.size = SIZE;
	assert_int_equal(0, open_all(f));
	assert_int_equal(0, f->backend->ops->refresh(f->backend));
	assert_int_equal(SIZE, f->backend->info.size);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_written_is_read),
		TEST(memory_at_any_address_will_do),
		TEST(more_requests_than_the_ring_holds),
		TEST(registered_memory_is_read_into_and_written_from),
		TEST(discarded_and_zeroed_ranges_read_as_zeros),
		TEST(zeroes_are_written_where_the_file_system_cannot),
		cmocka_unit_test_setup_teardown(
			zeroes_are_written_where_the_file_system_cannot, setup_tmpfs, teardown),
		TEST(file_that_became_shorter_fails_and_does_not_hang),
		TEST(readonly_store_refuses_what_changes_it),
		TEST(any_failed_call_ends_one_request_at_most),
		TEST(store_knows_what_it_is),
		TEST(wrong_paths_are_refused_with_a_line),
		TEST(wrong_sizes_are_refused_with_a_line),
		TEST(part_of_a_file_may_be_exported),
		TEST(file_has_one_writer_or_many_readers),
		TEST(file_in_use_may_be_looked_at),
		TEST(grown_file_is_noticed_on_refresh),
		TEST(any_failed_allocation_or_call_while_opening_is_survived),
		TEST(refused_ring_leads_to_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

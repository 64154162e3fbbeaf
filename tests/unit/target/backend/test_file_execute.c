/* Requests of a file store by blocking calls (target/backend/file_execute.c). */
#include "tests/unit/target/backend/file_store.h"

#include "target/backend/file.h"

static int setup_tmpfs(void **state)
{
	return make(state, "/dev/shm");
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

/* One request by file_execute() itself, on the fixture's file. */
static int execute(struct fixture *f, struct backend_request *r)
{
	struct file_backend b = {.path = f->path, .write_cache = f->config.write_cache};
	struct file_scratch s;
	int rc;

	b.fd = open(f->path, O_RDWR | O_CLOEXEC);
	assert_true(b.fd >= 0);
	assert_int_equal(0, file_scratch_make(&s));
	rc = file_execute(&b, r, &s);
	file_scratch_free(&s);
	close(b.fd);
	return rc;
}

/* The order of the ways: ZERO_RANGE, then PUNCH_HOLE, then zeros by hand. */
static void zeros_by_hand_where_neither_way_is_there(void **state)
{
	struct backend_request r = {
		.operation = BACKEND_DISCARD, .offset = 4096, .length = 600 * 1024};
	struct backend_request write = {.operation = BACKEND_WRITE, .length = SIZE};
	struct backend_request read = {.operation = BACKEND_READ, .length = SIZE};
	struct fixture *f = *state;

	memset(f->data, 0xcc, SIZE);
	write.data = f->data;
	read.data = f->back;
	assert_int_equal(0, execute(f, &write));
	sys_fail_nth(1, EOPNOTSUPP); /* the one fallocate() of a discard */
	assert_int_equal(0, execute(f, &r));
	assert_true(sys_fail_happened());
	sys_fail_nth(0, 0);
	memset(f->data + 4096, 0, 600 * 1024);
	assert_int_equal(0, execute(f, &read));
	assert_memory_equal(f->data, f->back, SIZE);
}

static void full_disk_is_told_and_not_covered_up(void **state)
{
	static const enum backend_operation operations[] = {
		BACKEND_DISCARD, BACKEND_WRITE_ZEROES, BACKEND_WRITE, BACKEND_FLUSH};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
		struct backend_request r = {
			.operation = operations[i], .length = 4096, .data = f->data};

		sys_fail_nth(1, ENOSPC);
		assert_int_equal(-ENOSPC, execute(f, &r));
		sys_fail_nth(0, 0);
	}
}

static void call_that_moves_a_part_is_followed_by_another(void **state)
{
	struct backend_request write = {.operation = BACKEND_WRITE, .length = 8192};
	struct backend_request read = {.operation = BACKEND_READ, .length = 8192};
	struct fixture *f = *state;

	fill(f->data, 8192, 5);
	write.data = f->data;
	read.data = f->back;
	for (unsigned long n = 1; n <= 2; n++) {
		memset(f->back, 0, 8192);
		sys_fail_nth(n, SYS_SHORT);
		assert_int_equal(0, execute(f, &write));
		sys_fail_nth(n, SYS_SHORT);
		assert_int_equal(0, execute(f, &read));
		sys_fail_nth(0, 0);
		assert_memory_equal(f->data, f->back, 8192);
	}
}

/* Zeros that must be durable are followed by a sync: fallocate() has no flag for it. */
static void durable_zeros_are_synced(void **state)
{
	struct backend_request r = {.operation = BACKEND_WRITE_ZEROES, .length = 4096, .fua = true};
	struct fixture *f = *state;

	sys_fail_nth(2, EIO); /* fdatasync() behind fallocate() */
	assert_int_equal(-EIO, execute(f, &r));
	r.fua = false;
	sys_fail_nth(2, EIO);
	assert_int_equal(0, execute(f, &r));
	assert_false(sys_fail_happened());
	sys_fail_nth(0, 0);
	f->config.write_cache = false;
	sys_fail_nth(2, EIO);
	assert_int_equal(-EIO, execute(f, &r));
	sys_fail_nth(0, 0);
}

static void no_memory_for_scratch_leaves_nothing(void **state)
{
	unsigned long live = alloc_live();
	struct file_scratch s;

	(void)state;
	for (unsigned long n = 1; n <= 2; n++) {
		alloc_fail_nth(n);
		assert_int_equal(-ENOMEM, file_scratch_make(&s));
		alloc_fail_nth(0);
		assert_int_equal(live, alloc_live());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_at_any_address_will_do),
		TEST(discarded_and_zeroed_ranges_read_as_zeros),
		TEST(zeroes_are_written_where_the_file_system_cannot),
		cmocka_unit_test_setup_teardown(
			zeroes_are_written_where_the_file_system_cannot, setup_tmpfs, teardown),
		TEST(zeros_by_hand_where_neither_way_is_there),
		TEST(full_disk_is_told_and_not_covered_up),
		TEST(call_that_moves_a_part_is_followed_by_another),
		TEST(durable_zeros_are_synced),
		TEST(no_memory_for_scratch_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The file of a copy: extents, holes, ends. The file under test is included, since a program's
 * files are in no library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/mman.h>

#include "initiator/daemon/job_file.c"

static int file_of(off_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(0, ftruncate(fd, size));
	return fd;
}

static void extent_begins_where_the_descriptor_stands(void **state)
{
	int fd = file_of(1000);
	uint64_t start, length;

	(void)state;
	assert_int_equal(100, lseek(fd, 100, SEEK_SET));
	assert_int_equal(0, job_file_extent(fd, &start, &length));
	assert_int_equal(100, start);
	assert_int_equal(900, length);
	lseek(fd, 2000, SEEK_SET);
	assert_int_equal(0, job_file_extent(fd, &start, &length));
	assert_int_equal(0, length);
	close(fd);
	assert_int_equal(-EBADF, job_file_extent(fd, &start, &length));
}

static void what_is_behind_the_end_reads_as_zeroes(void **state)
{
	int fd = file_of(0);
	char data[8];

	(void)state;
	assert_int_equal(0, job_file_write(fd, "abc", 3, 0));
	memset(data, 'x', sizeof(data));
	assert_int_equal(0, job_file_read(fd, data, sizeof(data), 1));
	assert_memory_equal("bc\0\0\0\0\0\0", data, sizeof(data));
	close(fd);
}

static void holes_are_found_up_to_the_data(void **state)
{
	int fd = file_of(8 << 20);

	(void)state;
	assert_int_equal(0, job_file_write(fd, "x", 1, 4 << 20));
	assert_int_equal(4 << 20, job_file_hole(fd, 0, 16 << 20));
	assert_int_equal(1 << 20, job_file_hole(fd, 0, 1 << 20));
	assert_int_equal(0, job_file_hole(fd, 4 << 20, 1 << 20));
	/* nothing but a hole up to the end */
	assert_int_equal(1 << 20, job_file_hole(fd, 6 << 20, 1 << 20));
	close(fd);
}

static void finish_makes_a_file_longer_never_shorter(void **state)
{
	int fd = file_of(100);
	struct stat st;

	(void)state;
	assert_int_equal(0, job_file_finish(fd, 50));
	fstat(fd, &st);
	assert_int_equal(100, st.st_size);
	assert_int_equal(0, job_file_finish(fd, 200));
	fstat(fd, &st);
	assert_int_equal(200, st.st_size);
	assert_int_equal(0, job_file_truncate(fd, 10));
	fstat(fd, &st);
	assert_int_equal(10, st.st_size);
	close(fd);
}

static void zeroes_may_be_skipped_only_behind_the_end(void **state)
{
	int fd = file_of(100);

	(void)state;
	assert_false(job_file_may_skip(fd, 0));
	assert_true(job_file_may_skip(fd, 100));
	close(fd);
	fd = open("/dev/null", O_RDWR);
	assert_false(job_file_may_skip(fd, 0));
	close(fd);
}

static void one_bit_is_not_zero(void **state)
{
	char data[300] = {0};

	(void)state;
	assert_true(job_is_zero(data, sizeof(data)));
	assert_true(job_is_zero(data, 0));
	for (size_t i = 0; i < sizeof(data); i++) {
		data[i] = 1;
		assert_false(job_is_zero(data, sizeof(data)));
		data[i] = 0;
	}
	memset(data, 7, sizeof(data));
	assert_false(job_is_zero(data, sizeof(data)));
}

static void failed_calls_are_told(void **state)
{
	int fd = file_of(100);
	char data[8];

	(void)state;
	sys_fail_nth(1, EIO);
	assert_int_equal(-EIO, job_file_read(fd, data, sizeof(data), 0));
	sys_fail_nth(1, ENOSPC);
	assert_int_equal(-ENOSPC, job_file_write(fd, data, sizeof(data), 0));
	sys_fail_nth(1, EINTR);
	assert_int_equal(0, job_file_write(fd, data, sizeof(data), 0));
	sys_fail_nth(2, EFBIG);
	assert_int_equal(-EFBIG, job_file_finish(fd, 1000));
	sys_fail_nth(0, 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extent_begins_where_the_descriptor_stands),
		cmocka_unit_test(what_is_behind_the_end_reads_as_zeroes),
		cmocka_unit_test(holes_are_found_up_to_the_data),
		cmocka_unit_test(finish_makes_a_file_longer_never_shorter),
		cmocka_unit_test(zeroes_may_be_skipped_only_behind_the_end),
		cmocka_unit_test(one_bit_is_not_zero),
		cmocka_unit_test(failed_calls_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

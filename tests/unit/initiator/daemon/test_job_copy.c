/* Copies and comparisons between a disk (over a scripted target) and a file in memory. */
#include "tests/unit/initiator/daemon/job_kit.h"

#include "initiator/daemon/job_file.c"

#include "initiator/daemon/job_copy.c"

#define MIB (1024 * 1024)
#define DISK_SIZE (FAKE_BLOCKS * FAKE_BLOCK)

#define OPERATION(title, to_file)                                                                  \
	{                                                                                          \
		.name = title, .file_write = to_file, .start = job_copy_start,                     \
		.release = job_copy_release                                                        \
	}
static const struct job_operation op_read = OPERATION("read", true);
static const struct job_operation op_write = OPERATION("write", false);
static const struct job_operation op_copy_in = OPERATION("copy-in", false);
static const struct job_operation op_copy_out = OPERATION("copy-out", true);
static const struct job_operation op_verify = OPERATION("verify", false);

static uint8_t image[DISK_SIZE];

static void run(void)
{
	job_copy_start(&it.job);
	fake_turns(it.disk.o.fake);
	assert_int_equal(1, it.ends);
}

static uint8_t *content(void)
{
	return it.disk.o.fake->disk;
}

static unsigned commands(uint8_t opcode)
{
	const struct fake *f = it.disk.o.fake;
	unsigned n = 0;

	for (unsigned i = 0; i < f->sent_count; i++)
		n += f->sent[i].opcode == ISCSI_SCSI_COMMAND && f->sent[i].command.cdb[0] == opcode;
	return n;
}

static void a_file_is_written_where_it_is_asked_and_flushed(void **state)
{
	const size_t size = 2 * MIB + 1024;

	(void)state;
	fill(image, size);
	job_setup(&op_write, file_of(image, size));
	it.job.options.offset = 8192;
	run();
	assert_int_equal(STATUS_OK, it.status);
	assert_memory_equal(content() + 8192, image, size);
	assert_int_equal(0, content()[8191]);
	assert_int_equal(0, content()[8192 + size]);
	assert_int_equal(1, commands(SCSI_SYNCHRONIZE_CACHE_10));
	assert_true(result("bytes") == (double)size);
	assert_int_equal(size, it.job.done);
	assert_int_equal(size, it.job.total);
	job_teardown();
}

static void a_disk_is_read_into_a_file(void **state)
{
	static uint8_t data[2 * MIB];

	(void)state;
	job_setup(&op_read, file_of("", 0));
	fill(content() + MIB, sizeof(data) + 512);
	it.job.options.offset = MIB + 512;
	it.job.options.length = sizeof(data);
	run();
	assert_int_equal(sizeof(data), pread(it.job.file, data, sizeof(data), 0));
	assert_memory_equal(data, content() + MIB + 512, sizeof(data));
	assert_int_equal(0, commands(SCSI_SYNCHRONIZE_CACHE_10));
	assert_true(result("bytes") == 2 * MIB);
	job_teardown();
}

static void zeroes_of_a_disk_stay_holes_in_a_file(void **state)
{
	struct stat st;
	uint8_t byte = 0;

	(void)state;
	job_setup(&op_copy_out, file_of("", 0));
	content()[5 * MIB] = 7;
	run();
	fstat(it.job.file, &st);
	assert_int_equal(DISK_SIZE, st.st_size);
	assert_true(st.st_blocks * 512 <= 2 * COPY_HOLE);
	assert_int_equal(1, pread(it.job.file, &byte, 1, 5 * MIB));
	assert_int_equal(7, byte);
	assert_true(result("zeroes") == DISK_SIZE - COPY_HOLE);
	job_teardown();
}

static void what_the_file_held_goes_when_it_is_told_to(void **state)
{
	struct stat st;
	uint8_t byte = 1;

	(void)state;
	fill(image, MIB);
	job_setup(&op_read, file_of(image, MIB));
	it.job.options.length = 4096;
	it.job.truncate = true;
	run();
	fstat(it.job.file, &st);
	assert_int_equal(4096, st.st_size);
	assert_int_equal(1, pread(it.job.file, &byte, 1, 100));
	assert_int_equal(0, byte);
	job_teardown();

	/* else zeroes are written over it */
	job_setup(&op_read, file_of(image, MIB));
	it.job.options.length = 4096;
	run();
	fstat(it.job.file, &st);
	assert_int_equal(MIB, st.st_size);
	assert_int_equal(1, pread(it.job.file, &byte, 1, 100));
	assert_int_equal(0, byte);
	job_teardown();
}

static void holes_and_zeroes_of_an_image_become_write_same(void **state)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(0, ftruncate(fd, DISK_SIZE));
	fill(image, 4096);
	assert_int_equal(4096, pwrite(fd, image, 4096, 3 * MIB));
	job_setup(&op_copy_in, fd);
	memset(content(), 0xff, DISK_SIZE);
	run();
	assert_int_equal(STATUS_OK, it.status);
	assert_memory_equal(content() + 3 * MIB, image, 4096);
	assert_true(job_is_zero(content(), 3 * MIB));
	assert_true(job_is_zero(content() + 3 * MIB + 4096, DISK_SIZE - 3 * MIB - 4096));
	assert_true(commands(SCSI_WRITE_SAME_16) > 0);
	/* the piece with data is moved, and nothing else */
	assert_true(result("zeroes") >= DISK_SIZE - MIB);
	job_teardown();
}

static void an_image_that_ends_within_a_block_is_filled_with_zeroes(void **state)
{
	(void)state;
	fill(image, 1000);
	job_setup(&op_copy_in, file_of(image, 1000));
	memset(content(), 0xff, 2048);
	run();
	assert_int_equal(STATUS_OK, it.status);
	assert_memory_equal(content(), image, 1000);
	assert_true(job_is_zero(content() + 1000, 24));
	assert_int_equal(0xff, content()[1024]);
	assert_true(result("bytes") == 1000);
	job_teardown();
}

static void the_first_difference_is_told(void **state)
{
	(void)state;
	fill(image, 2 * MIB);
	job_setup(&op_verify, file_of(image, 2 * MIB));
	memcpy(content(), image, 2 * MIB);
	content()[MIB + MIB / 2] ^= 1;
	content()[MIB + 77] ^= 1;
	run();
	assert_int_equal(STATUS_FAILED, it.status);
	assert_string_equal(
		"LUN 0 differs from the file: the first difference is at byte 1048653", it.line);
	job_teardown();
}

static void equal_is_equal_and_what_is_behind_the_end_does_not_count(void **state)
{
	(void)state;
	fill(image, 100000);
	job_setup(&op_verify, file_of(image, 100000));
	memcpy(content(), image, 100000);
	content()[100000] = 0x55; /* in the last block, behind the file's end */
	run();
	assert_int_equal(STATUS_OK, it.status);
	assert_true(result("bytes") == 100000);
	job_teardown();
}

static void a_file_that_does_not_fit_writes_nothing(void **state)
{
	(void)state;
	fill(image, MIB);
	job_setup(&op_write, file_of(image, MIB));
	it.job.options.offset = DISK_SIZE - 4096;
	run();
	assert_int_equal(STATUS_USAGE, it.status);
	assert_string_equal("the file is too large: 1048576 bytes, where LUN 0 has 4096 from byte "
			    "8384512 on; nothing was written",
		it.line);
	assert_int_equal(0, it.disk.o.fake->sent_count);
	job_teardown();
}

static void more_than_the_file_has_cannot_be_written(void **state)
{
	(void)state;
	job_setup(&op_write, file_of(image, 1024));
	it.job.options.length = 2048;
	run();
	assert_int_equal(STATUS_USAGE, it.status);
	assert_string_equal("the file has 1024 bytes; 2048 are asked for", it.line);
	job_teardown();
}

static void a_part_of_a_file_may_be_written(void **state)
{
	(void)state;
	fill(image, 8192);
	job_setup(&op_write, file_of(image, 8192));
	assert_int_equal(512, lseek(it.job.file, 512, SEEK_SET)); /* as a shell left it */
	it.job.options.length = 1024;
	run();
	assert_memory_equal(content(), image + 512, 1024);
	assert_true(job_is_zero(content() + 1024, 4096));
	job_teardown();
}

static void an_empty_file_is_copied_well(void **state)
{
	(void)state;
	job_setup(&op_copy_in, file_of("", 0));
	run();
	assert_int_equal(STATUS_OK, it.status);
	assert_true(result("bytes") == 0);
	job_teardown();
}

static bool fail_second_write(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	unsigned *seen = f->arg;

	if (pdu->opcode != ISCSI_SCSI_COMMAND || !pdu->command.write || ++*seen != 2)
		return false;
	fake_check(f, pdu, task, SENSE_MEDIUM_ERROR, 0x0c02); /* WRITE ERROR, SPC-4 annex F */
	return true;
}

static void a_failed_write_ends_the_copy_with_its_place(void **state)
{
	unsigned seen = 0;

	(void)state;
	fill(image, 2 * MIB);
	job_setup(&op_write, file_of(image, 2 * MIB));
	it.disk.o.fake->override = fail_second_write;
	it.disk.o.fake->arg = &seen;
	run();
	assert_int_equal(STATUS_FAILED, it.status);
	assert_non_null(strstr(it.line, "I/O 1 at "));
	assert_int_equal(0, commands(SCSI_SYNCHRONIZE_CACHE_10));
	job_teardown();
}

static void a_file_that_cannot_be_read_is_told(void **state)
{
	char path[] = "/tmp/iseran-copy-XXXXXX";
	int fd = mkstemp(path), only_write = open(path, O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(4096, write(fd, image, 4096));
	close(fd);
	unlink(path);
	job_setup(&op_write, only_write);
	run();
	assert_int_equal(STATUS_FAILED, it.status);
	assert_string_equal("the file: Bad file descriptor", it.line);
	job_teardown();
}

static void without_memory_it_fails_in_one_line(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 3; n++) {
		job_setup(&op_read, file_of("", 0));
		alloc_fail_nth(n);
		job_copy_start(&it.job);
		alloc_fail_nth(0);
		fake_turns(it.disk.o.fake);
		assert_int_equal(1, it.ends);
		assert_int_equal(STATUS_NO_MEMORY, it.status);
		assert_non_null(strstr(it.line, "no memory for the copy"));
		job_teardown();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_written_where_it_is_asked_and_flushed),
		cmocka_unit_test(a_disk_is_read_into_a_file),
		cmocka_unit_test(zeroes_of_a_disk_stay_holes_in_a_file),
		cmocka_unit_test(what_the_file_held_goes_when_it_is_told_to),
		cmocka_unit_test(holes_and_zeroes_of_an_image_become_write_same),
		cmocka_unit_test(an_image_that_ends_within_a_block_is_filled_with_zeroes),
		cmocka_unit_test(the_first_difference_is_told),
		cmocka_unit_test(equal_is_equal_and_what_is_behind_the_end_does_not_count),
		cmocka_unit_test(a_file_that_does_not_fit_writes_nothing),
		cmocka_unit_test(more_than_the_file_has_cannot_be_written),
		cmocka_unit_test(a_part_of_a_file_may_be_written),
		cmocka_unit_test(an_empty_file_is_copied_well),
		cmocka_unit_test(a_failed_write_ends_the_copy_with_its_place),
		cmocka_unit_test(a_file_that_cannot_be_read_is_told),
		cmocka_unit_test(without_memory_it_fails_in_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

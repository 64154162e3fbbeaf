/* The loop device and the thread that waits for it; here on a regular file, where there are loop
 * devices. */
#include "tests/unit/initiator/fake_disk.h"

#include <stdlib.h>

#include "initiator/export/fuse_loop.c"

#include "tests/kit/await.h"
#include "tests/unit/initiator/export/loop_kit.h"

static struct {
	struct fake_disk disk;
	struct fuse_export export;
	char path[64];
	unsigned finished;
	int status;
	_Atomic bool hold;
} it;

static void finished(struct loop_device_job *j)
{
	assert_false(j->running);
	it.finished++;
	it.status = j->status;
}

static int setup(void **state)
{
	int fd;

	(void)state;
	memset(&it, 0, sizeof(it));
	disk_setup(&it.disk);
	it.export.disk = it.disk.disk;
	it.export.loop = it.disk.o.fake->loop;
	strcpy(it.path, "/var/tmp/iseran-loop-XXXXXX"); /* O_DIRECT: not on a tmpfs */
	fd = mkstemp(it.path);
	assert_true(fd >= 0);
	assert_int_equal(0, ftruncate(fd, 1 << 20));
	close(fd);
	it.export.file = it.path;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(it.path);
	disk_teardown(&it.disk);
	return 0;
}

static void wait_for_thread(void)
{
	unsigned before = it.finished;

	AWAIT(it.export.loop, it.finished != before);
	assert_int_equal(before + 1, it.finished);
}

static uint64_t size_of(const char *device)
{
	int fd = open(device, O_RDONLY | O_CLOEXEC);
	off_t end = lseek(fd, 0, SEEK_END);

	close(fd);
	return (uint64_t)end;
}

static void hold_on(struct loop_device_job *j)
{
	while (it.hold)
		sleep_step();
	job_failed(j, ENXIO, "it was", "held");
}

static void one_thing_at_a_time(void **state)
{
	(void)state;
	it.hold = true;
	assert_int_equal(0, job_start(&it.export, hold_on, false, finished));
	assert_int_equal(-EBUSY, loop_device_attach(&it.export, finished));
	assert_int_equal(-EBUSY, loop_device_detach(&it.export, true, finished));
	it.hold = false;
	wait_for_thread();
	assert_int_equal(-ENXIO, it.status);
	assert_string_equal("it was held: No such device or address", it.export.job.why);
}

static void a_file_that_is_not_there_is_named(void **state)
{
	char missing[] = "/nonexistent/file";

	(void)state;
	it.export.file = missing;
	assert_int_equal(0, loop_device_attach(&it.export, finished));
	wait_for_thread();
	assert_int_equal(-ENOENT, it.status);
	assert_string_equal(
		"cannot open /nonexistent/file: No such file or directory", it.export.job.why);
	assert_string_equal("", it.export.device);
}

static void a_device_comes_grows_and_goes(void **state)
{
	char device[32];

	(void)state;
	NEEDS("/dev/loop-control");
	assert_int_equal(0, loop_device_attach(&it.export, finished));
	wait_for_thread();
	if (it.status == -EINVAL) { /* a file system without direct I/O */
		print_message("%s\n", it.export.job.why);
		skip();
	}
	assert_int_equal(0, it.status);
	assert_memory_equal("/dev/loop", it.export.device, 9);
	snprintf(device, sizeof(device), "%s", it.export.device);
	assert_int_equal(1 << 20, size_of(device));

	assert_int_equal(0, truncate(it.path, 2 << 20));
	assert_int_equal(0, loop_device_resize(&it.export, finished));
	wait_for_thread();
	assert_int_equal(0, it.status);
	assert_int_equal(2 << 20, size_of(device));

	assert_int_equal(0, loop_device_detach(&it.export, false, finished));
	wait_for_thread();
	assert_int_equal(0, it.status);
	assert_string_equal("", it.export.device);
}

/* losetup -d by somebody, and the number is another's by the time that we detach. */
static void a_device_that_is_anothers_by_now_is_left_alone(void **state)
{
	char path[] = "/var/tmp/iseran-other-XXXXXX", device[32];
	int fd, other;

	(void)state;
	NEEDS("/dev/loop-control");
	assert_int_equal(0, loop_device_attach(&it.export, finished));
	wait_for_thread();
	if (it.status == -EINVAL) {
		print_message("%s\n", it.export.job.why);
		skip();
	}
	assert_true(loop_device_is_ours(&it.export));
	snprintf(device, sizeof(device), "%s", it.export.device);
	fd = open(device, O_RDWR | O_CLOEXEC);
	assert_int_equal(0, ioctl(fd, LOOP_CLR_FD));
	close(fd);
	assert_false(loop_device_is_ours(&it.export));

	other = mkstemp(path);
	assert_int_equal(0, ftruncate(other, 1 << 20));
	fd = open(device, O_RDWR | O_CLOEXEC);
	assert_int_equal(0, ioctl(fd, LOOP_SET_FD, other));
	assert_false(loop_device_is_ours(&it.export));
	assert_int_equal(0, loop_device_detach(&it.export, true, finished));
	wait_for_thread();
	assert_int_equal(0, it.status);
	assert_false(released(fd));
	assert_int_equal(0, ioctl(fd, LOOP_CLR_FD));
	close(fd);
	close(other);
	unlink(path);
}

static void a_device_in_use_is_left_alone_without_force(void **state)
{
	int fd;

	(void)state;
	NEEDS("/dev/loop-control");
	assert_int_equal(0, loop_device_attach(&it.export, finished));
	wait_for_thread();
	if (it.status == -EINVAL) {
		print_message("%s\n", it.export.job.why);
		skip();
	}
	assert_int_equal(0, it.status);
	fd = open(it.export.device, O_RDWR | O_EXCL | O_CLOEXEC); /* as a mount would */
	assert_true(fd >= 0);
	assert_int_equal(-EBUSY, claim(it.export.device));
	assert_int_equal(0, loop_device_detach(&it.export, false, finished));
	wait_for_thread();
	assert_int_equal(-EBUSY, it.status);
	assert_memory_equal("/dev/loop", it.export.device, 9);
	assert_int_equal(0, loop_device_detach(&it.export, true, finished));
	wait_for_thread();
	assert_int_equal(0, it.status);
	assert_string_equal("", it.export.device);
	close(fd); /* and with that it goes */
}

static void without_a_device_there_is_nothing_to_resize_or_take_away(void **state)
{
	(void)state;
	assert_int_equal(0, loop_device_resize(&it.export, finished));
	assert_false(it.export.job.running);
	assert_int_equal(0, loop_device_detach(&it.export, false, finished));
	wait_for_thread();
	assert_int_equal(0, it.status);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_thing_at_a_time),
		TEST(a_file_that_is_not_there_is_named),
		TEST(a_device_comes_grows_and_goes),
		TEST(a_device_that_is_anothers_by_now_is_left_alone),
		TEST(a_device_in_use_is_left_alone_without_force),
		TEST(without_a_device_there_is_nothing_to_resize_or_take_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

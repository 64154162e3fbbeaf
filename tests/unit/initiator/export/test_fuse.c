/* The life of an export: a real FUSE mount and loop device over the scripted target, where there
 * are /dev/fuse and loop devices; and what is left when a step of the start fails. */
#include "tests/unit/initiator/fake_disk.h"

#include <ftw.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/statfs.h>

#include "initiator/export/fuse.c"

#include "tests/kit/await.h"
#include "tests/unit/initiator/export/loop_kit.h"

static struct {
	struct fake_disk disk;
	struct export *export;
	char root[64], why[512];
	unsigned ready, stopped;
	int status, stop_status;
	_Atomic bool done;
} it;

static void on_ready(void *owner, int status, const char *why)
{
	(void)owner;
	it.ready++;
	it.status = status;
	snprintf(it.why, sizeof(it.why), "%s", why ? why : "");
}

static void on_stopped(void *owner, int status)
{
	(void)owner;
	it.stopped++;
	it.stop_status = status;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	char path[128];

	(void)state;
	memset(&it, 0, sizeof(it));
	disk_setup(&it.disk);
	strcpy(it.root, "/tmp/iseran-fuse-XXXXXX");
	assert_non_null(mkdtemp(it.root));
	snprintf(path, sizeof(path), "%s/devices", it.root);
	return mkdir(path, 0700);
}

static int teardown(void **state)
{
	(void)state;
	disk_teardown(&it.disk);
	return nftw(it.root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Turns the loop, on which the kernel's requests are answered, until `what` is so. */
static void turn_until(const unsigned *what, unsigned so)
{
	AWAIT(it.disk.o.fake->loop, *what >= so);
	assert_int_equal(so, *what);
}

static int start(const char *runtime)
{
	const struct export_config config = {.runtime_directory = runtime, .name = "ip-x-lun-0"};

	return export_fuse.start(
		it.disk.disk, &config, on_ready, NULL, &it.export, it.why, sizeof(it.why));
}

static void begin(void)
{
	NEEDS("/dev/fuse");
	NEEDS("/dev/loop-control");
	assert_int_equal(0, start(it.root));
	assert_int_equal(0, it.ready); /* from the loop */
	turn_until(&it.ready, 1);
	if (it.status < 0) {
		print_message("%s\n", it.why);
		assert_int_equal(-ENODEV, it.status);
	}
	assert_memory_equal("/dev/loop", export_fuse.device(it.export), 9);
}

static void end(bool force)
{
	export_fuse.stop(it.export, force, on_stopped, NULL);
	turn_until(&it.stopped, 1);
}

/* On a thread of its own, since the test's thread answers what the kernel asks. */
static void *use_device(void *arg)
{
	int fd = open(arg, O_RDWR | O_DIRECT | O_CLOEXEC);
	uint8_t *data = aligned_alloc(4096, 4096);

	assert_true(fd >= 0);
	assert_int_equal(4096, pread(fd, data, 4096, 8192));
	for (int i = 0; i < 4096; i++)
		assert_int_equal((uint8_t)i, data[i]);
	memset(data, 0xa5, 4096);
	assert_int_equal(4096, pwrite(fd, data, 4096, 65536));
	assert_int_equal(0, fsync(fd));
	close(fd);
	free(data);
	it.done = true;
	return NULL;
}

static void what_is_read_and_written_is_the_disks(void **state)
{
	struct fake *f = it.disk.o.fake;
	pthread_t thread;
	char file[128];

	(void)state;
	for (int i = 0; i < 4096; i++)
		f->disk[8192 + i] = (uint8_t)i;
	begin();
	assert_int_equal(0, pthread_create(&thread, NULL, use_device,
				    (void *)(uintptr_t)export_fuse.device(it.export)));
	AWAIT(f->loop, it.done);
	pthread_join(thread, NULL);
	assert_int_equal(0xa5, f->disk[65536]);
	assert_int_equal(0xa5, f->disk[65536 + 4095]);
	assert_int_equal(0, f->disk[65536 + 4096]);
	end(false);
	assert_int_equal(0, it.stop_status);
	snprintf(file, sizeof(file), "%s/devices/ip-x-lun-0", it.root);
	assert_int_equal(-1, access(file, F_OK));
}

static void a_device_in_use_stays_unless_it_is_forced(void **state)
{
	int fd;

	(void)state;
	begin();
	fd = open(export_fuse.device(it.export), O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	end(false);
	assert_int_equal(-EBUSY, it.stop_status);
	assert_non_null(export_fuse.device(it.export));
	it.stopped = 0;
	end(true);
	assert_int_equal(0, it.stop_status);
	close(fd);
}

static void a_directory_that_is_not_there_is_told(void **state)
{
	(void)state;
	assert_int_equal(-ENOENT, start("/nonexistent/iseran"));
	assert_string_equal("ip-x-lun-0: the file under the runtime directory: No such file or "
			    "directory",
		it.why);
	fake_turns(it.disk.o.fake);
	assert_int_equal(0, it.ready);
}

static void every_failed_allocation_leaves_nothing(void **state)
{
	char file[128];

	(void)state;
	snprintf(file, sizeof(file), "%s/devices/ip-x-lun-0", it.root);
	for (unsigned n = 1; n <= 3; n++) { /* the export, its region, its path */
		size_t before = alloc_live();

		alloc_fail_nth(n);
		assert_int_equal(-ENOMEM, start(it.root));
		alloc_fail_nth(0);
		assert_true(strlen(it.why) > 0);
		assert_int_equal(before, alloc_live());
		assert_int_equal(-1, access(file, F_OK));
	}
}

static void the_last_io_ends_a_stop_once(void **state)
{
	struct fuse_export e = {.job.running = true, .stopped = on_stopped};

	(void)state;
	fuse_export_idle(&e); /* the device is not gone yet */
	assert_int_equal(0, it.stopped);
	e.job.running = false;
	e.stopped = NULL;
	fuse_export_idle(&e); /* nobody has asked for the end */
	assert_int_equal(0, it.stopped);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_read_and_written_is_the_disks),
		TEST(a_device_in_use_stays_unless_it_is_forced),
		TEST(a_directory_that_is_not_there_is_told),
		TEST(every_failed_allocation_leaves_nothing),
		TEST(the_last_io_ends_a_stop_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

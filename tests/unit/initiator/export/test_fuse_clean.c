/* What a killed daemon leaves: files and loop devices below its own directory go, others stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "initiator/export/fuse_clean.c"

#include "tests/unit/initiator/export/loop_kit.h"

static char root[64];

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
	strcpy(root, "/tmp/iseran-clean-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/devices", root);
	return mkdir(path, 0700);
}

static int teardown(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void file_make(const char *name, char out[128])
{
	int fd;

	snprintf(out, 128, "%s/%s", root, name);
	fd = open(out, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(0, ftruncate(fd, 1 << 20));
	close(fd);
}

static void files_below_the_directory_go_and_no_others(void **state)
{
	char ours[128], hidden[128], other[128];

	(void)state;
	file_make("devices/ip-a-lun-0", ours);
	file_make("devices/.hidden", hidden);
	file_make("other", other);
	assert_int_equal(0, export_fuse_clean(root));
	assert_int_equal(-1, access(ours, F_OK));
	assert_int_equal(0, access(hidden, F_OK));
	assert_int_equal(0, access(other, F_OK));
}

static void a_directory_that_is_not_there_has_nothing_left(void **state)
{
	char path[600];

	(void)state;
	assert_int_equal(0, export_fuse_clean("/nonexistent/iseran"));
	memset(path, 'x', sizeof(path)); /* longer than a path that we make */
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(0, export_fuse_clean(path));
}

/* Sets a free loop device on the file; its name without "/dev/". */
static void attach(const char *path, char name[32])
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int file = open(path, O_RDWR | O_CLOEXEC);
	char device_path[64];

	for (int i = 0; i < 16; i++) {
		struct kernel_loop_config config = {.fd = (uint32_t)file};
		int number = ioctl(control, LOOP_CTL_GET_FREE), device, r;

		assert_true(number >= 0);
		snprintf(name, 32, "loop%d", number);
		snprintf(device_path, sizeof(device_path), "/dev/%s", name);
		device = open(device_path, O_RDWR | O_CLOEXEC);
		assert_true(device >= 0);
		r = ioctl(device, LOOP_CONFIGURE, &config);
		close(device);
		if (r == 0)
			break;
		assert_int_equal(EBUSY, errno); /* somebody was faster */
	}
	close(file);
	close(control);
}

static void devices_on_our_files_go_and_others_stay(void **state)
{
	char ours[128], theirs[128], our_device[32], their_device[32], file[256];

	(void)state;
	NEEDS("/dev/loop-control");
	file_make("devices/ip-a-lun-0", ours);
	file_make("theirs", theirs);
	attach(ours, our_device);
	attach(theirs, their_device);
	backing_file(our_device, file, sizeof(file));
	assert_memory_equal(ours, file, strlen(ours));
	assert_int_equal(1, export_fuse_clean(root));
	backing_file(our_device, file, sizeof(file));
	assert_null(strstr(file, root));
	backing_file(their_device, file, sizeof(file));
	assert_non_null(strstr(file, theirs));
	detach(their_device);
	assert_int_equal(0, export_fuse_clean(root));
}

static void what_has_no_file_behind_it_is_passed_over(void **state)
{
	char file[16] = "x";

	(void)state;
	backing_file("loop-nonexistent", file, sizeof(file));
	assert_string_equal("", file);
	assert_int_equal(0, clean_device("/run/iseran/devices/", "sda"));
	assert_int_equal(0, clean_device("/run/iseran/devices/", "loop-nonexistent"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_below_the_directory_go_and_no_others),
		TEST(a_directory_that_is_not_there_has_nothing_left),
		TEST(devices_on_our_files_go_and_others_stay),
		TEST(what_has_no_file_behind_it_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

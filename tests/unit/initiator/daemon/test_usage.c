/* Who uses a block device: lines of mountinfo and swaps, open descriptors, and what is none. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "initiator/daemon/usage.c"

static char out[300];

static bool mount_is(const char *text, dev_t device)
{
	char line[PATH_MAX];

	snprintf(line, sizeof(line), "%s", text);
	out[0] = '\0';
	return is_mount(line, device, out, sizeof(out));
}

static void a_mount_is_found_by_its_device_number(void **state)
{
	/* proc(5): mount ID, parent, major:minor, root, mount point, options ... - type source */
	static const char line[] =
		"36 35 7:3 / /mnt/data rw,noatime shared:1 - ext4 /dev/loop3 rw\n";

	(void)state;
	assert_true(mount_is(line, makedev(7, 3)));
	assert_string_equal("mounted on /mnt/data", out);
	assert_false(mount_is(line, makedev(7, 4)));
	assert_string_equal("", out);
}

static void blanks_in_the_mount_point_are_octal(void **state)
{
	(void)state;
	assert_true(mount_is(
		"36 35 7:3 / /mnt/my\\040disk\\134x rw - ext4 /dev/loop3 rw\n", makedev(7, 3)));
	assert_string_equal("mounted on /mnt/my disk\\x", out);
}

static void a_file_system_of_several_devices_is_found_by_its_source(void **state)
{
	struct stat st;

	(void)state;
	/* any device file serves: btrfs has the number 0:44, and names one of its devices */
	assert_int_equal(0, stat("/dev/null", &st));
	assert_true(mount_is("90 1 0:44 /sub /srv rw - btrfs /dev/null rw\n", st.st_rdev));
	assert_string_equal("mounted on /srv", out);
	assert_false(mount_is("90 1 0:44 / /srv rw - tmpfs tmpfs rw\n", st.st_rdev));
	assert_false(mount_is("90 1 0:44 / /srv rw - nfs /dev/absent rw\n", st.st_rdev));
}

static void lines_that_make_no_sense_match_nothing(void **state)
{
	static const char *const lines[] = {
		"", "\n", "36 35", "36 35 7:x / /mnt", "a b 7:3 / /mnt"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_false(mount_is(lines[i], makedev(7, 3)));
}

static void swap_is_found_by_its_file(void **state)
{
	char line[] = "/dev/null partition 1048572 0 -2\n";
	char heading[] = "Filename Type Size Used Priority\n";
	struct stat st;

	(void)state;
	assert_int_equal(0, stat("/dev/null", &st));
	assert_true(is_swap(line, st.st_rdev, out, sizeof(out)));
	assert_string_equal("used as swap space", out);
	assert_false(is_swap(heading, st.st_rdev, out, sizeof(out)));
}

static void a_file_is_read_up_to_the_line_that_matches(void **state)
{
	char path[] = "/tmp/iseran-mounts-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");

	(void)state;
	fputs("22 1 0:20 / /sys rw - sysfs sysfs rw\n", f);
	for (int i = 0; i < 3 * PATH_MAX; i++) /* longer than any line may be */
		fputc('x', f);
	fputs("\n36 35 7:3 / /a rw - ext4 /dev/loop3 rw\n37 35 7:3 / /b rw - ext4 /dev/loop3 rw\n",
		f);
	fclose(f);
	assert_true(any_line(path, is_mount, makedev(7, 3), out, sizeof(out)));
	assert_string_equal("mounted on /a", out);
	assert_false(any_line(path, is_mount, makedev(7, 9), out, sizeof(out)));
	unlink(path);
	assert_false(any_line(path, is_mount, makedev(7, 3), out, sizeof(out)));
}

static void another_process_that_has_it_open_is_named(void **state)
{
	char path[] = "/tmp/iseran-open-XXXXXX", pid[16];
	int fd = mkstemp(path), ready[2], end[2];
	pid_t child;
	char c;

	(void)state;
	close(fd);
	assert_int_equal(0, pipe(ready) | pipe(end));
	child = fork();
	if (child == 0) {
		close(end[1]);
		if (open(path, O_RDONLY) >= 0 && write(ready[1], "x", 1) == 1)
			c = (char)read(end[0], &c, 1);
		_exit(0);
	}
	close(end[0]);
	assert_int_equal(1, read(ready[0], &c, 1));
	snprintf(pid, sizeof(pid), "%d", (int)child);
	assert_true(has_open(pid, path));
	assert_false(has_open(pid, "/tmp"));
	assert_true(is_open(path, out, sizeof(out)));
	assert_non_null(strstr(out, pid));
	assert_memory_equal("open in process ", out, 16);
	close(end[1]);
	waitpid(child, NULL, 0);
	assert_false(has_open(pid, path));
	assert_false(is_open(path, out, sizeof(out)));
	close(ready[0]);
	close(ready[1]);
	unlink(path);
}

static void our_own_descriptors_do_not_count(void **state)
{
	char path[] = "/tmp/iseran-open-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	/* a loop device's own file is open here all the time */
	assert_false(is_open(path, out, sizeof(out)));
	close(fd);
	unlink(path);
}

static void what_is_no_block_device_is_used_by_nobody(void **state)
{
	(void)state;
	assert_false(usage_find("/dev/null", out, sizeof(out)));
	assert_false(usage_find("/nonexistent", out, sizeof(out)));
	assert_false(is_held("/dev/loop-nonexistent", out, sizeof(out)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mount_is_found_by_its_device_number),
		cmocka_unit_test(blanks_in_the_mount_point_are_octal),
		cmocka_unit_test(a_file_system_of_several_devices_is_found_by_its_source),
		cmocka_unit_test(lines_that_make_no_sense_match_nothing),
		cmocka_unit_test(swap_is_found_by_its_file),
		cmocka_unit_test(a_file_is_read_up_to_the_line_that_matches),
		cmocka_unit_test(another_process_that_has_it_open_is_named),
		cmocka_unit_test(our_own_descriptors_do_not_count),
		cmocka_unit_test(what_is_no_block_device_is_used_by_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

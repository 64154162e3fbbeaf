/* Links by path: their names, that they change in one step, and that nothing else is removed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "initiator/daemon/links.c"

struct fixture {
	char directory[64];
};

static int setup(void **state)
{
	static struct fixture f;
	char path[PATH_MAX];

	snprintf(f.directory, sizeof(f.directory), "/tmp/test_links.XXXXXX");
	if (!mkdtemp(f.directory))
		return -1;
	snprintf(path, sizeof(path), "%s/by-path", f.directory);
	*state = &f;
	return mkdir(path, 0755);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char path[PATH_MAX];

	links_clean(f->directory);
	snprintf(path, sizeof(path), "%s/by-path/kept", f->directory);
	unlink(path);
	snprintf(path, sizeof(path), "%s/by-path", f->directory);
	rmdir(path);
	return rmdir(f->directory);
}

static void assert_leads_to(const struct fixture *f, const char *name, const char *device)
{
	char path[PATH_MAX], to[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/by-path/%s", f->directory, name);
	n = readlink(path, to, sizeof(to) - 1);
	if (!device) {
		assert_int_equal(n, -1);
		return;
	}
	assert_true(n > 0);
	to[n] = '\0';
	assert_string_equal(to, device);
}

static void a_name_is_made_as_udev_makes_it(void **state)
{
	char name[NAME_MAX + 1];

	(void)state;
	assert_int_equal(links_name("192.0.2.1:3260", "iqn.2026-11.org.example:disk", 3, "", name,
				 sizeof(name)),
		0);
	assert_string_equal(name, "ip-192.0.2.1:3260-iscsi-iqn.2026-11.org.example:disk-lun-3");
}

static void a_second_session_has_names_of_its_own(void **state)
{
	char name[NAME_MAX + 1];

	(void)state;
	assert_int_equal(
		links_name("[2001:db8::1]:3260", "iqn.x", 0, "-tcp", name, sizeof(name)), 0);
	assert_string_equal(name, "ip-[2001:db8::1]:3260-iscsi-iqn.x-lun-0-tcp");
}

static void a_name_that_no_file_may_have_is_refused(void **state)
{
	char name[NAME_MAX + 1], target[224];

	(void)state;
	memset(target, 'x', sizeof(target) - 1);
	target[sizeof(target) - 1] = '\0';
	assert_int_equal(
		links_name("[2001:db8::1234:5678:9abc]:3260", target, 0, "", name, sizeof(name)),
		-ENAMETOOLONG);
}

static void a_link_is_made_led_elsewhere_and_removed(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(links_make(f->directory, "one", "/dev/loop3"), 0);
	assert_leads_to(f, "one", "/dev/loop3");
	assert_int_equal(links_make(f->directory, "one", "/dev/loop4"), 0);
	assert_leads_to(f, "one", "/dev/loop4");
	links_remove(f->directory, "one");
	assert_leads_to(f, "one", NULL);
	links_remove(f->directory, "one");
}

static void a_half_made_link_of_a_killed_daemon_is_no_hindrance(void **state)
{
	struct fixture *f = *state;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/by-path/.one", f->directory);
	assert_int_equal(symlink("/dev/loop9", path), 0);
	assert_int_equal(links_make(f->directory, "one", "/dev/loop3"), 0);
	assert_leads_to(f, "one", "/dev/loop3");
	assert_leads_to(f, ".one", NULL);
}

static void cleaning_takes_links_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/by-path/kept", f->directory);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(links_make(f->directory, "one", "/dev/loop3"), 0);
	links_clean(f->directory);
	assert_leads_to(f, "one", NULL);
	assert_int_equal(access(path, F_OK), 0);
}

static void a_missing_directory_is_told(void **state)
{
	(void)state;
	assert_int_equal(links_make("/nowhere", "one", "/dev/loop3"), -ENOENT);
	links_remove("/nowhere", "one");
	links_clean("/nowhere");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_made_as_udev_makes_it),
		cmocka_unit_test(a_second_session_has_names_of_its_own),
		cmocka_unit_test(a_name_that_no_file_may_have_is_refused),
		cmocka_unit_test_setup_teardown(
			a_link_is_made_led_elsewhere_and_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_half_made_link_of_a_killed_daemon_is_no_hindrance, setup, teardown),
		cmocka_unit_test_setup_teardown(
			cleaning_takes_links_and_nothing_else, setup, teardown),
		cmocka_unit_test(a_missing_directory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

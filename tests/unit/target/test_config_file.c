/* Files that configurations come from, and the memory of a configuration (target/config_file.c). */
#include "tests/unit/target/config_kit.h"

#include "common/base/sys.h"

static void a_relative_path_is_taken_from_the_files_directory(void **state)
{
	static const char text[] = "targets:\n- {name: iqn.2026-01.org.example:a, luns: [{lun: 0, "
				   "path: x.img}]}\n";
	struct config_report report = {0};
	struct config *c;
	const struct config_target *t;

	(void)state;
	assert_int_equal(config_parse("f", "/etc/iseran", text, strlen(text), &report, &c), 0);
	t = &config_item(c->targets, struct config_target, 0);
	assert_string_equal(config_item(t->luns, struct config_lun, 0).path, "/etc/iseran/x.img");
	config_release(c);
}

static void a_file_that_is_not_there_is_one_clear_line(void **state)
{
	struct config_report report = {0};
	struct config *c;

	(void)state;
	assert_int_equal(config_load("/nonexistent.yaml", &report, &c), -EINVAL);
	assert_int_equal(report.count, 1);
	assert_string_equal(
		report.lines[0], "/nonexistent.yaml: cannot read it: No such file or directory");
	config_report_free(&report);
}

static const char *write_file(const char *text, size_t length, mode_t mode, char path[32])
{
	int fd;

	strcpy(path, "/tmp/iseran-config-XXXXXX");
	fd = mkstemp(path);
	assert_int_equal(write(fd, text, length), length);
	fchmod(fd, mode);
	close(fd);
	return path;
}

static void a_file_is_read_as_its_text(void **state)
{
	struct config_report report = {0};
	struct config *c;
	char path[32];

	(void)state;
	write_file(minimal, strlen(minimal), 0600, path);
	assert_int_equal(config_load(path, &report, &c), 0);
	assert_int_equal(report.count, 0);
	assert_string_equal(c->file, path);
	assert_int_equal(c->targets.count, 1);
	config_release(c);
	unlink(path);
}

static void a_file_with_secrets_that_everyone_may_read_is_warned_about(void **state)
{
	static const char text[] = "discovery:\n  chap: {name: joe, secret: twelve chars}\n";
	struct config_report report = {0};
	struct config *c;
	char path[32];

	(void)state;
	write_file(text, strlen(text), 0644, path);
	assert_int_equal(config_load(path, &report, &c), 0);
	assert_int_equal(report.warnings, 1);
	assert_non_null(strstr(report.lines[0], "everyone may read it; chmod 600"));
	config_report_free(&report);
	config_release(c);
	chmod(path, 0600);
	assert_int_equal(config_load(path, &report, &c), 0);
	assert_int_equal(report.count, 0);
	config_release(c);
	unlink(path);
}

static void what_is_no_file_is_refused_with_one_line(void **state)
{
	struct config_report report = {0};
	struct config *c;

	(void)state;
	assert_int_equal(config_load("/tmp", &report, &c), -EINVAL);
	assert_int_equal(config_load("/dev/null", &report, &c), -EINVAL);
	assert_int_equal(report.count, 2);
	assert_string_equal(
		report.lines[1], "/dev/null: cannot read it: a text file would be right");
	config_report_free(&report);
}

static void an_empty_file_and_one_of_zeros(void **state)
{
	static const char zeros[100];
	struct config_report report = {0};
	struct config *c;
	char path[32];

	(void)state;
	write_file("", 0, 0600, path);
	assert_int_equal(config_load(path, &report, &c), -EINVAL);
	unlink(path);
	write_file(zeros, sizeof(zeros), 0600, path);
	assert_int_equal(config_load(path, &report, &c), -EINVAL);
	assert_int_equal(report.count, 2);
	config_report_free(&report);
	unlink(path);
}

static void reading_that_fails_is_one_line(void **state)
{
	unsigned long live = alloc_live();
	struct config_report report = {0};
	struct config *c;
	char path[32];

	(void)state;
	write_file(minimal, strlen(minimal), 0600, path);
	/* open, fstat, read */
	for (unsigned long n = 1; n <= 3; n++) {
		sys_fail_nth(n, EIO);
		assert_int_equal(config_load(path, &report, &c), -EINVAL);
		sys_fail_nth(0, 0);
		assert_int_equal(report.count, n);
		assert_non_null(strstr(report.lines[n - 1], "cannot read it: Input/output error"));
	}
	config_report_free(&report);
	assert_int_equal(alloc_live(), live);
	unlink(path);
}

static void the_last_holder_frees_it(void **state)
{
	unsigned long live = alloc_live();
	struct config *c = parse(minimal);

	(void)state;
	assert_ptr_equal(config_hold(c), c);
	config_release(c);
	assert_string_equal(c->file, "f");
	config_release(c);
	config_release(NULL);
	assert_int_equal(alloc_live(), live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_relative_path_is_taken_from_the_files_directory),
		cmocka_unit_test(a_file_that_is_not_there_is_one_clear_line),
		cmocka_unit_test(a_file_is_read_as_its_text),
		cmocka_unit_test(a_file_with_secrets_that_everyone_may_read_is_warned_about),
		cmocka_unit_test(what_is_no_file_is_refused_with_one_line),
		cmocka_unit_test(an_empty_file_and_one_of_zeros),
		cmocka_unit_test(reading_that_fails_is_one_line),
		cmocka_unit_test(the_last_holder_frees_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The file of -m lun: what goes to iserd as it is, and what a temporary file stands in for. */
#include "tests/unit/initiator/cli/cli_kit.h"

#include "initiator/cli/lun_file.c"

static char directory[] = "/tmp/test-lun-file-XXXXXX";
static char path[64];

static void regular_file_goes_as_it_is(void **state)
{
	struct lun_file f;

	(void)state;
	assert_int_equal(STATUS_OK, lun_file_open(&f, path, true));
	assert_int_equal(-1, f.stream);
	assert_true(f.created);
	assert_true(f.truncate);
	assert_int_equal(STATUS_OK, lun_file_close(&f, STATUS_OK));
	assert_int_equal(0, access(path, F_OK));
	assert_int_equal(STATUS_OK, lun_file_open(&f, path, false));
	assert_false(f.created);
	assert_int_equal(STATUS_OK, lun_file_close(&f, STATUS_OK));
	unlink(path);
}

static void file_made_for_nothing_goes_away(void **state)
{
	struct lun_file f;

	(void)state;
	assert_int_equal(STATUS_OK, lun_file_open(&f, path, true));
	assert_int_equal(STATUS_NOT_FOUND, lun_file_close(&f, STATUS_NOT_FOUND));
	assert_int_equal(-1, access(path, F_OK));
}

static void file_that_was_there_stays_as_it_was(void **state)
{
	struct lun_file f;
	FILE *out = fopen(path, "w");
	char text[8] = "";
	int fd;

	(void)state;
	fputs("keep", out);
	fclose(out);
	assert_int_equal(STATUS_OK, lun_file_open(&f, path, true));
	assert_int_equal(STATUS_FAILED, lun_file_close(&f, STATUS_FAILED));
	fd = open(path, O_RDONLY);
	assert_int_equal(4, read(fd, text, sizeof(text)));
	assert_string_equal("keep", text);
	close(fd);
	unlink(path);
}

static void pipe_is_read_into_a_temporary_file_first(void **state)
{
	int ends[2], was = dup(STDIN_FILENO);
	struct lun_file f;
	char text[8] = "";

	(void)state;
	assert_int_equal(0, pipe(ends));
	assert_int_equal(6, write(ends[1], "piped!", 6));
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	assert_int_equal(STATUS_OK, lun_file_open(&f, "-", false));
	dup2(was, STDIN_FILENO);
	close(was);
	close(ends[0]);
	assert_int_equal(6, read(f.fd, text, sizeof(text)));
	assert_string_equal("piped!", text);
	assert_int_equal(STATUS_OK, lun_file_close(&f, STATUS_OK));
}

static void fifo_gets_what_the_temporary_file_holds(void **state)
{
	struct lun_file f;
	char text[8] = "";
	int reader;

	(void)state;
	assert_int_equal(0, mkfifo(path, 0600));
	reader = open(path, O_RDONLY | O_NONBLOCK);
	assert_int_equal(STATUS_OK, lun_file_open(&f, path, true));
	assert_true(f.stream >= 0);
	assert_int_equal(4, write(f.fd, "data", 4));
	assert_int_equal(STATUS_OK, lun_file_close(&f, STATUS_OK));
	assert_int_equal(4, read(reader, text, sizeof(text)));
	assert_string_equal("data", text);
	close(reader);
	unlink(path);
}

static void refused(const char *name, bool write, const char *says)
{
	struct lun_file f;
	struct caught c;
	int status;

	catch_output(&c);
	status = lun_file_open(&f, name, write);
	release_output(&c);
	assert_int_equal(STATUS_USAGE, status);
	assert_non_null(strstr(c.text[1], says));
	free_output(&c);
	lun_file_close(&f, status);
}

static void directory_and_missing_file_are_refused(void **state)
{
	(void)state;
	refused(directory, false, "it is a directory");
	refused(path, false, "No such file");
	refused("/no/such/place/file", true, "No such file");
}

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regular_file_goes_as_it_is),
		cmocka_unit_test(file_made_for_nothing_goes_away),
		cmocka_unit_test(file_that_was_there_stays_as_it_was),
		cmocka_unit_test(pipe_is_read_into_a_temporary_file_first),
		cmocka_unit_test(fifo_gets_what_the_temporary_file_holds),
		cmocka_unit_test(directory_and_missing_file_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

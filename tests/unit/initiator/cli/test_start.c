/* Starting iserd: its directories and log, and what is said when it does not come up. A shell
 * script in $PATH stands for it. */
#include "tests/unit/initiator/cli/cli_kit.h"

#include <ftw.h>

#include "initiator/cli/start.c"

static char root[64], socket_path[128];

const char *tool_runtime_dir(const struct tool_options *o)
{
	return o->runtime_dir;
}

const char *tool_state_dir(const struct tool_options *o)
{
	return o->state_dir;
}

/* Whether somebody answers: once the script has made this file, as iserd makes its socket. */
int control_connect(const char *path, struct control_client **ret)
{
	*ret = NULL;
	return access(path, F_OK) == 0 ? 0 : -ENOENT;
}

void control_disconnect(struct control_client *c)
{
	(void)c;
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
	(void)state;
	strcpy(root, "/tmp/iseran-start-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(socket_path, sizeof(socket_path), "%s/run/a/iserd.sock", root);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void script(const char *text)
{
	char path[128], variable[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/iserd", root);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", text);
	fclose(f);
	assert_int_equal(0, chmod(path, 0755));
	snprintf(variable, sizeof(variable), "%s:/usr/bin:/bin", root);
	setenv("PATH", variable, 1);
}

static char error[600];

static int start(void)
{
	char runtime[80];
	const struct tool_options o = {.runtime_dir = runtime, .state_dir = "/state"};
	struct caught c;
	int status;

	snprintf(runtime, sizeof(runtime), "%s/run/a", root);
	catch_output(&c);
	status = start_iserd(&o, socket_path);
	release_output(&c);
	snprintf(error, sizeof(error), "%s", c.text[1]);
	free_output(&c);
	return status;
}

static void it_runs_with_the_directories_and_logs_to_a_file(void **state)
{
	char log[128], text[256] = "";
	FILE *f;

	(void)state;
	/* "$4" is the runtime directory, which was made before */
	script("echo \"$0 $1 $2 $3 $4\"; touch \"$4/iserd.sock\"");
	assert_int_equal(STATUS_OK, start());
	assert_string_equal("", error);
	snprintf(log, sizeof(log), "%s/run/a/iserd.log", root);
	f = fopen(log, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_non_null(strstr(text, "iserd --state-dir /state --runtime-dir /tmp/iseran-start-"));
}

static void its_last_line_says_why_it_has_ended(void **state)
{
	(void)state;
	script("echo first; echo 'iserd: state directory /state: no space' >&2; exit 1");
	assert_int_equal(STATUS_NO_DAEMON, start());
	assert_string_equal(
		"iseradm: iserd does not start: state directory /state: no space\n", error);
}

static void one_that_ended_without_a_word_is_said(void **state)
{
	char want[200];

	(void)state;
	snprintf(want, sizeof(want), "%s/run/a/iserd.log", root);
	unlink(want); /* of tests before */
	script("exit 1");
	assert_int_equal(STATUS_NO_DAEMON, start());
	snprintf(want, sizeof(want), "iseradm: iserd does not start: it left no word in %s/", root);
	assert_memory_equal(want, error, strlen(want));
}

static void an_iserd_that_is_nowhere_is_said(void **state)
{
	(void)state;
	setenv("PATH", root, 1);
	assert_int_equal(STATUS_NO_DAEMON, start());
	assert_string_equal(
		"iseradm: iserd does not start: cannot be run: No such file or directory\n", error);
}

static void another_start_that_was_faster_is_good_too(void **state)
{
	(void)state;
	/* ours finds the lock taken and ends, the other one answers */
	script("touch \"$4/iserd.sock\"; exit 6");
	assert_int_equal(STATUS_OK, start());
}

static void a_directory_that_cannot_be_made_is_named(void **state)
{
	char path[128];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/run", root);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(STATUS_NO_DAEMON, start());
	assert_non_null(strstr(error, "iserd does not run, and cannot be started: "));
	assert_non_null(strstr(error, "run/a/iserd.log: Not a directory"));
}

static void the_last_line_is_found_at_the_end_of_a_long_log(void **state)
{
	char path[128], why[WHY_SIZE];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/log", root);
	last_line(path, why);
	assert_string_equal("", why);
	f = fopen(path, "w");
	for (int i = 0; i < 1000; i++)
		fprintf(f, "line %d\n", i);
	fclose(f);
	last_line(path, why);
	assert_string_equal("line 999", why);
	f = fopen(path, "w");
	for (int i = 0; i < 1000; i++)
		fputc('x', f);
	fclose(f);
	last_line(path, why); /* one line without an end, longer than can be shown */
	assert_int_equal(WHY_SIZE - 1, strlen(why));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_runs_with_the_directories_and_logs_to_a_file),
		TEST(its_last_line_says_why_it_has_ended),
		TEST(one_that_ended_without_a_word_is_said),
		TEST(an_iserd_that_is_nowhere_is_said),
		TEST(another_start_that_was_faster_is_good_too),
		TEST(a_directory_that_cannot_be_made_is_named),
		TEST(the_last_line_is_found_at_the_end_of_a_long_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

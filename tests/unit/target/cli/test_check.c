/* isertadm check: the isertd beside the tool, else that of $PATH, is run (target/cli/check.c). */
#include <sys/stat.h>
#include <sys/wait.h>

#define CLI_KIT_TOOL
#include "tests/unit/target/cli/cli_kit.h"

#include "target/cli/check.c"

static void a_file_is_needed(void **state)
{
	(void)state;
	call(verb_check, 1, "check");
	assert_int_equal(ran.status, EXIT_USAGE);
}

/* A stand-in for isertd that shows its words. */
static void isertd_is_run_with_the_file(void **state)
{
	char directory[] = "/tmp/iseran-check-XXXXXX", program[64], file[64], text[256] = "";
	int pipes[2], status;
	FILE *f;
	pid_t child;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(program, sizeof(program), "%s/isertd", directory);
	f = fopen(program, "we");
	fputs("#!/bin/sh\necho \"$@\"\nexit 7\n", f);
	fchmod(fileno(f), 0700);
	fclose(f);
	snprintf(file, sizeof(file), "%s/my.yaml", directory);
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		char *argv[] = {"check", file, NULL};

		setenv("PATH", directory, 1);
		dup2(pipes[1], STDOUT_FILENO);
		_exit(verb_check(2, argv));
	}
	close(pipes[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7); /* isertd's own */
	assert_true(read(pipes[0], text, sizeof(text) - 1) > 0);
	assert_memory_equal(text, "--check --config /tmp/iseran-check-", 35);
	close(pipes[0]);
	unlink(program);
	rmdir(directory);
}

static void without_isertd_it_says_so(void **state)
{
	(void)state;
	setenv("PATH", "/nonexistent", 1);
	call(verb_check, 2, "check", "/my.yaml");
	assert_int_equal(ran.status, EXIT_FAILED);
	assert_string_equal(ran.errors, "isertadm: cannot run isertd: No such file or directory\n");
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_needed),
		TEST(isertd_is_run_with_the_file),
		TEST(without_isertd_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

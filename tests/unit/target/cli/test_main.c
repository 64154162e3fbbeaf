/* isertadm: its verbs are found, and what is wrong with the first word is one line
 * (target/cli/main.c). */
#include "tests/unit/target/cli/cli_kit.h"

#define main isertadm_main
int isertadm_main(int argc, char **argv);
#include "target/cli/main.c"
#undef main

static const char *called;

#define VERB(name)                                                                                 \
	int verb_##name(int argc, char **argv)                                                     \
	{                                                                                          \
		(void)argc;                                                                        \
		called = argv[0];                                                                  \
		return 40;                                                                         \
	}
VERB(show)
VERB(sessions)
VERB(stats)
VERB(reload)
VERB(check)
VERB(drop)
VERB(log)
VERB(stop)

static void every_verb_is_called_with_its_own_name_first(void **state)
{
	static char *const names[] = {
		"show", "sessions", "stats", "reload", "check", "drop", "log", "stop"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		called = NULL;
		call(isertadm_main, 2, "isertadm", names[i]);
		assert_int_equal(ran.status, 40);
		assert_string_equal(called, names[i]);
	}
}

static void an_unknown_verb_names_the_nearest(void **state)
{
	(void)state;
	call(isertadm_main, 2, "isertadm", "sesions");
	assert_int_equal(ran.status, EXIT_USAGE);
	assert_non_null(strstr(ran.errors, "sessions"));
	call(isertadm_main, 1, "isertadm");
	assert_int_equal(ran.status, EXIT_USAGE);
	assert_string_equal(
		ran.errors, "isertadm: a verb is missing; isertadm --help lists them\n");
}

static void help_and_version_succeed(void **state)
{
	(void)state;
	call(isertadm_main, 2, "isertadm", "--help");
	assert_int_equal(ran.status, EXIT_OK);
	prints("  reload     read the configuration anew\n");
	call(isertadm_main, 2, "isertadm", "-V");
	assert_int_equal(ran.status, EXIT_OK);
	prints("isertadm (Iseran) ");
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_verb_is_called_with_its_own_name_first),
		TEST(an_unknown_verb_names_the_nearest),
		TEST(help_and_version_succeed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* iseradm's first step: which mode, wherever -m stands, and what is left for it. */
#include "tests/unit/initiator/cli/cli_kit.h"

#define main iseradm_main
int iseradm_main(int argc, char **argv);
#include "initiator/cli/main.c"
#undef main

static const char *called;
static char rest[200];

static int note(const char *mode, int argc, char **argv)
{
	called = mode;
	rest[0] = '\0';
	for (int i = 1; i < argc; i++)
		snprintf(rest + strlen(rest), sizeof(rest) - strlen(rest), "%s ", argv[i]);
	assert_null(argv[argc]);
	return 42;
}

#define MODE(name)                                                                                 \
	int mode_##name(int argc, char **argv)                                                     \
	{                                                                                          \
		return note(#name, argc, argv);                                                    \
	}
MODE(discovery)
MODE(discoverydb)
MODE(iface)
MODE(node)
MODE(session)
MODE(lun)
MODE(daemon)

static struct caught output;

static int type(char *a, char *b, char *c, char *d)
{
	char *argv[] = {"iseradm", a, b, c, d, NULL};
	int argc = 1, status;

	while (argv[argc])
		argc++;
	called = NULL;
	free_output(&output);
	catch_output(&output);
	status = iseradm_main(argc, argv);
	release_output(&output);
	return status;
}

static void the_mode_may_stand_anywhere_in_any_form(void **state)
{
	(void)state;
	assert_int_equal(42, type("-m", "node", "-T", "iqn.x:y"));
	assert_string_equal("node", called);
	assert_string_equal("-T iqn.x:y ", rest);
	assert_int_equal(42, type("-P", "3", "-m", "session"));
	assert_string_equal("session", called);
	assert_string_equal("-P 3 ", rest);
	assert_int_equal(42, type("-mdiscovery", "-p", "h", NULL));
	assert_string_equal("discovery", called);
	assert_string_equal("-p h ", rest);
	assert_int_equal(42, type("-o", "stop", "--mode=daemon", NULL));
	assert_string_equal("daemon", called);
	assert_string_equal("-o stop ", rest);
	assert_int_equal(42, type("--mode", "lun", NULL, NULL));
	assert_string_equal("", rest);
}

static void a_misspelt_mode_is_told_the_right_one(void **state)
{
	(void)state;
	assert_int_equal(STATUS_USAGE, type("-m", "nodes", NULL, NULL));
	assert_null(called);
	assert_non_null(strstr(output.text[1], "nodes"));
	assert_non_null(strstr(output.text[1], "'node'"));
}

static void without_a_mode_one_line_says_which_there_are(void **state)
{
	(void)state;
	assert_int_equal(STATUS_USAGE, type(NULL, NULL, NULL, NULL));
	assert_non_null(strstr(output.text[1], "discovery, node, session, lun or daemon"));
	assert_int_equal(STATUS_USAGE, type("-m", NULL, NULL, NULL));
	assert_int_equal(STATUS_USAGE, type("--mode=", NULL, NULL, NULL));
	assert_int_equal(STATUS_USAGE, type("-T", "iqn.x:y", NULL, NULL));
	assert_string_equal("", output.text[0]);
}

static void modes_of_iscsiadm_that_there_are_not_are_refused_with_what_to_use(void **state)
{
	(void)state;
	assert_int_equal(STATUS_UNSUPPORTED, type("-m", "fw", NULL, NULL));
	assert_non_null(strstr(output.text[1], "-m fw: no firmware"));
	assert_int_equal(STATUS_UNSUPPORTED, type("-m", "host", "-P", "4"));
	assert_non_null(strstr(output.text[1], "-m session -P 3"));
	assert_int_equal(STATUS_UNSUPPORTED, type("-k", "0", NULL, NULL));
	assert_non_null(strstr(output.text[1], "-m daemon -o stop"));
	assert_null(called);
}

static void help_and_version_go_to_standard_output(void **state)
{
	(void)state;
	assert_int_equal(STATUS_OK, type("--help", NULL, NULL, NULL));
	assert_non_null(strstr(output.text[0], "-m discovery"));
	assert_non_null(
		strstr(output.text[0], " 21  there is no such record, session, target or LUN\n"));
	assert_int_equal(STATUS_OK, type("-V", NULL, NULL, NULL));
	assert_memory_equal("iseradm (Iseran) ", output.text[0], 17);
	assert_string_equal("", output.text[1]);
	/* a mode's own help is the mode's */
	assert_int_equal(42, type("-m", "lun", "--help", NULL));
	assert_string_equal("--help ", rest);
}

static int teardown(void **state)
{
	(void)state;
	free_output(&output);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mode_may_stand_anywhere_in_any_form),
		cmocka_unit_test(a_misspelt_mode_is_told_the_right_one),
		cmocka_unit_test(without_a_mode_one_line_says_which_there_are),
		cmocka_unit_test(modes_of_iscsiadm_that_there_are_not_are_refused_with_what_to_use),
		cmocka_unit_test(help_and_version_go_to_standard_output),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}

/* The keys of the configuration as text (target/config_help.c). */
#include "tests/unit/target/config_kit.h"

static void the_help_names_every_key(void **state)
{
	static const char *const some[] = {"portals: list", "max_sessions: number", "secret_file",
		"write_cache: true|false, default true", "first byte of the bad range",
		"what an initiator must prove to see the list of targets"};
	struct config_text help;

	(void)state;
	assert_int_equal(config_help(&help), 0);
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		if (!strstr(help.text, some[i]))
			fail_msg("no \"%s\"", some[i]);
	alloc_free(help.text);
}

static void no_memory_for_the_help_is_said(void **state)
{
	struct config_text help = {0};

	(void)state;
	alloc_fail_nth(1);
	assert_int_equal(config_help(&help), -ENOMEM);
	alloc_fail_nth(0);
	assert_null(help.text);
}

/* All of it: the last key is there, and lines are lines of a terminal. */
static void the_help_is_whole(void **state)
{
	struct config_text help;
	size_t width = 0;

	(void)state;
	assert_int_equal(config_help(&help), 0);
	assert_int_equal(strlen(help.text), help.length);
	assert_non_null(strstr(help.text, "control_socket: path"));
	assert_int_equal(help.text[help.length - 1], '\n');
	for (size_t i = 0; i < help.length; i++) {
		width = help.text[i] == '\n' ? 0 : width + 1;
		assert_true(width < 140);
	}
	alloc_free(help.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_help_names_every_key),
		cmocka_unit_test(no_memory_for_the_help_is_said),
		cmocka_unit_test(the_help_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* isertadm stats: what each loop has done (target/cli/stats.c). */
#define CLI_KIT_TOOL
#include "tests/unit/target/cli/cli_kit.h"

#include "target/cli/stats.c"

static void each_loop_is_a_line_of_a_table(void **state)
{
	const char *head, *first, *second;

	(void)state;
	isertd.reply = "{\"logins\":5,\"loops\":[{\"loop\":0,\"connections\":3,\"sessions\":2,"
		       "\"under_way\":1,\"commands\":12345678901,\"errors\":0,\"read_bytes\":0,"
		       "\"written_bytes\":1099511627776},{\"loop\":1}]}";
	call(verb_stats, 1, "stats");
	assert_int_equal(ran.status, EXIT_OK);
	head = ran.out;
	first = strchr(head, '\n') + 1;
	second = strchr(first, '\n') + 1;
	/* Columns stand under their names. */
	assert_int_equal(first - head, second - first);
	prints(" 12345678901 ");
	prints("1.0 TiB");
	prints("\nlogging in: 5\n");
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_loop_is_a_line_of_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

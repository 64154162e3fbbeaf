/* A verb that is a question and its answer (target/cli/answer.c). */
#define CLI_KIT_TOOL
#include "tests/unit/target/cli/cli_kit.h"

static void print_count(struct json_object *reply)
{
	printf("%llu things\n", (unsigned long long)field_number(reply, "count"));
}

static int verb(int argc, char **argv)
{
	return tool_show(argc, argv, "things", print_count);
}

static void the_answer_is_printed_in_words(void **state)
{
	(void)state;
	isertd.reply = "{\"ok\":true,\"count\":7}";
	call(verb, 1, "things");
	assert_int_equal(ran.status, EXIT_OK);
	assert_string_equal(isertd.asked, "things =");
	assert_string_equal(ran.out, "7 things\n");
}

static void json_takes_the_words_place(void **state)
{
	struct json_object *again;

	(void)state;
	isertd.reply = "{\"ok\":true,\"count\":7}";
	call(verb, 2, "things", "--json");
	again = json_tokener_parse(ran.out);
	assert_int_equal(field_number(again, "count"), 7);
	json_object_put(again);
}

static void a_refusal_prints_nothing(void **state)
{
	(void)state;
	isertd.status = EXIT_UNREACHABLE;
	call(verb, 1, "things");
	isertd.status = 0;
	assert_int_equal(ran.status, EXIT_UNREACHABLE);
	assert_string_equal(ran.out, "");
}

static void operands_are_refused_before_isertd_is_asked(void **state)
{
	(void)state;
	isertd.asked[0] = '\0';
	call(verb, 2, "things", "more");
	assert_int_equal(ran.status, EXIT_USAGE);
	assert_string_equal(isertd.asked, "");
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_answer_is_printed_in_words),
		TEST(json_takes_the_words_place),
		TEST(a_refusal_prints_nothing),
		TEST(operands_are_refused_before_isertd_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

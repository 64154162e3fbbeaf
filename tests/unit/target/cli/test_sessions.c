/* isertadm sessions: who is logged in, in words (target/cli/sessions.c). */
#define CLI_KIT_TOOL
#include "tests/unit/target/cli/cli_kit.h"

#include "target/cli/sessions.c"

static const char one[] =
	"{\"ok\":true,\"sessions\":[{\"tsih\":3,\"initiator\":\"iqn.1993-08.org.debian:01:a\","
	"\"peer\":\"192.0.2.7:4321\",\"target\":\"iqn.2026-01.org.example:disk\",\"discovery\":"
	"false,"
	"\"mover\":\"iser\",\"provider\":\"softiwarp\",\"loop\":1,\"state\":\"LOGGED_IN\",\"age_"
	"s\":61,"
	"\"luns\":2,\"commands\":7,\"under_way\":1,\"errors\":4,\"read_bytes\":1536,"
	"\"written_bytes\":0}]}";

static void a_session_is_three_lines(void **state)
{
	(void)state;
	isertd.reply = one;
	call(verb_sessions, 1, "sessions");
	assert_int_equal(ran.status, EXIT_OK);
	assert_string_equal(isertd.asked, "sessions =");
	prints("[3] iqn.1993-08.org.debian:01:a from 192.0.2.7:4321 to "
	       "iqn.2026-01.org.example:disk\n");
	prints("    iser/softiwarp on loop 1, LOGGED_IN, up 61 s, LUNs 2\n");
	prints("    commands 7 (1 under way, 4 failed), read 1.5 KiB, written ");
}

static void a_discovery_session_has_no_target(void **state)
{
	(void)state;
	isertd.reply = "{\"sessions\":[{\"tsih\":1,\"initiator\":\"iqn.a\",\"peer\":\"p\","
		       "\"target\":null,\"discovery\":true}]}";
	call(verb_sessions, 1, "sessions");
	prints("[1] iqn.a from p (discovery)\n");
}

static void nobody_there_is_said(void **state)
{
	(void)state;
	isertd.reply = "{\"sessions\":[]}";
	call(verb_sessions, 1, "sessions");
	assert_string_equal(ran.out, "no sessions\n");
	assert_int_equal(ran.status, EXIT_OK);
}

static void json_is_all_that_isertd_said(void **state)
{
	struct json_object *again;

	(void)state;
	isertd.reply = one;
	call(verb_sessions, 2, "sessions", "--json");
	again = json_tokener_parse(ran.out);
	assert_int_equal(field_number(field_item(again, "sessions", 0), "read_bytes"), 1536);
	assert_null(strstr(ran.out, "from"));
	json_object_put(again);
}

static void what_isertd_refused_is_passed_on(void **state)
{
	(void)state;
	isertd.status = EXIT_UNREACHABLE;
	call(verb_sessions, 1, "sessions");
	isertd.status = 0;
	assert_int_equal(ran.status, EXIT_UNREACHABLE);
	assert_string_equal(ran.out, "");
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_is_three_lines),
		TEST(a_discovery_session_has_no_target),
		TEST(nobody_there_is_said),
		TEST(json_is_all_that_isertd_said),
		TEST(what_isertd_refused_is_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

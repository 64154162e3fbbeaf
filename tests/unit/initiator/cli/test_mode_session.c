/* iseradm -m session: what is asked for, what an empty answer means, and that nothing is started
 * for a question whose answer is known. */
#include "tests/unit/initiator/cli/mode_kit.h"

#define print tree_print
#define show tree_show
#include "initiator/cli/tree.c"
#undef print
#undef show

#include "initiator/cli/mode_session.c"

#define ONE                                                                                        \
	"{\"sessions\": [{\"session\": 4, \"target\": \"iqn.x:y\", \"portal\": "                   \
	"\"192.0.2.1:3260\","                                                                      \
	" \"tpgt\": 1, \"transport\": \"tcp\", \"state\": \"LOGGED_IN\","                          \
	" \"stats\": {\"tasks_done\": 9}, \"luns\": []}]}"
#define NONE "{\"sessions\": []}"

static void sessions_are_listed(void **state)
{
	const struct answer a[] = {{0, ONE, NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_session, "", a));
	assert_string_equal("{\"verb\":\"sessions\"}", it.asked[0]);
	assert_string_equal("tcp: [4] 192.0.2.1:3260,1 iqn.x:y (non-flash)\n", it.out);
	assert_int_equal(STATUS_OK, iseradm(mode_session, "-P 1", a));
	assert_memory_equal("Target: iqn.x:y", it.out, 15);
	assert_int_equal(STATUS_OK, iseradm(mode_session, "-r 4 --stats", a));
	assert_string_equal("{\"verb\":\"sessions\",\"session\":4}", it.asked[0]);
	assert_non_null(strstr(it.out, "tasks_done: 9"));
}

static void no_session_is_not_found(void **state)
{
	const struct answer a[] = {{0, NONE, NULL}};

	(void)state;
	assert_int_equal(STATUS_NOT_FOUND, iseradm(mode_session, "", a));
	assert_string_equal("iseradm: No active sessions.\n", it.err);
	assert_int_equal(STATUS_NO_SESSION, iseradm(mode_session, "-r 9", a));
	assert_string_equal("iseradm: there is no session 9; -m session lists them\n", it.err);
}

static void an_iserd_that_does_not_run_has_no_sessions(void **state)
{
	struct json_object *o;

	(void)state;
	it.connect = -ENOENT;
	it.starts = true;
	assert_int_equal(STATUS_NOT_FOUND, iseradm(mode_session, "", NULL));
	assert_string_equal("iseradm: No active sessions.\n", it.err);
	assert_int_equal(STATUS_OK, iseradm(mode_session, "--json", NULL));
	o = json(it.out);
	assert_int_equal(0, field_count(o, "sessions"));
	assert_non_null(field_object(o, "sessions"));
	json_object_put(o);
	assert_int_equal(0, it.started);
}

static void logout_and_rescan_are_asked_for_by_number(void **state)
{
	const struct answer out[] = {{0, "{\"logouts\": []}", NULL}};
	const struct answer scan[] = {{0, "{\"rescans\": []}", NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_session, "-r 4 -u", out));
	assert_string_equal("{\"verb\":\"logout\",\"session\":4}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_session, "-u --force", out));
	assert_string_equal("{\"verb\":\"logout\",\"force\":true}", it.asked[0]);
	assert_int_equal(STATUS_OK, iseradm(mode_session, "-r 4 -R", scan));
	assert_string_equal("{\"verb\":\"rescan\",\"session\":4}", it.asked[0]);
}

static void a_failed_logout_gives_its_status(void **state)
{
	const struct answer a[] = {{0,
		"{\"logouts\": [{\"target\": \"iqn.x:y\", \"portal\": \"192.0.2.1:3260\", "
		"\"session\": 4,"
		" \"ok\": false, \"status\": 1, \"error\": \"it is mounted\"}]}",
		NULL}};

	(void)state;
	assert_int_equal(STATUS_FAILED, iseradm(mode_session, "-r 4 -u", a));
	assert_string_equal("iseradm: Could not logout of [sid: 4, target: iqn.x:y, portal: "
			    "192.0.2.1,3260]: it is mounted\n",
		it.err);
}

static void wrong_words_are_usage(void **state)
{
	(void)state;
	assert_int_equal(STATUS_USAGE, iseradm(mode_session, "-u -R", NULL));
	assert_int_equal(STATUS_USAGE, iseradm(mode_session, "-r 0", NULL));
	assert_int_equal(STATUS_USAGE, iseradm(mode_session, "-P 4", NULL));
	assert_int_equal(STATUS_USAGE, iseradm(mode_session, "-r one", NULL));
	assert_int_equal(0, it.answered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODE_TEST(sessions_are_listed),
		MODE_TEST(no_session_is_not_found),
		MODE_TEST(an_iserd_that_does_not_run_has_no_sessions),
		MODE_TEST(logout_and_rescan_are_asked_for_by_number),
		MODE_TEST(a_failed_logout_gives_its_status),
		MODE_TEST(wrong_words_are_usage),
	};

	return cmocka_run_group_tests(tests, NULL, last_output_is_freed);
}

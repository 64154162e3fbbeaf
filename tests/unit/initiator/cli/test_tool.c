/* What the modes are built from: where iserd is met, when it is started, and what its end means. */
#include "tests/unit/initiator/cli/mode_kit.h"

static const struct tool_options none;

/* One question of a mode. */
static int question(int argc, char **argv)
{
	struct tool_call c = tool_request("status");
	struct json_object *reply = NULL;
	int status;

	(void)argc;
	(void)argv;
	status = tool_ask(&none, &c, &reply);
	assert_null(c.request);
	assert_true(status == STATUS_OK || !reply);
	json_object_put(reply);
	return status;
}

static int question_to_who_runs(int argc, char **argv)
{
	struct tool_call c = tool_request("status");
	struct json_object *reply = NULL;

	(void)argc;
	(void)argv;
	c.start = false;
	return tool_ask(&none, &c, &reply);
}

static void the_directories_are_given_then_of_the_environment_then_standard(void **state)
{
	struct tool_options o = {0};

	(void)state;
	unsetenv("ISERAN_RUNTIME_DIR");
	assert_string_equal("/run/iseran", tool_runtime_dir(&o));
	setenv("ISERAN_RUNTIME_DIR", "/environment", 1);
	assert_string_equal("/environment", tool_runtime_dir(&o));
	o.runtime_dir = "/given";
	assert_string_equal("/given", tool_runtime_dir(&o));
	setenv("ISERAN_STATE_DIR", "", 1);
	assert_string_equal("/var/lib/iseran", tool_state_dir(&o));
	unsetenv("ISERAN_RUNTIME_DIR");
	unsetenv("ISERAN_STATE_DIR");
}

static void an_iserd_that_does_not_run_is_started(void **state)
{
	const struct answer a[] = {{0, NULL, NULL}};

	(void)state;
	it.starts = true;
	it.connect = -ENOENT;
	assert_int_equal(STATUS_OK, iseradm(question, "", a));
	assert_int_equal(1, it.started);
	it.connect = -ECONNREFUSED; /* a socket that a killed one left */
	assert_int_equal(STATUS_OK, iseradm(question, "", a));
	assert_int_equal(1, it.started);
	it.connect = -ENOENT;
	assert_int_equal(STATUS_NO_DAEMON, iseradm(question_to_who_runs, "", a));
	assert_int_equal(0, it.started);
	assert_string_equal("", it.err);
}

static void who_may_not_ask_is_told_who_may(void **state)
{
	(void)state;
	it.connect = -EACCES;
	assert_int_equal(STATUS_ACCESS, iseradm(question, "", NULL));
	assert_string_equal("iseradm: /run/iseran/iserd.sock: permission denied; try as root, or "
			    "as the user that iserd runs as\n",
		it.err);
	assert_int_equal(0, it.started);
	it.connect = -ENAMETOOLONG;
	assert_int_equal(STATUS_NO_DAEMON, iseradm(question, "", NULL));
	assert_string_equal("iseradm: /run/iseran/iserd.sock: File name too long\n", it.err);
}

static void an_iserd_that_goes_away_is_told(void **state)
{
	const struct answer a[] = {{-EPIPE, NULL, NULL}};

	(void)state;
	assert_int_equal(STATUS_DAEMON_LOST, iseradm(question, "", a));
	assert_string_equal("iseradm: iserd went away before it answered: Broken pipe\n", it.err);
}

static void a_refusal_is_one_line_with_its_status(void **state)
{
	const struct answer a[] = {{STATUS_EXISTS, "{\"error\": \"there already\"}", NULL}};

	(void)state;
	assert_int_equal(STATUS_EXISTS, iseradm(question, "", a));
	assert_string_equal("iseradm: there already\n", it.err);
}

static void fields_that_say_nothing_are_left_out(void **state)
{
	struct tool_call c = tool_request("x");

	(void)state;
	tool_put(&c, "none", NULL);
	tool_put_flag(&c, "no", false);
	tool_put_flag(&c, "yes", true);
	tool_put_number(&c, "n", UINT64_C(1) << 40);
	assert_string_equal("{\"verb\":\"x\",\"yes\":true,\"n\":1099511627776}",
		json_object_to_json_string_ext(c.request, JSON_C_TO_STRING_PLAIN));
	assert_int_equal(-1, c.fd);
	assert_true(c.start);
	json_object_put(c.request);
}

static int tell_in_json(int argc, char **argv)
{
	const struct tool_options o = {.json = true};
	struct tool_call c = tool_request("x");

	(void)argc;
	(void)argv;
	return tool_tell(&o, &c);
}

static void answers_worth_nothing_are_shown_in_json_alone(void **state)
{
	const struct answer a[] = {{0, "{\"updated\": 3}", NULL}};
	struct json_object *o;

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(tell_in_json, "", a));
	o = json(it.out);
	assert_int_equal(3, field_number(o, "updated"));
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODE_TEST(the_directories_are_given_then_of_the_environment_then_standard),
		MODE_TEST(an_iserd_that_does_not_run_is_started),
		MODE_TEST(who_may_not_ask_is_told_who_may),
		MODE_TEST(an_iserd_that_goes_away_is_told),
		MODE_TEST(a_refusal_is_one_line_with_its_status),
		MODE_TEST(fields_that_say_nothing_are_left_out),
		MODE_TEST(answers_worth_nothing_are_shown_in_json_alone),
	};

	return cmocka_run_group_tests(tests, NULL, last_output_is_freed);
}

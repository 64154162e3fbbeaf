/* iseradm -m daemon: status, stop, log; an iserd that does not run is not started for it. */
#include "tests/unit/initiator/cli/mode_kit.h"

#include <sys/wait.h>

#include "initiator/cli/mode_daemon.c"

#define STATUS                                                                                     \
	"{\"version\": \"1.2\", \"pid\": 77, \"uptime_s\": 12, \"initiator\": \"iqn.i:n\","        \
	" \"state_dir\": \"/s\", \"runtime_dir\": \"/r\", \"log_level\": \"info\","                \
	" \"devices\": true, \"sessions\": 2, \"logins_waiting\": 1}"

static void status_is_told_line_by_line(void **state)
{
	const struct answer a[] = {{0, STATUS, NULL}};

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_daemon, "", a));
	assert_string_equal("{\"verb\":\"status\"}", it.asked[0]);
	assert_string_equal("iserd 1.2, pid 77, up 12 s\n"
			    "initiator name      iqn.i:n\n"
			    "state directory     /s\n"
			    "runtime directory   /r\n"
			    "log level           info\n"
			    "block devices       yes\n"
			    "sessions            2, 1 being tried at start\n",
		it.out);
}

static void status_in_json_is_the_answer(void **state)
{
	const struct answer a[] = {{0, "{\"ok\": true, \"pid\": 77}", NULL}};
	struct json_object *o;

	(void)state;
	assert_int_equal(STATUS_OK, iseradm(mode_daemon, "-o status --json", a));
	o = json(it.out);
	assert_int_equal(77, field_number(o, "pid"));
	assert_null(field_object(o, "ok"));
	json_object_put(o);
}

static void an_iserd_that_does_not_run_is_said_and_not_started(void **state)
{
	static const char *const lines[] = {"", "-o stop", "-o log -v debug"};

	(void)state;
	it.connect = -ENOENT;
	it.starts = true;
	for (int i = 0; i < 3; i++) {
		it.connect = -ECONNREFUSED;
		assert_int_equal(STATUS_NO_DAEMON, iseradm(mode_daemon, lines[i], NULL));
		assert_string_equal(it.err, "iseradm: iserd does not run with /run/iseran\n");
		assert_int_equal(0, it.started);
	}
	assert_int_equal(STATUS_NO_DAEMON, iseradm(mode_daemon, "--runtime-dir /elsewhere", NULL));
	assert_non_null(strstr(it.err, "with /elsewhere"));
}

/* A process that has ended, for its number. */
static pid_t ended_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void stop_returns_once_the_process_has_ended(void **state)
{
	char status[64];
	const struct answer a[] = {{0, status, NULL}, {0, NULL, NULL}};

	(void)state;
	snprintf(status, sizeof(status), "{\"pid\": %d}", (int)ended_process());
	assert_int_equal(STATUS_OK, iseradm(mode_daemon, "-o stop", a));
	assert_string_equal("{\"verb\":\"status\"}", it.asked[0]);
	assert_string_equal("{\"verb\":\"stop\"}", it.asked[1]);
	assert_int_equal(STATUS_OK, iseradm(mode_daemon, "-o stop --force", a));
	assert_string_equal("{\"verb\":\"stop\",\"force\":true}", it.asked[1]);
}

static void a_refused_stop_is_not_waited_for(void **state)
{
	const struct answer a[] = {
		{0, "{\"pid\": 1}", NULL},
		{STATUS_FAILED, "{\"error\": \"/dev/loop3 is in use\"}", NULL},
	};

	(void)state;
	assert_int_equal(STATUS_FAILED, iseradm(mode_daemon, "-o stop", a));
	assert_string_equal("iseradm: /dev/loop3 is in use\n", it.err);
}

static void log_needs_a_level(void **state)
{
	const struct answer a[] = {{0, NULL, NULL}};

	(void)state;
	assert_int_equal(STATUS_USAGE, iseradm(mode_daemon, "-o log", NULL));
	assert_non_null(strstr(it.err, "-v error, warning, info or debug"));
	assert_int_equal(STATUS_OK, iseradm(mode_daemon, "-o log -v debug", a));
	assert_string_equal("{\"verb\":\"set-log\",\"level\":\"debug\"}", it.asked[0]);
}

static void wrong_words_are_usage(void **state)
{
	(void)state;
	assert_int_equal(STATUS_USAGE, iseradm(mode_daemon, "-o halt", NULL));
	assert_int_equal(STATUS_USAGE, iseradm(mode_daemon, "now", NULL));
	assert_non_null(strstr(it.err, "'now' belongs to no option"));
	assert_int_equal(STATUS_OK, iseradm(mode_daemon, "--help", NULL));
	assert_non_null(strstr(it.out, "-o stop [--force]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MODE_TEST(status_is_told_line_by_line),
		MODE_TEST(status_in_json_is_the_answer),
		MODE_TEST(an_iserd_that_does_not_run_is_said_and_not_started),
		MODE_TEST(stop_returns_once_the_process_has_ended),
		MODE_TEST(a_refused_stop_is_not_waited_for),
		MODE_TEST(log_needs_a_level),
		MODE_TEST(wrong_words_are_usage),
	};

	unsetenv("ISERAN_RUNTIME_DIR");
	return cmocka_run_group_tests(tests, NULL, last_output_is_freed);
}

/* What a failed login or discovery is called: exit statuses that scripts rely on, and one line that
 * says where, what, and what to look at. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "initiator/daemon/failure.c"

static const char *line_of(int error, unsigned login_status, const char *why)
{
	static char line[512];

	failure_line("192.0.2.1:3260", error, login_status, why, line, sizeof(line));
	return line;
}

static void statuses_tell_scripts_what_happened(void **state)
{
	(void)state;
	assert_int_equal(failure_status(-ECONNREFUSED, 0), STATUS_UNREACHABLE);
	assert_int_equal(failure_status(-EHOSTUNREACH, 0), STATUS_UNREACHABLE);
	assert_int_equal(failure_status(-ENODEV, 0), STATUS_NO_TRANSPORT);
	assert_int_equal(failure_status(-ETIMEDOUT, 0), STATUS_TIMED_OUT);
	assert_int_equal(failure_status(-EACCES, LOGIN_AUTHENTICATION_FAILURE), STATUS_AUTH);
	assert_int_equal(failure_status(-ENOENT, LOGIN_NOT_FOUND), STATUS_LOGIN_FATAL);
	assert_int_equal(failure_status(-EPROTO, 0), STATUS_LOGIN);
	assert_int_equal(failure_status(-EBUSY, LOGIN_SERVICE_UNAVAILABLE), STATUS_LOGIN);
}

static void a_refused_connection_says_what_to_look_at(void **state)
{
	(void)state;
	assert_string_equal(line_of(-ECONNREFUSED, 0, "cannot connect"),
		"192.0.2.1:3260: connection refused; is a target listening on that port?");
}

static void a_peer_that_speaks_something_else_is_doubted(void **state)
{
	(void)state;
	assert_string_equal(line_of(-EPROTO, 0, "the peer does not speak MPA"),
		"192.0.2.1:3260: the peer does not speak MPA; is that an iSCSI or iSER portal?");
	assert_non_null(strstr(line_of(-ETIMEDOUT, 0, "no answer within 15 s"), "portal"));
}

static void a_host_without_an_rdma_device_is_told_what_needs_none(void **state)
{
	(void)state;
	assert_string_equal(line_of(-ENODEV, 0, "No such device"),
		"192.0.2.1:3260: no RDMA device routes there; provider auto or softiwarp needs "
		"none");
}

static void memory_that_may_not_be_locked_is_named(void **state)
{
	(void)state;
	assert_non_null(strstr(line_of(-EAGAIN, 0, "no resources"), "may be locked"));
}

static void what_the_target_refused_is_not_doubted(void **state)
{
	(void)state;
	assert_null(strstr(
		line_of(-EPROTO, LOGIN_UNSUPPORTED_VERSION, "login failed: version"), "portal?"));
	assert_non_null(strstr(line_of(-EACCES, LOGIN_AUTHENTICATION_FAILURE, "login failed"),
		"node.session.auth"));
	assert_non_null(strstr(line_of(-ENOENT, LOGIN_NOT_FOUND, "login failed"), "discovery"));
}

static void an_error_without_a_reason_is_still_a_line(void **state)
{
	(void)state;
	assert_string_equal(
		line_of(-ECONNRESET, 0, NULL), "192.0.2.1:3260: Connection reset by peer");
	assert_string_equal(
		line_of(-ECONNRESET, 0, ""), "192.0.2.1:3260: Connection reset by peer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses_tell_scripts_what_happened),
		cmocka_unit_test(a_refused_connection_says_what_to_look_at),
		cmocka_unit_test(a_peer_that_speaks_something_else_is_doubted),
		cmocka_unit_test(a_host_without_an_rdma_device_is_told_what_needs_none),
		cmocka_unit_test(memory_that_may_not_be_locked_is_named),
		cmocka_unit_test(what_the_target_refused_is_not_doubted),
		cmocka_unit_test(an_error_without_a_reason_is_still_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

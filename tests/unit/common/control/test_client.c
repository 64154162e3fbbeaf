/* The tool's end of the control socket (common/control/client.c), also where the daemon is not
 * there, or goes away, or says what no daemon says. */
#include "tests/unit/common/control/both_ends.h"

static void failure_brings_status_and_line(void **state)
{
	struct control_client *c = client_of(*state);
	struct json_object *reply, *field;

	assert_int_equal(EXIT_NOT_FOUND, control_call(c, request("fly"), NULL, NULL, &reply));
	assert_true(json_object_object_get_ex(reply, "error", &field));
	assert_string_equal("no such verb 'fly'", json_object_get_string(field));
	json_object_put(reply);
	control_disconnect(c);
}

static void sum_up(void *arg, struct json_object *json)
{
	*(int *)arg = *(int *)arg * 10 + json_object_get_int(json) + 1;
}

static void progress_comes_before_the_answer_in_order(void **state)
{
	struct control_client *c = client_of(*state);
	struct json_object *reply;
	int sum = 0;

	assert_int_equal(0, control_call(c, request("count"), sum_up, &sum, &reply));
	assert_int_equal(123, sum);
	json_object_put(reply);
	control_disconnect(c);
}

static void client_without_daemon_is_told(void **state)
{
	struct control_client *c = NULL;
	char path[200];

	(void)state;
	assert_int_equal(-ENOENT, control_connect("/tmp/no-such-socket", &c));
	memset(path, 'x', sizeof(path));
	path[199] = '\0';
	assert_int_equal(-ENAMETOOLONG, control_connect(path, &c));
	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, control_connect("/tmp/no-such-socket", &c));
	control_disconnect(NULL);
}

static void daemon_that_goes_away_is_told_from_an_answer(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct control_client *c = NULL;
	struct json_object *reply = NULL;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/dying", f->directory);
	assert_int_equal(0, bind(fd, (struct sockaddr *)&a, sizeof(a)));
	assert_int_equal(0, listen(fd, 1));
	assert_int_equal(0, control_connect(a.sun_path, &c));
	close(fd);
	assert_true(control_call(c, request("echo"), NULL, NULL, &reply) < 0);
	assert_null(reply);
	control_disconnect(c);
	unlink(a.sun_path);
}

/* Calls a daemon that answers each request with `answer`, whatever it was. */
static int call_scripted(struct fixture *f, const char *answer, struct json_object **ret)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct control_client *c = NULL;
	int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, rc;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/scripted", f->directory);
	assert_int_equal(0, bind(listening, (struct sockaddr *)&a, sizeof(a)));
	assert_int_equal(0, listen(listening, 1));
	assert_int_equal(0, control_connect(a.sun_path, &c));
	fd = accept(listening, NULL, NULL);
	assert_int_equal(strlen(answer), write(fd, answer, strlen(answer)));
	shutdown(fd, SHUT_WR);
	rc = control_call(c, request("echo"), NULL, NULL, ret);
	control_disconnect(c);
	close(fd);
	close(listening);
	unlink(a.sun_path);
	return rc;
}

/* A status that says success, or none, cannot come with a failure. */
static void a_failure_always_has_a_status(void **state)
{
	static const struct {
		const char *answer;
		int rc;
	} rows[] = {
		{"{\"ok\": true}\n", 0},
		{"{\"ok\": false, \"status\": 21}\n", 21},
		{"{\"ok\": false}\n", EXIT_FAILED},
		{"{\"ok\": false, \"status\": 0}\n", EXIT_FAILED},
		{"{\"ok\": false, \"status\": -5}\n", EXIT_FAILED},
		{"{\"ok\": null}\n", EXIT_FAILED},
		{"{\"other\": 1}\n{\"progress\": 1}\n{\"ok\": true}\n", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json_object *reply = NULL;

		assert_int_equal(rows[i].rc, call_scripted(*state, rows[i].answer, &reply));
		assert_non_null(reply);
		json_object_put(reply);
	}
}

static void answers_that_are_no_answers(void **state)
{
	static const struct {
		const char *answer;
		int rc;
	} rows[] = {
		{"", -ECONNRESET},
		{"{\"ok\": true}", -ECONNRESET}, /* no end of the line */
		{"{\"progress\": 1}\n", -ECONNRESET},
		{"HTTP/1.1 400 Bad Request\n", -EPROTO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json_object *reply = NULL;

		assert_int_equal(rows[i].rc, call_scripted(*state, rows[i].answer, &reply));
		assert_null(reply);
	}
}

static void request_longer_than_a_line_is_not_sent(void **state)
{
	struct control_client *c = client_of(*state);
	struct json_object *reply = NULL, *long_one = request("echo");
	char *text = malloc(CONTROL_LINE_MAX + 1);

	memset(text, 'x', CONTROL_LINE_MAX);
	text[CONTROL_LINE_MAX] = '\0';
	json_object_object_add(long_one, "text", json_object_new_string(text));
	assert_int_equal(-EMSGSIZE, control_call(c, long_one, NULL, NULL, &reply));
	/* Nothing of it has left: the next is understood. */
	assert_int_equal(0, control_call(c, request("echo"), NULL, NULL, &reply));
	json_object_put(reply);
	control_disconnect(c);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(client_without_daemon_is_told),
		TEST(daemon_that_goes_away_is_told_from_an_answer),
		TEST(request_is_answered),
		TEST(failure_brings_status_and_line),
		TEST(progress_comes_before_the_answer_in_order),
		TEST(a_failure_always_has_a_status),
		TEST(answers_that_are_no_answers),
		TEST(request_longer_than_a_line_is_not_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

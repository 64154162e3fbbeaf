/* The daemon's end of the control socket (common/control/server.c). */
#include "tests/kit/await.h"
#include "tests/unit/common/control/both_ends.h"

static int file_with(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(strlen(text), write(fd, text, strlen(text)));
	return fd;
}

static const char *text_of(struct json_object *reply, const char *key)
{
	struct json_object *field = NULL;

	assert_true(json_object_object_get_ex(reply, key, &field));
	return json_object_get_string(field);
}

static void descriptor_comes_with_its_request(void **state)
{
	struct control_client *c = client_of(*state);
	struct json_object *reply;

	for (int i = 0; i < 3; i++) {
		int fd = file_with(i == 1 ? "another" : "inside");

		assert_int_equal(0, control_call_fd(c, request("read-fd"), fd, NULL, NULL, &reply));
		assert_string_equal(i == 1 ? "another" : "inside", text_of(reply, "text"));
		assert_string_equal("-1", text_of(reply, "again"));
		json_object_put(reply);
		close(fd);
	}
	assert_int_equal(0, control_call(c, request("read-fd"), NULL, NULL, &reply));
	assert_string_equal("", text_of(reply, "text"));
	json_object_put(reply);
	control_disconnect(c);
}

static void descriptor_that_nobody_takes_is_closed(void **state)
{
	struct control_client *c = client_of(*state);
	struct json_object *reply;
	int fd = file_with("unwanted");
	unsigned before;

	assert_int_equal(0, control_call(c, request("echo"), NULL, NULL, &reply));
	json_object_put(reply);
	before = await_descriptors();
	for (int i = 0; i < 5; i++) {
		assert_int_equal(0, control_call_fd(c, request("echo"), fd, NULL, NULL, &reply));
		json_object_put(reply);
	}
	/* the last request was answered before it was put away */
	assert_int_equal(0, control_call(c, request("echo"), NULL, NULL, &reply));
	json_object_put(reply);
	assert_int_equal(before, await_descriptors());
	close(fd);
	control_disconnect(c);
}

static void answer_longer_than_a_line_becomes_a_failure(void **state)
{
	struct control_client *c = client_of(*state);
	struct json_object *reply;

	assert_int_equal(EXIT_FAILED, control_call(c, request("huge"), NULL, NULL, &reply));
	json_object_put(reply);
	control_disconnect(c);
}

/* What a person or a peer wrote is quoted in answers: a JSON parser takes them all the same. */
static void answers_are_utf8_and_their_errors_one_line(void **state)
{
	struct control_client *c = client_of(*state);
	struct json_object *reply, *error;

	assert_int_equal(EXIT_USAGE, control_call(c, request("wild"), NULL, NULL, &reply));
	assert_true(json_object_object_get_ex(reply, "error", &error));
	assert_string_equal("?\xc3\xa4??[2J", json_object_get_string(error));
	json_object_put(reply);
	control_disconnect(c);
}

static int raw_client(struct fixture *f, const char *text)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", f->path);
	assert_int_equal(0, connect(fd, (struct sockaddr *)&a, sizeof(a)));
	/* One that is turned away may be so by now: to write nothing would be EPIPE. */
	if (*text)
		assert_int_equal((ssize_t)strlen(text), write(fd, text, strlen(text)));
	return fd;
}

/* Reads to the end of the stream; the number of lines. */
static int raw_lines(int fd)
{
	char bytes[4096];
	ssize_t n;
	int lines = 0;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += bytes[i] == '\n';
	close(fd);
	return lines;
}

static void send_descriptors(int socket, const char *byte, int fd, unsigned count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(16 * sizeof(int))];
	} control = {0};
	struct iovec vector = {.iov_base = (char *)byte, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)),
	};

	control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	for (unsigned i = 0; i < count; i++)
		memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &fd, sizeof(fd));
	assert_int_equal(1, sendmsg(socket, &message, 0));
}

static void many_descriptors_at_once_leave_one_at_most(void **state)
{
	struct fixture *f = *state;
	char line[256];
	int file = file_with("many"), s = raw_client(f, "{\"verb\":"), s2;
	unsigned before;

	s2 = raw_client(f, "{\"verb\":\"echo\"}\n");
	assert_true(read(s2, line, sizeof(line)) > 0);
	before = await_descriptors() - 2;
	close(s2);
	AWAIT_ONLY(await_descriptors() == before); /* the daemon has closed its end too */
	for (int i = 0; i < 8; i++)
		send_descriptors(s, " ", file, 16);
	assert_int_equal(11, write(s, "\"read-fd\"}\n", 11));
	assert_true(read(s, line, sizeof(line)) > 0);
	assert_non_null(strstr(line, "\"text\":\"many\""));
	assert_int_equal(before, await_descriptors());
	close(s);
	close(file);
}

static void requests_sent_together_are_answered_one_by_one(void **state)
{
	int fd = raw_client(
		*state, "{\"verb\":\"count\"}\n{\"verb\":\"echo\"}\n{\"verb\":\"count\"}\n");

	shutdown(fd, SHUT_WR);
	assert_int_equal(9, raw_lines(fd));
}

static void malformed_line_closes_the_client(void **state)
{
	static const char *const texts[] = {"hello\n", "[1]\n", "{\"verb\":\n", "{} {}\n", "\n",
		"{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
		"]]]]]]}"
		"\n"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(0, raw_lines(raw_client(*state, texts[i])));
	request_is_answered(state);
}

static void endless_line_closes_the_client(void **state)
{
	int fd = raw_client(*state, "{\"verb\":\"");
	char bytes[4096];
	size_t sent = 0;

	memset(bytes, 'x', sizeof(bytes));
	while (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0)
		sent += sizeof(bytes);
	assert_in_range(sent, CONTROL_LINE_MAX / 2, 3 * CONTROL_LINE_MAX);
	close(fd);
}

static void client_that_reads_nothing_is_dropped(void **state)
{
	struct fixture *f = *state;
	int fd = raw_client(f, "{\"verb\":\"flood\"}\n");

	AWAIT_ONLY(atomic_load(&f->flooded));
	assert_in_range(raw_lines(fd), 0, 99);
	request_is_answered(state);
}

static void request_of_a_client_that_went_away_may_still_be_answered(void **state)
{
	struct fixture *f = *state;

	close(raw_client(f, "{\"verb\":\"hold\"}\n"));
	AWAIT_ONLY(atomic_load(&f->closed));
	assert_int_equal(1, atomic_load(&f->closed));
}

static void more_clients_than_allowed_are_turned_away(void **state)
{
	struct fixture *f = *state;
	int fds[CONTROL_CLIENTS_MAX], one_more;
	unsigned before = await_descriptors();
	char byte;

	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		fds[i] = raw_client(f, "{\"verb\":\"count\"}\n");
		assert_int_equal(1, read(fds[i], &byte, 1));
	}
	one_more = raw_client(f, "");
	assert_true(read(one_more, &byte, 1) <= 0);
	close(one_more);
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		close(fds[i]);
	AWAIT_ONLY(await_descriptors() == before);
	request_is_answered(state);
}

static void any_failed_call_leaves_no_half_open_server(void **state)
{
	struct fixture *f = *state;
	char path[128], lock[160];
	struct loop *l = loop_new(NULL);
	struct control_server *s = NULL;

	rest(f);
	snprintf(path, sizeof(path), "%s/third", f->directory);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	for (unsigned long n = 1;; n++) {
		int rc;

		sys_fail_nth(n, EIO);
		rc = control_server_new(l, path, handle, f, &s);
		if (!sys_fail_happened()) {
			sys_fail_nth(0, 0);
			assert_int_equal(0, rc);
			break;
		}
		assert_int_equal(-EIO, rc);
		assert_int_equal(-1, access(path, F_OK));
	}
	control_server_free(s);
	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, control_server_new(l, path, handle, f, &s));
	unlink(lock);
	loop_free(l);
}

/* Both ends allocate in this process: whichever fails, the call ends, and the daemon lives. */
static void any_failed_allocation_ends_one_call_at_most(void **state)
{
	struct fixture *f = *state;

	for (unsigned long n = 1; n < 12; n++) {
		struct control_client *c = NULL;
		struct json_object *reply = NULL;

		alloc_fail_nth(n);
		if (control_connect(f->path, &c) == 0 &&
			control_call(c, request("echo"), NULL, NULL, &reply) == 0)
			json_object_put(reply);
		alloc_fail_nth(0);
		control_disconnect(c);
	}
	request_is_answered(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(descriptor_comes_with_its_request),
		TEST(descriptor_that_nobody_takes_is_closed),
		TEST(many_descriptors_at_once_leave_one_at_most),
		TEST(answer_longer_than_a_line_becomes_a_failure),
		TEST(answers_are_utf8_and_their_errors_one_line),
		TEST(requests_sent_together_are_answered_one_by_one),
		TEST(malformed_line_closes_the_client),
		TEST(endless_line_closes_the_client),
		TEST(client_that_reads_nothing_is_dropped),
		TEST(request_of_a_client_that_went_away_may_still_be_answered),
		TEST(more_clients_than_allowed_are_turned_away),
		TEST(any_failed_call_leaves_no_half_open_server),
		TEST(any_failed_allocation_ends_one_call_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

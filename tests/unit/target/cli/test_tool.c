/* What the verbs of isertadm are built from (target/cli/tool.c): command lines, and questions to a
 * daemon that is there, is not there, or goes away. */
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/target/cli/cli_kit.h"

/* cmocka.h has one, too. */
#define print_error tool_print_error
#include "target/cli/tool.c"
#undef print_error

static struct {
	char directory[32], path[64];
	int listening;
	const char *answer; /* of the daemon; NULL: it goes away */
	char asked[256];
	pthread_t thread;
} d;

static void *answer_once(void *arg)
{
	int fd = accept(d.listening, NULL, NULL);

	(void)arg;
	d.asked[0] = '\0';
	for (size_t n = 0; d.answer && !strchr(d.asked, '\n'); n++) {
		assert_int_equal(read(fd, d.asked + n, 1), 1);
		d.asked[n + 1] = '\0';
	}
	if (d.answer)
		assert_int_equal(write(fd, d.answer, strlen(d.answer)), strlen(d.answer));
	close(fd);
	return NULL;
}

static void daemon_starts(const char *answer)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	strcpy(d.directory, "/tmp/isertadm-XXXXXX");
	assert_non_null(mkdtemp(d.directory));
	snprintf(d.path, sizeof(d.path), "%s/socket", d.directory);
	strcpy(a.sun_path, d.path);
	d.answer = answer;
	d.listening = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(d.listening, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(d.listening, 1), 0);
	assert_int_equal(pthread_create(&d.thread, NULL, answer_once, NULL), 0);
}

static void daemon_ends(void)
{
	pthread_join(d.thread, NULL);
	close(d.listening);
	unlink(d.path);
	rmdir(d.directory);
}

/* A verb with one operand. */
static int verb_tell(int argc, char **argv)
{
	struct tool_options o = {0};
	const struct option_row rows[] = {TOOL_ROWS(&o), {0}};
	bool end;
	int status = tool_parse(rows, &o, "LEVEL", 1, argc, argv, &end);

	return end ? status : tool_tell(&o, "log", "level", argv[1]);
}

static void a_question_is_asked_and_answered(void **state)
{
	(void)state;
	daemon_starts("{\"ok\":true}\n");
	call(verb_tell, 4, "log", "--control", d.path, "debug");
	daemon_ends();
	assert_int_equal(ran.status, EXIT_OK);
	assert_string_equal(d.asked, "{\"verb\":\"log\",\"level\":\"debug\"}\n");
	assert_string_equal(ran.out, "");
	assert_string_equal(ran.errors, "");
}

static void json_shows_the_answer(void **state)
{
	(void)state;
	daemon_starts("{\"ok\":true,\"dropped\":2}\n");
	call(verb_tell, 5, "log", "--control", d.path, "--json", "debug");
	daemon_ends();
	prints("\"dropped\":");
}

static void each_line_of_a_refusal_is_a_line(void **state)
{
	(void)state;
	daemon_starts("{\"ok\":false,\"status\":7,\"error\":\"f:1: a\\nf:2: b\"}\n");
	call(verb_tell, 4, "log", "--control", d.path, "debug");
	daemon_ends();
	assert_int_equal(ran.status, 7);
	assert_string_equal(ran.errors, "isertadm: f:1: a\nisertadm: f:2: b\n");
}

static void a_daemon_that_goes_away_is_told(void **state)
{
	(void)state;
	daemon_starts(NULL);
	call(verb_tell, 4, "log", "--control", d.path, "debug");
	daemon_ends();
	assert_int_equal(ran.status, EXIT_UNREACHABLE);
	assert_non_null(strstr(ran.errors, "isertd went away before it answered"));
}

static void no_daemon_is_told_with_what_to_do(void **state)
{
	(void)state;
	call(verb_tell, 4, "log", "--control", "/nonexistent/socket", "debug");
	assert_int_equal(ran.status, EXIT_UNREACHABLE);
	assert_string_equal(ran.errors,
		"isertadm: no isertd answers at /nonexistent/socket; is it running? --control "
		"names another socket\n");
}

/* Cut to what an address holds it would be another socket, perhaps somebody else's. */
static void a_path_longer_than_an_address_is_not_cut(void **state)
{
	char path[200], expected[300];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	call(verb_tell, 4, "log", "--control", path, "debug");
	assert_int_equal(ran.status, EXIT_UNREACHABLE);
	snprintf(expected, sizeof(expected), "isertadm: %s: File name too long\n", path);
	assert_string_equal(ran.errors, expected);
}

static void words_too_few_and_too_many(void **state)
{
	(void)state;
	call(verb_tell, 1, "log");
	assert_int_equal(ran.status, EXIT_USAGE);
	assert_string_equal(
		ran.errors, "isertadm log: a word is missing; isertadm log LEVEL would be right\n");
	call(verb_tell, 3, "log", "a", "b");
	assert_int_equal(ran.status, EXIT_USAGE);
	assert_string_equal(
		ran.errors, "isertadm log: too many words; isertadm log LEVEL would be right\n");
}

static void help_of_a_verb_succeeds(void **state)
{
	(void)state;
	call(verb_tell, 2, "log", "--help");
	assert_int_equal(ran.status, EXIT_OK);
	prints("isertadm log LEVEL\n\n");
	prints("--json");
}

static void the_socket_is_where_isertd_has_it(void **state)
{
	char path[CONTROL_PATH_SIZE];

	(void)state;
	setenv("ISERTD_CONTROL", "/mine", 1);
	control_path_default(path);
	assert_string_equal(path, "/mine");
	setenv("ISERTD_CONTROL", "", 1);
	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	control_path_default(path);
	assert_string_equal(
		path, geteuid() ? "/run/user/7/iseran/isertd.sock" : "/run/iseran/isertd.sock");
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_question_is_asked_and_answered),
		TEST(json_shows_the_answer),
		TEST(each_line_of_a_refusal_is_a_line),
		TEST(a_daemon_that_goes_away_is_told),
		TEST(no_daemon_is_told_with_what_to_do),
		TEST(a_path_longer_than_an_address_is_not_cut),
		TEST(words_too_few_and_too_many),
		TEST(help_of_a_verb_succeeds),
		TEST(the_socket_is_where_isertd_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

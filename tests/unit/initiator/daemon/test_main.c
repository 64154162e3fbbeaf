/* iserd's first and last steps: its command line, its exit status, its signals. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include <sys/wait.h>

#define main iserd_main
int iserd_main(int argc, char **argv);
#include "initiator/daemon/main.c"
#undef main

static struct {
	int start;
	unsigned starts, stops, frees;
	bool lost, stuck;
	int raise; /* signal, once the loop runs */
} it;

static void raise_signal(struct loop_timer *t)
{
	(void)t;
	raise(it.raise);
}

static struct loop_timer timer = {.expired = raise_signal};

int daemon_start(struct daemon *d)
{
	it.starts++;
	d->lost = it.lost;
	d->busy = it.stuck;
	if (it.start == EXIT_OK && it.raise)
		assert_int_equal(0, loop_timer_arm(d->loop, &timer, 0));
	else if (it.start == EXIT_OK)
		loop_stop(d->loop);
	return it.start;
}

void daemon_stop(struct daemon *d)
{
	it.stops++;
	loop_stop(d->loop);
}

void daemon_free(struct daemon *d)
{
	it.frees++;
	loop_timer_cancel(&timer);
	loop_free(d->loop);
}

int daemon_options_parse(struct daemon_config *c, int argc, char **argv)
{
	c->help = argc > 1 && !strcmp(argv[1], "--help");
	c->version = argc > 1 && !strcmp(argv[1], "--version");
	c->log_level = LOG_LEVEL_INFO;
	return argc > 1 && !strcmp(argv[1], "--nonsense") ? -EINVAL : 0;
}

static unsigned helped;

void daemon_options_help(FILE *out)
{
	(void)out;
	helped++;
}

void daemon_version(FILE *out)
{
	(void)out;
	helped += 10;
}

static int run_with(const char *word)
{
	char *argv[] = {"iserd", (char *)word, NULL};

	it.starts = it.stops = it.frees = helped = 0;
	logged[0] = '\0';
	log_set_sink(kit_log, NULL);
	return iserd_main(word ? 2 : 1, argv);
}

static int setup(void **state)
{
	(void)state;
	memset(&it, 0, sizeof(it));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_set_sink(NULL, NULL);
	return alloc_live() != 0;
}

static void a_wrong_command_line_starts_nothing(void **state)
{
	(void)state;
	assert_int_equal(EXIT_USAGE, run_with("--nonsense"));
	assert_int_equal(EXIT_OK, run_with("--help"));
	assert_int_equal(1, helped);
	assert_int_equal(EXIT_OK, run_with("--version"));
	assert_int_equal(10, helped);
	assert_int_equal(0, it.starts);
}

static void a_start_that_fails_gives_its_status_and_is_undone(void **state)
{
	(void)state;
	it.start = EXIT_EXISTS;
	assert_int_equal(EXIT_EXISTS, run_with(NULL));
	assert_int_equal(1, it.frees);
}

static void without_a_loop_there_is_nothing_to_undo(void **state)
{
	(void)state;
	alloc_fail_nth(1);
	assert_int_equal(EXIT_FAILED, run_with(NULL));
	alloc_fail_nth(0);
	assert_int_equal(0, it.starts);
	assert_int_equal(0, it.frees);
}

static void a_good_end_is_said(void **state)
{
	(void)state;
	assert_int_equal(EXIT_OK, run_with(NULL));
	assert_non_null(strstr(logged, "all sessions are logged out"));
	assert_int_equal(1, it.frees);
}

static void a_device_that_was_taken_away_is_a_failure(void **state)
{
	(void)state;
	it.lost = true;
	assert_int_equal(EXIT_FAILED, run_with(NULL));
	assert_null(strstr(logged, "all sessions"));
}

static void signals_ask_for_the_end(void **state)
{
	(void)state;
	it.raise = SIGTERM;
	assert_int_equal(EXIT_OK, run_with(NULL));
	assert_int_equal(1, it.stops);
	it.raise = SIGINT;
	assert_int_equal(EXIT_OK, run_with(NULL));
	assert_int_equal(1, it.stops);
}

static void a_hangup_asks_for_nothing(void **state)
{
	struct daemon d = {0};

	(void)state;
	on_signal(&d, SIGHUP);
	assert_int_equal(0, it.stops);
}

static void a_broken_pipe_does_not_end_it(void **state)
{
	(void)state;
	run_with(NULL);
	raise(SIGPIPE); /* still here */
}

static void what_does_not_end_is_left_without_being_freed(void **state)
{
	int status;
	pid_t child;

	(void)state;
	it.stuck = true;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		run_with(NULL);
		_exit(99); /* not reached */
	}
	assert_int_equal(child, waitpid(child, &status, 0));
	assert_true(WIFEXITED(status));
	assert_int_equal(EXIT_FAILED, WEXITSTATUS(status));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wrong_command_line_starts_nothing),
		TEST(a_start_that_fails_gives_its_status_and_is_undone),
		TEST(without_a_loop_there_is_nothing_to_undo),
		TEST(a_good_end_is_said),
		TEST(a_device_that_was_taken_away_is_a_failure),
		TEST(signals_ask_for_the_end),
		TEST(a_hangup_asks_for_nothing),
		TEST(a_broken_pipe_does_not_end_it),
		TEST(what_does_not_end_is_left_without_being_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

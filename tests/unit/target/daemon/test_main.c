/* isertd: what its command line makes of it, and its signals (target/daemon/main.c). */
#include <errno.h>

#include "tests/unit/target/target_kit.h"

#define main isertd_main
int isertd_main(int argc, char **argv);
#include "target/daemon/main.c"
#undef main

static struct {
	struct daemon_options options; /* what the command line says */
	int parse_result, start_status;
	unsigned starts, reloads, stops, frees;
	char path[32];
	int status;
	char *out, *errors;
} world;

/* Of the files that are not under test here: */
int daemon_options_parse(struct daemon_options *o, int argc, char **argv)
{
	(void)argc, (void)argv;
	*o = world.options;
	return world.parse_result;
}

void daemon_options_help(FILE *out)
{
	fputs("help", out);
}

void daemon_version(FILE *out)
{
	fputs("version", out);
}

bool quick_wanted(const struct daemon_options *o)
{
	(void)o;
	return false;
}

int quick_config(const struct daemon_options *o, struct config_report *report, struct config **ret)
{
	(void)o, (void)report, (void)ret;
	return -ENOMEM;
}

int store_look(const struct config_lun *row, struct backend **ret, char *why, size_t why_size)
{
	if (row->lun != 13)
		return kit_open(row, ret, why, why_size);
	snprintf(why, why_size, "it is broken");
	return -EIO;
}

void daemon_print_report(const struct config_report *r)
{
	for (size_t i = 0; i < r->count; i++)
		fprintf(stderr, "isertd: %s\n", r->lines[i]);
}

/* Both signals wait when the loop begins to turn; the second ends it. */
int daemon_start(struct daemon *d)
{
	(void)d;
	world.starts++;
	kill(getpid(), SIGHUP);
	kill(getpid(), SIGTERM);
	return world.start_status;
}

int daemon_reload(struct daemon *d, struct config_report *report)
{
	(void)d, (void)report;
	world.reloads++;
	return 0;
}

void daemon_stop(struct daemon *d)
{
	world.stops++;
	d->drained = true;
	loop_stop(d->loop);
}

void daemon_free(struct daemon *d)
{
	world.frees++;
	config_release(d->config);
	loop_free(d->loop);
}

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	strcpy(world.path, "/tmp/iseran-main-XXXXXX");
	close(mkstemp(world.path));
	world.options = (struct daemon_options){.config = world.path, .log_level = -1};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(world.path);
	free(world.out);
	free(world.errors);
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(NULL, NULL);
	return alloc_live() == 0 ? 0 : -1;
}

/* With this text as the configuration. */
static void call(const char *text)
{
	FILE *was_out = stdout, *was_errors = stderr, *f = fopen(world.path, "we");
	char *argv[] = {"isertd", NULL};
	size_t out_size, errors_size;

	fputs(text, f);
	fclose(f);
	free(world.out);
	free(world.errors);
	log_set_sink(kit_silence, NULL);
	stdout = open_memstream(&world.out, &out_size);
	stderr = open_memstream(&world.errors, &errors_size);
	world.status = isertd_main(1, argv);
	fclose(stdout);
	fclose(stderr);
	stdout = was_out;
	stderr = was_errors;
}

static const char good[] = "log_level: warning\ntargets:\n- name: " KIT_TARGET "\n  luns:\n"
			   "  - {lun: 0, backend: memory, size: 1M}\n"
			   "  - {lun: 1, backend: memory, size: 1M}\n";

static void a_command_line_that_is_wrong_starts_nothing(void **state)
{
	(void)state;
	world.parse_result = -EINVAL;
	call(good);
	assert_int_equal(world.status, EXIT_USAGE);
	assert_int_equal(world.starts, 0);
}

static void what_is_only_shown_starts_nothing(void **state)
{
	(void)state;
	world.options.help = true;
	call("");
	assert_string_equal(world.out, "help");
	world.options.help = false;
	world.options.version = true;
	call("");
	assert_string_equal(world.out, "version");
	world.options.version = false;
	world.options.keys = true;
	call("");
	assert_non_null(strstr(world.out, "portals: list"));
	assert_int_equal(world.status, EXIT_OK);
	assert_int_equal(world.starts, 0);
}

static void a_check_opens_the_images_and_ends(void **state)
{
	char expected[128];

	(void)state;
	world.options.check = true;
	call(good);
	assert_int_equal(world.status, EXIT_OK);
	snprintf(expected, sizeof(expected), "%s: no mistake found: targets 1, LUNs 2\n",
		world.path);
	assert_string_equal(world.out, expected);
	call("targets:\n- name: " KIT_TARGET "\n  luns: [{lun: 13, backend: memory, size: 1M}]\n");
	assert_int_equal(world.status, EXIT_USAGE);
	assert_non_null(strstr(world.errors, "it is broken"));
	assert_string_equal(world.out, "");
	assert_int_equal(world.starts, 0);
}

static void a_file_with_mistakes_starts_nothing(void **state)
{
	(void)state;
	call("loops: many\n");
	assert_int_equal(world.status, EXIT_USAGE);
	assert_non_null(strstr(world.errors, ":1: loops: \"many\" is not right"));
	assert_int_equal(world.starts, 0);
	assert_int_equal(world.frees, 1);
}

static void a_hangup_reloads_and_a_term_stops(void **state)
{
	(void)state;
	call(good);
	assert_int_equal(world.status, EXIT_OK);
	assert_int_equal(world.starts, 1);
	assert_int_equal(world.reloads, 1);
	assert_int_equal(world.stops, 1);
	assert_int_equal(world.frees, 1);
	/* log_level of the file */
	assert_true(log_enabled(LOG_LEVEL_WARNING) && !log_enabled(LOG_LEVEL_INFO));
}

static void an_option_comes_before_the_files_level(void **state)
{
	(void)state;
	world.options.log_level = LOG_LEVEL_DEBUG;
	call(good);
	assert_true(log_enabled(LOG_LEVEL_DEBUG));
}

static void a_start_that_fails_is_the_exit_status(void **state)
{
	static const int signals[] = {SIGHUP, SIGTERM};
	sigset_t pending;

	(void)state;
	world.start_status = EXIT_FAILED;
	call(good);
	assert_int_equal(world.status, EXIT_FAILED);
	assert_int_equal(world.stops, 0);
	assert_int_equal(world.frees, 1);
	/* The signals that nobody took are the test's to take. */
	sigemptyset(&pending);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&pending, signals[i]);
	while (sigtimedwait(&pending, NULL, &(struct timespec){0}) > 0)
		continue;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_command_line_that_is_wrong_starts_nothing),
		TEST(what_is_only_shown_starts_nothing),
		TEST(a_check_opens_the_images_and_ends),
		TEST(a_file_with_mistakes_starts_nothing),
		TEST(a_hangup_reloads_and_a_term_stops),
		TEST(an_option_comes_before_the_files_level),
		TEST(a_start_that_fails_is_the_exit_status),
	};

	/* As loop_signals() leaves them: they come through the loop, also to the first case. */
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGHUP);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The configuration is read anew (target/daemon/reload.c): all of it is in force, or nothing. */
#include <unistd.h>

#include "tests/unit/target/daemon/daemon_kit.h"

#include "target/daemon/broadcast.c"
#include "target/daemon/reload.c"

static char path[64];
static unsigned warnings;

bool quick_wanted(const struct daemon_options *o)
{
	return o->luns.count;
}

void daemon_stop_settle(struct daemon *daemon)
{
	(void)daemon;
}

static void count_warnings(void *arg, enum log_level level, const char *line)
{
	(void)arg;
	warnings += level == LOG_LEVEL_WARNING && strstr(line, "a restart takes them over");
}

static int setup(void **state)
{
	int fd;

	(void)state;
	daemon_kit_start(kit_default);
	strcpy(path, "/tmp/iseran-reload-XXXXXX");
	fd = mkstemp(path);
	close(fd);
	isertd.options.config = path;
	warnings = 0;
	log_set_sink(count_warnings, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	log_set_level(LOG_LEVEL_INFO);
	daemon_kit_stop();
	return 0;
}

static int reload(const char *text, struct config_report *report)
{
	FILE *f = fopen(path, "we");
	int err;

	fputs(text, f);
	fclose(f);
	err = daemon_reload(&isertd, report);
	daemon_kit_turn();
	return err;
}

static void sessions_see_what_has_changed(void **state)
{
	struct config_report report = {0};
	uint16_t luns[4];
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, KIT_TARGET, 1));
	assert_int_equal(reload("targets:\n- name: " KIT_TARGET "\n  luns:\n"
				"  - {lun: 0, backend: memory, size: 1M}\n"
				"  - {lun: 9, backend: memory, size: 1M}\n",
				 &report),
		0);
	assert_int_equal(
		tgt_session_luns(list_first(&kit.worker->sessions, struct tgt_session, worker_link),
			luns, 4),
		2);
	assert_int_equal(luns[1], 9);
	assert_int_equal(reload("targets: []\n", &report), 0);
	assert_true(c.terminated);
	kit_lose(&kit, &c);
	assert_int_equal(report.count, 0);
}

static void a_file_with_mistakes_changes_nothing(void **state)
{
	struct config_report report = {0};
	struct kit_conn c;

	(void)state;
	assert_true(kit_login(&kit, &c, KIT_TARGET, 1));
	assert_int_equal(reload("targets: []\nlog_level: debug\nloops: many\n", &report), -EINVAL);
	assert_int_equal(report.errors, 1);
	config_report_free(&report);
	assert_int_equal(reload("targets:\n- name: iqn.2026-01.org.example:b\n"
				"  luns: [{lun: 0, path: /a}]\n",
				 &report),
		-EINVAL); /* it cannot be opened: the kit has no size for it */
	config_report_free(&report);
	assert_false(c.terminated);
	assert_false(log_enabled(LOG_LEVEL_DEBUG));
	kit_lose(&kit, &c);
}

static void what_belongs_to_the_start_is_warned_about(void **state)
{
	struct config_report report = {0};

	(void)state;
	assert_int_equal(reload(kit_default, &report), 0);
	assert_int_equal(warnings, 0);
	assert_int_equal(reload("portals: 127.0.0.1\ntargets: []\n", &report), 0);
	assert_int_equal(warnings, 1);
	assert_int_equal(reload("loops: 7\nqueue_depth: 7\ntargets: []\n", &report), 0);
	assert_int_equal(warnings, 2);
	/* The movers' receives were made for the depth of the start. */
	assert_int_equal(kit.set->config->queue_depth, 128);
}

static void the_level_of_the_file_is_that_of_the_log_unless_an_option_was_given(void **state)
{
	struct config_report report = {0};

	(void)state;
	assert_int_equal(reload("log_level: debug\ntargets: []\n", &report), 0);
	assert_true(log_enabled(LOG_LEVEL_DEBUG));
	isertd.options.log_level = LOG_LEVEL_DEBUG;
	assert_int_equal(reload("log_level: error\ntargets: []\n", &report), 0);
	assert_true(log_enabled(LOG_LEVEL_DEBUG));
}

static void without_a_file_there_is_nothing_to_read_anew(void **state)
{
	struct config_report report = {0};

	(void)state;
	isertd.options.luns.count = 1;
	assert_int_equal(daemon_reload(&isertd, &report), -EINVAL);
	assert_string_equal(report.lines[0], "command line: there is no configuration file to "
					     "read anew; start with --config");
	config_report_free(&report);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sessions_see_what_has_changed),
		TEST(a_file_with_mistakes_changes_nothing),
		TEST(what_belongs_to_the_start_is_warned_about),
		TEST(the_level_of_the_file_is_that_of_the_log_unless_an_option_was_given),
		TEST(without_a_file_there_is_nothing_to_read_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

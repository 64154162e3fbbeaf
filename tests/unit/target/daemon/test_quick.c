/* A configuration without a file (target/daemon/quick.c): what --portal, --target and --lun mean.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "target/daemon/quick.c"

static struct daemon_options options;
static struct config_report report;
static struct config *config;

static int teardown(void **state)
{
	(void)state;
	config_report_free(&report);
	config_release(config);
	config = NULL;
	options = (struct daemon_options){0};
	return alloc_live() == 0 ? 0 : -1;
}

static void put(struct option_list *list, const char *value)
{
	list->values[list->count++] = value;
}

/* The LUNs of these words, read as the configuration of one target. */
static const struct config_target *read_luns(size_t count, const char *const *luns)
{
	put(&options.targets, "iqn.2026-01.org.example:a");
	for (size_t i = 0; i < count; i++)
		put(&options.luns, luns[i]);
	assert_true(quick_wanted(&options));
	report.unnumbered = true;
	if (quick_config(&options, &report, &config) < 0)
		fail_msg("%s", report.count ? report.lines[0] : "no memory");
	assert_int_equal(config->targets.count, 1);
	return &config_item(config->targets, struct config_target, 0);
}

static const struct config_lun *lun(const struct config_target *t, size_t i)
{
	return &config_item(t->luns, struct config_lun, i);
}

/* What is wrong with these words is one line with that in it. */
static void refuses(const char *target, const char *one, const char *word)
{
	options = (struct daemon_options){0};
	if (target)
		put(&options.targets, target);
	if (one)
		put(&options.luns, one);
	report = (struct config_report){.unnumbered = true};
	assert_int_equal(quick_config(&options, &report, &config), -EINVAL);
	assert_int_equal(report.count, 1);
	if (!strstr(report.lines[0], word))
		fail_msg("'%s' is not in: %s", word, report.lines[0]);
	assert_memory_equal(report.lines[0], "command line: ", 14);
	config_report_free(&report);
}

static void luns_are_numbered_from_the_one_before(void **state)
{
	static const char *const luns[] = {"file=/a", "null=1T", "7=memory=64M", "memory:1M"};
	const struct config_target *t = read_luns(4, luns);

	(void)state;
	assert_int_equal(t->luns.count, 4);
	assert_int_equal(lun(t, 0)->lun, 0);
	assert_int_equal(lun(t, 0)->backend, CONFIG_STORE_FILE);
	assert_string_equal(lun(t, 0)->path, "/a");
	assert_int_equal(lun(t, 1)->lun, 1);
	assert_int_equal(lun(t, 1)->backend, CONFIG_STORE_NULL);
	assert_int_equal(lun(t, 1)->size, 1ull << 40);
	assert_int_equal(lun(t, 2)->lun, 7);
	assert_int_equal(lun(t, 2)->backend, CONFIG_STORE_MEMORY);
	assert_int_equal(lun(t, 3)->lun, 8);
	assert_int_equal(lun(t, 3)->size, 1 << 20);
}

/* Paths are what people have on their disks; none of it may be read as YAML. */
static void a_path_is_taken_as_it_is(void **state)
{
	static const char *const paths[] = {"/a b", "/a\"b", "/a\\n", "/a: {b}", "/#a", "/a=b:c",
		"/ä", "/a\tb", "/a\nb", "/a\n\n  b ", "/\x1b[31m"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char word[64];
		const char *words[] = {word};

		snprintf(word, sizeof(word), "file=%s", paths[i]);
		assert_string_equal(lun(read_luns(1, words), 0)->path, paths[i]);
		teardown(NULL);
	}
}

static void portals_and_loops_are_those_given(void **state)
{
	static const char *const luns[] = {"memory=1M"};

	(void)state;
	options.loops = 3;
	put(&options.portals, "127.0.0.1:0");
	put(&options.portals, "[::1]:3261");
	read_luns(1, luns);
	assert_int_equal(config->loops, 3);
	assert_int_equal(config->portals.count, 2);
	assert_string_equal(config_item(config->portals, struct config_word, 1).word, "[::1]:3261");
}

static void what_is_missing_is_named(void **state)
{
	(void)state;
	refuses(NULL, "memory=1M", "--target is missing");
	refuses("iqn.2026-01.org.example:a", NULL, "--lun is missing");
	put(&options.targets, "iqn.2026-01.org.example:b");
	put(&options.targets, "iqn.2026-01.org.example:c");
	assert_int_equal(quick_config(&options, &report, &config), -EINVAL);
	assert_non_null(strstr(report.lines[0], "one target can be given here"));
}

static void what_is_no_lun_is_refused(void **state)
{
	static const char *const wrong[] = {"", "disk.img", "tape=1", "7", "7=", "7:file=/a",
		"file", "-1=file=/a", "memory", "FILE=/a", "7=7=file=/a"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		refuses("iqn.2026-01.org.example:a", wrong[i],
			"is not right; file=PATH, memory=SIZE or null=SIZE");
}

/* What the words say is checked as a file would be. */
static void values_are_checked_as_in_a_file(void **state)
{
	(void)state;
	refuses("disk", "memory=1M", "targets[0].name: ");
	refuses("iqn.2026-01.org.example:a", "memory=many", "\"many\" is not right; bytes");
	refuses("iqn.2026-01.org.example:a", "16384=memory=1M", "a number from 0 to 16383");
	refuses("iqn.2026-01.org.example:a", "99999999999999999999=memory=1M",
		"a number from 0 to 16383");
	refuses("iqn.2026-01.org.example:a", "file=", "\"\" is not right; give a path");
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(luns_are_numbered_from_the_one_before),
		TEST(a_path_is_taken_as_it_is),
		TEST(portals_and_loops_are_those_given),
		TEST(what_is_missing_is_named),
		TEST(what_is_no_lun_is_refused),
		TEST(values_are_checked_as_in_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

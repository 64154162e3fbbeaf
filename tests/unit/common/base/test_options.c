/* Command lines, and the lines that tell what is wrong with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/options.h"

static const char *const modes[] = {"node", "session", NULL};

struct parsed {
	bool verbose, all;
	const char *name;
	unsigned long level;
	uint64_t size;
	int mode;
	struct option_list files;
	int rc, operands;
	char *argv[80];
	char errors[256];
};

/* Splits `line` at spaces (it is kept, for the values that point into it) and parses it. */
static struct parsed parse(const char *line)
{
	static char words[2048];
	static struct parsed p;
	FILE *errors;
	int argc = 1;

	memset(&p, 0, sizeof(p));
	const struct option_row rows[] = {
		{"verbose", 'v', OPTION_FLAG, &p.verbose, NULL, "say more", 0, 0, NULL},
		{"all", 'a', OPTION_FLAG, &p.all, NULL, "all of them", 0, 0, NULL},
		{"name", 'n', OPTION_STRING, &p.name, "NAME", "its name", 0, 0, NULL},
		{"level", 'l', OPTION_UINT, &p.level, "N", "how much", 1, 8, NULL},
		{"size", 0, OPTION_SIZE, &p.size, "BYTES", "how large", 0, 0, NULL},
		{"mode", 'm', OPTION_CHOICE, &p.mode, "MODE", "which", 0, 0, modes},
		{"file", 'f', OPTION_LIST, &p.files, "FILE", "may be repeated", 0, 0, NULL},
		{0},
	};

	snprintf(words, sizeof(words), "%s", line);
	p.argv[0] = (char *)(uintptr_t) "tool";
	for (char *word = strtok(words, " "); word && argc < 79; word = strtok(NULL, " "))
		p.argv[argc++] = word;
	errors = fmemopen(p.errors, sizeof(p.errors), "w");
	p.rc = options_parse("tool", rows, argc, p.argv, &p.operands, errors);
	fclose(errors);
	return p;
}

static void assert_wrong(const char *line, const char *expected)
{
	struct parsed p = parse(line);

	assert_int_equal(-EINVAL, p.rc);
	assert_string_equal(expected, p.errors);
}

static void values_may_be_attached_or_follow(void **state)
{
	static const char *const lines[] = {
		"--name x --level 3", "--name=x --level=3", "-n x -l 3", "-nx -l3", "-vnx -val3"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct parsed p = parse(lines[i]);

		assert_int_equal(0, p.rc);
		assert_string_equal("x", p.name);
		assert_int_equal(3, p.level);
		assert_int_equal(i == 4, p.verbose);
		assert_int_equal(i == 4, p.all);
		assert_int_equal(0, p.operands);
	}
}

static void options_and_operands_may_be_mixed(void **state)
{
	struct parsed p = parse("one -v two --name=x - -- -a --all");

	(void)state;
	assert_int_equal(0, p.rc);
	assert_int_equal(5, p.operands);
	assert_string_equal("one", p.argv[1]);
	assert_string_equal("two", p.argv[2]);
	assert_string_equal("-", p.argv[3]);
	assert_string_equal("-a", p.argv[4]);
	assert_string_equal("--all", p.argv[5]);
	assert_true(p.verbose);
	assert_false(p.all);
}

static void values_that_begin_with_a_dash_are_values(void **state)
{
	struct parsed p = parse("--name -v --name=");

	(void)state;
	assert_int_equal(0, p.rc);
	assert_false(p.verbose);
	assert_string_equal("", p.name);
}

static void every_kind_of_value(void **state)
{
	struct parsed p = parse("--size 2M -m session -f a --file b");

	(void)state;
	assert_int_equal(0, p.rc);
	assert_int_equal(2097152, p.size);
	assert_int_equal(1, p.mode);
	assert_int_equal(2, p.files.count);
	assert_string_equal("b", p.files.values[1]);
}

static void mistakes_are_told_in_one_line(void **state)
{
	(void)state;
	assert_wrong("--nmae x", "tool: unknown option '--nmae'; did you mean '--name'?\n");
	assert_wrong("--lev=3", "tool: unknown option '--lev'; did you mean '--level'?\n");
	assert_wrong(
		"--wonderful", "tool: unknown option '--wonderful'; --help lists the options\n");
	assert_wrong("-vx", "tool: unknown option '-x'; --help lists the options\n");
	assert_wrong("--name", "tool: --name needs a value: --name NAME\n");
	assert_wrong("-n", "tool: --name needs a value: --name NAME\n");
	assert_wrong("--all=yes", "tool: --all takes no value; write just --all\n");
	assert_wrong("-l x",
		"tool: --level: 'x' is not a number; give a whole number, as in --level 8\n");
	assert_wrong("-l 3x",
		"tool: --level: '3x' is not a number; give a whole number, as in --level 8\n");
	assert_wrong("-l -3",
		"tool: --level: '-3' is not a number; give a whole number, as in --level 8\n");
	assert_wrong("-l 9", "tool: --level: 9 is out of range; it must be within 1..8\n");
	assert_wrong("-l 99999999999999999999",
		"tool: --level: 99999999999999999999 is out of range; it must be within 1..8\n");
	assert_wrong("--size many", "tool: --size: 'many' is not a size; give bytes, or a number "
				    "with K, M, G or T, as in 64M\n");
	assert_wrong("-m nod", "tool: --mode: 'nod' is not known; give one of node, session\n");
}

static void list_that_is_too_long_is_refused(void **state)
{
	char line[1024] = "";

	(void)state;
	for (int i = 0; i < 65; i++)
		strcat(line, "-fx ");
	assert_wrong(line, "tool: --file is given more than 64 times\n");
}

static void help_is_aligned(void **state)
{
	const struct option_row rows[] = {
		{"verbose", 'v', OPTION_FLAG, NULL, NULL, "say more", 0, 0, NULL},
		{"size", 0, OPTION_SIZE, NULL, "BYTES", "how large", 0, 0, NULL},
		{0},
	};
	char text[256] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	(void)state;
	options_help(rows, out);
	fclose(out);
	assert_string_equal("  -v, --verbose     say more\n"
			    "      --size BYTES  how large\n",
		text);
}

static int verb_run(int argc, char **argv)
{
	(void)argv;
	return argc;
}

static void verbs_are_found_or_the_nearest_is_named(void **state)
{
	const struct verb_row rows[] = {
		{"login", verb_run, "log in"}, {"logout", verb_run, "log out"}, {0}};
	char text[128] = "";
	FILE *errors = fmemopen(text, sizeof(text), "w");

	(void)state;
	setbuf(errors, NULL);
	assert_ptr_equal(&rows[1], verbs_find("tool", rows, "logout", errors));
	assert_null(verbs_find("tool", rows, "lgoin", errors));
	assert_string_equal("tool: unknown command 'lgoin'; did you mean 'login'?\n", text);
	rewind(errors);
	assert_null(verbs_find("tool", rows, "x", errors));
	fclose(errors);
	assert_non_null(strstr(text, "'tool --help' lists the commands\n"));
}

static void output_that_did_not_get_out_is_a_failure(void **state)
{
	char text[128] = "";
	FILE *errors = fmemopen(text, sizeof(text), "w"), *full = fopen("/dev/full", "w");
	FILE *null = fopen("/dev/null", "w");

	(void)state;
	setbuf(errors, NULL);
	fputs("a list", null);
	assert_int_equal(EXIT_OK, options_end("tool", EXIT_OK, null, errors));
	assert_int_equal(EXIT_USAGE, options_end("tool", EXIT_USAGE, null, errors));
	assert_string_equal("", text);
	fputs("a list", full);
	assert_int_equal(EXIT_FAILED, options_end("tool", EXIT_OK, full, errors));
	assert_string_equal("tool: standard output: No space left on device\n", text);
	assert_int_equal(EXIT_USAGE, options_end("tool", EXIT_USAGE, full, errors));
	fclose(errors);
	fclose(null);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_may_be_attached_or_follow),
		cmocka_unit_test(options_and_operands_may_be_mixed),
		cmocka_unit_test(values_that_begin_with_a_dash_are_values),
		cmocka_unit_test(every_kind_of_value),
		cmocka_unit_test(mistakes_are_told_in_one_line),
		cmocka_unit_test(list_that_is_too_long_is_refused),
		cmocka_unit_test(help_is_aligned),
		cmocka_unit_test(verbs_are_found_or_the_nearest_is_named),
		cmocka_unit_test(output_that_did_not_get_out_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

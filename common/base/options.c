/* Command lines by table. Called by the main() of every daemon and tool, and by their verbs. */
#include "common/base/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/suggest.h"

/* One command line while it is parsed. */
struct options_parser {
	const char *program;
	const struct option_row *rows;
	int argc;
	char **argv;
	int next; /* the argument to be looked at next */
	FILE *errors;
};

__attribute__((format(printf, 2, 3))) static int options_fail(
	const struct options_parser *p, const char *format, ...)
{
	va_list args;

	fprintf(p->errors, "%s: ", p->program);
	va_start(args, format);
	vfprintf(p->errors, format, args);
	va_end(args);
	fputc('\n', p->errors);
	return -EINVAL;
}

static const struct option_row *options_find_name(
	const struct options_parser *p, const char *name, size_t length)
{
	for (const struct option_row *row = p->rows; row->name; row++)
		if (strlen(row->name) == length && memcmp(row->name, name, length) == 0)
			return row;
	return NULL;
}

static const struct option_row *options_find_letter(const struct options_parser *p, char letter)
{
	for (const struct option_row *row = p->rows; row->name; row++)
		if (row->letter && row->letter == letter)
			return row;
	return NULL;
}

/* ---- values, one function per kind ---- */

typedef int options_setter(
	const struct options_parser *p, const struct option_row *row, const char *value);

static int options_set_string(
	const struct options_parser *p, const struct option_row *row, const char *value)
{
	(void)p;
	*(const char **)row->target = value;
	return 0;
}

static int options_set_list(
	const struct options_parser *p, const struct option_row *row, const char *value)
{
	struct option_list *list = row->target;

	if (list->count == ARRAY_SIZE(list->values))
		return options_fail(p, "--%s is given more than %zu times", row->name,
			ARRAY_SIZE(list->values));
	list->values[list->count++] = value;
	return 0;
}

static int options_set_uint(
	const struct options_parser *p, const struct option_row *row, const char *value)
{
	bool bounded = row->min || row->max;
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(value, &end, 10);
	if (!isdigit((unsigned char)value[0]) || *end)
		return options_fail(p,
			"--%s: '%s' is not a number; give a whole number, as in --%s 8", row->name,
			value, row->name);
	if (errno == ERANGE || (bounded && (number < row->min || number > row->max)))
		return options_fail(p, "--%s: %s is out of range; it must be within %lu..%lu",
			row->name, value, row->min, bounded ? row->max : (unsigned long)-1);
	*(unsigned long *)row->target = number;
	return 0;
}

static int options_set_size(
	const struct options_parser *p, const struct option_row *row, const char *value)
{
	if (size_parse(value, row->target) < 0)
		return options_fail(p,
			"--%s: '%s' is not a size; give bytes, or a number with K, M, G or T, as "
			"in 64M",
			row->name, value);
	return 0;
}

static int options_set_choice(
	const struct options_parser *p, const struct option_row *row, const char *value)
{
	for (int i = 0; row->choices[i]; i++)
		if (strcmp(row->choices[i], value) == 0) {
			*(int *)row->target = i;
			return 0;
		}
	fprintf(p->errors, "%s: --%s: '%s' is not known; give one of", p->program, row->name,
		value);
	for (int i = 0; row->choices[i]; i++)
		fprintf(p->errors, "%s %s", i ? "," : "", row->choices[i]);
	fputc('\n', p->errors);
	return -EINVAL;
}

static options_setter *const setters[] = {
	[OPTION_STRING] = options_set_string,
	[OPTION_LIST] = options_set_list,
	[OPTION_UINT] = options_set_uint,
	[OPTION_SIZE] = options_set_size,
	[OPTION_CHOICE] = options_set_choice,
};

/* ---- arguments ---- */

/* Sets `row` from `attached` (what came with the option), or from the next argument when that is
 * NULL. */
static int options_take_value(
	struct options_parser *p, const struct option_row *row, const char *attached)
{
	if (!attached) {
		if (p->next >= p->argc)
			return options_fail(p, "--%s needs a value: --%s %s", row->name, row->name,
				row->argument ? row->argument : "VALUE");
		attached = p->argv[p->next++];
	}
	return setters[row->kind](p, row, attached);
}

static int options_fail_unknown(const struct options_parser *p, const char *text, size_t length)
{
	char name[64];
	struct suggestion s;

	snprintf(name, sizeof(name), "%.*s", (int)min_size(length, 63), text);
	s = suggestion(name);
	for (const struct option_row *row = p->rows; row->name; row++)
		suggestion_consider(&s, row->name);
	if (s.best)
		return options_fail(p, "unknown option '--%s'; did you mean '--%s'?", name, s.best);
	return options_fail(p, "unknown option '--%s'; --help lists the options", name);
}

/* --name, --name=value, --name value; `text` is behind the dashes. */
static int options_parse_long(struct options_parser *p, const char *text)
{
	size_t length = strcspn(text, "=");
	const char *value = text[length] ? text + length + 1 : NULL;
	const struct option_row *row = options_find_name(p, text, length);

	if (!row)
		return options_fail_unknown(p, text, length);
	if (row->kind != OPTION_FLAG)
		return options_take_value(p, row, value);
	if (value)
		return options_fail(
			p, "--%s takes no value; write just --%s", row->name, row->name);
	*(bool *)row->target = true;
	return 0;
}

/* -x value, -xvalue, and flags together: -abc, -abx value; `letters` is behind the dash. */
static int options_parse_short(struct options_parser *p, const char *letters)
{
	for (; *letters; letters++) {
		const struct option_row *row = options_find_letter(p, *letters);

		if (!row)
			return options_fail(
				p, "unknown option '-%c'; --help lists the options", *letters);
		if (row->kind != OPTION_FLAG)
			return options_take_value(p, row, letters[1] ? letters + 1 : NULL);
		*(bool *)row->target = true;
	}
	return 0;
}

int options_parse(const char *program, const struct option_row *rows, int argc, char **argv,
	int *ret_operands, FILE *errors)
{
	struct options_parser p = {program, rows, argc, argv, 1, errors};
	bool only_operands = false;
	int operands = 1;

	while (p.next < argc) {
		char *argument = argv[p.next++];
		int rc = 0;

		if (only_operands || argument[0] != '-' || argument[1] == '\0')
			argv[operands++] = argument; /* never beyond what was read already */
		else if (strcmp(argument, "--") == 0)
			only_operands = true;
		else if (argument[1] == '-')
			rc = options_parse_long(&p, argument + 2);
		else
			rc = options_parse_short(&p, argument + 1);
		if (rc < 0)
			return rc;
	}
	*ret_operands = operands - 1;
	return 0;
}

/* ---- help ---- */

static int options_help_left(const struct option_row *row, char *out, size_t size)
{
	char letter[8] = "    ";

	if (row->letter)
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	return snprintf(out, size, "  %s--%s%s%s", letter, row->name, row->argument ? " " : "",
		row->argument ? row->argument : "");
}

void options_help(const struct option_row *rows, FILE *out)
{
	char left[80];
	int width = 0;

	for (const struct option_row *row = rows; row->name; row++) {
		int length = options_help_left(row, left, sizeof(left));

		width = length > width ? length : width;
	}
	for (const struct option_row *row = rows; row->name; row++) {
		options_help_left(row, left, sizeof(left));
		fprintf(out, "%-*s  %s\n", width, left, row->help);
	}
}

/* ---- verbs ---- */

const struct verb_row *verbs_find(
	const char *program, const struct verb_row *rows, const char *name, FILE *errors)
{
	struct suggestion s = suggestion(name);

	for (const struct verb_row *row = rows; row->name; row++) {
		if (strcmp(row->name, name) == 0)
			return row;
		suggestion_consider(&s, row->name);
	}
	if (s.best)
		fprintf(errors, "%s: unknown command '%s'; did you mean '%s'?\n", program, name,
			s.best);
	else
		fprintf(errors, "%s: unknown command '%s'; '%s --help' lists the commands\n",
			program, name, program);
	return NULL;
}

int options_end(const char *program, int status, FILE *out, FILE *errors)
{
	int error = fflush(out) == 0 ? EIO : errno; /* of an earlier write, it is not known */

	if (!ferror(out) || status != EXIT_OK)
		return status;
	fprintf(errors, "%s: standard output: %s\n", program, strerror(error));
	return EXIT_FAILED;
}

/* The values of the configuration file: one function per kind of row, each with the sentence that
 * says what would be right. Called by config_read.c. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/options.h"
#include "target/config_schema.h"

struct scalar {
	struct config_reader *reader;
	const struct config_row *row;
	const char *text;
	void *field;
	char *why;
	size_t why_size;
};

static int wrong(struct scalar *s, const char *right)
{
	snprintf(s->why, s->why_size, "\"%.80s\" is not right; %s", s->text, right);
	return -EINVAL;
}

static void join_choices(const char *const *choices, char *out, size_t size)
{
	size_t used = 0;

	for (; *choices && used < size; choices++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", *choices,
			!choices[1]   ? ""
			: !choices[2] ? " or "
				      : ", ");
}

static int choice_find(struct scalar *s)
{
	char right[160] = "say ";

	for (int i = 0; s->row->choices[i]; i++)
		if (!strcmp(s->row->choices[i], s->text))
			return i;
	join_choices(s->row->choices, right + 4, sizeof(right) - 4);
	return wrong(s, right);
}

static int read_choice(struct scalar *s)
{
	int i = choice_find(s);

	/* Set also when wrong: what depends on it is then not complained about. */
	*(int *)s->field = i < 0 ? -1 : i;
	return i < 0 ? i : 0;
}

static int read_string(struct scalar *s)
{
	const char *copy;
	char right[64];
	int err = s->row->choices ? choice_find(s) : 0;

	if (err < 0)
		return err;
	if (!s->text[0])
		return wrong(s, "it must not be empty");
	snprintf(right, sizeof(right), "at most %u characters", (unsigned)s->row->max);
	if (s->row->max && strlen(s->text) > s->row->max)
		return wrong(s, right);
	copy = config_take_string(s->reader, s->text, strlen(s->text));
	if (!copy)
		return -ENOMEM;
	*(const char **)s->field = copy;
	return 0;
}

static int read_path(struct scalar *s)
{
	const char *directory = s->text[0] == '/' ? NULL : s->reader->directory;
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s%s%s", directory ? directory : "",
		directory ? "/" : "", s->text);

	if (!s->text[0] || n >= (int)sizeof(path))
		return wrong(s, "give a path");
	*(const char **)s->field = config_take_string(s->reader, path, (size_t)n);
	return *(const char **)s->field ? 0 : -ENOMEM;
}

static int read_bool(struct scalar *s)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {{"true", true}, {"yes", true}, {"on", true}, {"false", false}, {"no", false},
		{"off", false}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(words[i].word, s->text)) {
			*(bool *)s->field = words[i].value;
			return 0;
		}
	return wrong(s, "say true or false");
}

static bool has_bounds(const struct config_row *row)
{
	return row->min || row->max;
}

static bool in_bounds(const struct config_row *row, uint64_t value)
{
	return !has_bounds(row) || (value >= row->min && value <= row->max);
}

static int read_uint(struct scalar *s)
{
	char *end;
	unsigned long long value;
	char right[96];

	snprintf(right, sizeof(right), "a number from %llu to %llu",
		(unsigned long long)s->row->min, (unsigned long long)s->row->max);
	errno = 0;
	value = strtoull(s->text, &end, 10);
	if (!isdigit((unsigned char)s->text[0]) || *end || errno || !in_bounds(s->row, value))
		return wrong(s, right);
	*(uint64_t *)s->field = value;
	return 0;
}

static int read_size(struct scalar *s)
{
	uint64_t value;
	char right[128] = "bytes, such as 4096, 64K or 1G";

	if (s->row->min || s->row->max)
		snprintf(right, sizeof(right), "bytes from %llu to %llu, such as 4096, 64K or 1G",
			(unsigned long long)s->row->min, (unsigned long long)s->row->max);
	if (size_parse(s->text, &value) < 0 || !in_bounds(s->row, value))
		return wrong(s, right);
	*(uint64_t *)s->field = value;
	return 0;
}

/* Thirty years: added to a clock it stays a time. */
#define TIME_MAX (1000000000ull * 1000000000)

struct unit {
	const char *name;
	uint64_t ns;
};

static const struct unit units[] = {
	{"", 1000000000},
	{"s", 1000000000},
	{"ms", 1000000},
	{"us", 1000},
	{"ns", 1},
	{"min", 60000000000},
};

static int read_time(struct scalar *s)
{
	static const char right[] = "a time such as 5s, 10ms or 20us";
	const struct unit *unit = NULL;
	unsigned long long count;
	char bounds[128], *end;

	snprintf(bounds, sizeof(bounds), "a time from %gs to %gs", (double)s->row->min / 1e9,
		(double)s->row->max / 1e9);

	errno = 0;
	count = strtoull(s->text, &end, 10);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (isdigit((unsigned char)s->text[0]) && !strcmp(units[i].name, end))
			unit = &units[i];
	if (!unit || errno || count > TIME_MAX / unit->ns)
		return wrong(s, unit && has_bounds(s->row) ? bounds : right);
	if (!in_bounds(s->row, count * unit->ns))
		return wrong(s, bounds);
	*(uint64_t *)s->field = count * unit->ns;
	return 0;
}

static int (*const readers[])(struct scalar *s) = {
	[CONFIG_STRING] = read_string,
	[CONFIG_BOOL] = read_bool,
	[CONFIG_UINT] = read_uint,
	[CONFIG_SIZE] = read_size,
	[CONFIG_TIME] = read_time,
	[CONFIG_CHOICE] = read_choice,
	[CONFIG_PATH] = read_path,
};

int config_scalar(struct config_reader *r, const struct config_row *row, const char *text,
	void *section, char *why, size_t why_size)
{
	struct scalar s = {r, row, text, (char *)section + row->offset, why, why_size};

	return readers[row->kind](&s);
}

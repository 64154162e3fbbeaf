/* The keys of the configuration file as text for a person, from the rows of the schema. Called by
 * `isertd --keys`. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "target/config_schema.h"

#define HELP_SIZE_MAX 32768 /* the whole text; a row is two lines at most */
#define DEPTH_MAX 4

struct help {
	char *text;
	size_t used;
};

static void put(struct help *h, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct help *h, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(h->text + h->used, HELP_SIZE_MAX - h->used, format, arguments);
	va_end(arguments);
	h->used = min_size(h->used + (size_t)n, HELP_SIZE_MAX - 1);
}

static const char *const kinds[] = {
	[CONFIG_STRING] = "text",
	[CONFIG_BOOL] = "true|false",
	[CONFIG_UINT] = "number",
	[CONFIG_SIZE] = "bytes",
	[CONFIG_TIME] = "time",
	[CONFIG_CHOICE] = "",
	[CONFIG_PATH] = "path",
	[CONFIG_SECTION] = "section",
	[CONFIG_LIST] = "list",
};

static void put_kind(struct help *h, const struct config_row *row)
{
	put(h, "%s", kinds[row->kind]);
	for (const char *const *c = row->choices; c && *c; c++)
		put(h, "%s%s", c == row->choices ? "" : "|", *c);
	if (row->kind == CONFIG_UINT && row->max)
		put(h, " %llu..%llu", (unsigned long long)row->min, (unsigned long long)row->max);
}

static void put_rows(struct help *h, const struct config_schema *schema, int depth)
{
	for (const struct config_row *row = schema->rows; row->name; row++) {
		put(h, "%*s%s: ", depth * 4, "", row->name);
		put_kind(h, row);
		if (row->required)
			put(h, ", required");
		else if (row->fallback)
			put(h, ", default %s", row->fallback);
		put(h, "\n%*s    # %s\n", depth * 4, "", row->help);
		/* A list of lone words has nothing below it that its own line does not say. */
		if (row->schema && (row->kind == CONFIG_SECTION || row->schema->rows[1].name) &&
			depth < DEPTH_MAX)
			put_rows(h, row->schema, depth + 1);
	}
}

int config_help(struct config_text *ret)
{
	struct help h = {.text = alloc_zeroed(HELP_SIZE_MAX)};

	if (!h.text)
		return -ENOMEM;
	put_rows(&h, &config_schema_root, 0);
	*ret = (struct config_text){.text = h.text, .length = h.used};
	return 0;
}

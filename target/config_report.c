/* What was wrong with a configuration, one line for each mistake; and the nearest key to a
 * misspelt one. Used by config_*.c and, for images that cannot be opened, by target_set.c. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/suggest.h"
#include "target/config_schema.h"

/* A file of nothing but mistakes shall not fill the terminal. */
#define REPORT_LINES_MAX 200

static char *report_line(bool warning, const char *file, unsigned line, const char *text)
{
	const char *mark = warning ? "warning: " : "";

	if (!line)
		return alloc_printf("%s: %s%s", file, mark, text);
	return alloc_printf("%s:%u: %s%s", file, line, mark, text);
}

static void report_append(struct config_report *r, char *line)
{
	char **lines = NULL;

	if (line && r->count < REPORT_LINES_MAX)
		lines = alloc_resize(r->lines, (r->count + 1) * sizeof(*lines));
	if (!lines) {
		alloc_free(line);
		r->incomplete = true;
		return;
	}
	r->lines = lines;
	r->lines[r->count++] = line;
}

void config_report_add(struct config_report *r, bool warning, const char *file, unsigned line,
	const char *format, ...)
{
	char text[700];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_tame(text);
	if (warning)
		r->warnings++;
	else
		r->errors++;
	report_append(r, report_line(warning, file, r->unnumbered ? 0 : line, text));
}

void config_report_free(struct config_report *r)
{
	for (size_t i = 0; i < r->count; i++)
		alloc_free(r->lines[i]);
	alloc_free(r->lines);
	*r = (struct config_report){0};
}

static void complain(struct config_reader *r, bool warning, unsigned line, const char *key,
	const char *format, va_list arguments)
{
	char text[512];
	const char *dot = r->path[0] && key[0] ? "." : "";

	vsnprintf(text, sizeof(text), format, arguments);
	if (!r->path[0] && !key[0])
		config_report_add(r->report, warning, r->file, line, "%s", text);
	else
		config_report_add(
			r->report, warning, r->file, line, "%s%s%s: %s", r->path, dot, key, text);
}

/* The line of `key`, or that of the mapping: counted from 1. */
static unsigned key_line(struct config_reader *r, yaml_node_t *mapping, const char *key)
{
	if (mapping->type != YAML_MAPPING_NODE)
		return (unsigned)mapping->start_mark.line + 1;
	for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
		p < mapping->data.mapping.pairs.top; p++) {
		yaml_node_t *k = yaml_document_get_node(&r->document, p->key);

		if (k->type == YAML_SCALAR_NODE && !strcmp((char *)k->data.scalar.value, key))
			return (unsigned)k->start_mark.line + 1;
	}
	return (unsigned)mapping->start_mark.line + 1;
}

bool config_has(struct config_reader *r, yaml_node_t *mapping, const char *key)
{
	if (mapping->type != YAML_MAPPING_NODE)
		return false;
	for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
		p < mapping->data.mapping.pairs.top; p++) {
		yaml_node_t *k = yaml_document_get_node(&r->document, p->key);

		if (k->type == YAML_SCALAR_NODE && !strcmp((char *)k->data.scalar.value, key))
			return true;
	}
	return false;
}

void config_complain(
	struct config_reader *r, yaml_node_t *mapping, const char *key, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	complain(r, false, key_line(r, mapping, key), key, format, arguments);
	va_end(arguments);
}

void config_warn(
	struct config_reader *r, yaml_node_t *mapping, const char *key, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	complain(r, true, key_line(r, mapping, key), key, format, arguments);
	va_end(arguments);
}

void config_complain_line(
	struct config_reader *r, unsigned line, const char *key, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	complain(r, false, line, key, format, arguments);
	va_end(arguments);
}

const char *config_nearest(const struct config_row *rows, const char *word)
{
	struct suggestion s = suggestion(word);

	for (; rows->name; rows++)
		suggestion_consider(&s, rows->name);
	return s.best;
}

/* Reads a configuration file: YAML by libyaml's document interface, whose nodes keep their lines,
 * then a walk by the schema. The walk goes on behind every mistake, so that all are reported at
 * once. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "target/config_schema.h"

/* ---- the walk ---- */

static void read_section(struct config_reader *r, const struct config_schema *schema,
	yaml_node_t *node, void *section);

static const char *scalar_text(const yaml_node_t *node)
{
	return (const char *)node->data.scalar.value;
}

static const struct config_row *find_row(const struct config_row *rows, const char *name)
{
	for (; rows->name; rows++)
		if (!strcmp(rows->name, name))
			return rows;
	return NULL;
}

/* Enters a part of the path; returns what path_leave() needs. A path too long for the buffer is
 * cut: the line number still leads to the place. */
static size_t path_enter(struct config_reader *r, const char *name, int index)
{
	size_t length = strlen(r->path);
	const char *dot = length ? "." : "";

	if (index < 0)
		snprintf(r->path + length, sizeof(r->path) - length, "%s%s", dot, name);
	else
		snprintf(r->path + length, sizeof(r->path) - length, "%s%s[%d]", dot, name, index);
	return length;
}

static void path_leave(struct config_reader *r, size_t length)
{
	r->path[length] = '\0';
}

static void read_child(
	struct config_reader *r, const struct config_row *row, yaml_node_t *node, void *section)
{
	size_t length = path_enter(r, row->name, -1);
	void *child = config_take(r, row->schema->size);

	if (child) {
		read_section(r, row->schema, node, child);
		*(void **)((char *)section + row->offset) = child;
	}
	path_leave(r, length);
}

static void read_item(struct config_reader *r, const struct config_row *row, yaml_node_t *node,
	int index, void *item)
{
	size_t length = path_enter(r, row->name, index);

	read_section(r, row->schema, node, item);
	path_leave(r, length);
}

static void read_list(
	struct config_reader *r, const struct config_row *row, yaml_node_t *node, void *section)
{
	struct config_list *list = (void *)((char *)section + row->offset);
	bool many = node->type == YAML_SEQUENCE_NODE;
	size_t count =
		many ? (size_t)(node->data.sequence.items.top - node->data.sequence.items.start)
		     : 1;

	if (!count)
		return;
	list->items = config_take(r, count * row->schema->size);
	if (!list->items)
		return;
	list->count = count;
	for (size_t i = 0; i < count; i++) {
		yaml_node_t *item = node;

		if (many)
			item = yaml_document_get_node(
				&r->document, node->data.sequence.items.start[i]);
		read_item(r, row, item, (int)i, (char *)list->items + i * row->schema->size);
	}
}

static void read_scalar(struct config_reader *r, const struct config_row *row, yaml_node_t *mapping,
	const char *text, void *section)
{
	char why[320];

	if (config_scalar(r, row, text, section, why, sizeof(why)) == -EINVAL)
		config_complain(r, mapping, row->name, "%s", why);
}

static void read_value(struct config_reader *r, const struct config_row *row, yaml_node_t *mapping,
	yaml_node_t *node, void *section)
{
	if (row->kind == CONFIG_SECTION)
		read_child(r, row, node, section);
	else if (row->kind == CONFIG_LIST)
		read_list(r, row, node, section);
	else if (node->type != YAML_SCALAR_NODE)
		config_complain(r, mapping, row->name,
			"a list or a section is here; one value would be right (%s)", row->help);
	else if (strlen(scalar_text(node)) != node->data.scalar.length)
		config_complain(r, mapping, row->name, "it has a NUL character; remove it");
	else
		read_scalar(r, row, mapping, scalar_text(node), section);
}

static void complain_unknown(struct config_reader *r, const struct config_schema *schema,
	yaml_node_t *mapping, const char *name)
{
	const char *nearest = config_nearest(schema->rows, name);
	char all[200] = "";
	size_t used = 0;

	if (nearest) {
		config_complain(
			r, mapping, name, "there is no such key; did you mean \"%s\"?", nearest);
		return;
	}
	for (const struct config_row *row = schema->rows; row->name && used < sizeof(all); row++)
		used += (size_t)snprintf(
			all + used, sizeof(all) - used, "%s%s", used ? ", " : "", row->name);
	if (used >= sizeof(all))
		config_complain(
			r, mapping, name, "there is no such key; isertd --keys lists them all");
	else
		config_complain(r, mapping, name, "there is no such key; a %s has %s",
			schema->element, all);
}

/* Whether an earlier pair of the mapping has the same key. */
static bool seen_before(struct config_reader *r, yaml_node_t *mapping, yaml_node_pair_t *pair)
{
	const char *name = scalar_text(yaml_document_get_node(&r->document, pair->key));

	for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < pair; p++) {
		yaml_node_t *k = yaml_document_get_node(&r->document, p->key);

		if (k->type == YAML_SCALAR_NODE && !strcmp(scalar_text(k), name))
			return true;
	}
	return false;
}

static void read_pair(struct config_reader *r, const struct config_schema *schema,
	yaml_node_t *mapping, yaml_node_pair_t *pair, void *section)
{
	yaml_node_t *key = yaml_document_get_node(&r->document, pair->key);
	yaml_node_t *value = yaml_document_get_node(&r->document, pair->value);
	const struct config_row *row;

	if (key->type != YAML_SCALAR_NODE) {
		config_complain_line(r, (unsigned)key->start_mark.line + 1, "",
			"a key must be a word; a list or a section is here");
		return;
	}
	row = find_row(schema->rows, scalar_text(key));
	if (!row)
		complain_unknown(r, schema, mapping, scalar_text(key));
	else if (seen_before(r, mapping, pair))
		config_complain_line(r, (unsigned)key->start_mark.line + 1, row->name,
			"it is given twice; keep one");
	else
		read_value(r, row, mapping, value, section);
}

static void read_defaults(struct config_reader *r, const struct config_schema *schema,
	yaml_node_t *mapping, void *section)
{
	for (const struct config_row *row = schema->rows; row->name; row++) {
		if (row->fallback)
			read_scalar(r, row, mapping, row->fallback, section);
		if (row->required && !config_has(r, mapping, row->name))
			config_complain(r, mapping, row->name, "it is missing; give %s", row->help);
	}
}

/* A lone word in place of a section: the value of the section's shorthand key. */
static void read_shorthand(struct config_reader *r, const struct config_schema *schema,
	yaml_node_t *node, void *section)
{
	const struct config_row *row = find_row(schema->rows, schema->shorthand);
	char why[320];

	for (const struct config_row *other = schema->rows; other->name; other++)
		if (other->fallback)
			read_scalar(r, other, node, other->fallback, section);
	if (config_scalar(r, row, scalar_text(node), section, why, sizeof(why)) == -EINVAL)
		config_complain(r, node, "", "%s", why);
	else if (schema->check)
		schema->check(r, section, node);
}

static void read_mapping(struct config_reader *r, const struct config_schema *schema,
	yaml_node_t *node, void *section)
{
	read_defaults(r, schema, node, section);
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
		p++)
		read_pair(r, schema, node, p, section);
	if (schema->check && !r->out_of_memory)
		schema->check(r, section, node);
}

static void read_section(struct config_reader *r, const struct config_schema *schema,
	yaml_node_t *node, void *section)
{
	*(unsigned *)section = (unsigned)node->start_mark.line + 1;
	if (node->type == YAML_SCALAR_NODE && schema->shorthand)
		read_shorthand(r, schema, node, section);
	else if (node->type != YAML_MAPPING_NODE)
		config_complain(r, node, "", "a %s must be a section (\"key: value\" lines)",
			schema->element);
	else
		read_mapping(r, schema, node, section);
}

/* ---- documents ---- */

static void complain_yaml(struct config_reader *r, const yaml_parser_t *parser)
{
	if (parser->error == YAML_MEMORY_ERROR)
		r->out_of_memory = true;
	else
		config_report_add(r->report, false, r->file,
			(unsigned)parser->problem_mark.line + 1,
			"column %zu: this is not YAML: %s%s%s; check indentation, colons and "
			"quotes",
			parser->problem_mark.column + 1, parser->problem,
			parser->context ? ", " : "", parser->context ? parser->context : "");
}

/* What stands behind another "---" would be ignored, whatever it was meant for. */
static void refuse_second(struct config_reader *r, yaml_parser_t *parser)
{
	yaml_document_t second;

	if (!yaml_parser_load(parser, &second)) {
		complain_yaml(r, parser);
		return;
	}
	if (yaml_document_get_root_node(&second))
		config_report_add(r->report, false, r->file, (unsigned)second.start_mark.line + 1,
			"a second document begins here (\"---\"); a configuration is one: remove "
			"this line, or what follows it");
	yaml_document_delete(&second);
}

static void read_document(struct config_reader *r, yaml_parser_t *parser)
{
	yaml_node_t *root;

	if (!yaml_parser_load(parser, &r->document)) {
		complain_yaml(r, parser);
		return;
	}
	root = yaml_document_get_root_node(&r->document);
	if (root)
		read_section(r, &config_schema_root, root, r->config);
	else
		config_report_add(r->report, false, r->file, 0,
			"it is empty; a target with one LUN is the least");
	yaml_document_delete(&r->document);
	if (root)
		refuse_second(r, parser);
}

int config_parse(const char *name, const char *directory, const char *text, size_t length,
	struct config_report *report, struct config **ret)
{
	struct config_reader r = {.file = name, .directory = directory, .report = report};
	unsigned errors = report->errors;
	yaml_parser_t parser;

	r.config = alloc_zeroed(sizeof(*r.config));
	if (!r.config)
		return -ENOMEM;
	config_hold(r.config);
	r.config->file = config_take_string(&r, name, strlen(name));
	if (r.config->file && yaml_parser_initialize(&parser)) {
		yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
		read_document(&r, &parser);
		yaml_parser_delete(&parser);
	} else {
		r.out_of_memory = true;
	}
	if (report->errors > errors || r.out_of_memory) {
		config_release(r.config);
		return r.out_of_memory ? -ENOMEM : -EINVAL;
	}
	*ret = r.config;
	return 0;
}

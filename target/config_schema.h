/* The schema of the configuration file: one row per key. config_schema.c has the rows,
 * config_read.c walks the file by them, config_scalar.c reads their values, config_check.c has what
 * a single row cannot say. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

#include "target/config.h"

enum config_kind {
	CONFIG_STRING,	/* const char * */
	CONFIG_BOOL,	/* bool */
	CONFIG_UINT,	/* uint64_t in [min, max] */
	CONFIG_SIZE,	/* uint64_t, bytes: 4096, 64K, 1G */
	CONFIG_TIME,	/* uint64_t, nanoseconds: 5s, 10ms, 20us; a bare number is seconds */
	CONFIG_CHOICE,	/* int = index into `choices` */
	CONFIG_PATH,	/* const char *, relative to the file's directory */
	CONFIG_SECTION, /* pointer to a struct of `schema`; NULL when absent */
	CONFIG_LIST,	/* struct config_list of structs of `schema`; one element may stand alone */
};

struct config_schema;

struct config_row {
	const char *name; /* NULL ends the table */
	enum config_kind kind;
	size_t offset;	      /* in the section's struct */
	const char *fallback; /* what is read when the key is absent; NULL: nothing (zero) */
	bool required;
	uint64_t min, max; /* CONFIG_UINT, CONFIG_SIZE, CONFIG_TIME; both 0: no bounds */
	const char *const *choices;
	const struct config_schema *schema;
	const char *help; /* one line */
};

struct config_reader;

struct config_schema {
	const char *element; /* what complaints call it */
	size_t size;
	const struct config_row *rows;
	const char *shorthand; /* key that a lone scalar in place of the mapping stands for */
	/* After the rows are read: what concerns several keys. */
	void (*check)(struct config_reader *r, void *section, yaml_node_t *mapping);
};

extern const struct config_schema config_schema_root;

/* One pass over one file. */
struct config_reader {
	const char *file;
	const char *directory; /* of relative paths; NULL: as they are */
	yaml_document_t document;
	struct config *config;
	struct config_report *report;
	char path[256]; /* of the section that is read: "targets[0].luns[2]" */
	bool out_of_memory;
};

/* `size` zeroed bytes that live as long as the configuration; NULL sets out_of_memory. */
void *config_take(struct config_reader *r, size_t size);
const char *config_take_string(struct config_reader *r, const char *text, size_t length);

/* Complaints about `key` of `mapping` (at the key, or at the mapping where there is no such key).
 */
void config_complain(struct config_reader *r, yaml_node_t *mapping, const char *key,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
void config_warn(struct config_reader *r, yaml_node_t *mapping, const char *key, const char *format,
	...) __attribute__((format(printf, 4, 5)));
/* A complaint about an element of a list of the present section. */
void config_complain_line(struct config_reader *r, unsigned line, const char *key,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Whether the mapping has the key. */
bool config_has(struct config_reader *r, yaml_node_t *mapping, const char *key);

/* Reads `text` into the field of `section` that `row` describes. 0; -EINVAL with what would be
 * right in `why`; -ENOMEM. */
int config_scalar(struct config_reader *r, const struct config_row *row, const char *text,
	void *section, char *why, size_t why_size);
/* The name of `rows` that is nearest to `word`, or NULL when none is near. */
const char *config_nearest(const struct config_row *rows, const char *word);

/* config_check.c: the checks of the schemas */
void config_check_root(struct config_reader *r, void *section, yaml_node_t *mapping);
void config_check_target(struct config_reader *r, void *section, yaml_node_t *mapping);
void config_check_lun(struct config_reader *r, void *section, yaml_node_t *mapping);
void config_check_chap(struct config_reader *r, void *section, yaml_node_t *mapping);
void config_check_secret(struct config_reader *r, void *section, yaml_node_t *mapping);
void config_check_initiator(struct config_reader *r, void *section, yaml_node_t *mapping);
void config_check_fault(struct config_reader *r, void *section, yaml_node_t *mapping);
void config_check_portal(struct config_reader *r, void *section, yaml_node_t *mapping);

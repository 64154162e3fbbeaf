/* The table behind records.h: one row per setting, and the functions that read, check and print any
 * struct that has such a table. Used by settings.c (the tables) and records.c (the files). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "initiator/records.h"

/* the longest value (a secret, a name) and NUL, with room to spare */
#define SETTING_VALUE_SIZE 288

enum setting_kind {
	SETTING_TEXT, /* char[size], printable */
	SETTING_WORD, /* char[size] that becomes part of a path: no '/', ',' or blank, no leading
			 dot */
	SETTING_ISCSI_NAME, /* char[ISCSI_NAME_MAX + 1] */
	SETTING_ALGORITHMS, /* char[size]: a list of CHAP algorithms */
	SETTING_UINT,	    /* uint32_t within [min, max] */
	SETTING_INT,	    /* int32_t within [min, max] */
	SETTING_BOOL,	    /* bool: Yes, No */
	SETTING_CHOICE,	    /* uint32_t: index into words */
};

struct setting {
	const char *name;
	enum setting_kind kind;
	size_t offset, size; /* in the record */
	int64_t min, max;
	const char *initial;	  /* default, as text */
	const char *const *words; /* SETTING_CHOICE, ended by NULL */
	bool secret;
	bool key; /* part of the record's place in the database: not changed by update */
};

struct settings_table {
	const struct setting *rows;
	size_t count;
	const char *title; /* "node record" */
	/* Names of open-iscsi's that have no meaning here; "prefix*" for
	 * a family. Ended by NULL. */
	const char *const *passed_over;
};

extern const struct settings_table node_settings, discovery_settings;

void settings_default(const struct settings_table *t, void *record);
const struct setting *settings_find(const struct settings_table *t, const char *name);
bool settings_passed_over(const struct settings_table *t, const char *name);
/* -ENOENT with the nearest name in why; what setting_set() says. */
int settings_set(const struct settings_table *t, void *record, const char *name, const char *value,
	char why[RECORDS_WHY_SIZE]);
int setting_set(
	const struct setting *row, void *record, const char *value, char why[RECORDS_WHY_SIZE]);
/* The value as text; an empty text stays empty. */
void setting_get(const struct setting *row, const void *record, char out[SETTING_VALUE_SIZE]);

/* CHAP algorithms of a list such as "SHA256,MD5" as numbers, ended by 0. -EINVAL. */
int settings_parse_algorithms(const char *text, uint8_t ret[5]);

/* One line for a person into `why`, cut at its size. */
void records_say(char why[RECORDS_WHY_SIZE], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

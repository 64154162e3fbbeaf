/* Files of the record database: strict reading with line numbers, atomic writing, sorted
 * directories. Used by records.c. */
#pragma once

#include <stddef.h>

#include "initiator/settings.h"

/* a record is about 3 KiB; with the longest secrets, 6 KiB */
#define RECORDS_FILE_MAX (64 * 1024)

/* Reads a whole file of at most RECORDS_FILE_MAX bytes into a new string. Negative errno (-EFBIG
 * when it is larger) with why. */
int records_file_slurp(const char *path, char **ret_text, char why[RECORDS_WHY_SIZE]);
/* Parses `name = value` lines into `record`, which has its defaults. `path` is for error lines.
 * -EINVAL with "path:line: what is wrong; what would be right". */
int records_file_parse(const struct settings_table *t, const char *path, const char *text,
	void *record, char why[RECORDS_WHY_SIZE]);
/* Both at once. -ENOENT when there is no such file. */
int records_file_read(
	const struct settings_table *t, const char *path, void *record, char why[RECORDS_WHY_SIZE]);
/* The file as it is written, in a new string; NULL when there is no memory. */
char *records_file_format(const struct settings_table *t, const void *record);
/* Replaces `path` as a whole, mode 0600: a reader sees the old or the new, also after a crash. */
int records_file_write(const char *path, const char *text, char why[RECORDS_WHY_SIZE]);
/* mkdir -p with mode 0700 for what is missing. */
int records_file_make_directory(const char *path, char why[RECORDS_WHY_SIZE]);

struct records_names {
	char **names;
	size_t count;
};

/* The names in a directory, sorted, without those that begin with a dot. A directory that is not
 * there is empty. Free with records_names_free(), also after failure. */
int records_names_read(const char *path, struct records_names *ret, char why[RECORDS_WHY_SIZE]);
void records_names_free(struct records_names *n);

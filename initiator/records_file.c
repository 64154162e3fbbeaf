/* Files of the record database, see records_file.h. Written as temporary file, fsync, rename, fsync
 * of the directory, so that a crash leaves the old or the new; 0600 because CHAP secrets are in
 * them. */
#include "initiator/records_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/base/sys.h"

static int refuse_file(const char *what, const char *path, int error, char why[RECORDS_WHY_SIZE])
{
	records_say(why, "%s: cannot %s: %s", path, what,
		error == -EILSEQ ? "it is no text; remove the file, and discover anew"
				 : strerror(-error));
	return error;
}

/* ---- reading ---- */

static int read_whole(int fd, char *text)
{
	size_t used = 0;

	while (used <= RECORDS_FILE_MAX) {
		ssize_t n = sys_read(fd, text + used, RECORDS_FILE_MAX + 1 - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	if (used > RECORDS_FILE_MAX)
		return -EFBIG;
	return memchr(text, 0, used) ? -EILSEQ : 0;
}

int records_file_slurp(const char *path, char **ret_text, char why[RECORDS_WHY_SIZE])
{
	char *text = alloc_zeroed(RECORDS_FILE_MAX + 2);
	int fd, r;

	if (!text)
		return refuse_file("read", path, -ENOMEM, why);
	fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	r = fd < 0 ? -errno : read_whole(fd, text);
	if (fd >= 0)
		close(fd);
	if (r < 0) {
		alloc_free(text);
		return refuse_file("read", path, r, why);
	}
	*ret_text = text;
	return 0;
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = 0;
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

struct parse {
	const struct settings_table *table;
	void *record;
	const char *path;
	unsigned line;
	uint64_t seen; /* bit per row: no setting stands twice */
	char *why;
};

static int refuse_line(const struct parse *p, const char *reason)
{
	records_say(p->why, "%s:%u: %.300s", p->path, p->line, reason);
	return -EINVAL;
}

static int parse_setting(struct parse *p, const char *name, const char *value)
{
	const struct setting *row = settings_find(p->table, name);
	char reason[RECORDS_WHY_SIZE];
	uint64_t bit;

	if (!row && settings_passed_over(p->table, name))
		return 0;
	if (settings_set(p->table, p->record, name, value, reason) < 0)
		return refuse_line(p, reason);
	bit = 1ull << (row - p->table->rows);
	if (p->seen & bit) {
		snprintf(
			reason, sizeof(reason), "%s is set a second time; one line is right", name);
		return refuse_line(p, reason);
	}
	p->seen |= bit;
	return 0;
}

static int parse_line(struct parse *p, char *line)
{
	char *equals;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	equals = strchr(line, '=');
	if (!equals)
		return refuse_line(p, "no \"=\" in this line; \"name = value\" would be right");
	*equals = 0;
	return parse_setting(p, trim(line), trim(equals + 1));
}

int records_file_parse(const struct settings_table *t, const char *path, const char *text,
	void *record, char why[RECORDS_WHY_SIZE])
{
	struct parse p = {.table = t, .record = record, .path = path, .why = why};
	char *copy = alloc_string(text);
	int r = 0;

	if (!copy)
		return refuse_file("read", path, -ENOMEM, why);
	for (char *line = copy; line && r == 0;) {
		char *next = strchr(line, '\n');

		if (next)
			*next++ = 0;
		p.line++;
		r = parse_line(&p, line);
		line = next;
	}
	alloc_free(copy);
	return r;
}

int records_file_read(
	const struct settings_table *t, const char *path, void *record, char why[RECORDS_WHY_SIZE])
{
	char *text;
	int r = records_file_slurp(path, &text, why);

	if (r < 0)
		return r;
	r = records_file_parse(t, path, text, record, why);
	explicit_bzero(text, strlen(text));
	alloc_free(text);
	return r;
}

/* ---- writing ---- */

char *records_file_format(const struct settings_table *t, const void *record)
{
	char value[SETTING_VALUE_SIZE];
	struct bytes_writer w = bytes_writer(alloc_zeroed(RECORDS_FILE_MAX), RECORDS_FILE_MAX);

	if (!w.start)
		return NULL;
	bytes_write(&w, "# BEGIN RECORD\n", 15);
	for (size_t i = 0; i < t->count; i++) {
		setting_get(&t->rows[i], record, value);
		if (!*value)
			snprintf(value, sizeof(value), "<empty>");
		bytes_write(&w, t->rows[i].name, strlen(t->rows[i].name));
		bytes_write(&w, " = ", 3);
		bytes_write(&w, value, strlen(value));
		bytes_write_u8(&w, '\n');
	}
	bytes_write(&w, "# END RECORD\n", 14); /* with its NUL */
	return (char *)w.start;
}

static int write_whole(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = sys_write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		left -= (size_t)n;
	}
	return sys_fsync(fd) < 0 ? -errno : 0;
}

static int sync_directory(const char *path)
{
	char directory[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int fd, r = 0;

	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) : 1,
		slash ? path : ".");
	fd = sys_open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sys_fsync(fd) < 0)
		r = -errno;
	close(fd);
	return r;
}

/* Beside the file, with a leading dot, so that no listing takes it for a record. */
static void temporary_name(const char *path, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path) + 1 : 0;

	snprintf(out, PATH_MAX, "%.*s.%.200s.XXXXXX", directory, path, path + directory);
}

int records_file_write(const char *path, const char *text, char why[RECORDS_WHY_SIZE])
{
	char temporary[PATH_MAX];
	int fd, r;

	temporary_name(path, temporary);
	fd = mkostemp(temporary, O_CLOEXEC); /* 0600 */
	if (fd < 0)
		return refuse_file("write", path, -errno, why);
	r = write_whole(fd, text);
	close(fd);
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0) {
		unlink(temporary);
		return refuse_file("write", path, r, why);
	}
	r = sync_directory(path);
	return r < 0 ? refuse_file("write", path, r, why) : 0;
}

int records_file_make_directory(const char *path, char why[RECORDS_WHY_SIZE])
{
	char part[PATH_MAX];

	if ((size_t)snprintf(part, sizeof(part), "%s", path) >= sizeof(part))
		return refuse_file("make", path, -ENAMETOOLONG, why);
	for (char *slash = part + 1; *slash; slash++) {
		if (*slash != '/')
			continue;
		*slash = 0;
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return refuse_file("make directory", part, -errno, why);
		*slash = '/';
	}
	if (mkdir(part, 0700) < 0 && errno != EEXIST)
		return refuse_file("make directory", part, -errno, why);
	return 0;
}

/* ---- directories ---- */

static int names_add(struct records_names *n, const char *name)
{
	char **more = n->names;

	if ((n->count & (n->count - 1)) == 0) /* full at every power of two */
		more = alloc_resize(n->names, (n->count ? n->count * 2 : 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	n->names = more;
	n->names[n->count] = alloc_string(name);
	return n->names[n->count] ? (n->count++, 0) : -ENOMEM;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int records_names_read(const char *path, struct records_names *ret, char why[RECORDS_WHY_SIZE])
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	int r = 0;

	*ret = (struct records_names){0};
	if (!directory)
		return errno == ENOENT ? 0 : refuse_file("list", path, -errno, why);
	while (r == 0 && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			r = names_add(ret, entry->d_name);
	closedir(directory);
	if (r < 0)
		return refuse_file("list", path, r, why);
	if (ret->count)
		qsort(ret->names, ret->count, sizeof(*ret->names), compare_names);
	return 0;
}

void records_names_free(struct records_names *n)
{
	for (size_t i = 0; i < n->count; i++)
		alloc_free(n->names[i]);
	alloc_free(n->names);
	*n = (struct records_names){0};
}

/* Discovery records of the database: send_targets/<address>,<port>, see
 * records.h. Called by iserd. */
#include "initiator/records.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "initiator/records_file.h"

static void discovery_path(
	struct records *db, const char *address, unsigned port, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/send_targets/%s,%u", records_directory(db), address, port);
}

/* 0, or what keeps the file from being used. */
static int read_file(const char *path, struct discovery_record *ret, char why[RECORDS_WHY_SIZE])
{
	struct discovery_record r;
	int result;

	discovery_record_default(&r, NODE_TRANSPORT_TCP);
	result = records_file_read(&discovery_settings, path, &r, why);
	if (result == 0)
		*ret = r;
	explicit_bzero(&r, sizeof(r));
	return result;
}

int records_discovery_each(struct records *db,
	int (*each)(void *arg, const struct discovery_record *r, const char *why), void *arg)
{
	char directory[PATH_MAX], path[PATH_MAX], why[RECORDS_WHY_SIZE];
	struct discovery_record record;
	struct records_names names;
	int r;

	snprintf(directory, sizeof(directory), "%s/send_targets", records_directory(db));
	r = records_names_read(directory, &names, why);
	if (r < 0)
		r = each(arg, NULL, why);
	else if (names.count == 0)
		r = -ENOENT;
	for (size_t i = 0; r == 0 && i < names.count; i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, names.names[i]) >=
			sizeof(path))
			continue;
		r = read_file(path, &record, why) < 0 ? each(arg, NULL, why)
						      : each(arg, &record, NULL);
	}
	records_names_free(&names);
	explicit_bzero(&record, sizeof(record));
	return r;
}

int records_discovery_read(struct records *db, const char *address, uint16_t port,
	struct discovery_record *ret, char why[RECORDS_WHY_SIZE])
{
	char path[PATH_MAX];

	discovery_path(db, address, port, path);
	return read_file(path, ret, why);
}

int records_discovery_write(
	struct records *db, const struct discovery_record *r, char why[RECORDS_WHY_SIZE])
{
	char path[PATH_MAX], *text;
	int result;

	if (!*r->address) {
		records_say(why, "discovery.sendtargets.address is not set");
		return -EINVAL;
	}
	snprintf(path, sizeof(path), "%s/send_targets", records_directory(db));
	result = records_file_make_directory(path, why);
	if (result < 0)
		return result;
	text = records_file_format(&discovery_settings, r);
	if (!text) {
		records_say(why, "%s: %s", path, strerror(ENOMEM));
		return -ENOMEM;
	}
	discovery_path(db, r->address, r->port, path);
	result = records_file_write(path, text, why);
	explicit_bzero(text, strlen(text));
	alloc_free(text);
	return result;
}

int records_discovery_delete(
	struct records *db, const char *address, uint16_t port, char why[RECORDS_WHY_SIZE])
{
	char path[PATH_MAX];

	discovery_path(db, address, port, path);
	if (unlink(path) < 0) {
		int error = -errno;

		records_say(why, "%s: cannot delete: %s", path, strerror(-error));
		return error;
	}
	return 0;
}

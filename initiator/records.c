/* The node database on disk, see records.h: where records lie, which are meant, and the initiator's
 * name. Called by iserd. */
#include "initiator/records.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "initiator/records_file.h"

struct records {
	char *directory;
	char initiator_name[ISCSI_NAME_MAX + 1];
};

/* ---- the initiator's name ---- */

static int parse_initiator_name(
	struct records *db, const char *path, char *text, char why[RECORDS_WHY_SIZE])
{
	static const char key[] = "InitiatorName=";
	char reason[RECORDS_WHY_SIZE] = "\"InitiatorName=iqn...\" would be right";
	char *save;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		if (strncmp(line, key, strlen(key)))
			continue;
		line += strlen(key);
		line[strcspn(line, " \t\r")] = 0;
		if (records_check_name(line, reason) < 0)
			break;
		snprintf(db->initiator_name, sizeof(db->initiator_name), "%s", line);
		return 0;
	}
	records_say(why, "%s: no usable name in it; %.300s", path, reason);
	return -EINVAL;
}

static int make_initiator_name(struct records *db, const char *path, char why[RECORDS_WHY_SIZE])
{
	uint8_t random[6];
	char text[128 + ISCSI_NAME_MAX];

	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		records_say(why, "no random number for the initiator's name: %s", strerror(errno));
		return -EIO;
	}
	snprintf(db->initiator_name, sizeof(db->initiator_name),
		"iqn.2026-11.org.iseran:%02x%02x%02x%02x%02x%02x", random[0], random[1], random[2],
		random[3], random[4], random[5]);
	snprintf(text, sizeof(text),
		"# Targets know this host by this name: it must be unique, and should stay.\n"
		"InitiatorName=%s\n",
		db->initiator_name);
	return records_file_write(path, text, why);
}

static int load_initiator_name(struct records *db, char why[RECORDS_WHY_SIZE])
{
	char path[PATH_MAX], *text;
	int r;

	snprintf(path, sizeof(path), "%s/initiatorname", db->directory);
	r = records_file_slurp(path, &text, why);
	if (r == -ENOENT)
		return make_initiator_name(db, path, why);
	if (r < 0)
		return r;
	r = parse_initiator_name(db, path, text, why);
	alloc_free(text);
	return r;
}

/* ---- life ---- */

int records_open(const char *state_directory, struct records **ret, char why[RECORDS_WHY_SIZE])
{
	struct records *db = alloc_zeroed(sizeof(*db));
	int r = -ENOMEM;

	records_say(why, "%s: %s", state_directory, strerror(ENOMEM));
	if (!db)
		return r;
	db->directory = alloc_string(state_directory);
	if (!db->directory)
		goto fail;
	r = records_file_make_directory(state_directory, why);
	if (r == 0)
		r = load_initiator_name(db, why);
	if (r < 0)
		goto fail;
	*ret = db;
	return 0;
fail:
	records_close(db);
	return r;
}

void records_close(struct records *db)
{
	if (!db)
		return;
	alloc_free(db->directory);
	alloc_free(db);
}

const char *records_initiator_name(const struct records *db)
{
	return db->initiator_name;
}

const char *records_directory(const struct records *db)
{
	return db->directory;
}

/* ---- places ---- */

/* A portal's directory: "<address>,<port>,<tpgt>". */
struct portal {
	char address[RECORDS_ADDRESS_SIZE];
	unsigned port, tpgt;
};

static bool parse_portal(const char *name, struct portal *ret)
{
	char after;

	return sscanf(name, "%63[^,],%5u,%5u%c", ret->address, &ret->port, &ret->tpgt, &after) == 3;
}

static void node_path(const struct records *db, const struct node_record *r, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/nodes/%s/%s,%u,%u/%s", db->directory, r->target_name,
		r->address, r->port, r->tpgt, r->iface);
}

static bool portal_matches(const struct record_filter *f, const struct portal *p)
{
	return (!f->address || strcmp(f->address, p->address) == 0) &&
	       (!f->port || f->port == p->port) && (f->tpgt < 0 || (unsigned)f->tpgt == p->tpgt);
}

/* ---- walking ---- */

struct walk {
	struct records *db;
	const struct record_filter *filter;
	int (*each)(void *arg, const struct node_record *r, const char *why);
	void *arg;
	int (*file)(struct walk *w, const char *path); /* what is done with each record */
	bool found;
};

/* What the file says of its own place must be where it lies. */
static int check_place(const struct records *db, const struct node_record *r, const char *path,
	char why[RECORDS_WHY_SIZE])
{
	char right[PATH_MAX];

	node_path(db, r, right);
	if (strcmp(path, right) == 0)
		return 0;
	records_say(why,
		"%s: node.name, address, port, tpgt or iface in it is another; mend it, or remove "
		"the file and discover anew",
		path);
	return -EINVAL;
}

static int read_record(
	struct walk *w, const char *path, struct node_record *ret, char why[RECORDS_WHY_SIZE])
{
	int r;

	node_record_default(ret, NODE_TRANSPORT_TCP);
	r = records_file_read(&node_settings, path, ret, why);
	return r < 0 ? r : check_place(w->db, ret, path, why);
}

static int walk_file(struct walk *w, const char *path)
{
	struct node_record r;
	char why[RECORDS_WHY_SIZE];
	int result;

	result = read_record(w, path, &r, why);
	result = w->each(w->arg, result < 0 ? NULL : &r, result < 0 ? why : NULL);
	explicit_bzero(&r, sizeof(r));
	return result;
}

/* One level of the tree: calls `visit` for every name in `path` that `wanted` lets pass. What
 * cannot be listed is told, or deleted, as a record that cannot be read is. */
static int walk_level(struct walk *w, const char *path,
	bool (*wanted)(const struct walk *w, const char *name),
	int (*visit)(struct walk *w, const char *path))
{
	struct records_names names;
	char below[PATH_MAX], why[RECORDS_WHY_SIZE];
	int r = 0;

	if (records_names_read(path, &names, why) < 0) {
		w->found = true;
		r = w->each ? w->each(w->arg, NULL, why) : w->file(w, path);
	}
	for (size_t i = 0; r == 0 && i < names.count; i++) {
		if (!wanted(w, names.names[i]))
			continue;
		if ((size_t)snprintf(below, sizeof(below), "%s/%s", path, names.names[i]) <
			sizeof(below))
			r = visit(w, below);
	}
	records_names_free(&names);
	return r;
}

static bool want_iface(const struct walk *w, const char *name)
{
	return !w->filter->iface || strcmp(w->filter->iface, name) == 0;
}

static int walk_one(struct walk *w, const char *path)
{
	w->found = true;
	return w->file(w, path);
}

static int walk_portal(struct walk *w, const char *path)
{
	return walk_level(w, path, want_iface, walk_one);
}

static bool want_portal(const struct walk *w, const char *name)
{
	struct portal p;

	return parse_portal(name, &p) && portal_matches(w->filter, &p);
}

static int walk_target(struct walk *w, const char *path)
{
	return walk_level(w, path, want_portal, walk_portal);
}

static bool want_target(const struct walk *w, const char *name)
{
	return !w->filter->target_name || strcmp(w->filter->target_name, name) == 0;
}

static int walk_all(struct walk *w)
{
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/nodes", w->db->directory);
	r = walk_level(w, path, want_target, walk_target);
	return r == 0 && !w->found ? -ENOENT : r;
}

int records_each(struct records *db, const struct record_filter *filter,
	int (*each)(void *arg, const struct node_record *r, const char *why), void *arg)
{
	struct walk w = {db, filter, each, arg, walk_file, false};

	return walk_all(&w);
}

struct read_one {
	struct node_record *ret;
	char *why;
	int error;
};

static int keep_first(void *arg, const struct node_record *r, const char *why)
{
	struct read_one *one = arg;

	if (r)
		*one->ret = *r;
	else
		records_say(one->why, "%s", why);
	one->error = r ? 0 : -EINVAL;
	return 1;
}

int records_read(struct records *db, const struct record_filter *key, struct node_record *ret,
	char why[RECORDS_WHY_SIZE])
{
	struct read_one one = {ret, why, 0};
	int r = records_each(db, key, keep_first, &one);

	if (r == -ENOENT)
		records_say(why, "no record of target %s at %s,%u",
			key->target_name ? key->target_name : "(any)",
			key->address ? key->address : "(any)", key->port);
	return r < 0 ? r : one.error;
}

/* ---- changing ---- */

/* The portal's and the target's directory, where they have become empty. */
static void remove_empty(char path[PATH_MAX])
{
	for (int level = 0; level < 2; level++) {
		char *slash = strrchr(path, '/');

		if (!slash)
			return;
		*slash = 0;
		if (rmdir(path) < 0)
			return;
	}
}

int records_delete(struct records *db, const struct node_record *r, char why[RECORDS_WHY_SIZE])
{
	char path[PATH_MAX];

	node_path(db, r, path);
	if (unlink(path) < 0) {
		int error = -errno;

		records_say(why, "%s: cannot delete: %s", path, strerror(-error));
		return error;
	}
	remove_empty(path);
	return 0;
}

static int delete_unusable(struct walk *w, const char *path)
{
	struct node_record r;
	char why[RECORDS_WHY_SIZE], place[PATH_MAX];
	bool usable = read_record(w, path, &r, why) == 0;

	explicit_bzero(&r, sizeof(r));
	if (usable)
		return 0;
	if (unlink(path) < 0) {
		int error = -errno;

		records_say(w->arg, "%s: cannot delete: %s", path, strerror(-error));
		return error;
	}
	snprintf(place, sizeof(place), "%s", path);
	remove_empty(place);
	return 0;
}

int records_delete_unusable(
	struct records *db, const struct record_filter *filter, char why[RECORDS_WHY_SIZE])
{
	struct walk w = {db, filter, NULL, why, delete_unusable, false};
	int r = walk_all(&w);

	return r == -ENOENT ? 0 : r;
}

struct replace {
	struct records *db;
	const struct node_record *by;
};

/* The same record under another target portal group tag is the same portal, renumbered. */
static int delete_older(void *arg, const struct node_record *r, const char *why)
{
	const struct replace *replace = arg;
	char reason[RECORDS_WHY_SIZE];

	(void)why;
	if (r && r->tpgt != replace->by->tpgt)
		records_delete(replace->db, r, reason);
	return 0;
}

int records_write(struct records *db, const struct node_record *r, char why[RECORDS_WHY_SIZE])
{
	struct record_filter same = {r->target_name, r->address, (uint16_t)r->port, -1, r->iface};
	struct replace replace = {db, r};
	char path[PATH_MAX], *text;
	int result;

	if (!*r->target_name || !*r->address) {
		records_say(why, "a record needs a target's name and a portal's address");
		return -EINVAL;
	}
	node_path(db, r, path);
	*strrchr(path, '/') = 0;
	result = records_file_make_directory(path, why);
	if (result < 0)
		return result;
	text = records_file_format(&node_settings, r);
	if (!text) {
		records_say(why, "%s: %s", path, strerror(ENOMEM));
		return -ENOMEM;
	}
	node_path(db, r, path);
	result = records_file_write(path, text, why);
	explicit_bzero(text, strlen(text));
	alloc_free(text);
	if (result == 0)
		records_each(db, &same, delete_older, &replace);
	return result;
}

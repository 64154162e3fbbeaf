/* Verbs that act on many sessions at a time: login, logout, rescan. One operation per request; it
 * is answered when the last of its sessions is done. Called by server.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "initiator/daemon/sessions.h"

struct operation {
	struct daemon *daemon;
	struct control_request *request;
	const char *key;	   /* of the list in the reply */
	struct json_object *list;  /* one object per session that is done */
	struct json_object *reply; /* with the list, and warnings */
	size_t pending;		   /* sessions that are not, and 1 while it is being begun */
	const char *startup;	   /* NULL, or the node.startup that is meant; "all": but onboot */
	bool wait;		   /* login */
	bool left;		   /* login: a record was left to another portal of its target */
	bool force;		   /* logout */
	unsigned session;	   /* that is meant; 0: any */
	const char *transport;	   /* login: that the record is to have from now on */
	const char *provider;	   /* likewise */
};

static struct operation *operation_new(struct daemon *d, struct control_request *r, const char *key)
{
	struct operation *op = alloc_zeroed(sizeof(*op));

	if (!op) {
		control_fail(r, STATUS_NO_MEMORY, "no memory");
		return NULL;
	}
	*op = (struct operation){
		.daemon = d,
		.request = r,
		.key = key,
		.list = json_object_new_array(),
		.reply = json_object_new_object(),
		.pending = 1,
		.wait = true,
	};
	json_object_object_add(op->reply, key, op->list);
	return op;
}

/* A record that cannot be used is in nobody's way; but a request that meant it alone fails. */
static void operation_release(struct operation *op)
{
	struct json_object *warnings;

	if (--op->pending)
		return;
	if (json_object_array_length(op->list) || op->left) {
		control_reply(op->request, op->reply);
	} else if (json_object_object_get_ex(op->reply, "warnings", &warnings)) {
		control_fail(op->request, STATUS_DATABASE, "%s",
			json_object_get_string(json_object_array_get_idx(warnings, 0)));
		json_object_put(op->reply);
	} else if (op->session) {
		control_fail(op->request, STATUS_NO_SESSION,
			"there is no session %u; -m session lists them", op->session);
		json_object_put(op->reply);
	} else {
		control_fail(op->request, STATUS_NOT_FOUND, "%s",
			strcmp(op->key, "logins") ? "No matching sessions found"
						  : "No records found");
		json_object_put(op->reply);
	}
	alloc_free(op);
}

/* ---- one session of an operation ---- */

struct part {
	struct operation *operation;
	struct json_object *entry;
};

static struct json_object *entry_new(const struct node_record *r)
{
	struct json_object *o = json_object_new_object();

	put_node(o, r);
	return o;
}

/* A session is of use without its block devices, but whoever logs in expects them. */
static void put_missing_devices(struct json_object *entry, const struct daemon_session *s)
{
	const struct daemon_lun *l, *first = NULL;
	unsigned missing = 0;

	if (s->daemon->config.no_devices || s->phase == SESSION_ENDING)
		return;
	list_for_each(l, &s->luns, link) {
		if (!l->why[0])
			continue;
		first = first ? first : l;
		missing++;
	}
	if (!first)
		return;
	put_number(entry, "without_device", missing);
	put_number(entry, "without_device_first", first->number);
	put_text(entry, "without_device_reason", first->why);
}

/* The outcome: into the list, and at once to who looks at the progress. */
static void entry_end(struct operation *op, struct json_object *entry,
	const struct daemon_session *s, int status, const char *error)
{
	struct json_object *progress = json_object_new_object();

	if (s)
		put_number(entry, "session", s->number);
	if (s && status == STATUS_OK)
		put_missing_devices(entry, s);
	put_bool(entry, "ok", status == STATUS_OK);
	put_number(entry, "status", (uint64_t)status);
	put_text(entry, "error", status == STATUS_OK ? NULL : error);
	json_object_object_add(progress, "ended", json_object_get(entry));
	control_progress(op->request, progress);
	json_object_array_add(op->list, entry);
}

static void part_done(void *owner, struct daemon_session *s, int status, const char *error)
{
	struct part *p = owner;
	struct operation *op = p->operation;

	entry_end(op, p->entry, s, status, error);
	alloc_free(p);
	operation_release(op);
}

static void part_waiting(void *owner, const char *line)
{
	struct part *p = owner;
	struct json_object *progress = json_object_new_object();

	json_object_object_add(progress, "waiting", json_object_get(p->entry));
	put_text(progress, "why", line);
	control_progress(p->operation->request, progress);
}

static void tell_begun(struct operation *op, struct json_object *entry)
{
	struct json_object *progress = json_object_new_object();

	json_object_object_add(progress, "begun", json_object_get(entry));
	control_progress(op->request, progress);
}

/* Begins with one: `begin` is login, logout or rescan, with `arg`. */
static void part_begin(struct operation *op, const struct node_record *r, struct daemon_session *s,
	int (*begin)(struct operation *op, const struct node_record *r, struct daemon_session *s,
		const struct session_waiter *done, char why[SESSION_WHY_SIZE]))
{
	struct part *p = alloc_zeroed(sizeof(*p));
	struct json_object *entry = entry_new(r);
	struct session_waiter done = {part_done, p, part_waiting};
	char why[SESSION_WHY_SIZE] = "no memory";
	int status = STATUS_NO_MEMORY;

	if (s)
		put_number(entry, "session", s->number);
	tell_begun(op, entry);
	if (p) {
		*p = (struct part){op, entry};
		status = begin(op, r, s, op->wait ? &done : NULL, why);
	}
	if (status == STATUS_OK && op->wait) {
		op->pending++;
		return;
	}
	alloc_free(p);
	entry_end(op, entry, s, status, why);
}

/* ---- login ---- */

static int begin_login(struct operation *op, const struct node_record *r, struct daemon_session *s,
	const struct session_waiter *done, char why[SESSION_WHY_SIZE])
{
	(void)s;
	return session_login(op->daemon, r, done, why);
}

static void entry_unreadable(struct operation *op, const char *why)
{
	struct json_object *entry = json_object_new_object();

	put_text(entry, "target", NULL);
	put_text(entry, "portal", NULL);
	entry_end(op, entry, NULL, STATUS_DATABASE, why);
}

/* The record remembers the provider that was asked for. */
static void login_by(struct operation *op, const struct node_record *r)
{
	const struct request_filter wanted = {.provider = op->provider};
	struct node_record changed = *r;
	char why[RECORDS_WHY_SIZE];

	request_provider(&wanted, &changed.provider);
	if (changed.provider != r->provider &&
		records_write(op->daemon->records, &changed, why) < 0)
		entry_unreadable(op, why);
	else
		part_begin(op, &changed, session_find(op->daemon, r), begin_login);
	explicit_bzero(&changed, sizeof(changed));
}

static bool startup_is(const char *word, const struct node_record *r)
{
	char startup[16] = "";

	if (!word)
		return true;
	if (strcmp(word, "all") == 0)
		return r->startup != NODE_STARTUP_ONBOOT;
	node_record_get(r, "node.startup", false, startup, sizeof(startup));
	return strcmp(word, startup) == 0;
}

/* node.leading_login: one session to the target is enough, unless this one was asked for. */
static bool is_led(struct operation *op, const struct node_record *r)
{
	const struct daemon_session *s;

	if (!op->startup || !r->leading_login)
		return false;
	s = session_find_target(op->daemon, r->target_name);
	op->left = op->left || s;
	return s;
}

static int login_each(void *arg, const struct node_record *r, const char *why)
{
	struct operation *op = arg;

	if (!r)
		put_line(op->reply, "warnings", why);
	else if (startup_is(op->startup, r) && !is_led(op, r))
		login_by(op, r);
	return 0;
}

/* The record as it is, but for its transport, which it remembers. */
static int move_each(void *arg, const struct node_record *r, const char *why)
{
	struct operation *op = arg;
	enum node_transport transport = NODE_TRANSPORT_TCP;
	struct node_record moved;
	char reason[RECORDS_WHY_SIZE];

	if (!r)
		return login_each(op, r, why);
	moved = *r;
	node_transport_parse(op->transport, &transport);
	moved.transport = transport;
	snprintf(moved.iface, sizeof(moved.iface), "%s", node_transport_iface(transport));
	if (records_write(op->daemon->records, &moved, reason) < 0 ||
		(!session_find(op->daemon, r) &&
			records_delete(op->daemon->records, r, reason) < 0))
		entry_unreadable(op, reason);
	else
		login_each(op, &moved, NULL);
	explicit_bzero(&moved, sizeof(moved));
	return 0;
}

/* The transport that was asked for may be another than the record's. */
static void login_or_move(struct operation *op, struct request_filter *f)
{
	int r = records_each(op->daemon->records, &f->record, login_each, op);

	if (r != -ENOENT || !f->transport || !f->record.target_name || op->startup)
		return;
	op->transport = f->transport;
	f->record.iface = NULL;
	records_each(op->daemon->records, &f->record, move_each, op);
}

void login_handle(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct request_filter f;
	struct operation *op;

	if (!request_filter(r, json, &f))
		return;
	op = operation_new(d, r, "logins");
	if (!op)
		return;
	op->wait = request_flag(json, "wait", true);
	op->startup = request_text(json, "startup");
	op->provider = f.provider;
	login_or_move(op, &f);
	operation_release(op);
}

/* ---- logout, rescan ---- */

static int begin_logout(struct operation *op, const struct node_record *r, struct daemon_session *s,
	const struct session_waiter *done, char why[SESSION_WHY_SIZE])
{
	(void)r;
	return session_logout(s, op->force, done, why);
}

static int begin_rescan(struct operation *op, const struct node_record *r, struct daemon_session *s,
	const struct session_waiter *done, char why[SESSION_WHY_SIZE])
{
	(void)op;
	(void)r;
	return session_rescan(s, done, why);
}

/* By the record as it is now, which may not be that of the login. */
static bool session_startup_is(struct operation *op, const struct daemon_session *s)
{
	const struct node_record *r = &s->record;
	struct record_filter key = {r->target_name, r->address, (uint16_t)r->port, -1, r->iface};
	char why[RECORDS_WHY_SIZE];
	struct node_record now;
	bool is;

	if (!op->startup)
		return true;
	if (records_read(op->daemon->records, &key, &now, why) < 0)
		now = *r;
	is = startup_is(op->startup, &now);
	explicit_bzero(&now, sizeof(now));
	return is;
}

static void each_session(struct daemon *d, struct control_request *r, struct json_object *json,
	const char *key,
	int (*begin)(struct operation *op, const struct node_record *r, struct daemon_session *s,
		const struct session_waiter *done, char why[SESSION_WHY_SIZE]))
{
	struct daemon_session *s, *next;
	struct request_filter f;
	struct operation *op;

	if (!request_filter(r, json, &f))
		return;
	op = operation_new(d, r, key);
	if (!op)
		return;
	op->force = request_flag(json, "force", false);
	op->session = f.session;
	op->startup = request_text(json, "startup");
	list_for_each_safe(s, next, &d->sessions, link)
		if (session_matches(s, &f) && session_startup_is(op, s))
			part_begin(op, &s->record, s, begin);
	operation_release(op);
}

void logout_handle(struct daemon *d, struct control_request *r, struct json_object *json)
{
	each_session(d, r, json, "logouts", begin_logout);
}

void rescan_handle(struct daemon *d, struct control_request *r, struct json_object *json)
{
	each_session(d, r, json, "rescans", begin_rescan);
}

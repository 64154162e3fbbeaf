/* The verbs of node records: node-list, node-new, node-delete, node-update. Called by server.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "initiator/daemon/sessions.h"

/* A reply is one line of at most CONTROL_LINE_MAX bytes; a record with its settings takes 3 KB. */
#define SETTINGS_MAX 100

/* ---- node-list ---- */

struct node_list {
	struct json_object *reply, *nodes;
	bool show_secrets;
};

static void add_setting(void *arg, const char *name, const char *value)
{
	json_object_object_add(arg, name, json_object_new_string(value));
}

static int list_each(void *arg, const struct node_record *r, const char *why)
{
	struct node_list *list = arg;
	struct json_object *o, *settings;

	if (!r) {
		put_line(list->reply, "warnings", why);
		return 0;
	}
	o = json_object_new_object();
	put_node(o, r);
	if (json_object_array_length(list->nodes) < SETTINGS_MAX) {
		settings = json_object_new_object();
		node_record_each(r, list->show_secrets, add_setting, settings);
		json_object_object_add(o, "settings", settings);
	}
	json_object_array_add(list->nodes, o);
	return 0;
}

/* A record that cannot be used is told beside the others; alone, it is what is wrong. */
static void reply_list(struct control_request *r, struct node_list *list)
{
	struct json_object *warnings;

	if (!json_object_array_length(list->nodes) &&
		json_object_object_get_ex(list->reply, "warnings", &warnings)) {
		control_fail(r, STATUS_DATABASE, "%s",
			json_object_get_string(json_object_array_get_idx(warnings, 0)));
		json_object_put(list->reply);
	} else {
		control_reply(r, list->reply);
	}
}

void node_handle_list(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct node_list list = {
		.show_secrets = request_flag(json, "show_secrets", false),
	};
	struct request_filter f;

	if (!request_filter(r, json, &f))
		return;
	if (list.show_secrets && !control_request_is_privileged(r)) {
		control_fail(r, STATUS_ACCESS, "root, or the daemon's user, may see secrets");
		return;
	}
	list.reply = json_object_new_object();
	list.nodes = json_object_new_array();
	json_object_object_add(list.reply, "nodes", list.nodes);
	records_each(d->records, &f.record, list_each, &list);
	reply_list(r, &list);
}

/* ---- node-new ---- */

/* One that is there already is made anew, as iscsiadm does; its session goes on as it is. One that
 * cannot be read is for a person to mend. */
static int write_new(struct daemon *d, const struct node_record *r, char why[RECORDS_WHY_SIZE])
{
	struct record_filter key = {r->target_name, r->address, (uint16_t)r->port, -1, r->iface};
	struct node_record old;
	int err = records_read(d->records, &key, &old, why);

	explicit_bzero(&old, sizeof(old));
	return err < 0 && err != -ENOENT ? err : records_write(d->records, r, why);
}

void node_handle_new(struct daemon *d, struct control_request *r, struct json_object *json)
{
	enum node_transport transport = NODE_TRANSPORT_ISER;
	struct request_filter f;
	struct node_record record;
	char why[RECORDS_WHY_SIZE];

	if (!request_filter(r, json, &f))
		return;
	if (!f.record.target_name || !f.record.address) {
		control_fail(r, STATUS_USAGE, "a new record needs a target and a portal");
		return;
	}
	if (f.transport)
		node_transport_parse(f.transport, &transport);
	node_record_default(&record, transport);
	request_provider(&f, &record.provider);
	snprintf(record.target_name, sizeof(record.target_name), "%s", f.record.target_name);
	memcpy(record.address, f.host, sizeof(record.address));
	record.port = f.record.port;
	record.tpgt = f.record.tpgt < 0 ? 1 : (uint32_t)f.record.tpgt;
	snprintf(record.discovery_type, sizeof(record.discovery_type), "static");
	if (write_new(d, &record, why) < 0)
		control_fail(r, STATUS_DATABASE, "%s", why);
	else
		control_reply(r, NULL);
}

/* ---- node-delete, node-update ---- */

struct node_change {
	struct daemon *daemon;
	struct control_request *request;
	struct request_filter filter;
	struct json_object *settings; /* update: by name */
	struct json_object *reply;    /* with warnings, and what was refused */
	unsigned changed, refused, unusable;
	int status; /* of the first that was refused */
	char why[RECORDS_WHY_SIZE];
};

/* One record stays as it is; the others are changed all the same. */
static void refuse_change(struct node_change *c, int status, const char *why)
{
	if (c->refused++ == 0) {
		c->status = status;
		put_number(c->reply, "status", (uint64_t)status);
	}
	put_line(c->reply, "failures", why);
	snprintf(c->why, sizeof(c->why), "%s", why);
}

static int delete_each(void *arg, const struct node_record *r, const char *why)
{
	struct node_change *c = arg;
	const struct daemon_session *s;
	char reason[RECORDS_WHY_SIZE];

	(void)why;
	if (!r) {
		c->unusable++;
		return 0;
	}
	s = session_find(c->daemon, r);
	if (s) {
		snprintf(reason, sizeof(reason),
			"the record of %s at %s is used by session %u; log that out first",
			r->target_name, s->portal, s->number);
		refuse_change(c, STATUS_EXISTS, reason);
	} else if (records_delete(c->daemon->records, r, reason) < 0) {
		refuse_change(c, STATUS_DATABASE, reason);
	} else {
		c->changed++;
	}
	return 0;
}

/* iserd makes one session per record, whatever open-iscsi would. */
static int check_setting(const char *name, const char *value, char why[RECORDS_WHY_SIZE])
{
	if (strcmp(name, "node.session.nr_sessions") != 0 || !strcmp(value, "1"))
		return 0;
	snprintf(why, RECORDS_WHY_SIZE,
		"%s: \"%.20s\" cannot be used; one session per record (1) is all there is, and "
		"another portal, or -I, makes another",
		name, value);
	return -EINVAL;
}

/* All settings, or none. */
static int update_record(struct node_change *c, struct node_record *r, char why[RECORDS_WHY_SIZE])
{
	int err = 0;

	json_object_object_foreach(c->settings, name, value)
	{
		const char *text = json_object_get_string(value);

		if (err == 0)
			err = check_setting(name, text, why);
		if (err == 0)
			err = node_record_set(r, name, text, why);
	}
	return err < 0					       ? STATUS_USAGE
	       : records_write(c->daemon->records, r, why) < 0 ? STATUS_DATABASE
							       : STATUS_OK;
}

static int update_each(void *arg, const struct node_record *r, const char *why)
{
	struct node_change *c = arg;
	struct node_record record;
	char reason[RECORDS_WHY_SIZE];
	int status;

	if (!r) {
		c->unusable++;
		put_line(c->reply, "warnings", why);
		snprintf(c->why, sizeof(c->why), "%s", why);
		return 0;
	}
	record = *r;
	status = update_record(c, &record, reason);
	explicit_bzero(&record, sizeof(record));
	if (status == STATUS_OK)
		c->changed++;
	else
		refuse_change(c, status, reason);
	/* a value that is wrong is wrong for all */
	return status == STATUS_USAGE;
}

/* One that failed alone is told as the failure of the request. */
static void reply_change(struct node_change *c, const char *key)
{
	if (!c->changed && c->refused + c->unusable == 1) {
		control_fail(c->request, c->refused ? c->status : STATUS_DATABASE, "%s", c->why);
		json_object_put(c->reply);
		return;
	}
	if (!c->changed && !c->refused)
		put_number(c->reply, "status", STATUS_DATABASE);
	put_number(c->reply, key, c->changed);
	control_reply(c->request, c->reply);
}

static void change(struct node_change *c,
	int (*each)(void *arg, const struct node_record *r, const char *why), const char *key)
{
	c->reply = json_object_new_object();
	if (records_each(c->daemon->records, &c->filter.record, each, c) == -ENOENT) {
		control_fail(c->request, STATUS_NOT_FOUND, "No records found");
		json_object_put(c->reply);
		return;
	}
	if (each == delete_each && c->unusable) {
		if (records_delete_unusable(c->daemon->records, &c->filter.record, c->why) < 0)
			refuse_change(c, STATUS_DATABASE, c->why);
		else
			c->changed += c->unusable;
		c->unusable = 0;
	}
	reply_change(c, key);
}

void node_handle_delete(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct node_change c = {.daemon = d, .request = r};

	if (request_filter(r, json, &c.filter))
		change(&c, delete_each, "deleted");
}

static bool check_names(struct control_request *r, struct json_object *settings)
{
	json_object_object_foreach(settings, name, value)
	{
		if (!json_object_is_type(value, json_type_string)) {
			control_fail(r, STATUS_USAGE, "%.80s: a value is a text", name);
			return false;
		}
		if (node_setting_is_key(name)) {
			control_fail(r, STATUS_USAGE,
				"%.80s says which record it is, and cannot be changed; make a new "
				"record",
				name);
			return false;
		}
	}
	return true;
}

void node_handle_update(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct node_change c = {.daemon = d, .request = r};

	if (!request_filter(r, json, &c.filter))
		return;
	if (!json_object_object_get_ex(json, "settings", &c.settings) ||
		!json_object_is_type(c.settings, json_type_object) ||
		!json_object_object_length(c.settings))
		control_fail(r, STATUS_USAGE, "an update needs a name and a value");
	else if (check_names(r, c.settings))
		change(&c, update_each, "updated");
}

/* The verbs of node records: node-list, node-new, node-delete, node-update. Called by server.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "initiator/daemon/sessions.h"

/* A reply is one line of at most CONTROL_LINE_MAX bytes; a record with its settings takes 3 KB. */
#define SETTINGS_MAX 100

/* ---- node-list ---- */

struct node_list {
	struct json_object *nodes, *unreadable;
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
	char portal[RECORDS_ADDRESS_SIZE + 16];

	if (!r) {
		json_object_array_add(list->unreadable, json_object_new_string(why));
		return 0;
	}
	o = json_object_new_object();
	address_print_named(r->address, r->port, portal, sizeof(portal));
	put_text(o, "target", r->target_name);
	put_text(o, "portal", portal);
	put_number(o, "tpgt", r->tpgt);
	put_text(o, "transport", node_transport_name((enum node_transport)r->transport));
	if (json_object_array_length(list->nodes) < SETTINGS_MAX) {
		settings = json_object_new_object();
		node_record_each(r, list->show_secrets, add_setting, settings);
		json_object_object_add(o, "settings", settings);
	}
	json_object_array_add(list->nodes, o);
	return 0;
}

void node_handle_list(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct node_list list = {
		.show_secrets = request_flag(json, "show_secrets", false),
	};
	struct request_filter f;
	struct json_object *reply;

	if (!request_filter(r, json, &f))
		return;
	if (list.show_secrets && !control_request_is_privileged(r)) {
		control_fail(r, STATUS_ACCESS, "root, or the daemon's user, may see secrets");
		return;
	}
	list.nodes = json_object_new_array();
	list.unreadable = json_object_new_array();
	records_each(d->records, &f.record, list_each, &list);
	reply = json_object_new_object();
	json_object_object_add(reply, "nodes", list.nodes);
	json_object_object_add(reply, "unreadable", list.unreadable);
	control_reply(r, reply);
}

/* ---- node-new ---- */

static bool exists(struct daemon *d, const struct node_record *r)
{
	struct record_filter key = {r->target_name, r->address, (uint16_t)r->port, -1, r->iface};
	char why[RECORDS_WHY_SIZE];
	struct node_record old;
	int err = records_read(d->records, &key, &old, why);

	explicit_bzero(&old, sizeof(old));
	return err != -ENOENT;
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
	if (exists(d, &record))
		control_fail(r, STATUS_EXISTS, "there is a record already: %s at %s,%u",
			record.target_name, record.address, record.port);
	else if (records_write(d->records, &record, why) < 0)
		control_fail(r, STATUS_DATABASE, "%s", why);
	else
		control_reply(r, NULL);
}

/* ---- node-delete, node-update ---- */

struct node_change {
	struct daemon *daemon;
	const char *name, *value;
	unsigned changed;
	int status;
	char why[RECORDS_WHY_SIZE];
};

static int stop_change(struct node_change *c, int err)
{
	c->status =
		err == -EINVAL || err == -ERANGE || err == -ENOENT ? STATUS_USAGE : STATUS_FAILED;
	return 1;
}

static int delete_each(void *arg, const struct node_record *r, const char *why)
{
	struct node_change *c = arg;
	const struct daemon_session *s;

	if (!r) {
		snprintf(c->why, sizeof(c->why), "%s", why);
		return stop_change(c, -EINVAL);
	}
	s = session_find(c->daemon, r);
	if (s) {
		snprintf(c->why, sizeof(c->why),
			"the record of %s is used by session %u; log that out first",
			r->target_name, s->number);
		return stop_change(c, -EBUSY);
	}
	if (records_delete(c->daemon->records, r, c->why) < 0)
		return stop_change(c, -EIO);
	c->changed++;
	return 0;
}

static int update_each(void *arg, const struct node_record *r, const char *why)
{
	struct node_change *c = arg;
	struct node_record record;
	int err;

	if (!r) {
		snprintf(c->why, sizeof(c->why), "%s", why);
		return stop_change(c, -EINVAL);
	}
	record = *r;
	err = node_record_set(&record, c->name, c->value, c->why);
	if (err == 0)
		err = records_write(c->daemon->records, &record, c->why);
	explicit_bzero(&record, sizeof(record));
	if (err < 0)
		return stop_change(c, err);
	c->changed++;
	return 0;
}

static void change(struct daemon *d, struct control_request *r, const struct request_filter *f,
	struct node_change *c, int (*each)(void *arg, const struct node_record *r, const char *why),
	const char *key)
{
	struct json_object *reply;

	c->daemon = d;
	if (records_each(d->records, &f->record, each, c) == -ENOENT) {
		control_fail(r, STATUS_NOT_FOUND, "No records found");
	} else if (c->status) {
		control_fail(r, c->status, "%s", c->why);
	} else {
		reply = json_object_new_object();
		put_number(reply, key, c->changed);
		control_reply(r, reply);
	}
}

void node_handle_delete(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct node_change c = {0};
	struct request_filter f;

	if (request_filter(r, json, &f))
		change(d, r, &f, &c, delete_each, "deleted");
}

void node_handle_update(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct node_change c = {
		.name = request_text(json, "name"),
		.value = request_text(json, "value"),
	};
	struct request_filter f;

	if (!request_filter(r, json, &f))
		return;
	if (!c.name || !c.value)
		control_fail(r, STATUS_USAGE, "an update needs a name and a value");
	else if (node_setting_is_key(c.name))
		control_fail(r, STATUS_USAGE,
			"%.80s says which record it is, and cannot be changed; make a new record",
			c.name);
	else
		change(d, r, &f, &c, update_each, "updated");
}

/* The verbs of discovery records: discovery-list, discovery-show, discovery-new, discovery-update
 * and discovery-delete. Called by server.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "initiator/daemon/daemon.h"
#include "initiator/discovery.h"

/* ---- discovery-list ---- */

struct discovery_list {
	struct daemon *daemon;
	const struct discovery_record *record;
	struct json_object *reply, *list, *targets;
};

static int list_target(void *arg, const struct node_record *r, const char *why)
{
	struct discovery_list *l = arg;
	struct json_object *o;

	(void)why;
	if (!r || strcmp(r->discovery_address, l->record->address) != 0 ||
		r->discovery_port != l->record->port)
		return 0;
	o = json_object_new_object();
	put_node(o, r);
	json_object_array_add(l->targets, o);
	return 0;
}

static int list_discovery(void *arg, const struct discovery_record *r, const char *why)
{
	struct discovery_list *l = arg;
	struct record_filter all = {.tpgt = -1};
	struct json_object *o;
	char portal[RECORDS_ADDRESS_SIZE + 16];

	if (!r) {
		put_line(l->reply, "warnings", why);
		return 0;
	}
	o = json_object_new_object();
	json_object_array_add(l->list, o);
	address_print_named(r->address, r->port, portal, sizeof(portal));
	put_text(o, "portal", portal);
	put_text(o, "transport", node_transport_name((enum node_transport)r->transport));
	l->record = r;
	l->targets = json_object_new_array();
	records_each(l->daemon->records, &all, list_target, l);
	json_object_object_add(o, "targets", l->targets);
	return 0;
}

void discovery_handle_list(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct discovery_list l = {.daemon = d, .list = json_object_new_array()};

	(void)json;
	l.reply = json_object_new_object();
	json_object_object_add(l.reply, "discoveries", l.list);
	records_discovery_each(d->records, list_discovery, &l);
	control_reply(r, l.reply);
}

/* ---- one record ---- */

/* Which one is meant, and what it is. False after it has answered. */
static bool read_one(struct daemon *d, struct control_request *r, struct json_object *json,
	struct request_filter *f, struct discovery_record *ret)
{
	char why[RECORDS_WHY_SIZE];
	int err;

	if (!request_filter(r, json, f))
		return false;
	if (!f->record.address) {
		control_fail(r, STATUS_USAGE, "which portal's record? -p HOST[:PORT] says it");
		return false;
	}
	err = records_discovery_read(d->records, f->host, f->record.port, ret, why);
	if (err == -ENOENT)
		control_fail(r, STATUS_NOT_FOUND, "No records found");
	else if (err < 0)
		control_fail(r, STATUS_DATABASE, "%s", why);
	return err == 0;
}

static void add_setting(void *arg, const char *name, const char *value)
{
	json_object_object_add(arg, name, json_object_new_string(value));
}

void discovery_handle_show(struct daemon *d, struct control_request *r, struct json_object *json)
{
	bool secrets = request_flag(json, "show_secrets", false);
	struct json_object *reply, *settings;
	struct discovery_record record;
	struct request_filter f;

	if (secrets && !control_request_is_privileged(r)) {
		control_fail(r, STATUS_ACCESS, "root, or the daemon's user, may see secrets");
		return;
	}
	if (!read_one(d, r, json, &f, &record))
		return;
	reply = json_object_new_object();
	settings = json_object_new_object();
	discovery_record_each(&record, secrets, add_setting, settings);
	json_object_object_add(reply, "settings", settings);
	explicit_bzero(&record, sizeof(record));
	control_reply(r, reply);
}

static void write_one(
	struct daemon *d, struct control_request *r, const struct discovery_record *record)
{
	char why[RECORDS_WHY_SIZE];

	if (records_discovery_write(d->records, record, why) < 0)
		control_fail(r, STATUS_DATABASE, "%s", why);
	else
		control_reply(r, NULL);
}

/* One that is there has its defaults again. */
void discovery_handle_new(struct daemon *d, struct control_request *r, struct json_object *json)
{
	enum node_transport transport = NODE_TRANSPORT_ISER;
	struct discovery_record record;
	struct request_filter f;

	if (!request_filter(r, json, &f))
		return;
	if (!f.record.address) {
		control_fail(
			r, STATUS_USAGE, "a new record needs a portal; -p HOST[:PORT] says it");
		return;
	}
	if (f.transport)
		node_transport_parse(f.transport, &transport);
	discovery_record_default(&record, transport);
	request_provider(&f, &record.provider);
	memcpy(record.address, f.host, sizeof(record.address));
	record.port = f.record.port;
	write_one(d, r, &record);
}

static bool set_all(
	struct control_request *r, struct json_object *settings, struct discovery_record *record)
{
	char why[RECORDS_WHY_SIZE];

	json_object_object_foreach(settings, name, value)
	{
		if (discovery_setting_is_key(name)) {
			control_fail(r, STATUS_USAGE,
				"%.80s says which record it is, and cannot be changed; make a new "
				"record",
				name);
			return false;
		}
		if (discovery_record_set(record, name, json_object_get_string(value), why) < 0) {
			control_fail(r, STATUS_USAGE, "%s", why);
			return false;
		}
	}
	return true;
}

void discovery_handle_update(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct discovery_record record;
	struct json_object *settings;
	struct request_filter f;

	if (!json_object_object_get_ex(json, "settings", &settings) ||
		!json_object_is_type(settings, json_type_object)) {
		control_fail(r, STATUS_USAGE, "an update needs a name and a value");
		return;
	}
	if (!read_one(d, r, json, &f, &record))
		return;
	if (set_all(r, settings, &record))
		write_one(d, r, &record);
	explicit_bzero(&record, sizeof(record));
}

/* What its file holds does not matter: one that cannot be used can be deleted, too. */
void discovery_handle_delete(struct daemon *d, struct control_request *r, struct json_object *json)
{
	char why[RECORDS_WHY_SIZE];
	struct request_filter f;
	int err;

	if (!request_filter(r, json, &f))
		return;
	if (!f.record.address) {
		control_fail(r, STATUS_USAGE, "which portal's record? -p HOST[:PORT] says it");
		return;
	}
	err = records_discovery_delete(d->records, f.host, f.record.port, why);
	if (err == -ENOENT)
		control_fail(r, STATUS_NOT_FOUND, "No records found");
	else if (err < 0)
		control_fail(r, STATUS_DATABASE, "%s", why);
	else
		control_reply(r, NULL);
}

/* SendTargets discovery: asks a portal, and keeps what it tells as node records. Called by
 * server.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "initiator/daemon/resolve.h"
#include "initiator/daemon/sessions.h"
#include "initiator/discovery.h"

/* One discovery under way. */
struct discover {
	struct daemon *daemon;
	struct control_request *request;
	struct list link; /* in daemon.discoveries */
	struct discovery_record record;
	char portal[RECORDS_ADDRESS_SIZE + 16];
	struct discovery *discovery;
	bool cancelled;
};

static void discover_free(struct discover *x)
{
	struct daemon *d = x->daemon;

	list_remove(&x->link);
	d->busy--;
	explicit_bzero(&x->record, sizeof(x->record));
	alloc_free(x);
	daemon_settle(d);
}

static void discover_fail(struct discover *x, enum ini_status status, const char *line)
{
	control_fail(x->request, (int)status, "%s", line);
	discover_free(x);
}

/* ---- what was found ---- */

static void keep_transport(struct node_record *r, uint32_t transport)
{
	r->transport = transport;
	snprintf(r->iface, sizeof(r->iface), "%s",
		node_transport_iface((enum node_transport)transport));
}

/* The record that there is keeps its settings; the transport is that of the last discovery. */
static int keep_record(struct discover *x, const struct discovery_entry *e, char *why)
{
	struct records *db = x->daemon->records;
	struct record_filter key = {e->target_name, e->address, e->port, -1, NULL};
	struct node_record r, old;
	int err = records_read(db, &key, &old, why);

	if (err < 0 && err != -ENOENT)
		return err;
	r = old;
	if (err == -ENOENT) {
		node_record_default(&r, (enum node_transport)x->record.transport);
		snprintf(r.target_name, sizeof(r.target_name), "%s", e->target_name);
		memcpy(r.address, e->address, sizeof(r.address));
		r.port = e->port;
	}
	r.tpgt = e->tpgt;
	keep_transport(&r, x->record.transport);
	r.provider = x->record.provider;
	memcpy(r.discovery_address, x->record.address, sizeof(r.discovery_address));
	r.discovery_port = x->record.port;
	snprintf(r.discovery_type, sizeof(r.discovery_type), "send_targets");
	if (err == 0 && strcmp(old.iface, r.iface) != 0 && !session_find(x->daemon, &old))
		records_delete(db, &old, why);
	err = records_write(db, &r, why);
	explicit_bzero(&r, sizeof(r));
	explicit_bzero(&old, sizeof(old));
	return err;
}

static struct json_object *show_entry(const struct discovery_entry *e)
{
	struct json_object *o = json_object_new_object();
	char portal[RECORDS_ADDRESS_SIZE + 16];

	address_print_named(e->address, e->port, portal, sizeof(portal));
	put_text(o, "target", e->target_name);
	put_text(o, "portal", portal);
	put_number(o, "tpgt", e->tpgt);
	return o;
}

static void keep_all(struct discover *x, const struct discovery_result *result)
{
	struct json_object *reply, *targets = json_object_new_array();
	char why[RECORDS_WHY_SIZE];
	int err = records_discovery_write(x->daemon->records, &x->record, why);

	for (size_t i = 0; i < result->count && err == 0; i++) {
		err = keep_record(x, &result->entries[i], why);
		json_object_array_add(targets, show_entry(&result->entries[i]));
	}
	if (err < 0) {
		json_object_put(targets);
		discover_fail(x, STATUS_DATABASE, why);
		return;
	}
	reply = json_object_new_object();
	json_object_object_add(reply, "targets", targets);
	put_bool(reply, "truncated", result->truncated);
	control_reply(x->request, reply);
	discover_free(x);
}

static void found(void *owner, const struct discovery_result *result)
{
	struct discover *x = owner;
	char line[SESSION_WHY_SIZE];

	x->discovery = NULL;
	if (result->error == 0) {
		keep_all(x, result);
		return;
	}
	failure_line(
		x->portal, result->error, result->login_status, result->why, line, sizeof(line));
	discover_fail(x, failure_status(result->error, result->login_status), line);
}

/* ---- asking ---- */

static int ask(struct discover *x, const struct address *portal)
{
	const struct discovery_record *r = &x->record;
	struct discovery_config config = {
		.loop = x->daemon->loop,
		.mover = daemon_movers_find(x->daemon->movers, (enum node_transport)r->transport,
			(enum node_provider)r->provider, portal),
		.portal = *portal,
		.initiator_name = records_initiator_name(x->daemon->records),
		.login_timeout_ns = r->login_timeout * LOOP_NS_PER_S,
	};
	int err = ini_auth_from_settings(r->authmethod, r->username, r->password, r->username_in,
		r->password_in, r->chap_algs, &config.auth);

	if (err == 0 && !config.mover)
		err = -EOPNOTSUPP;
	return err < 0 ? err : discovery_start(&config, found, x, &x->discovery);
}

static void resolved(void *owner, const struct address *portal, const char *why)
{
	struct discover *x = owner;
	char line[SESSION_WHY_SIZE];
	int err;

	if (!portal) {
		discover_fail(x, STATUS_UNREACHABLE, why);
		return;
	}
	err = x->cancelled ? -ECANCELED : ask(x, portal);
	if (err == 0)
		return;
	failure_line(x->portal, err, 0, NULL, line, sizeof(line));
	discover_fail(x, failure_status(err, 0), line);
}

/* "auth": {"username": ..., "password": ..., ...}, named as discovery.sendtargets.auth.* are. */
static int take_auth(
	struct json_object *json, struct discovery_record *r, char why[RECORDS_WHY_SIZE])
{
	struct json_object *auth;
	char name[96];
	int err = 0;

	if (!json_object_object_get_ex(json, "auth", &auth) ||
		!json_object_is_type(auth, json_type_object))
		return 0;
	r->authmethod = NODE_AUTH_CHAP;
	json_object_object_foreach(auth, key, value)
	{
		snprintf(name, sizeof(name), "discovery.sendtargets.auth.%.60s", key);
		if (err == 0)
			err = discovery_record_set(r, name, json_object_get_string(value), why);
	}
	return err;
}

/* The record of an earlier discovery there keeps its settings. */
static int prepare(struct discover *x, const struct request_filter *f, struct json_object *json,
	char why[RECORDS_WHY_SIZE])
{
	struct discovery_record *r = &x->record;
	enum node_transport transport = NODE_TRANSPORT_ISER;
	int err = records_discovery_read(x->daemon->records, f->host, f->record.port, r, why);

	if (err < 0 && err != -ENOENT)
		return err;
	if (f->transport)
		node_transport_parse(f->transport, &transport);
	if (err == -ENOENT)
		discovery_record_default(r, transport);
	if (f->transport)
		r->transport = transport;
	request_provider(f, &r->provider);
	memcpy(r->address, f->host, sizeof(r->address));
	r->port = f->record.port;
	address_print_named(f->host, f->record.port, x->portal, sizeof(x->portal));
	return take_auth(json, r, why);
}

void discover_handle(struct daemon *d, struct control_request *r, struct json_object *json)
{
	char why[RECORDS_WHY_SIZE];
	struct request_filter f;
	struct discover *x;

	if (!request_filter(r, json, &f))
		return;
	if (!f.record.address || d->stopping) {
		control_fail(r, STATUS_USAGE, "%s",
			d->stopping ? "iserd is being stopped" : "discovery needs a portal");
		return;
	}
	x = alloc_zeroed(sizeof(*x));
	if (!x) {
		control_fail(r, STATUS_NO_MEMORY, "no memory");
		return;
	}
	x->daemon = d;
	x->request = r;
	d->busy++;
	list_append(&d->discoveries, &x->link);
	if (prepare(x, &f, json, why) < 0)
		discover_fail(x, STATUS_USAGE, why);
	else if (resolve_start(d, f.host, f.record.port, resolved, x) < 0)
		discover_fail(x, STATUS_NO_MEMORY, "no memory");
}

void discover_stop(struct daemon *d)
{
	struct discover *x, *next;

	list_for_each_safe(x, next, &d->discoveries, link)
	{
		x->cancelled = true;
		if (x->discovery)
			discovery_cancel(x->discovery);
	}
}

/* ---- discovery-list ---- */

struct discover_list {
	struct daemon *daemon;
	const struct discovery_record *record;
	struct json_object *list, *targets;
};

static int list_target(void *arg, const struct node_record *r, const char *why)
{
	struct discover_list *l = arg;
	struct discovery_entry e = {0};

	(void)why;
	if (!r || strcmp(r->discovery_address, l->record->address) != 0 ||
		r->discovery_port != l->record->port)
		return 0;
	memcpy(e.target_name, r->target_name, sizeof(e.target_name));
	memcpy(e.address, r->address, sizeof(e.address));
	e.port = (uint16_t)r->port;
	e.tpgt = (uint16_t)r->tpgt;
	json_object_array_add(l->targets, show_entry(&e));
	return 0;
}

static int list_discovery(void *arg, const struct discovery_record *r, const char *why)
{
	struct discover_list *l = arg;
	struct record_filter all = {.tpgt = -1};
	struct json_object *o = json_object_new_object();
	char portal[RECORDS_ADDRESS_SIZE + 16];

	json_object_array_add(l->list, o);
	if (!r) {
		put_text(o, "error", why);
		return 0;
	}
	address_print_named(r->address, r->port, portal, sizeof(portal));
	put_text(o, "portal", portal);
	put_text(o, "transport", node_transport_name((enum node_transport)r->transport));
	l->record = r;
	l->targets = json_object_new_array();
	records_each(l->daemon->records, &all, list_target, l);
	json_object_object_add(o, "targets", l->targets);
	return 0;
}

void discover_handle_list(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct discover_list l = {.daemon = d, .list = json_object_new_array()};
	struct json_object *reply = json_object_new_object();

	(void)json;
	records_discovery_each(d->records, list_discovery, &l);
	json_object_object_add(reply, "discoveries", l.list);
	control_reply(r, reply);
}

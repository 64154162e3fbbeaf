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

/* Long enough for a target to be done with the connection that it dropped; short for a person who
 * waits for the answer. */
#define DISCOVER_AGAIN_NS (LOOP_NS_PER_S / 2)

/* One discovery under way. */
struct discover {
	struct daemon *daemon;
	struct control_request *request;
	struct list link; /* in daemon.discoveries */
	struct discovery_record record;
	char portal[RECORDS_ADDRESS_SIZE + 16];
	struct address address; /* of the portal, once it is known */
	struct discovery *discovery;
	struct loop_timer again; /* asks once more */
	unsigned lost;		 /* connections so far */
	bool cancelled, forget;	 /* forget: no record is made or changed */
};

static void discover_free(struct discover *x)
{
	struct daemon *d = x->daemon;

	loop_timer_cancel(&x->again);
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

static struct json_object *show_entry(const struct discover *x, const struct discovery_entry *e)
{
	struct json_object *o = json_object_new_object();
	char portal[RECORDS_ADDRESS_SIZE + 16];

	address_print_named(e->address, e->port, portal, sizeof(portal));
	put_text(o, "target", e->target_name);
	put_text(o, "portal", portal);
	put_number(o, "tpgt", e->tpgt);
	put_text(o, "transport", node_transport_name((enum node_transport)x->record.transport));
	return o;
}

/* A record that cannot be used, which -EINVAL says, is for a person to mend: it stays as it is, and
 * hides no other target. */
static int keep_all(struct discover *x, const struct discovery_result *result,
	struct json_object *reply, char why[RECORDS_WHY_SIZE])
{
	int err = records_discovery_write(x->daemon->records, &x->record, why);

	for (size_t i = 0; i < result->count && err == 0; i++) {
		err = keep_record(x, &result->entries[i], why);
		if (err != -EINVAL)
			continue;
		put_line(reply, "warnings", why);
		err = 0;
	}
	return err;
}

static void answer_found(struct discover *x, const struct discovery_result *result)
{
	struct json_object *reply = json_object_new_object();
	struct json_object *targets = json_object_new_array();
	char why[RECORDS_WHY_SIZE];

	json_object_object_add(reply, "targets", targets);
	for (size_t i = 0; i < result->count; i++)
		json_object_array_add(targets, show_entry(x, &result->entries[i]));
	put_bool(reply, "truncated", result->truncated);
	if (!x->forget && keep_all(x, result, reply, why) < 0) {
		json_object_put(reply);
		discover_fail(x, STATUS_DATABASE, why);
		return;
	}
	control_reply(x->request, reply);
	discover_free(x);
}

/* A target that took the connection and then dropped it: tgt does when the request reaches it
 * before the completion of its own last login response. */
static bool dropped(const struct discover *x, const struct discovery_result *result)
{
	return (result->error == -ECONNRESET || result->error == -EPIPE) && !x->cancelled;
}

static bool asked_again_later(struct discover *x, const struct discovery_result *result)
{
	if (!dropped(x, result) || x->lost >= x->record.reopen_max ||
		loop_timer_arm(x->daemon->loop, &x->again, DISCOVER_AGAIN_NS) < 0)
		return false;
	x->lost++;
	log_info("discovery", "%s: %s; asking again (%u of %u)", x->portal, result->why, x->lost,
		x->record.reopen_max);
	return true;
}

static void found(void *owner, const struct discovery_result *result)
{
	struct discover *x = owner;
	char line[SESSION_WHY_SIZE];

	x->discovery = NULL;
	if (result->error == 0) {
		answer_found(x, result);
		return;
	}
	if (asked_again_later(x, result))
		return;
	failure_line(
		x->portal, result->error, result->login_status, result->why, line, sizeof(line));
	discover_fail(x, failure_status(result->error, result->login_status), line);
}

/* ---- asking ---- */

static int ask(struct discover *x)
{
	const struct discovery_record *r = &x->record;
	struct discovery_config config = {
		.loop = x->daemon->loop,
		.mover = daemon_movers_find(x->daemon->movers, (enum node_transport)r->transport,
			(enum node_provider)r->provider, &x->address),
		.portal = x->address,
		.initiator_name = records_initiator_name(x->daemon->records),
		.login_timeout_ns = r->login_timeout * LOOP_NS_PER_S,
	};
	int err = ini_auth_from_settings(r->authmethod, r->username, r->password, r->username_in,
		r->password_in, r->chap_algs, &config.auth);

	if (err == 0 && !config.mover)
		err = -EOPNOTSUPP;
	return err < 0 ? err : discovery_start(&config, found, x, &x->discovery);
}

static void ask_or_fail(struct discover *x)
{
	char line[SESSION_WHY_SIZE];
	int err = x->cancelled ? -ECANCELED : ask(x);

	if (err == 0)
		return;
	failure_line(x->portal, err, 0, NULL, line, sizeof(line));
	discover_fail(x, failure_status(err, 0), line);
}

static void ask_again(struct loop_timer *t)
{
	ask_or_fail(container_of(t, struct discover, again));
}

static void resolved(void *owner, const struct address *portal, const char *why)
{
	struct discover *x = owner;

	if (!portal) {
		discover_fail(x, STATUS_UNREACHABLE, why);
		return;
	}
	x->address = *portal;
	ask_or_fail(x);
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

/* The record of an earlier discovery there keeps its settings, but for the transport, which is what
 * is asked for now. A status, with a line if it is not STATUS_OK. */
static int prepare(struct discover *x, const struct request_filter *f, struct json_object *json,
	char why[RECORDS_WHY_SIZE])
{
	struct discovery_record *r = &x->record;
	enum node_transport transport = NODE_TRANSPORT_ISER;
	int err = records_discovery_read(x->daemon->records, f->host, f->record.port, r, why);

	if (err < 0 && err != -ENOENT)
		return STATUS_DATABASE;
	if (f->transport)
		node_transport_parse(f->transport, &transport);
	if (err == -ENOENT)
		discovery_record_default(r, transport);
	r->transport = transport;
	request_provider(f, &r->provider);
	memcpy(r->address, f->host, sizeof(r->address));
	r->port = f->record.port;
	address_print_named(f->host, f->record.port, x->portal, sizeof(x->portal));
	x->forget = request_flag(json, "nonpersistent", false);
	return take_auth(json, r, why) < 0 ? STATUS_USAGE : STATUS_OK;
}

void discover_handle(struct daemon *d, struct control_request *r, struct json_object *json)
{
	char why[RECORDS_WHY_SIZE];
	struct request_filter f;
	struct discover *x;
	int status;

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
	x->again.expired = ask_again;
	d->busy++;
	list_append(&d->discoveries, &x->link);
	status = prepare(x, &f, json, why);
	if (status != STATUS_OK)
		discover_fail(x, (enum ini_status)status, why);
	else if (resolve_start(d, f.host, f.record.port, resolved, x) < 0)
		discover_fail(x, STATUS_NO_MEMORY, "no memory");
}

void discover_stop(struct daemon *d)
{
	struct discover *x, *next;

	list_for_each_safe(x, next, &d->discoveries, link) {
		x->cancelled = true;
		if (x->discovery)
			discovery_cancel(x->discovery);
		else if (loop_timer_armed(&x->again))
			ask_or_fail(x);
	}
}

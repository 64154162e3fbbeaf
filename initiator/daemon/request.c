/* Fields of requests and of replies. Called by the verbs' handlers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "initiator/daemon/daemon.h"
#include "initiator/discovery.h"

const char *request_text(struct json_object *json, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(json, key, &value) ||
		!json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

bool request_flag(struct json_object *json, const char *key, bool otherwise)
{
	struct json_object *value;

	if (!json_object_object_get_ex(json, key, &value) ||
		!json_object_is_type(value, json_type_boolean))
		return otherwise;
	return json_object_get_boolean(value);
}

int request_number(
	struct json_object *json, const char *key, uint64_t max, uint64_t otherwise, uint64_t *ret)
{
	struct json_object *value;
	int64_t n;

	if (!json_object_object_get_ex(json, key, &value) || !value) {
		*ret = otherwise;
		return 0;
	}
	if (!json_object_is_type(value, json_type_int))
		return -EINVAL;
	n = json_object_get_int64(value);
	if (n < 0 || (uint64_t)n > max)
		return -EINVAL;
	*ret = (uint64_t)n;
	return 0;
}

static bool filter_portal(struct json_object *json, struct request_filter *ret)
{
	const char *portal = request_text(json, "portal");
	uint16_t port, tpgt;

	if (!portal)
		return true;
	if (discovery_parse_address(portal, ret->host, &port, &tpgt) < 0)
		return false;
	ret->record.address = ret->host;
	ret->record.port = port;
	if (tpgt)
		ret->record.tpgt = tpgt;
	return true;
}

static bool filter_transport(struct json_object *json, struct request_filter *ret)
{
	enum node_transport transport;

	ret->transport = request_text(json, "transport");
	if (!ret->transport)
		return true;
	if (node_transport_parse(ret->transport, &transport) < 0)
		return false;
	ret->record.iface = node_transport_iface(transport);
	return true;
}

static bool filter_provider(struct json_object *json, struct request_filter *ret)
{
	enum node_provider provider;

	ret->provider = request_text(json, "provider");
	return !ret->provider || node_provider_parse(ret->provider, &provider) == 0;
}

void request_provider(const struct request_filter *f, uint32_t *provider)
{
	enum node_provider p;

	if (f->provider && node_provider_parse(f->provider, &p) == 0)
		*provider = p;
}

bool request_filter(struct control_request *r, struct json_object *json, struct request_filter *ret)
{
	char why[RECORDS_WHY_SIZE];
	uint64_t session;

	*ret = (struct request_filter){.record = {.tpgt = -1}};
	ret->record.target_name = request_text(json, "target");
	/* the name becomes part of paths */
	if (ret->record.target_name && records_check_name(ret->record.target_name, why) < 0) {
		control_fail(r, STATUS_USAGE, "%s", why);
	} else if (!filter_portal(json, ret)) {
		control_fail(r, STATUS_USAGE,
			"portal %.80s: not an address; write 192.0.2.1:3260, [2001:db8::1]:3260 or "
			"host:3260",
			request_text(json, "portal"));
	} else if (!filter_transport(json, ret)) {
		control_fail(r, STATUS_USAGE, "transport %.40s: iser and tcp are the transports",
			ret->transport);
	} else if (!filter_provider(json, ret)) {
		control_fail(r, STATUS_USAGE,
			"provider %.40s: auto, verbs and softiwarp are the providers",
			ret->provider);
	} else if (request_number(json, "session", UINT32_MAX, 0, &session) < 0) {
		control_fail(r, STATUS_USAGE, "session: a number as the session list shows it");
	} else {
		ret->session = (unsigned)session;
		return true;
	}
	return false;
}

/* ---- replies ---- */

void put_text(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, value ? json_object_new_string(value) : NULL);
}

void put_number(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)value));
}

void put_bool(struct json_object *o, const char *key, bool value)
{
	json_object_object_add(o, key, json_object_new_boolean(value));
}

void put_node(struct json_object *o, const struct node_record *r)
{
	char portal[RECORDS_ADDRESS_SIZE + 16];

	address_print_named(r->address, r->port, portal, sizeof(portal));
	put_text(o, "target", r->target_name);
	put_text(o, "portal", portal);
	put_number(o, "tpgt", r->tpgt);
	put_text(o, "transport", node_transport_name((enum node_transport)r->transport));
}

void put_line(struct json_object *o, const char *key, const char *line)
{
	struct json_object *list;

	if (!json_object_object_get_ex(o, key, &list)) {
		list = json_object_new_array();
		json_object_object_add(o, key, list);
	}
	json_object_array_add(list, json_object_new_string(line));
}

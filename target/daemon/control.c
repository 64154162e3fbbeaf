/* The verbs that isertadm may ask for, one row each. Called by the control
 * server on the main loop. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "target/daemon/daemon.h"
#include "target/session_state.h"

static const char *text_of(struct json_object *json, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(json, key, &value) ||
		!json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

static void verb_show(struct daemon *d, struct control_request *r, struct json_object *json)
{
	(void)json;
	control_reply(r, show_daemon(d));
}

/* ---- what the workers must be asked for ---- */

static void gather(struct daemon *d, struct control_request *r,
	void (*each)(struct broadcast_part *p, void *arg),
	void (*done)(struct daemon *d, struct broadcast_part *parts, size_t count, void *arg))
{
	if (broadcast_run(d, each, done, r) < 0)
		control_fail(r, EXIT_FAILED, "no memory");
}

static void sessions_each(struct broadcast_part *p, void *arg)
{
	(void)arg;
	p->result = show_sessions_of(p->worker->worker);
}

static void append_all(struct json_object *to, struct json_object *from)
{
	for (size_t i = 0; i < json_object_array_length(from); i++)
		json_object_array_add(to, json_object_get(json_object_array_get_idx(from, i)));
	json_object_put(from);
}

static void sessions_done(struct daemon *d, struct broadcast_part *parts, size_t count, void *arg)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	(void)d;
	for (size_t i = 0; i < count; i++)
		append_all(list, parts[i].result);
	json_object_object_add(o, "sessions", list);
	control_reply(arg, o);
}

static void verb_sessions(struct daemon *d, struct control_request *r, struct json_object *json)
{
	(void)json;
	gather(d, r, sessions_each, sessions_done);
}

static void stats_each(struct broadcast_part *p, void *arg)
{
	(void)arg;
	p->result = show_totals_of(p->worker->worker);
}

static void stats_done(struct daemon *d, struct broadcast_part *parts, size_t count, void *arg)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(list, parts[i].result);
	json_object_object_add(o, "loops", list);
	json_object_object_add(
		o, "logins", json_object_new_int64((int64_t)atomic_load(&d->targets->logins)));
	control_reply(arg, o);
}

static void verb_stats(struct daemon *d, struct control_request *r, struct json_object *json)
{
	(void)json;
	gather(d, r, stats_each, stats_done);
}

/* ---- drop ---- */

struct drop {
	struct control_request *request;
	char who[ISCSI_NAME_MAX + 1]; /* a TSIH, or an initiator's name */
};

static bool drop_matches(const struct tgt_session *s, const char *who)
{
	char tsih[8];

	snprintf(tsih, sizeof(tsih), "%u", s->entry.tsih);
	return !strcmp(who, tsih) || !strcasecmp(who, s->initiator_name);
}

static void drop_each(struct broadcast_part *p, void *arg)
{
	const struct drop *drop = arg;
	struct tgt_session *s, *next;

	list_for_each_safe(s, next, &p->worker->worker->sessions, worker_link)
		if (s->conn && drop_matches(s, drop->who)) {
			tgt_conn_fail(s->conn, CONN_EVENT_DROP, "dropped by the administrator");
			p->count++;
		}
}

static void drop_done(struct daemon *d, struct broadcast_part *parts, size_t count, void *arg)
{
	struct drop *drop = arg;
	struct json_object *o;
	unsigned dropped = 0;

	(void)d;
	for (size_t i = 0; i < count; i++)
		dropped += parts[i].count;
	if (!dropped) {
		control_fail(drop->request, EXIT_NOT_FOUND,
			"there is no session with that TSIH or initiator name: %s", drop->who);
	} else {
		o = json_object_new_object();
		json_object_object_add(o, "dropped", json_object_new_int64(dropped));
		control_reply(drop->request, o);
	}
	alloc_free(drop);
}

static void verb_drop(struct daemon *d, struct control_request *r, struct json_object *json)
{
	const char *who = text_of(json, "session");
	struct drop *drop;

	if (!who) {
		control_fail(r, EXIT_USAGE, "drop: name a session by TSIH or initiator name");
		return;
	}
	drop = alloc_zeroed(sizeof(*drop));
	if (drop) {
		drop->request = r;
		snprintf(drop->who, sizeof(drop->who), "%s", who);
	}
	if (!drop || broadcast_run(d, drop_each, drop_done, drop) < 0) {
		alloc_free(drop);
		control_fail(r, EXIT_FAILED, "no memory");
	}
}

/* ---- reload, log, stop ---- */

static void fail_report(struct control_request *r, const struct config_report *report)
{
	char text[4096] = "";
	size_t used = 0;

	for (size_t i = 0; i < report->count && used < sizeof(text) - 1; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s", i ? "\n" : "", report->lines[i]);
	control_fail(r, EXIT_USAGE, "%s", used ? text : "nothing has changed: no memory");
}

static void verb_reload(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct config_report report = {0};

	(void)json;
	if (daemon_reload(d, &report) < 0)
		fail_report(r, &report);
	else
		control_reply(r, NULL);
	config_report_free(&report);
}

static void verb_log(struct daemon *d, struct control_request *r, struct json_object *json)
{
	const char *word = text_of(json, "level");
	enum log_level level;

	if (!word || log_level_parse(word, &level) < 0) {
		control_fail(r, EXIT_USAGE, "log: the levels are error, warning, info and debug");
		return;
	}
	log_set_level(level);
	d->options.log_level = (int)level; /* a reload leaves it */
	control_reply(r, NULL);
}

static void verb_stop(struct daemon *d, struct control_request *r, struct json_object *json)
{
	(void)json;
	control_reply(r, NULL);
	daemon_stop(d);
}

static const struct {
	const char *verb;
	bool privileged;
	void (*run)(struct daemon *d, struct control_request *r, struct json_object *json);
} rows[] = {
	{"show", false, verb_show},
	{"sessions", false, verb_sessions},
	{"stats", false, verb_stats},
	{"drop", true, verb_drop},
	{"reload", true, verb_reload},
	{"log", true, verb_log},
	{"stop", true, verb_stop},
};

void daemon_control(void *owner, struct control_request *r, struct json_object *json)
{
	const char *verb = text_of(json, "verb");

	for (size_t i = 0; verb && i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].verb, verb))
			continue;
		if (rows[i].privileged && !control_request_is_privileged(r))
			control_fail(r, EXIT_REFUSED, "%s: root, or the daemon's user, may do this",
				verb);
		else
			rows[i].run(owner, r, json);
		return;
	}
	control_fail(r, EXIT_USAGE, "there is no verb \"%s\"", verb ? verb : "");
}

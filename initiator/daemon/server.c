/* The verbs that iseradm may ask for, one row each. Called by the control server on the loop. */
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/log.h"
#include "initiator/daemon/sessions.h"

static void set_log_handle(struct daemon *d, struct control_request *r, struct json_object *json)
{
	const char *word = request_text(json, "level");
	enum log_level level;

	if (!word || log_level_parse(word, &level) < 0) {
		control_fail(r, STATUS_USAGE, "log: the levels are error, warning, info and debug");
		return;
	}
	log_set_level(level);
	d->config.log_level = (int)level;
	control_reply(r, NULL);
}

/* Not while a device is in use, unless it is forced; a signal does not ask. */
static void stop_handle(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct daemon_session *s;
	char why[SESSION_WHY_SIZE];

	list_for_each(s, &d->sessions, link) {
		if (request_flag(json, "force", false) || !luns_in_use(s, why))
			continue;
		control_fail(r, STATUS_BUSY, "%s; end that, or stop with --force", why);
		return;
	}
	control_reply(r, NULL);
	daemon_stop(d);
}

static const struct {
	const char *verb;
	daemon_verb *handle;
	bool privileged;
} rows[] = {
	{"discovery", discover_handle, true},
	{"discovery-list", discovery_handle_list, false},
	{"discovery-show", discovery_handle_show, false},
	{"discovery-new", discovery_handle_new, true},
	{"discovery-update", discovery_handle_update, true},
	{"discovery-delete", discovery_handle_delete, true},
	{"node-list", node_handle_list, false},
	{"node-new", node_handle_new, true},
	{"node-delete", node_handle_delete, true},
	{"node-update", node_handle_update, true},
	{"login", login_handle, true},
	{"logout", logout_handle, true},
	{"rescan", rescan_handle, true},
	{"sessions", sessions_handle, false},
	{"status", status_handle, false},
	{"set-log", set_log_handle, true},
	{"stop", stop_handle, true},
	{"lun", job_handle_lun, true},
};

void daemon_control(void *owner, struct control_request *r, struct json_object *json)
{
	const char *verb = request_text(json, "verb");

	for (size_t i = 0; verb && i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].verb, verb) != 0)
			continue;
		if (rows[i].privileged && !control_request_is_privileged(r))
			control_fail(r, STATUS_ACCESS,
				"%s: root, or the daemon's user, may do this", verb);
		else
			rows[i].handle(owner, r, json);
		return;
	}
	control_fail(r, STATUS_USAGE, "there is no verb \"%.40s\"", verb ? verb : "");
}

/* The table of verbs: who may ask for what, and what two of them decide here. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include "initiator/daemon/server.c"

static const char *called;
static bool used;
static unsigned stopped;

#define VERB(name)                                                                                 \
	void name(struct daemon *d, struct control_request *r, struct json_object *json)           \
	{                                                                                          \
		(void)d;                                                                           \
		(void)json;                                                                        \
		called = #name;                                                                    \
		control_reply(r, NULL);                                                            \
	}
VERB(discover_handle)
VERB(discovery_handle_list)
VERB(discovery_handle_show)
VERB(discovery_handle_new)
VERB(discovery_handle_update)
VERB(discovery_handle_delete)
VERB(node_handle_list)
VERB(node_handle_new)
VERB(node_handle_delete)
VERB(node_handle_update)
VERB(login_handle)
VERB(logout_handle)
VERB(rescan_handle)
VERB(sessions_handle)
VERB(status_handle)
VERB(job_handle_lun)

void daemon_stop(struct daemon *d)
{
	(void)d;
	stopped++;
}

bool luns_in_use(const struct daemon_session *s, char reason[SESSION_WHY_SIZE])
{
	(void)s;
	if (used)
		snprintf(reason, SESSION_WHY_SIZE, "/dev/loop3 is in use: mounted on /mnt");
	return used;
}

static struct control_request ask(struct daemon *d, const char *text, bool unprivileged)
{
	struct control_request r = request(text);

	called = NULL;
	r.unprivileged = unprivileged;
	daemon_control(d, &r, r.json);
	assert_int_equal(1, r.answered);
	return r;
}

static void each_verb_reaches_its_handler(void **state)
{
	static const char *const verbs[][2] = {
		{"discovery", "discover_handle"},
		{"discovery-list", "discovery_handle_list"},
		{"discovery-show", "discovery_handle_show"},
		{"discovery-new", "discovery_handle_new"},
		{"discovery-update", "discovery_handle_update"},
		{"discovery-delete", "discovery_handle_delete"},
		{"node-list", "node_handle_list"},
		{"node-new", "node_handle_new"},
		{"node-delete", "node_handle_delete"},
		{"node-update", "node_handle_update"},
		{"login", "login_handle"},
		{"logout", "logout_handle"},
		{"rescan", "rescan_handle"},
		{"sessions", "sessions_handle"},
		{"status", "status_handle"},
		{"lun", "job_handle_lun"},
	};
	struct kit *k = *state;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		struct control_request r;
		char text[64];

		snprintf(text, sizeof(text), "{\"verb\": \"%s\"}", verbs[i][0]);
		r = ask(&k->d, text, false);
		assert_string_equal(verbs[i][1], called);
		request_free(&r);
	}
}

static void who_is_not_privileged_may_look_and_no_more(void **state)
{
	static const char *const allowed[] = {"discovery-list", "node-list", "sessions", "status"};
	static const char *const refused[] = {"discovery", "node-new", "node-delete", "node-update",
		"login", "logout", "rescan", "set-log", "stop", "lun"};
	struct kit *k = *state;
	struct control_request r;
	char text[64];

	stopped = 0;
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		snprintf(text, sizeof(text), "{\"verb\": \"%s\"}", allowed[i]);
		r = ask(&k->d, text, true);
		assert_int_equal(STATUS_OK, r.status);
		request_free(&r);
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		snprintf(text, sizeof(text), "{\"verb\": \"%s\"}", refused[i]);
		r = ask(&k->d, text, true);
		assert_int_equal(STATUS_ACCESS, r.status);
		assert_null(called);
		request_free(&r);
	}
	assert_int_equal(0, stopped);
}

static void what_is_no_verb_is_usage(void **state)
{
	static const char *const texts[] = {"{}", "{\"verb\": 7}", "{\"verb\": \"\"}",
		"{\"verb\": \"logi\"}", "{\"verb\": null}"};
	struct kit *k = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct control_request r = ask(&k->d, texts[i], false);

		assert_int_equal(STATUS_USAGE, r.status);
		request_free(&r);
	}
}

static void the_log_level_is_set_by_word(void **state)
{
	struct kit *k = *state;
	struct control_request r =
		ask(&k->d, "{\"verb\": \"set-log\", \"level\": \"debug\"}", false);

	assert_int_equal(STATUS_OK, r.status);
	assert_int_equal(LOG_LEVEL_DEBUG, k->d.config.log_level);
	request_free(&r);
	r = ask(&k->d, "{\"verb\": \"set-log\", \"level\": \"loud\"}", false);
	assert_int_equal(STATUS_USAGE, r.status);
	assert_string_equal("log: the levels are error, warning, info and debug", r.error);
	assert_int_equal(LOG_LEVEL_DEBUG, k->d.config.log_level);
	request_free(&r);
	log_set_level(LOG_LEVEL_INFO);
}

static void a_stop_asks_for_devices_in_use(void **state)
{
	struct kit *k = *state;
	struct node_record n = record(TARGET, "192.0.2.1", 1);
	struct daemon_session *s = session_of(&k->d, &n, 1);
	struct control_request r;

	stopped = 0;
	used = true;
	r = ask(&k->d, "{\"verb\": \"stop\"}", false);
	assert_int_equal(STATUS_BUSY, r.status);
	assert_string_equal(
		"/dev/loop3 is in use: mounted on /mnt; end that, or stop with --force", r.error);
	assert_int_equal(0, stopped);
	request_free(&r);
	r = ask(&k->d, "{\"verb\": \"stop\", \"force\": true}", false);
	assert_int_equal(STATUS_OK, r.status);
	assert_int_equal(1, stopped);
	request_free(&r);
	used = false;
	r = ask(&k->d, "{\"verb\": \"stop\"}", false);
	assert_int_equal(STATUS_OK, r.status);
	assert_int_equal(2, stopped);
	request_free(&r);
	session_away(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_TEST(each_verb_reaches_its_handler),
		KIT_TEST(who_is_not_privileged_may_look_and_no_more),
		KIT_TEST(what_is_no_verb_is_usage),
		KIT_TEST(the_log_level_is_set_by_word),
		KIT_TEST(a_stop_asks_for_devices_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

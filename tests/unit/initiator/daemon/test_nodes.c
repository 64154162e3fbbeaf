/* Node records by request: listed, made, changed and deleted in a database on disk. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include "initiator/daemon/nodes.c"

#define DISK "iqn.2026-11.org.example:disk"
#define TAPE "iqn.2026-11.org.example:tape"

struct daemon_session *session_find(struct daemon *d, const struct node_record *r)
{
	struct daemon_session *s;

	list_for_each(s, &d->sessions, link)
		if (!strcmp(s->record.target_name, r->target_name))
			return s;
	return NULL;
}

static void two_records(struct daemon *d)
{
	struct node_record r = record(DISK, "192.0.2.1", 1);

	strcpy(r.username, "me");
	strcpy(r.password, "a very secret word");
	keep(d, &r);
	r = record(TAPE, "2001:db8::1", 2);
	keep(d, &r);
}

static void records_are_listed_with_their_settings(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{}");
	struct json_object *nodes, *first, *settings;

	two_records(&k->d);
	node_handle_list(&k->d, &r, r.json);
	assert_int_equal(STATUS_OK, r.status);
	nodes = json_object_object_get(r.reply, "nodes");
	assert_int_equal(2, json_object_array_length(nodes));
	first = json_object_array_get_idx(nodes, 0);
	assert_string_equal(DISK, request_text(first, "target"));
	assert_string_equal("192.0.2.1:3260", request_text(first, "portal"));
	assert_string_equal("tcp", request_text(first, "transport"));
	assert_string_equal(
		"[2001:db8::1]:3260", request_text(json_object_array_get_idx(nodes, 1), "portal"));
	settings = json_object_object_get(first, "settings");
	assert_string_equal("me", request_text(settings, "node.session.auth.username"));
	assert_null(strstr(answer(&r), "secret word"));
	request_free(&r);
}

static void secrets_are_shown_to_root_alone(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"show_secrets\": true}");

	two_records(&k->d);
	node_handle_list(&k->d, &r, r.json);
	assert_non_null(strstr(answer(&r), "a very secret word"));
	request_free(&r);
	r = request("{\"show_secrets\": true}");
	r.unprivileged = true;
	node_handle_list(&k->d, &r, r.json);
	assert_int_equal(STATUS_ACCESS, r.status);
	request_free(&r);
}

static void spoil(struct kit *k)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/nodes/" DISK "/192.0.2.1,3260,1/default", k->directory);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("node.nonsense = 1\n", f);
	fclose(f);
}

static void a_record_with_a_mistake_is_a_warning_beside_the_others(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{}");

	two_records(&k->d);
	spoil(k);
	node_handle_list(&k->d, &r, r.json);
	assert_int_equal(STATUS_OK, r.status);
	assert_int_equal(1, json_object_array_length(json_object_object_get(r.reply, "nodes")));
	assert_non_null(
		strstr(json_object_get_string(json_object_object_get(r.reply, "warnings")), DISK));
	request_free(&r);
}

static void a_record_with_a_mistake_hides_no_other_and_fails_alone(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"settings\": {\"node.startup\": \"automatic\"}}");

	two_records(&k->d);
	spoil(k);
	node_handle_update(&k->d, &r, r.json);
	assert_non_null(strstr(answer(&r), "\"updated\":1"));
	assert_non_null(strstr(answer(&r), "default:1: \\\"node.nonsense\\\" is no setting"));
	request_free(&r);
	r = request("{\"target\": \"" DISK "\", \"settings\": {\"node.startup\": \"manual\"}}");
	node_handle_update(&k->d, &r, r.json);
	assert_int_equal(STATUS_DATABASE, r.status);
	request_free(&r);
	r = request("{\"target\": \"" DISK "\"}");
	node_handle_list(&k->d, &r, r.json);
	assert_int_equal(STATUS_DATABASE, r.status);
	assert_non_null(strstr(r.error, "node.nonsense"));
	request_free(&r);
}

static void a_record_with_a_mistake_is_not_made_anew_but_can_be_deleted(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"target\": \"" DISK "\", \"portal\": "
					   "\"192.0.2.1:3260\", \"transport\": \"tcp\"}");
	struct record_filter key = {DISK, "192.0.2.1", 3260, -1, "default"};
	struct node_record n;

	two_records(&k->d);
	spoil(k);
	node_handle_new(&k->d, &r, r.json);
	assert_int_equal(STATUS_DATABASE, r.status);
	r.answered = 0;
	node_handle_delete(&k->d, &r, r.json);
	assert_string_equal("{\"deleted\":1}", answer(&r));
	assert_int_equal(-ENOENT, records_read(k->d.records, &key, &n, kit_why));
	request_free(&r);
	r = request("{}");
	node_handle_list(&k->d, &r, r.json);
	assert_int_equal(1, json_object_array_length(json_object_object_get(r.reply, "nodes")));
	request_free(&r);
}

static void a_list_of_very_many_leaves_settings_out(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{}");
	struct json_object *nodes, *settings;

	for (unsigned i = 0; i < SETTINGS_MAX + 1; i++) {
		char name[64];
		struct node_record n;

		snprintf(name, sizeof(name), "iqn.2026-11.org.example:%03u", i);
		n = record(name, "192.0.2.1", 1);
		keep(&k->d, &n);
	}
	node_handle_list(&k->d, &r, r.json);
	nodes = json_object_object_get(r.reply, "nodes");
	assert_int_equal(SETTINGS_MAX + 1, json_object_array_length(nodes));
	assert_true(json_object_object_get_ex(
		json_object_array_get_idx(nodes, SETTINGS_MAX - 1), "settings", &settings));
	assert_false(json_object_object_get_ex(
		json_object_array_get_idx(nodes, SETTINGS_MAX), "settings", &settings));
	assert_true(strlen(answer(&r)) < CONTROL_LINE_MAX);
	request_free(&r);
}

static void a_new_record_is_on_disk(void **state)
{
	struct kit *k = *state;
	struct control_request r =
		request("{\"target\": \"" TAPE "\", \"portal\": \"192.0.2.7:3261,4\","
			" \"transport\": \"tcp\", \"provider\": \"softiwarp\"}");
	struct record_filter key = {TAPE, "192.0.2.7", 3261, -1, "default"};
	struct node_record n;

	node_handle_new(&k->d, &r, r.json);
	assert_int_equal(STATUS_OK, r.status);
	assert_int_equal(0, records_read(k->d.records, &key, &n, kit_why));
	assert_int_equal(4, n.tpgt);
	assert_int_equal(NODE_PROVIDER_SOFTIWARP, n.provider);
	assert_string_equal("static", n.discovery_type);
	request_free(&r);
	r = request("{\"target\": \"" TAPE "\"}");
	node_handle_new(&k->d, &r, r.json);
	assert_int_equal(STATUS_USAGE, r.status);
	request_free(&r);
}

static void a_new_record_takes_the_place_of_the_old_one(void **state)
{
	struct kit *k = *state;
	struct control_request r =
		request("{\"target\": \"" TAPE "\", \"portal\": \"192.0.2.7:3260,2\","
			" \"transport\": \"tcp\"}");
	struct record_filter key = {TAPE, "192.0.2.7", 3260, -1, "default"};
	struct node_record n = record(TAPE, "192.0.2.7", 1);

	n.startup = NODE_STARTUP_AUTOMATIC;
	keep(&k->d, &n);
	node_handle_new(&k->d, &r, r.json);
	assert_int_equal(STATUS_OK, r.status);
	assert_int_equal(0, records_read(k->d.records, &key, &n, kit_why));
	assert_int_equal(2, n.tpgt);
	assert_int_equal(NODE_STARTUP_MANUAL, n.startup);
	request_free(&r);
}

static void an_update_changes_all_that_match(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"settings\": {\"node.startup\": \"automatic\"}}");
	struct record_filter key = {DISK, "192.0.2.1", 3260, -1, "default"};
	struct node_record n;

	two_records(&k->d);
	node_handle_update(&k->d, &r, r.json);
	assert_string_equal("{\"updated\":2}", answer(&r));
	assert_int_equal(0, records_read(k->d.records, &key, &n, kit_why));
	assert_int_equal(NODE_STARTUP_AUTOMATIC, n.startup);
	assert_string_equal("a very secret word", n.password); /* the rest stays */
	request_free(&r);
}

static void bad_updates_are_refused_and_change_nothing(void **state)
{
	static const struct {
		const char *json;
		int status;
		const char *says;
	} rows[] = {
		{"{\"settings\": {\"node.startup\": \"sometimes\"}}", STATUS_USAGE, "manual"},
		{"{\"settings\": {\"node.start\": \"manual\"}}", STATUS_USAGE, "node.start"},
		{"{\"settings\": {\"node.conn[0].port\": \"1\"}}", STATUS_USAGE,
			"make a new record"},
		{"{\"settings\": {}}", STATUS_USAGE, "a name and a value"},
		{"{\"settings\": {\"node.startup\": 1}}", STATUS_USAGE, "a value is a text"},
		{"{\"settings\": {\"node.startup\": \"automatic\",\"node.session.nr_sessions\": "
		 "\"2\"}}",
			STATUS_USAGE, "one session per record (1) is all"},
		{"{\"target\": \"iqn.2026-11.org.example:none\", "
		 "\"settings\": {\"node.startup\": \"manual\"}}",
			STATUS_NOT_FOUND, "No records found"},
	};
	struct kit *k = *state;
	struct record_filter key = {DISK, "192.0.2.1", 3260, -1, "default"};
	struct node_record n;

	two_records(&k->d);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct control_request r = request(rows[i].json);

		node_handle_update(&k->d, &r, r.json);
		assert_int_equal(rows[i].status, r.status);
		assert_non_null(strstr(r.error, rows[i].says));
		request_free(&r);
	}
	assert_int_equal(0, records_read(k->d.records, &key, &n, kit_why));
	assert_int_equal(NODE_STARTUP_MANUAL, n.startup);
}

static void a_record_in_use_is_not_deleted(void **state)
{
	struct kit *k = *state;
	struct node_record n = record(DISK, "192.0.2.1", 1);
	struct control_request r = request("{\"target\": \"" DISK "\"}");
	struct daemon_session *s;

	two_records(&k->d);
	s = session_of(&k->d, &n, 5);
	node_handle_delete(&k->d, &r, r.json);
	assert_int_equal(STATUS_EXISTS, r.status);
	assert_string_equal("the record of " DISK " at 192.0.2.1:3260 is used by session 5; log "
			    "that out first",
		r.error);
	request_free(&r);
	/* and is in no other's way */
	r = request("{}");
	node_handle_delete(&k->d, &r, r.json);
	assert_non_null(strstr(answer(&r), "\"status\":15"));
	assert_non_null(strstr(answer(&r), "is used by session 5"));
	assert_non_null(strstr(answer(&r), "\"deleted\":1"));
	request_free(&r);
	session_away(s);
	r = request("{\"target\": \"" DISK "\"}");
	node_handle_delete(&k->d, &r, r.json);
	assert_string_equal("{\"deleted\":1}", answer(&r));
	r.answered = 0;
	json_object_put(r.reply);
	r.reply = NULL;
	node_handle_delete(&k->d, &r, r.json);
	assert_int_equal(STATUS_NOT_FOUND, r.status);
	request_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_TEST(records_are_listed_with_their_settings),
		KIT_TEST(secrets_are_shown_to_root_alone),
		KIT_TEST(a_record_with_a_mistake_is_a_warning_beside_the_others),
		KIT_TEST(a_record_with_a_mistake_hides_no_other_and_fails_alone),
		KIT_TEST(a_record_with_a_mistake_is_not_made_anew_but_can_be_deleted),
		KIT_TEST(a_list_of_very_many_leaves_settings_out),
		KIT_TEST(a_new_record_is_on_disk),
		KIT_TEST(a_new_record_takes_the_place_of_the_old_one),
		KIT_TEST(an_update_changes_all_that_match),
		KIT_TEST(bad_updates_are_refused_and_change_nothing),
		KIT_TEST(a_record_in_use_is_not_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

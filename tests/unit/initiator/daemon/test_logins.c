/* Verbs over many sessions: one answer when the last is done, progress before, and the outcome of
 * each. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include "initiator/daemon/logins.c"

#define A "iqn.2026-11.org.example:a"
#define B "iqn.2026-11.org.example:b"

/* sessions.c's part: what was begun, and whom to tell. */
static struct {
	unsigned begun;
	struct node_record records[4];
	struct session_waiter done[4];
	bool forced, waited;
	int status; /* at once */
} it;

static int begin(const struct node_record *r, const struct session_waiter *done, char *reason)
{
	assert_true(it.begun < 4);
	it.records[it.begun] = *r;
	it.waited = done;
	if (done)
		it.done[it.begun] = *done;
	it.begun++;
	if (it.status)
		strcpy(reason, "refused at once");
	return it.status;
}

int session_login(struct daemon *d, const struct node_record *r, const struct session_waiter *done,
	char reason[SESSION_WHY_SIZE])
{
	(void)d;
	return begin(r, done, reason);
}

int session_logout(struct daemon_session *s, bool force, const struct session_waiter *done,
	char reason[SESSION_WHY_SIZE])
{
	it.forced = force;
	return begin(&s->record, done, reason);
}

int session_rescan(
	struct daemon_session *s, const struct session_waiter *done, char reason[SESSION_WHY_SIZE])
{
	return begin(&s->record, done, reason);
}

struct daemon_session *session_find(struct daemon *d, const struct node_record *r)
{
	struct daemon_session *s;

	list_for_each(s, &d->sessions, link)
		if (!strcmp(s->record.target_name, r->target_name) &&
			s->record.transport == r->transport)
			return s;
	return NULL;
}

struct daemon_session *session_find_target(struct daemon *d, const char *target_name)
{
	struct daemon_session *s;

	list_for_each(s, &d->sessions, link)
		if (!strcmp(s->record.target_name, target_name))
			return s;
	return NULL;
}

bool session_matches(const struct daemon_session *s, const struct request_filter *f)
{
	return !f->record.target_name || !strcmp(f->record.target_name, s->record.target_name);
}

static void end(unsigned which, struct daemon_session *s, int status, const char *error)
{
	it.done[which].done(it.done[which].owner, s, status, error);
}

static int setup(void **state)
{
	struct node_record r;
	struct kit *k;

	memset(&it, 0, sizeof(it));
	if (kit_setup(state) < 0)
		return -1;
	k = *state;
	r = record(A, "192.0.2.1", 1);
	r.startup = NODE_STARTUP_AUTOMATIC;
	keep(&k->d, &r);
	r = record(B, "192.0.2.1", 1);
	keep(&k->d, &r);
	return 0;
}

static void the_answer_comes_with_the_last_login(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{}");
	struct daemon_session *s = session_of(&k->d, &it.records[0], 9);

	login_handle(&k->d, &r, r.json);
	assert_int_equal(2, it.begun);
	assert_int_equal(2, r.told);
	assert_string_equal("{\"begun\":{\"target\":\"" A "\",\"portal\":\"192.0.2.1:3260\","
			    "\"tpgt\":1,\"transport\":\"tcp\"}}",
		r.progress[0]);
	end(1, NULL, STATUS_AUTH, "wrong password");
	assert_int_equal(0, r.answered);
	assert_non_null(
		strstr(r.progress[2], "\"ok\":false,\"status\":24,\"error\":\"wrong password\""));
	end(0, s, STATUS_OK, NULL);
	assert_int_equal(1, r.answered);
	assert_int_equal(STATUS_OK, r.status);
	/* in the order in which they ended */
	assert_string_equal("{\"logins\":["
			    "{\"target\":\"" B "\",\"portal\":\"192.0.2.1:3260\",\"tpgt\":1,"
			    "\"transport\":\"tcp\",\"ok\":false,\"status\":24,"
			    "\"error\":\"wrong password\"},"
			    "{\"target\":\"" A "\",\"portal\":\"192.0.2.1:3260\",\"tpgt\":1,"
			    "\"transport\":\"tcp\",\"session\":9,\"ok\":true,\"status\":0,"
			    "\"error\":null}]}",
		answer(&r));
	session_away(s);
	request_free(&r);
}

static void devices_that_are_missing_are_told(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{}");
	struct daemon_session *s = session_of(&k->d, &it.records[0], 9);
	struct daemon_lun luns[] = {{.number = 0}, {.number = 3, .why = "no FUSE"},
		{.number = 300, .why = "none either"}};

	login_handle(&k->d, &r, r.json);
	for (size_t i = 0; i < 3; i++)
		list_append(&s->luns, &luns[i].link);
	end(0, s, STATUS_OK, NULL);
	assert_non_null(strstr(r.progress[2], "\"without_device\":2,\"without_device_first\":3,"
					      "\"without_device_reason\":\"no FUSE\",\"ok\":true"));
	k->d.config.no_devices = true; /* asked for */
	end(1, s, STATUS_OK, NULL);
	assert_null(strstr(r.progress[3], "without_device"));
	k->d.config.no_devices = false;
	list_init(&s->luns);
	session_away(s);
	request_free(&r);
}

static void what_is_refused_at_once_is_part_of_the_answer(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"target\": \"" A "\"}");

	it.status = STATUS_EXISTS;
	login_handle(&k->d, &r, r.json);
	assert_int_equal(STATUS_OK, r.status);
	assert_non_null(strstr(answer(&r), "\"status\":15,\"error\":\"refused at once\""));
	request_free(&r);
}

static void automatic_logins_are_those_of_the_records_that_say_so(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"startup\": \"automatic\"}");

	login_handle(&k->d, &r, r.json);
	assert_int_equal(1, it.begun);
	assert_string_equal(A, it.records[0].target_name);
	end(0, NULL, STATUS_OK, NULL);
	assert_int_equal(STATUS_OK, r.status);
	request_free(&r);
}

static void all_is_all_but_onboot(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"startup\": \"all\"}");
	struct node_record b = record(B, "192.0.2.1", 1);

	b.startup = NODE_STARTUP_ONBOOT;
	keep(&k->d, &b);
	login_handle(&k->d, &r, r.json);
	assert_int_equal(1, it.begun);
	assert_string_equal(A, it.records[0].target_name);
	end(0, NULL, STATUS_OK, NULL);
	request_free(&r);
	it.begun = 0;
	r = request("{\"startup\": \"manual\"}");
	login_handle(&k->d, &r, r.json);
	assert_int_equal(0, it.begun);
	assert_int_equal(STATUS_NOT_FOUND, r.status);
	request_free(&r);
}

static void logouts_go_by_the_record_as_it_is_now(void **state)
{
	struct kit *k = *state;
	struct node_record a = record(A, "192.0.2.1", 1);
	struct daemon_session *s = session_of(&k->d, &a, 1); /* manual, when it was made */
	struct control_request r = request("{\"startup\": \"manual\"}");

	logout_handle(&k->d, &r, r.json);
	assert_int_equal(STATUS_NOT_FOUND, r.status);
	request_free(&r);
	r = request("{\"startup\": \"automatic\"}");
	logout_handle(&k->d, &r, r.json);
	assert_int_equal(1, it.begun);
	end(0, s, STATUS_OK, NULL);
	request_free(&r);
	session_away(s);
}

static void a_leading_login_leaves_the_other_portals_alone(void **state)
{
	struct kit *k = *state;
	struct node_record a = record(A, "192.0.2.1", 1);
	struct daemon_session *s = session_of(&k->d, &a, 1);
	struct control_request r = request("{\"startup\": \"automatic\"}");

	a.startup = NODE_STARTUP_AUTOMATIC;
	a.leading_login = true;
	keep(&k->d, &a);
	login_handle(&k->d, &r, r.json);
	assert_int_equal(0, it.begun);
	assert_int_equal(STATUS_OK, r.status);
	assert_string_equal("{\"logins\":[]}", answer(&r));
	request_free(&r);
	/* who asks for this one gets it */
	r = request("{\"target\": \"" A "\"}");
	login_handle(&k->d, &r, r.json);
	assert_int_equal(1, it.begun);
	end(0, NULL, STATUS_OK, NULL);
	request_free(&r);
	session_away(s);
}

static void a_failed_attempt_is_told_while_more_follow(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"target\": \"" A "\"}");

	login_handle(&k->d, &r, r.json);
	it.done[0].waiting(it.done[0].owner, "connection refused; attempt 2 of 8 follows");
	assert_non_null(strstr(r.progress[1], "{\"waiting\":{\"target\":\"" A "\""));
	assert_non_null(strstr(r.progress[1], "\"why\":\"connection refused; attempt 2 of 8"));
	assert_int_equal(0, r.answered);
	end(0, NULL, STATUS_OK, NULL);
	request_free(&r);
}

static void spoil(struct kit *k)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/nodes/" A "/192.0.2.1,3260,1/default", k->directory);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("node.nonsense = 1\n", f);
	fclose(f);
}

static void a_record_with_a_mistake_stops_no_other_login_and_fails_alone(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{}");

	spoil(k);
	login_handle(&k->d, &r, r.json);
	assert_int_equal(1, it.begun);
	end(0, NULL, STATUS_OK, NULL);
	assert_int_equal(STATUS_OK, r.status);
	assert_non_null(strstr(answer(&r), "\"warnings\":[\""));
	assert_non_null(strstr(answer(&r), "default:1: \\\"node.nonsense\\\" is no setting"));
	request_free(&r);
	r = request("{\"target\": \"" A "\"}");
	login_handle(&k->d, &r, r.json);
	assert_int_equal(STATUS_DATABASE, r.status);
	assert_non_null(strstr(r.error, "default:1: \"node.nonsense\" is no setting"));
	request_free(&r);
}

static void who_does_not_wait_is_answered_at_once(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"wait\": false}");

	login_handle(&k->d, &r, r.json);
	assert_int_equal(2, it.begun);
	assert_false(it.waited);
	assert_int_equal(STATUS_OK, r.status);
	request_free(&r);
}

static void no_record_and_no_session_are_not_found(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"target\": \"iqn.2026-11.org.example:none\"}");

	login_handle(&k->d, &r, r.json);
	assert_int_equal(STATUS_NOT_FOUND, r.status);
	assert_string_equal("No records found", r.error);
	request_free(&r);
	r = request("{}");
	logout_handle(&k->d, &r, r.json);
	assert_int_equal(STATUS_NOT_FOUND, r.status);
	assert_string_equal("No matching sessions found", r.error);
	request_free(&r);
	r = request("{\"session\": 99}");
	rescan_handle(&k->d, &r, r.json);
	assert_int_equal(STATUS_NO_SESSION, r.status);
	assert_string_equal("there is no session 99; -m session lists them", r.error);
	request_free(&r);
}

static void a_login_by_the_other_transport_moves_the_record(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"target\": \"" A "\", \"transport\": \"iser\"}");
	struct record_filter tcp = {A, "192.0.2.1", 3260, -1, "default"};
	struct record_filter iser = {A, "192.0.2.1", 3260, -1, "iser"};
	struct node_record n;

	login_handle(&k->d, &r, r.json);
	assert_int_equal(1, it.begun);
	assert_int_equal(NODE_TRANSPORT_ISER, it.records[0].transport);
	end(0, NULL, STATUS_OK, NULL);
	assert_int_equal(-ENOENT, records_read(k->d.records, &tcp, &n, kit_why));
	assert_int_equal(0, records_read(k->d.records, &iser, &n, kit_why));
	assert_int_equal(NODE_STARTUP_AUTOMATIC, n.startup);
	request_free(&r);
}

static void a_record_in_use_stays_beside_its_copy(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"target\": \"" A "\", \"transport\": \"iser\"}");
	struct record_filter tcp = {A, "192.0.2.1", 3260, -1, "default"};
	struct node_record n = record(A, "192.0.2.1", 1);
	struct daemon_session *s = session_of(&k->d, &n, 1);

	login_handle(&k->d, &r, r.json);
	end(0, NULL, STATUS_OK, NULL);
	assert_int_equal(0, records_read(k->d.records, &tcp, &n, kit_why));
	session_away(s);
	request_free(&r);
}

static void the_record_remembers_the_provider(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{\"target\": \"" B "\", \"provider\": \"softiwarp\"}");
	struct record_filter key = {B, "192.0.2.1", 3260, -1, "default"};
	struct node_record n;

	login_handle(&k->d, &r, r.json);
	assert_int_equal(NODE_PROVIDER_SOFTIWARP, it.records[0].provider);
	end(0, NULL, STATUS_OK, NULL);
	assert_int_equal(0, records_read(k->d.records, &key, &n, kit_why));
	assert_int_equal(NODE_PROVIDER_SOFTIWARP, n.provider);
	request_free(&r);
}

static void logouts_and_rescans_are_for_the_sessions_that_match(void **state)
{
	struct kit *k = *state;
	struct node_record a = record(A, "192.0.2.1", 1), b = record(B, "192.0.2.1", 1);
	struct daemon_session *s[] = {session_of(&k->d, &a, 1), session_of(&k->d, &b, 2)};
	struct control_request r = request("{\"target\": \"" B "\"}");

	logout_handle(&k->d, &r, r.json);
	assert_int_equal(1, it.begun);
	assert_false(it.forced);
	assert_non_null(strstr(r.progress[0], "\"session\":2"));
	end(0, s[1], STATUS_OK, NULL);
	assert_non_null(strstr(answer(&r), "\"logouts\":[{\"target\":\"" B "\""));
	request_free(&r);

	it.begun = 0;
	r = request("{\"force\": true}");
	logout_handle(&k->d, &r, r.json);
	assert_int_equal(2, it.begun);
	assert_true(it.forced);
	end(0, s[0], STATUS_OK, NULL);
	end(1, s[1], STATUS_OK, NULL);
	request_free(&r);

	it.begun = 0;
	r = request("{}");
	rescan_handle(&k->d, &r, r.json);
	end(0, s[0], STATUS_OK, NULL);
	end(1, s[1], STATUS_FAILED, "its LUNs cannot be scanned");
	assert_non_null(strstr(answer(&r), "\"rescans\":["));
	request_free(&r);
	session_away(s[0]);
	session_away(s[1]);
}

static void without_memory_the_request_is_answered_all_the_same(void **state)
{
	struct kit *k = *state;

	for (unsigned n = 1; n <= 2; n++) {
		struct control_request r = request("{\"target\": \"" A "\"}");
		struct node_record a = record(A, "192.0.2.1", 1);
		struct daemon_session *s = session_of(&k->d, &a, 1);

		it.begun = 0;
		alloc_fail_nth(n); /* the operation; its part */
		logout_handle(&k->d, &r, r.json);
		alloc_fail_nth(0);
		assert_int_equal(1, r.answered);
		assert_int_equal(0, it.begun);
		assert_non_null(strstr(answer(&r), "no memory"));
		session_away(s);
		request_free(&r);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, kit_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_answer_comes_with_the_last_login),
		TEST(devices_that_are_missing_are_told),
		TEST(what_is_refused_at_once_is_part_of_the_answer),
		TEST(automatic_logins_are_those_of_the_records_that_say_so),
		TEST(all_is_all_but_onboot),
		TEST(logouts_go_by_the_record_as_it_is_now),
		TEST(a_leading_login_leaves_the_other_portals_alone),
		TEST(a_failed_attempt_is_told_while_more_follow),
		TEST(a_record_with_a_mistake_stops_no_other_login_and_fails_alone),
		TEST(who_does_not_wait_is_answered_at_once),
		TEST(no_record_and_no_session_are_not_found),
		TEST(a_login_by_the_other_transport_moves_the_record),
		TEST(a_record_in_use_stays_beside_its_copy),
		TEST(the_record_remembers_the_provider),
		TEST(logouts_and_rescans_are_for_the_sessions_that_match),
		TEST(without_memory_the_request_is_answered_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

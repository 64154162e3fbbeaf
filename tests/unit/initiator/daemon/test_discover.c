/* Discovery: the record of whom to ask, what is kept of the answer, and how it ends. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include "initiator/daemon/discover.c"

#define A "iqn.2026-11.org.example:a"
#define B "iqn.2026-11.org.example:b"

/* What lies below: a look-up and a discovery that end when the test says so. */
static struct {
	void (*resolved)(void *owner, const struct address *address, const char *why);
	void (*found)(void *owner, const struct discovery_result *result);
	void *owner;
	char host[80], username[64];
	enum node_transport transport;
	enum node_provider provider;
	bool no_mover, cancelled, in_use;
	unsigned asked;
} it;

int resolve_start(struct daemon *d, const char *host, unsigned port,
	void (*done)(void *owner, const struct address *address, const char *why), void *owner)
{
	(void)d;
	snprintf(it.host, sizeof(it.host), "%s %u", host, port);
	it.resolved = done;
	it.owner = owner;
	return 0;
}

struct dm_mover *daemon_movers_find(const struct daemon_movers *m, enum node_transport transport,
	enum node_provider provider, const struct address *portal)
{
	static struct dm_mover mover;

	(void)m;
	(void)portal;
	it.transport = transport;
	it.provider = provider;
	return it.no_mover ? NULL : &mover;
}

int discovery_start(const struct discovery_config *config,
	void (*done)(void *owner, const struct discovery_result *result), void *owner,
	struct discovery **ret)
{
	it.asked++;
	it.found = done;
	it.owner = owner;
	snprintf(
		it.username, sizeof(it.username), "%s", config->auth.name ? config->auth.name : "");
	*ret = (struct discovery *)&it;
	return 0;
}

void discovery_cancel(struct discovery *d)
{
	(void)d;
	it.cancelled = true;
}

struct daemon_session *session_find(struct daemon *d, const struct node_record *r)
{
	static struct daemon_session s;

	(void)d;
	(void)r;
	return it.in_use ? &s : NULL;
}

static void begin(struct daemon *d, struct control_request *r, const char *text)
{
	*r = request(text);
	memset(&it, 0, sizeof(it));
	settled_count = 0;
	discover_handle(d, r, r->json);
}

static void resolves(void)
{
	struct address a;
	const char *wrong;

	assert_int_equal(0, address_parse("192.0.2.1:3260", 3260, &a, &wrong));
	it.resolved(it.owner, &a, NULL);
}

static void finds(const struct discovery_entry *entries, size_t count)
{
	const struct discovery_result result = {.entries = entries, .count = count};

	it.found(it.owner, &result);
}

static const struct discovery_entry two[] = {
	{A, "192.0.2.1", 3260, 1},
	{B, "2001:db8::1", 3261, 2},
};

static void what_is_found_becomes_records(void **state)
{
	struct kit *k = *state;
	struct record_filter key = {B, "2001:db8::1", 3261, -1, "iser"};
	struct control_request r;
	struct discovery_record whom;
	struct node_record n;

	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\"}");
	assert_string_equal("192.0.2.1 3260", it.host);
	resolves();
	assert_int_equal(NODE_TRANSPORT_ISER, it.transport);
	assert_int_equal(0, r.answered);
	finds(two, 2);
	assert_string_equal(
		"{\"targets\":[{\"target\":\"" A "\",\"portal\":\"192.0.2.1:3260\","
		"\"tpgt\":1,\"transport\":\"iser\"},{\"target\":\"" B
		"\",\"portal\":\"[2001:db8::1]:3261\",\"tpgt\":2,\"transport\":\"iser\"}],"
		"\"truncated\":false}",
		answer(&r));
	assert_int_equal(0, records_read(k->d.records, &key, &n, kit_why));
	assert_string_equal("send_targets", n.discovery_type);
	assert_string_equal("192.0.2.1", n.discovery_address);
	assert_int_equal(2, n.tpgt);
	assert_int_equal(
		0, records_discovery_read(k->d.records, "192.0.2.1", 3260, &whom, kit_why));
	assert_int_equal(0, k->d.busy);
	assert_int_equal(1, settled_count);
	request_free(&r);
}

static void a_record_that_is_there_keeps_its_settings(void **state)
{
	struct kit *k = *state;
	struct record_filter tcp = {A, "192.0.2.1", 3260, -1, "default"};
	struct record_filter iser = {A, "192.0.2.1", 3260, -1, "iser"};
	struct node_record n = record(A, "192.0.2.1", 1);
	struct control_request r;

	n.startup = NODE_STARTUP_AUTOMATIC;
	keep(&k->d, &n);
	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\", \"transport\": \"iser\"}");
	resolves();
	finds(two, 1);
	/* by the other transport now, and no longer by the old one */
	assert_int_equal(0, records_read(k->d.records, &iser, &n, kit_why));
	assert_int_equal(NODE_STARTUP_AUTOMATIC, n.startup);
	assert_int_equal(-ENOENT, records_read(k->d.records, &tcp, &n, kit_why));
	request_free(&r);
}

static void a_record_with_a_mistake_is_a_warning_and_stays(void **state)
{
	struct kit *k = *state;
	struct record_filter key = {B, "2001:db8::1", 3261, -1, "iser"};
	struct node_record n = record(A, "192.0.2.1", 1);
	struct control_request r;
	char path[400];
	FILE *f;

	keep(&k->d, &n);
	snprintf(path, sizeof(path), "%s/nodes/" A "/192.0.2.1,3260,1/default", k->directory);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("node.nonsense = 1\n", f);
	fclose(f);
	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\"}");
	resolves();
	finds(two, 2);
	assert_non_null(strstr(answer(&r), "\"target\":\"" A "\""));
	assert_non_null(strstr(answer(&r), "default:1: \\\"node.nonsense\\\" is no setting"));
	assert_int_equal(0, records_read(k->d.records, &key, &n, kit_why));
	assert_int_equal(0, access(path, F_OK));
	request_free(&r);
}

static void the_transport_is_iser_whatever_it_was_before(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\", \"transport\": \"tcp\"}");
	resolves();
	assert_int_equal(NODE_TRANSPORT_TCP, it.transport);
	finds(two, 2);
	request_free(&r);
	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\"}");
	resolves();
	assert_int_equal(NODE_TRANSPORT_ISER, it.transport);
	finds(two, 2);
	request_free(&r);
}

static void a_nonpersistent_discovery_keeps_nothing(void **state)
{
	struct kit *k = *state;
	struct record_filter all = {.tpgt = -1};
	struct discovery_record whom;
	struct control_request r;
	struct node_record n;

	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\", \"nonpersistent\": true}");
	resolves();
	finds(two, 2);
	assert_non_null(strstr(answer(&r), "\"target\":\"" B "\""));
	assert_int_equal(-ENOENT, records_read(k->d.records, &all, &n, kit_why));
	assert_int_equal(
		-ENOENT, records_discovery_read(k->d.records, "192.0.2.1", 3260, &whom, kit_why));
	request_free(&r);
}

static void a_record_in_use_is_not_taken_away(void **state)
{
	struct kit *k = *state;
	struct record_filter tcp = {A, "192.0.2.1", 3260, -1, "default"};
	struct node_record n = record(A, "192.0.2.1", 1);
	struct control_request r;

	keep(&k->d, &n);
	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\", \"transport\": \"iser\"}");
	it.in_use = true;
	resolves();
	finds(two, 1);
	assert_int_equal(STATUS_OK, r.status);
	assert_int_equal(0, records_read(k->d.records, &tcp, &n, kit_why));
	request_free(&r);
}

static void secrets_go_to_the_record_and_to_the_login(void **state)
{
	struct kit *k = *state;
	struct control_request r;
	struct discovery_record whom;

	begin(&k->d, &r,
		"{\"portal\": \"192.0.2.1\", \"auth\": {\"username\": \"me\", \"password\": "
		"\"a secret of 16 b\"}}");
	resolves();
	assert_string_equal("me", it.username);
	finds(two, 1);
	assert_int_equal(
		0, records_discovery_read(k->d.records, "192.0.2.1", 3260, &whom, kit_why));
	assert_int_equal(NODE_AUTH_CHAP, whom.authmethod);
	assert_string_equal("a secret of 16 b", whom.password);
	request_free(&r);
	/* and they are there the next time */
	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\"}");
	resolves();
	assert_string_equal("me", it.username);
	finds(two, 1);
	request_free(&r);
}

static void an_unknown_field_of_auth_is_usage(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\", \"auth\": {\"user\": \"me\"}}");
	assert_int_equal(STATUS_USAGE, r.status);
	assert_int_equal(0, k->d.busy);
	assert_null(it.resolved);
	request_free(&r);
}

static void failures_have_their_status_and_line(void **state)
{
	static const struct discovery_result refused = {
		.error = -ECONNREFUSED, .why = "cannot connect"};
	struct kit *k = *state;
	struct control_request r;

	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\"}");
	resolves();
	it.found(it.owner, &refused);
	assert_int_equal(STATUS_UNREACHABLE, r.status);
	assert_string_equal(
		"192.0.2.1:3260: connection refused; is a target listening on that port?", r.error);
	request_free(&r);

	begin(&k->d, &r, "{\"portal\": \"nowhere.example\"}");
	it.resolved(it.owner, NULL, "nowhere.example:3260: unknown name");
	assert_int_equal(STATUS_UNREACHABLE, r.status);
	assert_string_equal("nowhere.example:3260: unknown name", r.error);
	request_free(&r);

	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\", \"provider\": \"verbs\"}");
	it.no_mover = true;
	resolves();
	assert_int_equal(1, r.answered);
	assert_int_not_equal(STATUS_OK, r.status);
	assert_int_equal(NODE_PROVIDER_VERBS, it.provider);
	assert_int_equal(0, k->d.busy);
	request_free(&r);
}

static const struct discovery_result dropped_it = {
	.error = -ECONNRESET, .why = "the target closed the connection"};

static void half_a_second_passes(struct kit *k)
{
	loop_advance(k->d.loop, LOOP_NS_PER_S / 2);
	turns(&k->d);
}

static void a_target_that_drops_the_connection_is_asked_again(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\"}");
	resolves();
	it.found(it.owner, &dropped_it);
	turns(&k->d);
	assert_int_equal(1, it.asked); /* not at once */
	half_a_second_passes(k);
	assert_int_equal(2, it.asked);
	assert_non_null(strstr(logged, "closed the connection; asking again (1 of 5)"));
	finds(two, 2);
	assert_non_null(strstr(answer(&r), "\"target\":\"" B "\""));
	assert_int_equal(0, k->d.busy);
	request_free(&r);
}

static void a_target_that_always_drops_it_is_asked_as_often_as_the_record_says(void **state)
{
	struct kit *k = *state;
	struct control_request r;
	struct discovery_record whom;

	discovery_record_default(&whom, NODE_TRANSPORT_ISER);
	strcpy(whom.address, "192.0.2.1");
	assert_int_equal(5, whom.reopen_max);
	whom.reopen_max = 2;
	assert_int_equal(0, records_discovery_write(k->d.records, &whom, kit_why));
	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\"}");
	resolves();
	for (unsigned i = 0; i < 2; i++) {
		it.found(it.owner, &dropped_it);
		half_a_second_passes(k);
	}
	assert_int_equal(0, r.answered);
	assert_int_equal(3, it.asked);
	it.found(it.owner, &dropped_it);
	assert_int_equal(STATUS_UNREACHABLE, r.status);
	assert_non_null(strstr(r.error, "192.0.2.1:3260: the target closed the connection"));
	half_a_second_passes(k);
	assert_int_equal(3, it.asked);
	assert_int_equal(0, k->d.busy);
	request_free(&r);
}

static void the_end_does_not_wait_for_the_next_time(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\"}");
	resolves();
	it.found(it.owner, &dropped_it);
	discover_stop(&k->d);
	assert_int_equal(1, r.answered);
	assert_int_equal(STATUS_FAILED, r.status);
	assert_int_equal(1, it.asked);
	assert_true(list_empty(&k->d.discoveries));
	half_a_second_passes(k);
	request_free(&r);
}

static void a_portal_is_needed_and_a_daemon_that_goes_on(void **state)
{
	struct kit *k = *state;
	struct control_request r;

	begin(&k->d, &r, "{}");
	assert_int_equal(STATUS_USAGE, r.status);
	assert_string_equal("discovery needs a portal", r.error);
	request_free(&r);
	k->d.stopping = true;
	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\"}");
	assert_int_equal(STATUS_USAGE, r.status);
	request_free(&r);
}

static void the_end_cancels_what_is_under_way(void **state)
{
	static const struct discovery_result cancelled = {.error = -ECANCELED, .why = "given up"};
	struct kit *k = *state;
	struct control_request r;

	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\"}");
	discover_stop(&k->d); /* before the address is known */
	resolves();
	assert_int_equal(0, it.asked);
	assert_int_equal(1, r.answered);
	assert_int_not_equal(STATUS_OK, r.status);
	request_free(&r);

	begin(&k->d, &r, "{\"portal\": \"192.0.2.1\"}");
	resolves();
	discover_stop(&k->d);
	assert_true(it.cancelled);
	it.found(it.owner, &cancelled);
	assert_int_equal(1, r.answered);
	assert_true(list_empty(&k->d.discoveries));
	request_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_TEST(what_is_found_becomes_records),
		KIT_TEST(a_record_that_is_there_keeps_its_settings),
		KIT_TEST(a_record_with_a_mistake_is_a_warning_and_stays),
		KIT_TEST(the_transport_is_iser_whatever_it_was_before),
		KIT_TEST(a_nonpersistent_discovery_keeps_nothing),
		KIT_TEST(a_record_in_use_is_not_taken_away),
		KIT_TEST(secrets_go_to_the_record_and_to_the_login),
		KIT_TEST(an_unknown_field_of_auth_is_usage),
		KIT_TEST(failures_have_their_status_and_line),
		KIT_TEST(a_portal_is_needed_and_a_daemon_that_goes_on),
		KIT_TEST(the_end_cancels_what_is_under_way),
		KIT_TEST(a_target_that_drops_the_connection_is_asked_again),
		KIT_TEST(a_target_that_always_drops_it_is_asked_as_often_as_the_record_says),
		KIT_TEST(the_end_does_not_wait_for_the_next_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What iseradm is shown: the shape of sessions, LUNs and the daemon as JSON. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#undef TARGET
#include "tests/unit/initiator/fake_disk.h"

#include "initiator/daemon/show.c"

bool session_matches(const struct daemon_session *s, const struct request_filter *f)
{
	return !f->session || f->session == s->number;
}

const char *session_state_name(const struct daemon_session *s)
{
	return s->ini ? "LOGGED_IN" : "CONNECTING";
}

static struct fake_disk disk;
static struct daemon daemon_shown;
static struct daemon_session session;
static struct daemon_lun lun;

static const char *loop3(const struct export *e)
{
	(void)e;
	return "/dev/loop3";
}

static const struct export_ops ops = {.device = loop3};
static struct export export = {&ops};

static int setup(void **state)
{
	(void)state;
	disk_setup(&disk);
	daemon_shown = (struct daemon){.loop = disk.o.fake->loop,
		.config = {
			.runtime_directory = "/run/iseran", .state_directory = "/var/lib/iseran"}};
	list_init(&daemon_shown.sessions);
	list_init(&daemon_shown.autologins);
	session = (struct daemon_session){.daemon = &daemon_shown,
		.number = 3,
		.ini = disk.o.session,
		.record = record(FAKE_TARGET, "192.0.2.1", 1)};
	list_init(&session.luns);
	list_append(&daemon_shown.sessions, &session.link);
	lun = (struct daemon_lun){.session = &session,
		.number = 0,
		.disk = disk.disk,
		.state = LUN_READY,
		.export = &export,
		.name = "ip-name"};
	list_append(&session.luns, &lun.link);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	disk_teardown(&disk);
	return 0;
}

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(o, key, &value));
	return value;
}

static uint64_t number_at(struct json_object *o, const char *key)
{
	return (uint64_t)json_object_get_int64(member(o, key));
}

/* The first session of the answer. */
static struct json_object *shown(struct control_request *r, const char *text)
{
	*r = request(text);
	sessions_handle(&daemon_shown, r, r->json);
	assert_int_equal(STATUS_OK, r->status);
	return json_object_array_get_idx(member(r->reply, "sessions"), 0);
}

static void a_session_says_what_it_is_and_what_was_negotiated(void **state)
{
	struct control_request r;
	struct json_object *s = shown(&r, "{}"), *params;

	(void)state;
	assert_int_equal(3, number_at(s, "session"));
	assert_string_equal(FAKE_TARGET, request_text(s, "target"));
	assert_string_equal("192.0.2.1:3260", request_text(s, "portal"));
	assert_string_equal("tcp", request_text(s, "transport"));
	assert_string_equal("LOGGED_IN", request_text(s, "state"));
	assert_string_equal(FAKE_INITIATOR, request_text(s, "initiator"));
	assert_string_equal("800102030405", request_text(s, "isid"));
	assert_string_equal("192.0.2.1:3260", request_text(s, "connected_to"));
	assert_int_equal(0, number_at(s, "recoveries"));
	assert_null(member(s, "last_error"));
	params = member(s, "params");
	assert_string_equal("None", request_text(params, "HeaderDigest"));
	/* RFC 7143 sections 13.13, 13.22: MaxBurstLength 262,144 and ERL 0 by default */
	assert_int_equal(262144, number_at(params, "MaxBurstLength"));
	assert_int_equal(0, number_at(params, "ErrorRecoveryLevel"));
	assert_int_equal(1, number_at(params, "MaxConnections"));
	/* keys of RFC 7145 are shown where they were negotiated alone */
	assert_false(json_object_object_get_ex(params, "TargetRecvDataSegmentLength", NULL));
	assert_true(number_at(member(s, "stats"), "tasks_done") > 0);
	assert_int_equal(1, number_at(member(s, "stats"), "logins"));
	request_free(&r);
}

static void iser_has_its_keys(void **state)
{
	const struct iscsi_params p = {.rdma_extensions = true,
		.header_digest = ISCSI_DIGEST_CRC32C,
		.target_recv_data_segment_length = 8192,
		.initiator_recv_data_segment_length = 16384,
		.max_outstanding_unexpected_pdus = 9};
	struct json_object *o = show_params(&p);

	(void)state;
	assert_string_equal("CRC32C", request_text(o, "HeaderDigest"));
	assert_string_equal("None", request_text(o, "DataDigest"));
	assert_int_equal(8192, number_at(o, "TargetRecvDataSegmentLength"));
	assert_int_equal(16384, number_at(o, "InitiatorRecvDataSegmentLength"));
	assert_int_equal(9, number_at(o, "MaxOutstandingUnexpectedPDUs"));
	json_object_put(o);
}

static void a_lun_says_where_its_device_is(void **state)
{
	struct control_request r;
	struct json_object *l =
		json_object_array_get_idx(member(shown(&r, "{\"session\": 3}"), "luns"), 0);

	(void)state;
	assert_string_equal("/dev/loop3", request_text(l, "device"));
	assert_string_equal("/run/iseran/by-path/ip-name", request_text(l, "link"));
	assert_string_equal("/run/iseran/devices/ip-name", request_text(l, "file"));
	assert_null(member(l, "why"));
	assert_int_equal(FAKE_BLOCKS * FAKE_BLOCK, number_at(l, "size"));
	assert_int_equal(512, number_at(l, "block_size"));
	assert_string_equal("running", request_text(l, "state"));
	assert_int_equal(0, number_at(member(l, "stats"), "errors"));
	request_free(&r);
}

static void what_is_no_device_yet_is_not_shown_as_one(void **state)
{
	static const struct {
		enum lun_state state;
		bool failed, gone, leaving;
		const char *device, *word;
	} cases[] = {
		{LUN_READY, false, false, false, "/dev/loop3", "running"},
		{LUN_STARTING, false, false, false, NULL, "created"},
		{LUN_STOPPING, false, false, false, NULL, "deleting"},
		{LUN_READY, true, false, false, NULL, "running"},
		{LUN_READY, false, true, false, "/dev/loop3", "gone"},
		{LUN_READY, false, false, true, "/dev/loop3", "deleting"},
		{LUN_IDLE, false, false, false, NULL, "running"},
	};
	struct json_object *list;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_object *o;

		lun.state = cases[i].state;
		lun.failed = cases[i].failed;
		lun.gone = cases[i].gone;
		lun.leaving = cases[i].leaving;
		strcpy(lun.why, cases[i].device ? "" : "no /dev/fuse");
		o = show_lun(&lun);
		if (cases[i].device)
			assert_string_equal(cases[i].device, request_text(o, "device"));
		else
			assert_null(member(o, "device"));
		if (cases[i].device)
			assert_null(member(o, "why"));
		else
			assert_string_equal("no /dev/fuse", request_text(o, "why"));
		assert_int_equal(!cases[i].device, !member(o, "link"));
		assert_string_equal(cases[i].word, request_text(o, "state"));
		json_object_put(o);
	}
	lun.state = LUN_FREEING;
	list = show_luns(&session);
	assert_int_equal(0, json_object_array_length(list));
	json_object_put(list);
}

static void a_lost_connection_blocks_its_luns(void **state)
{
	struct control_request r;
	struct json_object *s;

	(void)state;
	disk.o.fake->deaf = true;
	fake_drop(disk.o.fake, -ECONNRESET);
	fake_turns(disk.o.fake);
	s = shown(&r, "{}");
	assert_null(member(s, "info"));
	assert_null(member(s, "provider"));
	assert_int_equal(0, number_at(s, "connected_s"));
	assert_true(strlen(request_text(s, "last_error")) > 0);
	assert_string_equal(
		"blocked", request_text(json_object_array_get_idx(member(s, "luns"), 0), "state"));
	request_free(&r);
	disk.o.fake->deaf = false;
}

static void a_session_that_is_only_beginning_has_little_to_say(void **state)
{
	struct control_request r;
	struct json_object *s;

	(void)state;
	session.ini = NULL;
	list_remove(&lun.link);
	s = shown(&r, "{}");
	assert_string_equal("CONNECTING", request_text(s, "state"));
	assert_false(json_object_object_get_ex(s, "params", NULL));
	assert_int_equal(0, json_object_array_length(member(s, "luns")));
	request_free(&r);
}

static void the_daemon_says_where_it_keeps_things(void **state)
{
	struct kit *k = *state;
	struct control_request r = request("{}");
	struct list waiting[2];

	k->d.config.no_devices = true;
	k->d.config.log_level = LOG_LEVEL_DEBUG;
	for (int i = 0; i < 2; i++)
		list_append(&k->d.autologins, &waiting[i]);
	loop_advance(k->d.loop, 90 * LOOP_NS_PER_S + 1);
	k->d.started_ns = loop_now(k->d.loop) - 90 * LOOP_NS_PER_S;
	status_handle(&k->d, &r, r.json);
	assert_int_equal(STATUS_OK, r.status);
	assert_int_equal(getpid(), number_at(r.reply, "pid"));
	assert_int_equal(90, number_at(r.reply, "uptime_s"));
	assert_memory_equal("iqn.", request_text(r.reply, "initiator"), 4);
	assert_string_equal(k->directory, request_text(r.reply, "state_dir"));
	assert_string_equal("debug", request_text(r.reply, "log_level"));
	assert_false(request_flag(r.reply, "devices", true));
	assert_int_equal(0, number_at(r.reply, "sessions"));
	assert_int_equal(2, number_at(r.reply, "logins_waiting"));
	request_free(&r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_says_what_it_is_and_what_was_negotiated),
		TEST(iser_has_its_keys),
		TEST(a_lun_says_where_its_device_is),
		TEST(what_is_no_device_yet_is_not_shown_as_one),
		TEST(a_lost_connection_blocks_its_luns),
		TEST(a_session_that_is_only_beginning_has_little_to_say),
		KIT_TEST(the_daemon_says_where_it_keeps_things),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

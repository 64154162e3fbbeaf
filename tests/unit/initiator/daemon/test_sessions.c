/* One session of iserd from the look-up of its portal to its end, against a scripted target; what
 * luns.c would do is played here. */
#define KIT_NO_SETTLE
#include "tests/unit/initiator/daemon/daemon_kit.h"

#undef TARGET
#include "tests/unit/initiator/fake_target.h"

#include "initiator/daemon/sessions.c"

static struct {
	struct daemon daemon;
	struct fake *fake;
	char directory[64]; /* of records */
	/* the look-up */
	void (*resolved)(void *owner, const struct address *address, const char *why);
	void *owner;
	bool no_mover;
	/* LUNs */
	unsigned scans, starts, settled;
	size_t found;
	bool have_devices, in_use, busy, refuse;
	/* what was told */
	unsigned login, logout, rescan;
	int status;
	char line[SESSION_WHY_SIZE];
} it;

void daemon_settle(struct daemon *d)
{
	(void)d;
	it.settled++;
}

int resolve_start(struct daemon *d, const char *host, unsigned port,
	void (*done)(void *owner, const struct address *address, const char *why), void *owner)
{
	(void)d;
	(void)host;
	(void)port;
	it.resolved = done;
	it.owner = owner;
	return 0;
}

struct dm_mover *daemon_movers_find(const struct daemon_movers *m, enum node_transport transport,
	enum node_provider provider, const struct address *portal)
{
	(void)m;
	(void)transport;
	(void)provider;
	(void)portal;
	return it.no_mover ? NULL : &it.fake->dm;
}

void luns_take_scan(struct daemon_session *s, const struct disk_info *found, size_t count)
{
	(void)s;
	(void)found;
	it.scans++;
	it.found = count;
}

void luns_start(struct daemon_session *s)
{
	(void)s;
	it.starts++;
}

void luns_leave_step(struct daemon_session *s)
{
	(void)s;
}

bool luns_busy(const struct daemon_session *s)
{
	(void)s;
	return it.busy;
}

bool luns_have_devices(const struct daemon_session *s)
{
	(void)s;
	return it.have_devices;
}

bool luns_in_use(const struct daemon_session *s, char why[SESSION_WHY_SIZE])
{
	(void)s;
	if (it.in_use)
		strcpy(why, "/dev/loop3 is in use: mounted on /mnt");
	return it.in_use;
}

bool luns_stop(struct daemon_session *s)
{
	if (it.refuse && !s->force && !s->refused) {
		s->refused = true;
		strcpy(s->end_why, "/dev/loop3 cannot be taken away");
		session_proceed(s);
	}
	return !s->refused;
}

bool luns_flush(struct daemon_session *s)
{
	(void)s;
	return true;
}

bool luns_free(struct daemon_session *s)
{
	(void)s;
	return true;
}

static void told(void *owner, struct daemon_session *s, int status, const char *error)
{
	(void)s;
	++*(unsigned *)owner;
	it.status = status;
	snprintf(it.line, sizeof(it.line), "%s", error ? error : "");
}

static const struct session_waiter login_waiter = {told, &it.login, NULL};
static unsigned waits;
static char waited_for[SESSION_WHY_SIZE];

static void waiting(void *owner, const char *why)
{
	(void)owner;
	waits++;
	snprintf(waited_for, sizeof(waited_for), "%s", why);
}

static const struct session_waiter logout_waiter = {told, &it.logout, NULL};
static const struct session_waiter rescan_waiter = {told, &it.rescan, NULL};

static char line[SESSION_WHY_SIZE];

static int setup(void **state)
{
	(void)state;
	memset(&it, 0, sizeof(it));
	it.fake = fake_new();
	logged[0] = '\0';
	log_set_sink(kit_log, NULL);
	it.daemon.loop = it.fake->loop;
	list_init(&it.daemon.sessions);
	strcpy(it.directory, "/tmp/iseran-sessions-XXXXXX");
	assert_non_null(mkdtemp(it.directory));
	return records_open(it.directory, &it.daemon.records, kit_why);
}

static int teardown(void **state)
{
	struct daemon_session *s, *next;
	char command[128];

	(void)state;
	it.refuse = false;
	list_for_each_safe(s, next, &it.daemon.sessions, link)
		session_logout(s, true, NULL, line);
	fake_turns(it.fake);
	assert_true(list_empty(&it.daemon.sessions));
	records_close(it.daemon.records);
	fake_free(it.fake);
	assert_int_equal(alloc_live(), 0);
	snprintf(command, sizeof(command), "rm -rf %s", it.directory);
	return system(command);
}

static struct node_record ours(void)
{
	struct node_record r = record(FAKE_TARGET, "192.0.2.1", 1);

	r.port = 3260;
	r.default_time2wait = 0;
	return r;
}

static void address_known(void)
{
	struct address a;
	const char *wrong;

	assert_int_equal(0, address_parse("192.0.2.1:3260", 3260, &a, &wrong));
	it.resolved(it.owner, &a, NULL);
}

static struct daemon_session *begin(void)
{
	struct node_record r = ours();

	assert_int_equal(STATUS_OK, session_login(&it.daemon, &r, &login_waiter, line));
	return session_find(&it.daemon, &r);
}

static struct daemon_session *up(void)
{
	struct daemon_session *s = begin();

	address_known();
	fake_turns(it.fake);
	assert_int_equal(1, it.login);
	assert_int_equal(STATUS_OK, it.status);
	return s;
}

static void a_first_login_that_fails_is_tried_again_and_told(void **state)
{
	static const struct session_waiter patient = {told, &it.login, waiting};
	struct node_record r = ours();

	(void)state;
	waits = 0;
	it.fake->refuse = -ECONNREFUSED;
	r.initial_login_retry_max = 3;
	assert_int_equal(STATUS_OK, session_login(&it.daemon, &r, &patient, line));
	address_known();
	fake_seconds(it.fake, 3);
	assert_int_equal(2, waits);
	assert_string_equal("192.0.2.1:3260: connection refused; is a target listening on that "
			    "port?; attempt 3 of 3 follows",
		waited_for);
	assert_int_equal(1, it.login);
	assert_int_equal(STATUS_UNREACHABLE, it.status);
}

static void one_session_is_made_whatever_nr_sessions_says(void **state)
{
	struct node_record r = ours();

	(void)state;
	r.nr_sessions = 4;
	assert_int_equal(STATUS_OK, session_login(&it.daemon, &r, &login_waiter, line));
	assert_non_null(strstr(logged, "nr_sessions is 4 in the record of " FAKE_TARGET
				       "; one session per record is made"));
	assert_non_null(session_find_target(&it.daemon, FAKE_TARGET));
	assert_null(session_find_target(&it.daemon, "iqn.2026-11.org.example:other"));
	address_known();
	fake_turns(it.fake);
	assert_int_equal(1, it.login);
}

static void a_login_is_done_when_luns_were_scanned_and_devices_are_there(void **state)
{
	struct daemon_session *s;

	(void)state;
	it.busy = false;
	s = begin();
	assert_string_equal("CONNECTING", session_state_name(s));
	address_known();
	it.busy = true; /* devices are being made */
	fake_turns(it.fake);
	assert_int_equal(0, it.login);
	it.busy = false;
	session_proceed(s);
	fake_turns(it.fake);
	assert_int_equal(1, it.login);
	assert_int_equal(1, it.scans);
	assert_int_equal(1, it.found);
	assert_string_equal("LOGGED_IN", session_state_name(s));
	assert_int_equal(1, s->number);
}

static void secrets_are_forgotten_once_the_session_is_made(void **state)
{
	struct node_record r = ours();
	struct daemon_session *s;

	(void)state;
	strcpy(r.password, "a secret of 16 b");
	assert_int_equal(STATUS_OK, session_login(&it.daemon, &r, &login_waiter, line));
	s = session_find(&it.daemon, &r);
	assert_string_equal("a secret of 16 b", s->record.password);
	address_known();
	assert_string_equal("", s->record.password);
	fake_turns(it.fake);
}

static void the_same_session_is_not_made_twice(void **state)
{
	struct node_record r = ours();

	(void)state;
	up();
	assert_int_equal(STATUS_EXISTS, session_login(&it.daemon, &r, &login_waiter, line));
	assert_string_equal("already logged in (session 1, LOGGED_IN)", line);
	it.daemon.stopping = true;
	r.port = 3261;
	assert_int_equal(STATUS_FAILED, session_login(&it.daemon, &r, &login_waiter, line));
	assert_string_equal("iserd is being stopped", line);
}

static void the_second_transport_has_names_of_its_own(void **state)
{
	struct node_record r = ours();
	struct daemon_session *s = up();

	(void)state;
	assert_string_equal("", s->suffix);
	r.transport = NODE_TRANSPORT_ISER;
	assert_string_equal("-iser", choose_suffix(&it.daemon, &r));
	s->suffix = "-tcp";
	assert_string_equal("", choose_suffix(&it.daemon, &r));
	s->suffix = "";
}

static void a_login_that_is_refused_leaves_nothing(void **state)
{
	(void)state;
	it.fake->login_status = LOGIN_AUTHENTICATION_FAILURE;
	begin();
	address_known();
	fake_turns(it.fake);
	assert_int_equal(1, it.login);
	assert_int_equal(STATUS_AUTH, it.status);
	assert_memory_equal("192.0.2.1:3260: ", it.line, 16);
	assert_true(list_empty(&it.daemon.sessions));
	assert_int_equal(1, it.settled);
}

static void a_portal_that_is_not_found_is_unreachable(void **state)
{
	(void)state;
	begin();
	it.resolved(it.owner, NULL, "nowhere.example: unknown name");
	fake_turns(it.fake);
	assert_int_equal(STATUS_UNREACHABLE, it.status);
	assert_string_equal("nowhere.example: unknown name", it.line);
	assert_true(list_empty(&it.daemon.sessions));
}

static void a_record_that_does_not_hold_together_is_usage(void **state)
{
	struct node_record r = ours();

	(void)state;
	r.first_burst_length = 65536;
	r.max_burst_length = 4096;
	assert_int_equal(STATUS_OK, session_login(&it.daemon, &r, &login_waiter, line));
	address_known();
	fake_turns(it.fake);
	assert_int_equal(STATUS_USAGE, it.status);
	assert_non_null(strstr(it.line, "FirstBurstLength"));
}

static void without_a_mover_the_login_fails(void **state)
{
	(void)state;
	it.no_mover = true;
	begin();
	address_known();
	fake_turns(it.fake);
	assert_int_equal(1, it.login);
	assert_int_not_equal(STATUS_OK, it.status);
	assert_true(list_empty(&it.daemon.sessions));
}

static void a_logout_before_the_address_is_known_ends_both(void **state)
{
	struct daemon_session *s = begin();

	(void)state;
	assert_int_equal(STATUS_OK, session_logout(s, false, &logout_waiter, line));
	fake_turns(it.fake);
	assert_int_equal(0, it.logout); /* waits for the look-up */
	address_known();
	fake_turns(it.fake);
	assert_int_equal(1, it.login);
	assert_int_equal(1, it.logout);
	assert_int_equal(0, it.fake->sent_count);
}

static void a_logout_asks_the_target(void **state)
{
	struct daemon_session *s = up();

	(void)state;
	assert_int_equal(STATUS_OK, session_logout(s, false, &logout_waiter, line));
	assert_int_equal(0, it.logout);
	assert_int_equal(STATUS_AGAIN, session_logout(s, false, &logout_waiter, line));
	assert_string_equal("session 1: a logout is under way already", line);
	fake_turns(it.fake);
	assert_int_equal(1, it.logout);
	assert_int_equal(STATUS_OK, it.status);
	assert_int_equal(1, fake_count(it.fake, ISCSI_LOGOUT_REQUEST));
	assert_non_null(strstr(logged, "session 1 is logged out"));
}

static void devices_in_use_refuse_a_logout(void **state)
{
	struct daemon_session *s = up();

	(void)state;
	it.have_devices = it.in_use = true;
	assert_int_equal(STATUS_BUSY, session_logout(s, false, &logout_waiter, line));
	assert_string_equal("/dev/loop3 is in use: mounted on /mnt; end that, or log out with "
			    "--force",
		line);
	assert_int_equal(SESSION_UP, s->phase);
	assert_int_equal(STATUS_OK, session_logout(s, true, &logout_waiter, line));
	fake_turns(it.fake);
	assert_int_equal(1, it.logout);
}

static void what_cannot_be_written_refuses_a_logout(void **state)
{
	struct daemon_session *s = up();

	(void)state;
	it.have_devices = true;
	it.fake->deaf = true;
	fake_drop(it.fake, -ECONNRESET);
	fake_turns(it.fake);
	assert_string_equal("REOPEN", session_state_name(s));
	assert_int_equal(STATUS_NOT_CONNECTED, session_logout(s, false, &logout_waiter, line));
	assert_non_null(strstr(line, "session 1 is not connected (REOPEN)"));
	it.fake->deaf = false;
}

static void a_device_that_does_not_go_brings_the_session_back(void **state)
{
	struct daemon_session *s = up();

	(void)state;
	it.refuse = true;
	assert_int_equal(STATUS_OK, session_logout(s, false, &logout_waiter, line));
	fake_turns(it.fake);
	assert_int_equal(1, it.logout);
	assert_int_equal(STATUS_LOGOUT, it.status);
	assert_string_equal("/dev/loop3 cannot be taken away", it.line);
	assert_int_equal(SESSION_UP, s->phase);
	assert_int_equal(0, fake_count(it.fake, ISCSI_LOGOUT_REQUEST));
	assert_string_equal("LOGGED_IN", session_state_name(s));
}

static void a_rescan_scans_once_more(void **state)
{
	struct daemon_session *s = up();

	(void)state;
	assert_int_equal(STATUS_OK, session_rescan(s, &rescan_waiter, line));
	assert_int_equal(STATUS_AGAIN, session_rescan(s, &rescan_waiter, line));
	assert_string_equal("session 1: a rescan is under way already", line);
	fake_turns(it.fake);
	assert_int_equal(1, it.rescan);
	assert_int_equal(STATUS_OK, it.status);
	assert_int_equal(2, it.scans);
}

static void an_old_device_that_was_in_the_way_is_scanned_for_again(void **state)
{
	struct daemon_session *s = up();

	(void)state;
	s->deferred = true; /* luns_take_scan() has found another device there */
	session_proceed(s);
	fake_turns(it.fake);
	assert_int_equal(2, it.scans);
	assert_false(s->deferred);
}

static void a_lost_connection_is_told_once_and_comes_back(void **state)
{
	struct daemon_session *s = up();
	const char *first;

	(void)state;
	fake_drop(it.fake, -ECONNRESET);
	fake_turns(it.fake);
	fake_seconds(it.fake, 5);
	assert_string_equal("LOGGED_IN", session_state_name(s));
	assert_non_null(strstr(logged, "session 1 is back"));
	first = strstr(logged, "192.0.2.1:3260: ");
	assert_non_null(first);
	assert_string_equal("", s->lost_why);
}

static void a_filter_means_the_sessions_that_match_all_of_it(void **state)
{
	struct request_filter f = {.record.tpgt = -1};
	struct daemon_session *s = up();

	(void)state;
	assert_true(session_matches(s, &f));
	f.session = 2;
	assert_false(session_matches(s, &f));
	f.session = 1;
	f.record.port = 3260;
	f.record.tpgt = 1;
	f.record.address = "192.0.2.1";
	f.record.target_name = FAKE_TARGET;
	f.record.iface = "default";
	assert_true(session_matches(s, &f));
	f.record.iface = "iser";
	assert_false(session_matches(s, &f));
	f.record.iface = NULL;
	f.record.tpgt = 2;
	assert_false(session_matches(s, &f));
}

static void without_memory_a_login_is_refused(void **state)
{
	struct node_record r = ours();

	(void)state;
	alloc_fail_nth(1);
	assert_int_equal(STATUS_NO_MEMORY, session_login(&it.daemon, &r, &login_waiter, line));
	alloc_fail_nth(0);
	assert_string_equal("no memory", line);
	assert_true(list_empty(&it.daemon.sessions));
	assert_int_equal(0, it.login);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_login_is_done_when_luns_were_scanned_and_devices_are_there),
		TEST(a_first_login_that_fails_is_tried_again_and_told),
		TEST(one_session_is_made_whatever_nr_sessions_says),
		TEST(secrets_are_forgotten_once_the_session_is_made),
		TEST(the_same_session_is_not_made_twice),
		TEST(the_second_transport_has_names_of_its_own),
		TEST(a_login_that_is_refused_leaves_nothing),
		TEST(a_portal_that_is_not_found_is_unreachable),
		TEST(a_record_that_does_not_hold_together_is_usage),
		TEST(without_a_mover_the_login_fails),
		TEST(a_logout_before_the_address_is_known_ends_both),
		TEST(a_logout_asks_the_target),
		TEST(devices_in_use_refuse_a_logout),
		TEST(what_cannot_be_written_refuses_a_logout),
		TEST(a_device_that_does_not_go_brings_the_session_back),
		TEST(a_rescan_scans_once_more),
		TEST(an_old_device_that_was_in_the_way_is_scanned_for_again),
		TEST(a_lost_connection_is_told_once_and_comes_back),
		TEST(a_filter_means_the_sessions_that_match_all_of_it),
		TEST(without_memory_a_login_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

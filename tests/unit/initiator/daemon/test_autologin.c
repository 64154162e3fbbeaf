/* Automatic logins: whom they are for, how often they are tried, and when they are given up. */
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include "initiator/daemon/autologin.c"

static struct {
	unsigned tries;
	char target[ISCSI_NAME_MAX + 1];
	int status; /* of session_login() itself */
	struct session_waiter done;
} login;

int session_login(struct daemon *d, const struct node_record *r, const struct session_waiter *done,
	char reason[SESSION_WHY_SIZE])
{
	(void)d;
	login.tries++;
	strcpy(login.target, r->target_name);
	login.done = *done;
	if (login.status)
		strcpy(reason, "refused at once");
	return login.status;
}

struct daemon_session *session_find_target(struct daemon *d, const char *target_name)
{
	struct daemon_session *s;

	list_for_each(s, &d->sessions, link)
		if (!strcmp(s->record.target_name, target_name))
			return s;
	return NULL;
}

static void ended(int status, const char *error)
{
	struct session_waiter w = login.done;

	login.done.done = NULL;
	w.done(w.owner, NULL, status, error);
}

static struct node_record one(struct daemon *d, const char *target, enum node_startup startup)
{
	struct node_record r = record(target, "192.0.2.1", 1);

	r.startup = startup;
	keep(d, &r);
	memset(&login, 0, sizeof(login));
	return r;
}

static void only_automatic_records_are_logged_in(void **state)
{
	struct kit *k = *state;

	one(&k->d, "iqn.2026-11.org.example:a", NODE_STARTUP_AUTOMATIC);
	one(&k->d, "iqn.2026-11.org.example:m", NODE_STARTUP_MANUAL);
	autologin_start(&k->d);
	assert_int_equal(1, login.tries);
	assert_string_equal("iqn.2026-11.org.example:a", login.target);
	ended(STATUS_OK, NULL);
	assert_true(list_empty(&k->d.autologins));
}

static void on_boot_is_automatic(void **state)
{
	struct kit *k = *state;

	one(&k->d, TARGET, NODE_STARTUP_ONBOOT);
	autologin_start(&k->d);
	assert_int_equal(1, login.tries);
	ended(STATUS_OK, NULL);
}

static void a_failed_login_is_tried_at_longer_and_longer_intervals(void **state)
{
	/* 1 2 4 8 16 32 60 60 s */
	static const unsigned delays[] = {1, 2, 4, 8, 16, 32, 60, 60};
	struct kit *k = *state;

	one(&k->d, TARGET, NODE_STARTUP_AUTOMATIC);
	autologin_start(&k->d);
	for (unsigned i = 0; i < ARRAY_SIZE(delays); i++) {
		assert_int_equal(i + 1, login.tries);
		ended(STATUS_UNREACHABLE, "connection refused");
		loop_advance(k->d.loop, delays[i] * LOOP_NS_PER_S - 1);
		assert_int_equal(i + 1, login.tries);
		loop_advance(k->d.loop, 1);
	}
	ended(STATUS_OK, NULL);
	loop_advance(k->d.loop, 120 * LOOP_NS_PER_S);
	assert_int_equal(9, login.tries);
}

static void a_leading_login_waits_for_the_other_portal_of_its_target(void **state)
{
	struct kit *k = *state;
	struct node_record r = record(TARGET, "192.0.2.1", 1);
	struct daemon_session *s;

	r.startup = NODE_STARTUP_AUTOMATIC;
	r.leading_login = true;
	keep(&k->d, &r);
	memset(&login, 0, sizeof(login));
	strcpy(r.address, "192.0.2.9");
	s = session_of(&k->d, &r, 1);
	s->phase = SESSION_LOGIN;
	autologin_start(&k->d);
	assert_int_equal(0, login.tries);
	loop_advance(k->d.loop, LOOP_NS_PER_S);
	assert_int_equal(0, login.tries);
	/* it fails: this portal's turn has come */
	session_away(s);
	loop_advance(k->d.loop, LOOP_NS_PER_S);
	assert_int_equal(1, login.tries);
	ended(STATUS_UNREACHABLE, "connection refused");
	/* the other is there now: one is enough */
	s = session_of(&k->d, &r, 2);
	loop_advance(k->d.loop, LOOP_NS_PER_S);
	assert_int_equal(1, login.tries);
	assert_true(list_empty(&k->d.autologins));
	session_away(s);
}

static unsigned lines(void)
{
	unsigned n = 0;

	for (const char *c = logged; *c; c++)
		n += *c == '\n';
	return n;
}

static void the_same_reason_is_told_once(void **state)
{
	struct kit *k = *state;

	one(&k->d, TARGET, NODE_STARTUP_AUTOMATIC);
	autologin_start(&k->d);
	for (int i = 0; i < 3; i++) {
		ended(STATUS_UNREACHABLE, "connection refused");
		loop_advance(k->d.loop, 4 * LOOP_NS_PER_S);
	}
	assert_int_equal(1, lines());
	assert_non_null(strstr(logged, TARGET ": connection refused; it is tried again"));
	ended(STATUS_TIMED_OUT, "no answer");
	assert_int_equal(2, lines());
	autologin_stop(&k->d);
}

static void who_changes_their_mind_is_heard(void **state)
{
	struct kit *k = *state;
	struct node_record r = one(&k->d, TARGET, NODE_STARTUP_AUTOMATIC);

	autologin_start(&k->d);
	ended(STATUS_UNREACHABLE, "connection refused");
	r.startup = NODE_STARTUP_MANUAL;
	keep(&k->d, &r);
	loop_advance(k->d.loop, 5 * LOOP_NS_PER_S);
	assert_int_equal(1, login.tries);
	assert_true(list_empty(&k->d.autologins));
}

static void a_deleted_record_is_not_tried_again(void **state)
{
	struct kit *k = *state;
	struct node_record r = one(&k->d, TARGET, NODE_STARTUP_AUTOMATIC);

	autologin_start(&k->d);
	ended(STATUS_UNREACHABLE, "connection refused");
	assert_int_equal(0, records_delete(k->d.records, &r, kit_why));
	loop_advance(k->d.loop, 5 * LOOP_NS_PER_S);
	assert_int_equal(1, login.tries);
	assert_true(list_empty(&k->d.autologins));
}

static void who_logs_in_meanwhile_is_left_alone(void **state)
{
	struct kit *k = *state;

	one(&k->d, TARGET, NODE_STARTUP_AUTOMATIC);
	login.status = STATUS_EXISTS;
	autologin_start(&k->d);
	assert_true(list_empty(&k->d.autologins));
	login.status = STATUS_FAILED;
	autologin_start(&k->d);
	assert_non_null(strstr(logged, "refused at once"));
	login.status = STATUS_OK;
	loop_advance(k->d.loop, LOOP_NS_PER_S);
	assert_int_equal(3, login.tries);
	ended(STATUS_OK, NULL);
}

static void the_end_waits_for_the_try_under_way_alone(void **state)
{
	struct kit *k = *state;

	one(&k->d, TARGET, NODE_STARTUP_AUTOMATIC);
	autologin_start(&k->d);
	k->d.stopping = true;
	autologin_stop(&k->d);
	assert_false(list_empty(&k->d.autologins));
	ended(STATUS_FAILED, "iserd is being stopped");
	assert_true(list_empty(&k->d.autologins));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KIT_TEST(only_automatic_records_are_logged_in),
		KIT_TEST(on_boot_is_automatic),
		KIT_TEST(a_leading_login_waits_for_the_other_portal_of_its_target),
		KIT_TEST(a_failed_login_is_tried_at_longer_and_longer_intervals),
		KIT_TEST(the_same_reason_is_told_once),
		KIT_TEST(who_changes_their_mind_is_heard),
		KIT_TEST(a_deleted_record_is_not_tried_again),
		KIT_TEST(who_logs_in_meanwhile_is_left_alone),
		KIT_TEST(the_end_waits_for_the_try_under_way_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The end of iserd: who is logged out when, and that it comes in bounded time. */
#define KIT_NO_SETTLE
#include "tests/unit/initiator/daemon/daemon_kit.h"

#include "tests/kit/await.h"

static _Atomic unsigned synced_by_test; /* on a thread */

#define sync() synced_by_test++
#include "initiator/daemon/stop.c"
#undef sync

static struct {
	bool busy;    /* devices are in use: a logout without force is refused */
	bool devices; /* there are some */
	unsigned asked, forced;
	unsigned autologins, discoveries, jobs;
} it;

int session_logout(struct daemon_session *s, bool by_force, const struct session_waiter *done,
	char why[SESSION_WHY_SIZE])
{
	assert_null(done);
	it.asked++;
	it.forced += by_force;
	if (it.busy && !by_force) {
		strcpy(why, "/dev/loop3 is in use");
		return STATUS_FAILED;
	}
	s->phase = SESSION_ENDING;
	return STATUS_OK;
}

bool luns_have_devices(const struct daemon_session *s)
{
	(void)s;
	return it.devices;
}

void autologin_stop(struct daemon *d)
{
	(void)d;
	it.autologins++;
}

void discover_stop(struct daemon *d)
{
	(void)d;
	it.discoveries++;
}

void jobs_stop(struct daemon *d)
{
	(void)d;
	it.jobs++;
}

static struct daemon_session *begin_with(struct kit *k, bool busy)
{
	struct node_record r = record(TARGET, "192.0.2.1", 1);

	memset(&it, 0, sizeof(it));
	synced_by_test = 0;
	it.busy = it.devices = busy;
	return session_of(&k->d, &r, 1);
}

static void gone(struct daemon_session *s)
{
	struct daemon *d = s->daemon;

	session_away(s);
	daemon_settle(d);
}

static void wait_for_sync(struct daemon *d)
{
	AWAIT(d->loop, !d->busy);
}

static void nothing_to_log_out_is_the_end_at_once(void **state)
{
	struct kit *k = *state;

	memset(&it, 0, sizeof(it));
	daemon_stop(&k->d);
	assert_true(k->d.stopping);
	assert_int_equal(1, it.autologins);
	assert_int_equal(1, it.discoveries);
	assert_int_equal(1, it.jobs);
	loop_run(k->d.loop); /* returns */
	assert_false(k->d.lost);
}

static void idle_sessions_are_logged_out_without_force(void **state)
{
	struct kit *k = *state;
	struct daemon_session *s = begin_with(k, false);

	daemon_stop(&k->d);
	assert_int_equal(1, it.asked);
	assert_int_equal(0, it.forced);
	assert_int_equal(0, synced_by_test);
	gone(s);
	loop_run(k->d.loop);
	assert_false(k->d.lost);
}

static void devices_in_use_are_written_first_and_then_taken_away(void **state)
{
	struct kit *k = *state;
	struct daemon_session *s = begin_with(k, true);

	daemon_stop(&k->d);
	assert_non_null(strstr(logged, "/dev/loop3 is in use"));
	assert_int_equal(0, it.forced);
	assert_int_equal(1, k->d.busy);
	wait_for_sync(&k->d);
	assert_int_equal(1, synced_by_test);
	assert_int_equal(1, it.forced);
	assert_true(k->d.lost); /* the exit status says so */
	gone(s);
	loop_run(k->d.loop);
}

static void a_second_signal_does_not_wait(void **state)
{
	struct kit *k = *state;
	struct daemon_session *s = begin_with(k, true);

	daemon_stop(&k->d);
	daemon_stop(&k->d);
	assert_int_equal(1, it.forced);
	assert_true(k->d.forced);
	daemon_stop(&k->d); /* and a third changes nothing */
	assert_int_equal(1, it.forced);
	wait_for_sync(&k->d);
	assert_int_equal(1, it.forced);
	gone(s);
	loop_run(k->d.loop);
}

static void a_logout_that_takes_too_long_is_forced_after_20_s(void **state)
{
	struct kit *k = *state;
	struct daemon_session *s = begin_with(k, false);

	daemon_stop(&k->d);
	loop_advance(k->d.loop, 20 * LOOP_NS_PER_S - 1);
	assert_int_equal(0, it.forced);
	loop_advance(k->d.loop, 1);
	assert_int_equal(1, it.forced);
	gone(s);
	loop_run(k->d.loop);
}

static void a_session_that_never_ends_does_not_keep_the_daemon(void **state)
{
	struct kit *k = *state;
	struct daemon_session *s = begin_with(k, false);

	daemon_stop(&k->d);
	loop_advance(k->d.loop, 30 * LOOP_NS_PER_S);
	assert_non_null(strstr(logged, "a session does not end"));
	loop_run(k->d.loop); /* returns, the session still there */
	assert_false(list_empty(&k->d.sessions));
	session_away(s);
}

static void what_is_busy_is_waited_for(void **state)
{
	struct kit *k = *state;

	memset(&it, 0, sizeof(it));
	k->d.busy = 1; /* a look-up of a name */
	daemon_stop(&k->d);
	turns(&k->d);
	k->d.busy = 0;
	daemon_settle(&k->d);
	loop_run(k->d.loop);
	loop_timer_cancel(&k->d.stop_timer);
}

static int teardown(void **state)
{
	struct kit *k = *state;

	loop_timer_cancel(&k->d.stop_timer);
	return kit_teardown(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, kit_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_to_log_out_is_the_end_at_once),
		TEST(idle_sessions_are_logged_out_without_force),
		TEST(devices_in_use_are_written_first_and_then_taken_away),
		TEST(a_second_signal_does_not_wait),
		TEST(a_logout_that_takes_too_long_is_forced_after_20_s),
		TEST(a_session_that_never_ends_does_not_keep_the_daemon),
		TEST(what_is_busy_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

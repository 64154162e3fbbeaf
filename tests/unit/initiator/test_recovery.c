/* Connections that are lost and made again: what becomes of tasks, delays, redirects, refusals, the
 * replacement time-out, checks (RFC 7143 sections 6.3.5 and 7.5). */
#include "tests/unit/initiator/fake_target.h"

static void tasks_are_held_and_issued_again_in_their_order(void **state)
{
	static struct fake_io io[10];
	struct fake_owner o;
	unsigned before;

	(void)state;
	owner_setup(&o);
	o.fake->silent = true;
	for (uint32_t i = 0; i < 10; i++)
		fake_io_read(&o, &io[i], 100 + i);
	fake_turns(o.fake);
	fake_drop(o.fake, -ECONNRESET);
	fake_turns(o.fake);
	assert_int_equal(o.lost, 1);
	assert_int_equal(o.fake->deallocated, 10); /* before anybody looks at the buffers */
	assert_int_equal(io[0].done, 0);
	o.fake->silent = false;
	before = o.fake->sent_count;
	fake_seconds(o.fake, 1);
	assert_int_equal(o.logged_in, 2);
	for (uint32_t i = 0, n = 0; before + i < o.fake->sent_count; i++) {
		const struct iscsi_pdu *pdu = &o.fake->sent[before + i];

		if (pdu->opcode == ISCSI_SCSI_COMMAND)
			assert_int_equal(get_be32(&pdu->command.cdb[2]), 100 + n++);
	}
	for (int i = 0; i < 10; i++) {
		assert_int_equal(io[i].done, 1);
		assert_int_equal(io[i].error, 0);
	}
	owner_teardown(&o);
}

static void the_session_is_reinstated_with_the_same_isid_and_tsih_0(void **state)
{
	struct fake_owner o;
	const struct iscsi_pdu *login;

	(void)state;
	owner_setup(&o);
	fake_drop(o.fake, -ECONNRESET);
	fake_seconds(o.fake, 1);
	login = fake_last(o.fake, ISCSI_LOGIN_REQUEST);
	assert_int_equal(login->login.tsih, 0);
	assert_memory_equal(&login->login.isid, &((struct iscsi_isid){{0x80, 1, 2, 3, 4, 5}}), 6);
	owner_teardown(&o);
}

static void a_task_that_may_not_be_repeated_fails_with_eio(void **state)
{
	struct fake_owner o;
	struct fake_io io = {.task = {.done = fake_io_done}};

	(void)state;
	owner_setup(&o);
	o.fake->silent = true;
	cdb_persistent_reserve_out(io.task.cdb, 0, 0, 24);
	io.task.write = (struct dm_buffer){.data = io.data, .length = 24};
	ini_session_submit(o.session, &io.task);
	fake_turns(o.fake);
	fake_drop(o.fake, -ECONNRESET);
	fake_turns(o.fake);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, -EIO);
	owner_teardown(&o);
}

static void one_that_had_not_left_yet_is_issued_after_the_login(void **state)
{
	struct fake_owner o;
	struct fake_io io = {.task = {.done = fake_io_done}};

	(void)state;
	owner_setup(&o);
	fake_drop(o.fake, -ECONNRESET);
	fake_turns(o.fake);
	cdb_test_unit_ready(io.task.cdb);
	ini_session_submit(o.session, &io.task);
	fake_turns(o.fake);
	assert_int_equal(io.done, 0);
	fake_seconds(o.fake, 1);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, 0);
	owner_teardown(&o);
}

static void a_send_that_fails_loses_the_connection_and_not_the_task(void **state)
{
	struct fake_owner o;
	struct fake_io io;

	(void)state;
	owner_setup(&o);
	o.fake->send_error = -ENOBUFS;
	fake_io_read(&o, &io, 9);
	fake_turns(o.fake);
	assert_int_equal(o.lost, 1);
	fake_seconds(o.fake, 1);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, 0);
	owner_teardown(&o);
}

static void held_tasks_fail_when_the_replacement_time_out_passes(void **state)
{
	struct fake_owner o;
	struct fake_io io, later;
	struct ini_session_info info;

	(void)state;
	owner_setup(&o);
	o.fake->silent = true;
	fake_io_read(&o, &io, 1);
	fake_turns(o.fake);
	o.fake->refuse = -ECONNREFUSED;
	fake_drop(o.fake, -ECONNRESET);
	fake_seconds(o.fake, 119);
	assert_int_equal(io.done, 0);
	fake_seconds(o.fake, 2);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, -ETIMEDOUT);
	ini_session_get_info(o.session, &info);
	assert_int_equal(info.state, INI_SESSION_FAILED);
	fake_io_read(&o, &later, 1);
	fake_turns(o.fake);
	assert_int_equal(later.error, -ETIMEDOUT); /* at once */
	/* and it comes back all the same */
	o.fake->refuse = 0;
	o.fake->silent = false;
	fake_seconds(o.fake, 12);
	assert_int_equal(o.logged_in, 2);
	fake_io_read(&o, &later, 1);
	fake_turns(o.fake);
	assert_int_equal(later.error, 0);
	assert_int_equal(later.done, 1);
	owner_teardown(&o);
}

static void attempts_become_rarer_but_do_not_stop(void **state)
{
	struct fake_owner o;
	unsigned first, rate;

	(void)state;
	owner_setup(&o);
	o.fake->refuse = -ECONNREFUSED;
	fake_drop(o.fake, -ECONNRESET);
	fake_seconds(o.fake, 1);
	first = o.fake->connects;
	assert_true(first >= 3 && first <= 6);
	fake_seconds(o.fake, 60);
	rate = o.fake->connects;
	fake_seconds(o.fake, 80);
	rate = o.fake->connects - rate;
	assert_true(rate >= 7 && rate <= 14); /* every 6 to 10 s */
	owner_teardown(&o);
}

static void a_refused_login_is_tried_on_after_a_loss(void **state)
{
	struct fake_owner o;

	(void)state;
	owner_setup(&o);
	o.fake->login_status = LOGIN_NOT_FOUND;
	fake_drop(o.fake, -ECONNRESET);
	fake_seconds(o.fake, 5);
	assert_true(o.lost > 2);
	assert_int_equal(o.status, LOGIN_NOT_FOUND);
	assert_int_equal(o.error, -ENOENT);
	assert_int_equal(o.ended, 0);
	o.fake->login_status = 0;
	fake_seconds(o.fake, 12);
	assert_int_equal(o.logged_in, 2);
	owner_teardown(&o);
}

static void the_first_login_ends_at_once_when_it_is_refused(void **state)
{
	struct fake_owner o = {.fake = fake_new()};
	struct ini_session_config c = owner_config(o.fake);

	(void)state;
	o.fake->login_status = LOGIN_AUTHENTICATION_FAILURE;
	owner_start(&o, &c);
	assert_int_equal(o.ended, 1);
	assert_int_equal(o.error, -EACCES);
	assert_int_equal(o.status, LOGIN_AUTHENTICATION_FAILURE);
	assert_true(strlen(o.why) > 0);
	assert_int_equal(o.fake->connects, 1);
	owner_teardown(&o);
}

static void the_first_login_is_tried_some_times_where_nobody_listens(void **state)
{
	struct fake_owner o = {.fake = fake_new()};
	struct ini_session_config c = owner_config(o.fake);
	struct fake_io io;

	(void)state;
	c.login_attempts = 8;
	o.fake->refuse = -ECONNREFUSED;
	owner_start(&o, &c);
	fake_io_read(&o, &io, 1);
	fake_seconds(o.fake, 3); /* whoever asked for it waits: not twice as long each time */
	assert_int_equal(o.ended, 1);
	assert_int_equal(o.error, -ECONNREFUSED);
	assert_int_equal(o.fake->connects, 8);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, -ECONNREFUSED);
	owner_teardown(&o);
}

static void a_mover_that_cannot_connect_at_all_is_an_attempt_too(void **state)
{
	struct fake_owner o = {.fake = fake_new()};
	struct ini_session_config c = owner_config(o.fake);

	(void)state;
	c.login_attempts = 2;
	o.fake->connect_error = -ENETUNREACH;
	owner_start(&o, &c);
	fake_seconds(o.fake, 5);
	assert_int_equal(o.ended, 1);
	assert_int_equal(o.error, -ENETUNREACH);
	owner_teardown(&o);
}

static void a_login_that_is_not_answered_times_out(void **state)
{
	struct fake_owner o = {.fake = fake_new()};
	struct ini_session_config c = owner_config(o.fake);

	(void)state;
	c.login_attempts = 1;
	o.fake->deaf = true;
	owner_start(&o, &c);
	fake_seconds(o.fake, 14);
	assert_int_equal(o.ended, 0);
	fake_seconds(o.fake, 2);
	assert_int_equal(o.ended, 1);
	assert_int_equal(o.error, -ETIMEDOUT);
	owner_teardown(&o);
}

static void a_login_redirect_is_followed(void **state)
{
	struct fake_owner o = {.fake = fake_new()};
	struct ini_session_config c = owner_config(o.fake);
	char text[ADDRESS_TEXT_SIZE];

	(void)state;
	o.fake->redirect = "[2001:db8::7]:3261,2";
	o.fake->redirects = 1;
	owner_start(&o, &c);
	fake_seconds(o.fake, 1);
	assert_int_equal(o.logged_in, 1);
	assert_int_equal(o.lost, 0);
	assert_string_equal(address_print(&o.fake->last_to, text), "[2001:db8::7]:3261");
	/* moved temporarily: the next time it is asked where it was */
	fake_drop(o.fake, -ECONNRESET);
	fake_seconds(o.fake, 1);
	assert_string_equal(address_print(&o.fake->last_to, text), "192.0.2.1:3260");
	owner_teardown(&o);
}

static void a_circle_of_redirects_ends(void **state)
{
	struct fake_owner o = {.fake = fake_new()};
	struct ini_session_config c = owner_config(o.fake);

	(void)state;
	o.fake->redirect = "192.0.2.2";
	o.fake->redirects = 1000;
	owner_start(&o, &c);
	fake_seconds(o.fake, 5);
	assert_int_equal(o.ended, 1);
	assert_int_equal(o.error, -EREMCHG);
	assert_int_equal(o.fake->connects, 5);
	owner_teardown(&o);
}

static void a_redirect_to_a_host_name_is_not_followed(void **state)
{
	struct fake_owner o = {.fake = fake_new()};
	struct ini_session_config c = owner_config(o.fake);

	(void)state;
	o.fake->redirect = "face.dead"; /* hexadecimal digits, but no address */
	o.fake->redirects = 1;
	owner_start(&o, &c);
	fake_seconds(o.fake, 1);
	assert_int_equal(o.ended, 1);
	assert_int_equal(o.fake->connects, 1);
	owner_teardown(&o);
}

static void closing_while_nobody_answers_ends_at_once(void **state)
{
	struct fake_owner o;

	(void)state;
	owner_setup(&o);
	o.fake->refuse = -ECONNREFUSED;
	fake_drop(o.fake, -ECONNRESET);
	fake_seconds(o.fake, 3);
	ini_session_logout(o.session);
	assert_int_equal(o.ended, 0);
	fake_turns(o.fake);
	assert_int_equal(o.ended, 1);
	assert_int_equal(o.error, 0);
	owner_teardown(&o);
}

static void a_logout_that_is_not_answered_ends_after_its_time_out(void **state)
{
	struct fake_owner o;

	(void)state;
	owner_setup(&o);
	o.fake->mute = true;
	ini_session_logout(o.session);
	fake_seconds(o.fake, 14);
	assert_int_equal(o.ended, 0);
	fake_seconds(o.fake, 2);
	assert_int_equal(o.ended, 1);
	owner_teardown(&o);
}

/* A check that notes when it is begun, and ends when the test says so. */
struct fake_check {
	struct ini_session_check check;
	unsigned begun;
};

static void fake_check_begin(struct ini_session_check *c)
{
	container_of(c, struct fake_check, check)->begun++;
}

static void held_tasks_wait_for_the_checks_and_urgent_ones_do_not(void **state)
{
	struct fake_check check = {.check = {.begin = fake_check_begin}};
	struct fake_io io, urgent = {.task = {.done = fake_io_done, .urgent = true}};
	struct fake_owner o;

	(void)state;
	owner_setup(&o);
	ini_session_add_check(o.session, &check.check);
	o.fake->silent = true;
	fake_io_read(&o, &io, 1);
	fake_turns(o.fake);
	fake_drop(o.fake, -ECONNRESET);
	o.fake->silent = false;
	fake_seconds(o.fake, 1);
	assert_int_equal(check.begun, 1);
	assert_int_equal(io.done, 0);
	ini_session_submit(o.session, &urgent.task);
	fake_turns(o.fake);
	assert_int_equal(urgent.done, 1);
	assert_int_equal(io.done, 0);
	ini_session_check_done(o.session, &check.check);
	fake_turns(o.fake);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, 0);
	assert_int_equal(o.luns_changed, 1);
	ini_session_remove_check(o.session, &check.check);
	owner_teardown(&o);
}

static void a_check_that_never_ends_does_not_hold_tasks_for_ever(void **state)
{
	struct fake_check check = {.check = {.begin = fake_check_begin}};
	struct fake_owner o;
	struct fake_io io;

	(void)state;
	owner_setup(&o);
	ini_session_add_check(o.session, &check.check);
	o.fake->silent = true;
	fake_io_read(&o, &io, 1);
	fake_turns(o.fake);
	fake_drop(o.fake, -ECONNRESET);
	fake_seconds(o.fake, 60);
	fake_drop(o.fake, -ECONNRESET); /* lost again meanwhile: the clock goes on */
	fake_seconds(o.fake, 59);
	assert_int_equal(io.done, 0);
	fake_seconds(o.fake, 2);
	assert_int_equal(io.done, 1);
	assert_int_equal(io.error, -ETIMEDOUT);
	assert_int_equal(check.begun, 2);
	ini_session_remove_check(o.session, &check.check);
	owner_teardown(&o);
}

static void tasks_of_a_lun_that_is_gone_fail_and_others_stay(void **state)
{
	struct fake_owner o;
	struct fake_io io, other;

	(void)state;
	owner_setup(&o);
	o.fake->refuse = -ECONNREFUSED;
	fake_drop(o.fake, -ECONNRESET);
	fake_turns(o.fake);
	fake_io_read(&o, &io, 1);
	fake_io_read(&o, &other, 1);
	other.task.lun = 5;
	ini_session_fail_lun(o.session, 0, -ENODEV);
	fake_turns(o.fake);
	assert_int_equal(io.error, -ENODEV);
	assert_int_equal(other.done, 0);
	owner_teardown(&o);
	assert_int_equal(other.done, 1);
}

static void urgent_tasks_are_not_held(void **state)
{
	struct fake_io io = {.task = {.done = fake_io_done, .urgent = true}};
	struct fake_owner o;

	(void)state;
	owner_setup(&o);
	o.fake->silent = true;
	ini_session_submit(o.session, &io.task);
	fake_turns(o.fake);
	fake_drop(o.fake, -ECONNRESET);
	fake_turns(o.fake);
	assert_int_equal(io.error, -ENOTCONN);
	ini_session_submit(o.session, &io.task);
	fake_turns(o.fake);
	assert_int_equal(io.done, 2);
	assert_int_equal(io.error, -ENOTCONN);
	owner_teardown(&o);
}

/* Every point at which memory can run out, until the story passes. */
static void running_out_of_memory_never_hurts(void **state)
{
	unsigned long n = 1;
	bool passed = false;

	(void)state;
	for (; !passed && n < 200; n++) {
		struct fake_owner o = {.fake = fake_new()};
		struct ini_session_config c = owner_config(o.fake);
		struct fake_io io = {.done = 0};

		c.login_attempts = 2;
		alloc_fail_nth(n);
		if (ini_session_new(&c, &owner_events, &o, &o.session) == 0) {
			ini_session_start(o.session);
			fake_turns(o.fake);
			fake_seconds(o.fake, 1);
			if (o.session) {
				fake_io_read(&o, &io, 1);
				fake_turns(o.fake);
				if (o.fake->conn)
					fake_drop(o.fake, -ECONNRESET);
				fake_seconds(o.fake, 2);
			}
		}
		passed = alloc_live() > 0 && o.logged_in == 2 && io.done == 1 &&
			 o.fake->connects == 2;
		alloc_fail_nth(0);
		owner_teardown(&o);
	}
	assert_true(passed);
	assert_true(n > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_are_held_and_issued_again_in_their_order),
		cmocka_unit_test(the_session_is_reinstated_with_the_same_isid_and_tsih_0),
		cmocka_unit_test(a_task_that_may_not_be_repeated_fails_with_eio),
		cmocka_unit_test(one_that_had_not_left_yet_is_issued_after_the_login),
		cmocka_unit_test(a_send_that_fails_loses_the_connection_and_not_the_task),
		cmocka_unit_test(held_tasks_fail_when_the_replacement_time_out_passes),
		cmocka_unit_test(attempts_become_rarer_but_do_not_stop),
		cmocka_unit_test(a_refused_login_is_tried_on_after_a_loss),
		cmocka_unit_test(the_first_login_ends_at_once_when_it_is_refused),
		cmocka_unit_test(the_first_login_is_tried_some_times_where_nobody_listens),
		cmocka_unit_test(a_mover_that_cannot_connect_at_all_is_an_attempt_too),
		cmocka_unit_test(a_login_that_is_not_answered_times_out),
		cmocka_unit_test(a_login_redirect_is_followed),
		cmocka_unit_test(a_circle_of_redirects_ends),
		cmocka_unit_test(a_redirect_to_a_host_name_is_not_followed),
		cmocka_unit_test(closing_while_nobody_answers_ends_at_once),
		cmocka_unit_test(a_logout_that_is_not_answered_ends_after_its_time_out),
		cmocka_unit_test(held_tasks_wait_for_the_checks_and_urgent_ones_do_not),
		cmocka_unit_test(a_check_that_never_ends_does_not_hold_tasks_for_ever),
		cmocka_unit_test(tasks_of_a_lun_that_is_gone_fail_and_others_stay),
		cmocka_unit_test(urgent_tasks_are_not_held),
		cmocka_unit_test(running_out_of_memory_never_hurts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

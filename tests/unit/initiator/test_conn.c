/* A connection of the initiator: how it ends in the login phase, StatSN, and its one way to fail
 * (RFC 7143 sections 4.2.2.2, 6.3 and 8.1). */
#include "initiator/conn.h"
#include "tests/unit/initiator/fake_target.h"

struct fake_user {
	struct fake *fake;
	struct ini_conn *conn;
	unsigned logged_in, received, lost;
	int error;
	unsigned status;
	char why[256];
};

static void user_logged_in(void *owner, const struct iscsi_pdu *last)
{
	((struct fake_user *)owner)->logged_in++;
	assert_int_equal(last->opcode, ISCSI_LOGIN_RESPONSE);
}

static void user_received(
	void *owner, const struct iscsi_pdu *pdu, const void *data, struct dm_task *task)
{
	(void)pdu;
	(void)data;
	(void)task;
	((struct fake_user *)owner)->received++;
}

static void user_lost(void *owner, const struct ini_conn_loss *loss)
{
	struct fake_user *u = owner;

	u->lost++;
	u->conn = NULL;
	u->error = loss->error;
	u->status = loss->login_status;
	snprintf(u->why, sizeof(u->why), "%s", loss->why);
}

static const struct ini_conn_upcalls user_upcalls = {
	.logged_in = user_logged_in,
	.received = user_received,
	.lost = user_lost,
};

static struct ini_conn_config user_config(struct fake *f)
{
	struct ini_conn_config c = {
		.loop = f->loop,
		.mover = &f->dm,
		.initiator_name = FAKE_INITIATOR,
		.target_name = FAKE_TARGET,
		.cmd_sn = 1,
		.timeout_ns = 15 * LOOP_NS_PER_S,
	};
	const char *why;

	iscsi_params_default(&c.offer);
	assert_int_equal(address_parse("192.0.2.1:3260", 3260, &c.portal, &why), 0);
	return c;
}

static void user_connect(struct fake_user *u)
{
	struct ini_conn_config c;

	*u = (struct fake_user){.fake = fake_new()};
	c = user_config(u->fake);
	assert_int_equal(ini_conn_new(&c, &user_upcalls, u, &u->conn), 0);
	assert_int_equal(u->logged_in + u->lost, 0); /* never from inside */
}

static void user_end(struct fake_user *u)
{
	if (u->conn) {
		ini_conn_close(u->conn, CONN_EVENT_SESSION_CLOSED);
		assert_int_equal(u->lost, 0);
		fake_turns(u->fake);
		assert_int_equal(u->error, 0);
	}
	assert_int_equal(u->lost, 1);
	fake_free(u->fake);
	assert_int_equal(alloc_live(), 0);
}

static void login_reaches_the_full_feature_phase(void **state)
{
	struct fake_user u;

	(void)state;
	user_connect(&u);
	fake_turns(u.fake);
	assert_int_equal(u.logged_in, 1);
	assert_true(ini_conn_usable(u.conn));
	assert_int_equal(u.conn->fsm.state, CONN_LOGGED_IN);
	assert_int_equal(u.conn->tsih, 7);
	user_end(&u);
}

static void every_other_pdu_in_the_login_phase_ends_it(void **state)
{
	(void)state;
	for (unsigned opcode = 0; opcode < 0x40; opcode++) {
		struct fake_user u;

		if (opcode == ISCSI_LOGIN_RESPONSE)
			continue;
		user_connect(&u);
		u.fake->deaf = true;
		fake_turns(u.fake);
		fake_answer_begin(u.fake->conn, (uint8_t)opcode, 1);
		fake_turns(u.fake);
		assert_int_equal(u.lost, 1);
		assert_int_equal(u.error, -EPROTO);
		assert_int_equal(u.received, 0);
		user_end(&u);
	}
}

static void a_pdu_before_anything_was_asked_ends_it(void **state)
{
	struct fake_user u;

	(void)state;
	user_connect(&u);
	fake_answer_begin(u.fake->conn, ISCSI_NOP_IN, ISCSI_TAG_NONE);
	fake_turns(u.fake);
	assert_int_equal(u.error, -EPROTO);
	user_end(&u);
}

static void stat_sn_is_followed_over_its_wrap(void **state)
{
	struct fake_user u;
	uint32_t before;

	(void)state;
	user_connect(&u);
	fake_turns(u.fake);
	u.fake->conn->stat_sn = u.conn->sequence.exp_stat_sn;
	before = u.conn->sequence.exp_stat_sn;
	fake_answer_begin(u.fake->conn, ISCSI_SCSI_RESPONSE, 1);
	fake_turns(u.fake);
	assert_int_equal(u.conn->sequence.exp_stat_sn, before + 1);
	/* a NOP-In that nobody asked for only shows it */
	fake_answer_begin(u.fake->conn, ISCSI_NOP_IN, ISCSI_TAG_NONE);
	fake_turns(u.fake);
	assert_int_equal(u.conn->sequence.exp_stat_sn, before + 1);
	/* 0x7fffffff and 0xffffffff are but numbers */
	u.conn->sequence.exp_stat_sn = u.fake->conn->stat_sn = 0xffffffff;
	fake_answer_begin(u.fake->conn, ISCSI_SCSI_RESPONSE, 1);
	fake_turns(u.fake);
	assert_int_equal(u.conn->sequence.exp_stat_sn, 0);
	user_end(&u);
}

static void it_fails_once(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_NOP_OUT, .immediate = true, .final = true};
	struct fake_user u;

	(void)state;
	user_connect(&u);
	fake_turns(u.fake);
	ini_conn_fail(u.conn, CONN_EVENT_DROP, -EPROTO, "the first %s", "reason");
	ini_conn_fail(u.conn, CONN_EVENT_DROP, -EIO, "another");
	assert_false(ini_conn_usable(u.conn));
	assert_int_equal(u.lost, 0);
	assert_int_equal(ini_conn_send(u.conn, &pdu, NULL, NULL), -ENOTCONN);
	fake_turns(u.fake);
	assert_int_equal(u.lost, 1);
	assert_int_equal(u.error, -EPROTO);
	assert_string_equal(u.why, "the first reason");
	user_end(&u);
}

static void a_refused_login_tells_its_status(void **state)
{
	struct fake_user u;

	(void)state;
	user_connect(&u);
	u.fake->login_status = LOGIN_SERVICE_UNAVAILABLE;
	fake_turns(u.fake);
	assert_int_equal(u.error, -EBUSY);
	assert_int_equal(u.status, LOGIN_SERVICE_UNAVAILABLE);
	user_end(&u);
}

static void what_a_refusal_means(void **state)
{
	(void)state;
	assert_int_equal(ini_conn_login_errno(LOGIN_AUTHENTICATION_FAILURE), -EACCES);
	assert_int_equal(ini_conn_login_errno(LOGIN_AUTHORIZATION_FAILURE), -EACCES);
	assert_int_equal(ini_conn_login_errno(LOGIN_NOT_FOUND), -ENOENT);
	assert_int_equal(ini_conn_login_errno(LOGIN_OUT_OF_RESOURCES), -EBUSY);
	assert_int_equal(ini_conn_login_errno(LOGIN_MOVED_TEMPORARILY), -EREMCHG);
	assert_int_equal(ini_conn_login_errno(LOGIN_UNSUPPORTED_VERSION), -EPROTO);
	assert_int_equal(ini_conn_login_errno(0), -EPROTO);
}

static void a_peer_that_does_not_answer_is_given_up(void **state)
{
	struct fake_user u;

	(void)state;
	user_connect(&u);
	u.fake->deaf = true;
	fake_seconds(u.fake, 14);
	assert_int_equal(u.lost, 0);
	fake_seconds(u.fake, 2);
	assert_int_equal(u.lost, 1);
	assert_int_equal(u.error, -ETIMEDOUT);
	user_end(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(login_reaches_the_full_feature_phase),
		cmocka_unit_test(every_other_pdu_in_the_login_phase_ends_it),
		cmocka_unit_test(a_pdu_before_anything_was_asked_ends_it),
		cmocka_unit_test(stat_sn_is_followed_over_its_wrap),
		cmocka_unit_test(it_fails_once),
		cmocka_unit_test(a_refused_login_tells_its_status),
		cmocka_unit_test(what_a_refusal_means),
		cmocka_unit_test(a_peer_that_does_not_answer_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

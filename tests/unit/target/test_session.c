/* Sessions of the target in the full-feature phase: order of commands, the window, requests that
 * are no SCSI commands, logout, reinstatement, loss of the connection, reload, drain. */
#include "tests/unit/target/target_kit.h"

#include "common/scsi/sense.h"
#include "target/drain.h"

static struct kit kit;

static int setup(void **state)
{
	(void)state;
	kit_start(&kit, kit_default);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kit_stop(&kit);
	return 0;
}

static void logged_in(struct kit_conn *c)
{
	assert_true(kit_login(&kit, c, KIT_TARGET, 1));
	assert_true(c->enabled);
}

static struct iscsi_pdu test_unit_ready(struct kit_conn *c, uint32_t itt)
{
	struct iscsi_pdu pdu = kit_request(c, ISCSI_SCSI_COMMAND, itt);

	pdu.command.attribute = ISCSI_ATTR_SIMPLE;
	return pdu;
}

static void submit(struct kit_conn *c, struct iscsi_pdu pdu)
{
	kit_deliver(&kit, c, &pdu, NULL, 0);
}

/* The next answer is the SCSI Response of `itt` with that status. */
static const struct kit_sent *responds(struct kit_conn *c, uint32_t itt, uint8_t status)
{
	const struct kit_sent *s = kit_next(c);

	assert_non_null(s);
	assert_int_equal(s->pdu.opcode, ISCSI_SCSI_RESPONSE);
	assert_int_equal(s->pdu.itt, itt);
	assert_int_equal(s->pdu.response.status, status);
	return s;
}

/* The power-on attention is out of the way. */
static void ready(struct kit_conn *c)
{
	logged_in(c);
	submit(c, test_unit_ready(c, 100));
	responds(c, 100, SCSI_CHECK_CONDITION);
}

static void the_first_command_reports_power_on(void **state)
{
	const struct kit_sent *s;
	struct kit_conn c;

	(void)state;
	logged_in(&c);
	submit(&c, test_unit_ready(&c, 7));
	s = responds(&c, 7, SCSI_CHECK_CONDITION);
	assert_int_equal(s->pdu.data_length, 20);
	assert_int_equal(get_be16(s->data), 18); /* SenseLength */
	assert_int_equal(s->data[2] & 0x7f, 0x70);
	assert_int_equal(s->data[2 + 2] & 0xf, 6); /* UNIT ATTENTION */
	assert_int_equal(s->data[2 + 12], 0x29);
	assert_int_equal(s->data[2 + 13], 0x00);
	kit_lose(&kit, &c);
}

static void status_and_command_numbers_move_by_one(void **state)
{
	const struct kit_sent *first, *second;
	struct kit_conn c;

	(void)state;
	ready(&c);
	submit(&c, test_unit_ready(&c, 1));
	first = responds(&c, 1, SCSI_GOOD);
	submit(&c, test_unit_ready(&c, 2));
	second = responds(&c, 2, SCSI_GOOD);
	assert_int_equal(second->pdu.stat_sn, first->pdu.stat_sn + 1);
	assert_int_equal(second->pdu.exp_cmd_sn, first->pdu.exp_cmd_sn + 1);
	assert_int_equal(second->pdu.exp_cmd_sn, c.cmd_sn);
	/* Nothing is under way: the window is as wide as queue_depth. */
	assert_int_equal(second->pdu.max_cmd_sn, second->pdu.exp_cmd_sn + 128 - 1);
	kit_lose(&kit, &c);
}

static void a_command_before_its_turn_waits(void **state)
{
	struct iscsi_pdu early, due;
	struct kit_conn c;

	(void)state;
	ready(&c);
	due = test_unit_ready(&c, 1);
	early = test_unit_ready(&c, 2);
	submit(&c, early);
	assert_null(kit_next(&c));
	submit(&c, due);
	responds(&c, 1, SCSI_GOOD);
	responds(&c, 2, SCSI_GOOD);
	kit_lose(&kit, &c);
}

static void a_command_that_waits_is_given_back_when_the_connection_goes(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	c.cmd_sn++;
	submit(&c, test_unit_ready(&c, 2));
	kit_lose(&kit, &c);
	assert_int_equal(c.tasks_given_back, c.task_count);
}

static void a_command_outside_of_the_window_is_ignored(void **state)
{
	struct iscsi_pdu pdu;
	struct kit_conn c;

	(void)state;
	ready(&c);
	pdu = test_unit_ready(&c, 1);
	pdu.cmd_sn += 128;
	submit(&c, pdu);
	pdu.cmd_sn -= 129; /* one that was there already */
	submit(&c, pdu);
	assert_null(kit_next(&c));
	assert_false(c.terminated);
	assert_int_equal(c.tasks_given_back, c.task_count);
	kit_lose(&kit, &c);
}

static void an_immediate_command_takes_no_number(void **state)
{
	struct iscsi_pdu pdu;
	struct kit_conn c;

	(void)state;
	ready(&c);
	pdu = test_unit_ready(&c, 1);
	c.cmd_sn--;
	pdu.immediate = true;
	submit(&c, pdu);
	assert_int_equal(responds(&c, 1, SCSI_GOOD)->pdu.exp_cmd_sn, c.cmd_sn);
	kit_lose(&kit, &c);
}

static void a_lun_that_is_not_there_is_an_illegal_request(void **state)
{
	struct iscsi_pdu pdu;
	struct kit_conn c;

	(void)state;
	ready(&c);
	pdu = test_unit_ready(&c, 1);
	pdu.lun = iscsi_lun_encode(5);
	submit(&c, pdu);
	assert_int_equal(responds(&c, 1, SCSI_CHECK_CONDITION)->data[2 + 12], 0x25);
	kit_lose(&kit, &c);
}

static void a_ping_is_answered_with_its_data(void **state)
{
	const struct kit_sent *s;
	struct iscsi_pdu pdu;
	struct kit_conn c;

	(void)state;
	ready(&c);
	pdu = kit_request(&c, ISCSI_NOP_OUT, 9);
	pdu.nop.ttt = ISCSI_TAG_NONE;
	kit_deliver(&kit, &c, &pdu, "ping", 4);
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_NOP_IN);
	assert_int_equal(s->pdu.itt, 9);
	assert_int_equal(s->pdu.nop.ttt, ISCSI_TAG_NONE);
	assert_memory_equal(s->data, "ping", 4);
	/* The answer to a ping of ours has no tag, and no answer. */
	pdu = (struct iscsi_pdu){.opcode = ISCSI_NOP_OUT,
		.immediate = true,
		.final = true,
		.itt = ISCSI_TAG_NONE,
		.cmd_sn = c.cmd_sn,
		.nop = {.ttt = 1}};
	submit(&c, pdu);
	assert_null(kit_next(&c));
	kit_lose(&kit, &c);
}

static void what_is_not_supported_is_rejected_with_its_header(void **state)
{
	const struct kit_sent *s;
	struct iscsi_pdu pdu = {.opcode = ISCSI_SNACK_REQUEST, .final = true, .itt = 3};
	struct kit_conn c;

	(void)state;
	ready(&c);
	submit(&c, pdu);
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_REJECT);
	assert_int_equal(s->pdu.itt, ISCSI_TAG_NONE);
	assert_int_equal(s->pdu.reject.reason, ISCSI_REJECT_SNACK);
	assert_int_equal(s->pdu.data_length, ISCSI_BHS_SIZE);
	assert_int_equal(s->data[0] & 0x3f, ISCSI_SNACK_REQUEST);
	kit_lose(&kit, &c);
}

static void a_login_in_the_full_feature_phase_ends_the_connection(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_LOGIN_REQUEST, .immediate = true};
	struct kit_conn c;

	(void)state;
	ready(&c);
	submit(&c, pdu);
	assert_true(c.terminated);
	assert_false(c.graceful);
	kit_lose(&kit, &c);
}

static struct iscsi_pdu logout(struct kit_conn *c, uint8_t reason, uint16_t cid)
{
	struct iscsi_pdu pdu = kit_request(c, ISCSI_LOGOUT_REQUEST, 50);

	pdu.immediate = true;
	pdu.logout.reason = reason;
	pdu.logout.cid = cid;
	return pdu;
}

static void logouts(uint8_t reason, uint16_t cid, uint8_t response)
{
	const struct kit_sent *s;
	struct kit_conn c;

	ready(&c);
	submit(&c, logout(&c, reason, cid));
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_LOGOUT_RESPONSE);
	assert_int_equal(s->pdu.logout_response.response, response);
	assert_int_equal(c.terminated, response == ISCSI_LOGOUT_CLOSED);
	assert_int_equal(c.graceful, response == ISCSI_LOGOUT_CLOSED);
	kit_lose(&kit, &c);
	assert_int_equal(registry_count(&kit.set->registry), 0);
}

static void a_logout_is_answered_and_the_connection_closed(void **state)
{
	(void)state;
	logouts(ISCSI_LOGOUT_SESSION, 99, ISCSI_LOGOUT_CLOSED);
	logouts(ISCSI_LOGOUT_CONNECTION, 0, ISCSI_LOGOUT_CLOSED);
}

static void a_logout_of_another_connection_changes_nothing(void **state)
{
	(void)state;
	logouts(ISCSI_LOGOUT_CONNECTION, 99, ISCSI_LOGOUT_NO_CID);
	logouts(ISCSI_LOGOUT_RECOVERY, 0, ISCSI_LOGOUT_NO_RECOVERY);
}

static void a_task_management_function_is_answered(void **state)
{
	const struct kit_sent *s;
	struct iscsi_pdu pdu;
	struct kit_conn c;

	(void)state;
	ready(&c);
	pdu = kit_request(&c, ISCSI_TMF_REQUEST, 8);
	pdu.tmf.function = ISCSI_TMF_ABORT_TASK;
	pdu.tmf.referenced_tag = 4711;
	pdu.tmf.ref_cmd_sn = pdu.cmd_sn - 1;
	submit(&c, pdu);
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_TMF_RESPONSE);
	assert_int_equal(s->pdu.itt, 8);
	kit_lose(&kit, &c);
}

static void a_new_login_of_the_same_port_ends_the_old_session(void **state)
{
	struct kit_conn old, new;

	(void)state;
	ready(&old);
	assert_true(kit_login(&kit, &new, KIT_TARGET, 1));
	assert_true(old.terminated);
	assert_false(new.terminated);
	assert_int_equal(registry_count(&kit.set->registry), 2);
	kit_lose(&kit, &old);
	assert_int_equal(registry_count(&kit.set->registry), 1);
	/* The fence has fallen: the new session's commands run. */
	submit(&new, test_unit_ready(&new, 1));
	responds(&new, 1, SCSI_CHECK_CONDITION);
	submit(&new, test_unit_ready(&new, 2));
	responds(&new, 2, SCSI_GOOD);
	kit_lose(&kit, &new);
}

static void another_port_of_the_initiator_gets_its_own_session(void **state)
{
	struct kit_conn one, two;

	(void)state;
	ready(&one);
	assert_true(kit_login(&kit, &two, KIT_TARGET, 2));
	assert_false(one.terminated);
	kit_lose(&kit, &one);
	kit_lose(&kit, &two);
}

static void a_login_with_the_tsih_of_a_session_reinstates_it(void **state)
{
	struct login_initiator_config config = kit_login_config(KIT_TARGET, 1);
	struct kit_conn old, new;

	(void)state;
	ready(&old);
	kit_accept(&kit, &new);
	config.tsih = old.tsih;
	assert_true(kit_login_with(&kit, &new, &config));
	assert_int_equal(new.tsih, old.tsih);
	assert_true(old.terminated);
	kit_lose(&kit, &old);
	kit_lose(&kit, &new);
}

static void a_reload(const char *text)
{
	struct config_report report = {0};
	struct config *c = kit_config(text);
	struct tgt_session *s, *next;

	assert_int_equal(target_set_reload(kit.set, c, &report), 0);
	config_release(c);
	list_for_each_safe(s, next, &kit.worker->sessions, worker_link) tgt_session_reload(s);
	worker_sweep_channels(kit.worker);
	kit_turn(&kit);
}

static void a_lun_that_a_reload_adds_is_there_and_announced(void **state)
{
	struct iscsi_pdu pdu;
	const struct kit_sent *s;
	struct kit_conn c;

	(void)state;
	ready(&c);
	a_reload("targets:\n- name: " KIT_TARGET "\n  luns:\n"
		 "  - {lun: 0, backend: memory, size: 1M}\n"
		 "  - {lun: 5, backend: memory, size: 2M}\n");
	submit(&c, test_unit_ready(&c, 1));
	s = responds(&c, 1, SCSI_CHECK_CONDITION);
	assert_int_equal(s->data[2 + 12], 0x3f); /* REPORTED LUNS DATA HAS CHANGED */
	assert_int_equal(s->data[2 + 13], 0x0e);
	pdu = test_unit_ready(&c, 2);
	pdu.lun = iscsi_lun_encode(5);
	submit(&c, pdu);
	assert_int_equal(responds(&c, 2, SCSI_CHECK_CONDITION)->data[2 + 12], 0x29);
	kit_lose(&kit, &c);
}

static void a_lun_that_a_reload_removes_is_gone(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	a_reload("targets:\n- name: " KIT_TARGET "\n");
	submit(&c, test_unit_ready(&c, 1));
	assert_int_equal(responds(&c, 1, SCSI_CHECK_CONDITION)->data[2 + 12], 0x25);
	kit_lose(&kit, &c);
}

static void a_reload_that_changes_nothing_is_not_noticed(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	a_reload(kit_default);
	submit(&c, test_unit_ready(&c, 1));
	responds(&c, 1, SCSI_GOOD);
	kit_lose(&kit, &c);
}

static void a_target_that_a_reload_removes_closes_its_sessions(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	a_reload("targets: []\n");
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

static void an_initiator_that_a_reload_shuts_out_is_closed(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	a_reload("targets:\n- name: " KIT_TARGET "\n  initiators: iqn.2026-01.org.example:other\n"
		 "  luns: [{lun: 0, backend: memory, size: 1M}]\n");
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

static void a_stop_asks_and_then_closes(void **state)
{
	const struct kit_sent *s;
	struct kit_conn c, login;

	(void)state;
	ready(&c);
	kit_accept(&kit, &login);
	drain_ask(kit.worker, 10);
	kit_turn(&kit);
	assert_true(login.terminated);
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_ASYNC);
	assert_int_equal(s->pdu.async.event, ISCSI_ASYNC_LOGOUT_REQUESTED);
	assert_int_equal(s->pdu.async.parameter3, 10);
	assert_false(c.terminated);
	drain_close(kit.worker);
	kit_turn(&kit);
	assert_true(c.terminated);
	assert_true(c.graceful);
	kit_lose(&kit, &c);
	kit_lose(&kit, &login);
}

/* Over iSER some initiators do not survive an Async message, nor more than 128 bytes of data. */
static void over_rdma_no_async_is_sent_and_data_is_short(void **state)
{
	static char data[500];
	struct iscsi_pdu pdu;
	struct kit_conn c;

	(void)state;
	ready(&c);
	c.base.rdma = true;
	pdu = kit_request(&c, ISCSI_NOP_OUT, 9);
	kit_deliver(&kit, &c, &pdu, data, sizeof(data));
	assert_int_equal(kit_next(&c)->pdu.data_length, 128);
	drain_ask(kit.worker, 10);
	kit_turn(&kit);
	assert_null(kit_next(&c));
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_command_reports_power_on),
		TEST(status_and_command_numbers_move_by_one),
		TEST(a_command_before_its_turn_waits),
		TEST(a_command_that_waits_is_given_back_when_the_connection_goes),
		TEST(a_command_outside_of_the_window_is_ignored),
		TEST(an_immediate_command_takes_no_number),
		TEST(a_lun_that_is_not_there_is_an_illegal_request),
		TEST(a_ping_is_answered_with_its_data),
		TEST(what_is_not_supported_is_rejected_with_its_header),
		TEST(a_login_in_the_full_feature_phase_ends_the_connection),
		TEST(a_logout_is_answered_and_the_connection_closed),
		TEST(a_logout_of_another_connection_changes_nothing),
		TEST(a_task_management_function_is_answered),
		TEST(a_new_login_of_the_same_port_ends_the_old_session),
		TEST(another_port_of_the_initiator_gets_its_own_session),
		TEST(a_login_with_the_tsih_of_a_session_reinstates_it),
		TEST(a_lun_that_a_reload_adds_is_there_and_announced),
		TEST(a_lun_that_a_reload_removes_is_gone),
		TEST(a_reload_that_changes_nothing_is_not_noticed),
		TEST(a_target_that_a_reload_removes_closes_its_sessions),
		TEST(an_initiator_that_a_reload_shuts_out_is_closed),
		TEST(a_stop_asks_and_then_closes),
		TEST(over_rdma_no_async_is_sent_and_data_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

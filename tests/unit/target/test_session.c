/* Sessions of the target in the full-feature phase (target/session.c): order of commands, the
 * window, requests that are no SCSI commands, reinstatement. */
#include "tests/unit/target/session_kit.h"

#include "common/scsi/cdb.h"
#include "target/device.h"

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

static void never_woken(struct range_hold *h)
{
	(void)h;
}

/* RFC 7143 section 4.2.2.1: immediate commands are outside of the window, not without a limit. */
static void immediate_commands_beyond_the_limit_are_rejected(void **state)
{
	struct range_hold hold = {.woken = never_woken};
	const struct kit_sent *s;
	struct device *d;
	struct kit_conn c;

	(void)state;
	kit_stop(&kit);
	kit_start(&kit, "queue_depth: 4\ntargets:\n- name: " KIT_TARGET "\n"
			"  luns: [{lun: 0, backend: memory, size: 1M}]\n");
	ready(&c);
	d = list_first(&kit.set->targets, struct tgt_target, link)->luns[0]->device;
	hold.loop = kit.worker->loop;
	assert_true(range_lock_take(&d->ranges, &hold, 0, 512, true));
	for (uint32_t i = 0; i <= 4 + 32; i++) {
		struct iscsi_pdu pdu = test_unit_ready(&c, i);

		c.cmd_sn--;
		pdu.immediate = pdu.command.read = true;
		pdu.command.cdb[0] = SCSI_READ_6;
		pdu.command.cdb[4] = 1;
		pdu.command.expected_length = 512;
		submit(&c, pdu);
	}
	s = kit_next(&c);
	assert_non_null(s);
	assert_int_equal(s->pdu.opcode, ISCSI_REJECT);
	assert_int_equal(s->pdu.reject.reason, ISCSI_REJECT_TOO_MANY_IMMEDIATE);
	assert_int_equal(get_be32(s->data + 16), 4 + 32); /* its ITT */
	assert_null(kit_next(&c));
	kit_lose(&kit, &c);
	range_lock_release(&hold);
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

/* RFC 7143 section 11.5.1: all connections with the target end, that of the response after it. */
static void a_target_cold_reset_ends_every_session_of_the_target(void **state)
{
	const struct kit_sent *s;
	struct iscsi_pdu pdu;
	struct kit_conn asking, other;

	(void)state;
	ready(&asking);
	assert_true(kit_login(&kit, &other, KIT_TARGET, 2));
	pdu = kit_request(&asking, ISCSI_TMF_REQUEST, 8);
	pdu.tmf.function = ISCSI_TMF_TARGET_COLD_RESET;
	submit(&asking, pdu);
	s = kit_next(&asking);
	assert_int_equal(s->pdu.opcode, ISCSI_TMF_RESPONSE);
	assert_int_equal(s->pdu.tmf_response.response, ISCSI_TMF_COMPLETE);
	assert_true(asking.terminated && asking.graceful);
	assert_true(other.terminated);
	kit_lose(&kit, &asking);
	kit_lose(&kit, &other);
	assert_int_equal(registry_count(&kit.set->registry), 0);
	logged_in(&asking);
	kit_lose(&kit, &asking);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_command_reports_power_on),
		TEST(status_and_command_numbers_move_by_one),
		TEST(a_command_outside_of_the_window_is_ignored),
		TEST(an_immediate_command_takes_no_number),
		TEST(immediate_commands_beyond_the_limit_are_rejected),
		TEST(a_ping_is_answered_with_its_data),
		TEST(what_is_not_supported_is_rejected_with_its_header),
		TEST(a_task_management_function_is_answered),
		TEST(a_target_cold_reset_ends_every_session_of_the_target),
		TEST(a_new_login_of_the_same_port_ends_the_old_session),
		TEST(another_port_of_the_initiator_gets_its_own_session),
		TEST(a_login_with_the_tsih_of_a_session_reinstates_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

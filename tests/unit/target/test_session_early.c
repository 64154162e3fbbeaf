/* Requests that come before their turn (target/session_early.c): RFC 7143 section 4.2.2.1. */
#include "tests/unit/target/session_kit.h"

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

static void several_wait_in_order_of_their_numbers(void **state)
{
	struct iscsi_pdu pdu[4];
	struct kit_conn c;

	(void)state;
	ready(&c);
	for (unsigned i = 0; i < 4; i++)
		pdu[i] = test_unit_ready(&c, i);
	submit(&c, pdu[3]);
	submit(&c, pdu[1]);
	submit(&c, pdu[2]);
	assert_null(kit_next(&c));
	submit(&c, pdu[0]);
	for (unsigned i = 0; i < 4; i++)
		responds(&c, i, SCSI_GOOD);
	kit_lose(&kit, &c);
}

/* RFC 7143 section 4.2.2.1: CmdSN goes on from 2^32 - 1 with 0. */
static void numbers_that_wrap_are_in_order_too(void **state)
{
	struct login_initiator_config config = kit_login_config(KIT_TARGET, 1);
	struct iscsi_pdu before, after, due;
	struct kit_conn c;

	(void)state;
	kit_accept(&kit, &c);
	config.cmd_sn = UINT32_MAX - 2;
	assert_true(kit_login_with(&kit, &c, &config));
	c.cmd_sn = UINT32_MAX - 2;
	submit(&c, test_unit_ready(&c, 100));
	responds(&c, 100, SCSI_CHECK_CONDITION);
	due = test_unit_ready(&c, 1);
	before = test_unit_ready(&c, 2);
	after = test_unit_ready(&c, 3);
	assert_int_equal(before.cmd_sn, UINT32_MAX);
	assert_int_equal(after.cmd_sn, 0);
	submit(&c, after);
	submit(&c, before);
	submit(&c, due);
	for (unsigned i = 1; i < 4; i++)
		responds(&c, i, SCSI_GOOD);
	kit_lose(&kit, &c);
}

/* Section 4.2.2.1: what comes with the same number again is dropped silently. */
static void the_same_number_again_is_ignored(void **state)
{
	struct iscsi_pdu due, early, again;
	unsigned before;
	struct kit_conn c;

	(void)state;
	ready(&c);
	before = c.tasks_given_back;
	due = test_unit_ready(&c, 1);
	early = test_unit_ready(&c, 2);
	again = early;
	again.itt = 3;
	submit(&c, early);
	submit(&c, again);
	assert_int_equal(c.tasks_given_back, before + 1);
	submit(&c, due);
	responds(&c, 1, SCSI_GOOD);
	responds(&c, 2, SCSI_GOOD);
	assert_null(kit_next(&c));
	assert_false(c.terminated);
	kit_lose(&kit, &c);
}

static void the_data_of_a_request_waits_with_it(void **state)
{
	struct iscsi_pdu due, ping;
	const struct kit_sent *s;
	char data[] = "what was sent";
	struct kit_conn c;

	(void)state;
	ready(&c);
	due = test_unit_ready(&c, 1);
	ping = kit_request(&c, ISCSI_NOP_OUT, 2);
	ping.nop.ttt = ISCSI_TAG_NONE;
	kit_deliver(&kit, &c, &ping, data, sizeof(data));
	memset(data, 0, sizeof(data)); /* the mover's memory is its own again */
	submit(&c, due);
	s = kit_next(&c);
	assert_int_equal(s->pdu.opcode, ISCSI_NOP_IN);
	assert_int_equal(s->pdu.itt, 2);
	assert_string_equal((const char *)s->data, "what was sent");
	responds(&c, 1, SCSI_GOOD);
	kit_lose(&kit, &c);
}

/* One initiator cannot make us hold more than a mebibyte. */
static void what_waits_has_a_limit(void **state)
{
	static char data[60000];
	unsigned long live;
	struct kit_conn c;

	(void)state;
	ready(&c);
	c.cmd_sn++;
	live = alloc_live();
	for (unsigned i = 0; i < 40 && !c.terminated; i++) {
		struct iscsi_pdu ping = kit_request(&c, ISCSI_NOP_OUT, i);

		ping.nop.ttt = ISCSI_TAG_NONE;
		kit_deliver(&kit, &c, &ping, data, sizeof(data));
	}
	assert_true(c.terminated);
	assert_true(alloc_live() - live <= (1 << 20) / sizeof(data));
	kit_lose(&kit, &c);
}

static void no_memory_ends_the_connection(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	c.cmd_sn++;
	alloc_fail_nth(1);
	submit(&c, test_unit_ready(&c, 2));
	alloc_fail_nth(0);
	assert_true(c.terminated);
	assert_int_equal(c.tasks_given_back, c.task_count);
	kit_lose(&kit, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_command_before_its_turn_waits),
		TEST(a_command_that_waits_is_given_back_when_the_connection_goes),
		TEST(several_wait_in_order_of_their_numbers),
		TEST(numbers_that_wrap_are_in_order_too),
		TEST(the_same_number_again_is_ignored),
		TEST(the_data_of_a_request_waits_with_it),
		TEST(what_waits_has_a_limit),
		TEST(no_memory_ends_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

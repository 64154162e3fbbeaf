/* Send_Control of the iSCSI/TCP mover (common/datamover/tcp_control.c). */
#include "tests/unit/common/datamover/tcp_store.h"

static void control_pdus_arrive_as_they_were_sent(void **state)
{
	struct iscsi_pdu login = {.opcode = ISCSI_LOGIN_REQUEST, .itt = 1, .data_length = 8192};
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_IN, .itt = 9, .data_length = 3};
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND, .itt = 3, .ahs_words = 2};
	struct dm_task task = {0};
	struct iscsi_params params = kit_params();
	struct kit_pair p;

	(void)state;
	store_fill();
	kit_pair_init(&p, NULL, 0);
	assert_int_equal(dm_send_control(p.initiator.conn, &login, NULL, store, NULL), 0);
	kit_settle(p.loop);
	assert_int_equal(p.target.count, 1);
	assert_int_equal(p.target.pdus[0].pdu.opcode, ISCSI_LOGIN_REQUEST);
	assert_memory_equal(p.target.pdus[0].data, store, 8192);
	/* The last response of the login leaves without digests, though they begin right after. */
	params.header_digest = params.data_digest = ISCSI_DIGEST_CRC32C;
	assert_int_equal(dm_send_control(p.target.conn, &nop, NULL, "abc", NULL), 0);
	assert_int_equal(dm_enable(p.target.conn, &params), 0);
	kit_settle(p.loop);
	assert_int_equal(p.initiator.count, 1);
	assert_memory_equal(p.initiator.pdus[0].data, "abc", 3);
	assert_int_equal(dm_enable(p.initiator.conn, &params), 0);
	assert_true(p.initiator.conn->checksums_data);
	assert_int_equal(
		dm_send_control(p.initiator.conn, &command, "\0\5\1\0abcd", NULL, &task), 0);
	kit_settle(p.loop);
	assert_int_equal(p.target.count, 2);
	assert_int_equal(p.target.pdus[1].decode_error, 0);
	assert_int_equal(p.target.pdus[1].pdu.ahs_words, 2);
	assert_non_null(p.target.pdus[1].task);
	login.data_length = 8193;
	assert_int_equal(dm_send_control(p.initiator.conn, &login, NULL, store, NULL), -EMSGSIZE);
	kit_pair_release(&p);
}

/* What is given is copied: the caller's memory is its own when the call returns. */
static void data_of_a_control_pdu_is_copied(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_IN, .itt = 9, .data_length = 6};
	char data[] = "before";
	struct kit_pair p;

	(void)state;
	kit_pair_init(&p, &params, 0);
	assert_int_equal(dm_send_control(p.target.conn, &nop, NULL, data, NULL), 0);
	memcpy(data, "behind", 6);
	kit_settle(p.loop);
	assert_memory_equal(p.initiator.pdus[0].data, "before", 6);
	kit_pair_release(&p);
}

static void no_memory_is_told_and_leaves_nothing_half_sent(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_IN, .itt = 9, .data_length = 8000};
	struct kit_pair p;
	int sent = 0, refused = 0;

	(void)state;
	kit_pair_init(&p, &params, 0);
	for (unsigned i = 0; i < 300; i++) {
		alloc_fail_nth(1);
		if (dm_send_control(p.target.conn, &nop, NULL, store, NULL) == 0)
			sent++;
		else
			refused++;
		alloc_fail_nth(0);
	}
	kit_settle(p.loop);
	assert_true(refused > 0);
	if (p.target.terminated == 0)
		assert_int_equal(p.initiator.count, sent);
	kit_pair_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(control_pdus_arrive_as_they_were_sent),
		cmocka_unit_test(data_of_a_control_pdu_is_copied),
		cmocka_unit_test(no_memory_is_told_and_leaves_nothing_half_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

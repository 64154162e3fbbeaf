/* Get_Data of the iSCSI/TCP mover (common/datamover/tcp_get.c): R2T out and Data-Out in, against
 * initiators that break the rules. RFC 7143 sections 11.7 and 11.8. */
#include "tests/unit/common/datamover/tcp_digests.h"

static void an_r2t_says_what_the_task_lacks(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu r2t;
	struct dm_transfer t;
	struct kit_raw r;

	(void)state;
	params.max_burst_length = 3000;
	kit_raw_init(&r, true, &params);
	write_begin(&r, &t, 5000, &r2t);
	assert_int_equal(r2t.r2t.offset, 0);
	assert_int_equal(r2t.r2t.length, 3000);
	assert_int_equal(r2t.r2t.r2t_sn, 0);
	assert_int_equal(r2t.stat_sn, 100);
	assert_int_equal(r2t.max_cmd_sn, 64);
	kit_raw_release(&r);
}

static void data_outs_in_order_complete_the_transfer(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu r2t, out;
	struct dm_transfer t;
	struct kit_raw r;
	uint8_t data[4096];

	(void)state;
	memset(data, 0xab, sizeof(data));
	params.max_burst_length = 3000;
	kit_raw_init(&r, true, &params);
	write_begin(&r, &t, 5000, &r2t);
	out = data_out_of(&r2t);
	out.final = false;
	kit_raw_send(&r, &out, data, 1001);
	out.data_out.data_sn = 1;
	out.data_out.offset = 1001;
	out.final = true;
	kit_raw_send(&r, &out, data, 1999);
	assert_int_equal(r.end.done_count, 0);
	assert_true(kit_raw_receive(&r, &r2t, NULL));
	assert_int_equal(r2t.r2t.r2t_sn, 1);
	assert_int_equal(r2t.r2t.offset, 3000);
	assert_int_equal(r2t.r2t.length, 2000);
	out = data_out_of(&r2t);
	kit_raw_send(&r, &out, data, 2000);
	assert_int_equal(r.end.done_count, 1);
	assert_int_equal(r.end.done_status, 0);
	assert_int_equal(block[4999], 0xab);
	assert_int_equal(block[5000], 0);
	dm_deallocate_task_resources(r.end.conn, t.task);
	kit_raw_release(&r);
}

/* One wrong Data-Out fails the task, harms no memory, and leaves the connection up. */
static void wrong_data_out(void (*spoil)(struct iscsi_pdu *out), uint32_t length)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu r2t, out, ping = {.opcode = ISCSI_NOP_OUT, .itt = 8};
	static uint8_t data[4096];
	struct dm_transfer t;
	struct kit_raw r;

	memset(data, 0xab, sizeof(data));
	kit_raw_init(&r, true, &params);
	write_begin(&r, &t, 1024, &r2t);
	out = data_out_of(&r2t);
	spoil(&out);
	kit_raw_send(&r, &out, data, length);
	assert_int_equal(r.end.done_count, 1);
	assert_int_equal(r.end.done_status, -EBADMSG);
	assert_int_equal(r.end.failed, 1);
	assert_non_null(r.end.failure);
	assert_int_equal(block[0], 0);
	/* Its tag is stale now: what still comes for it is thrown away. */
	kit_raw_send(&r, &out, data, length);
	assert_int_equal(r.end.failed, 1);
	dm_deallocate_task_resources(r.end.conn, t.task);
	kit_raw_send(&r, &ping, NULL, 0);
	assert_int_equal(r.end.pdus[r.end.count - 1].pdu.opcode, ISCSI_NOP_OUT);
	assert_int_equal(r.end.terminated, 0);
	kit_raw_release(&r);
}

static void spoil_data_sn(struct iscsi_pdu *out)
{
	out->data_out.data_sn = 27;
}

static void spoil_offset(struct iscsi_pdu *out)
{
	out->data_out.offset = 0xfffffff0;
}

static void spoil_final(struct iscsi_pdu *out)
{
	out->final = false;
}

static void spoil_nothing(struct iscsi_pdu *out)
{
	(void)out;
}

static void a_wrong_data_out_fails_its_task_alone(void **state)
{
	(void)state;
	wrong_data_out(spoil_data_sn, 1024);
	wrong_data_out(spoil_offset, 1024);
	wrong_data_out(spoil_final, 1024);
	wrong_data_out(spoil_nothing, 2048); /* beyond the R2T */
	wrong_data_out(spoil_nothing, 512);  /* F too early */
	wrong_data_out(spoil_nothing, 0);
}

static void data_nobody_asked_for_is_thrown_away(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu r2t, out;
	struct dm_transfer t;
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, &params);
	write_begin(&r, &t, 1024, &r2t);
	out = data_out_of(&r2t);
	out.data_out.ttt = ISCSI_TAG_NONE;
	kit_raw_send(&r, &out, block, 1024);
	out.data_out.ttt = r2t.r2t.ttt + 1;
	kit_raw_send(&r, &out, block, 1024);
	out.data_out.ttt = r2t.r2t.ttt;
	out.itt++;
	kit_raw_send(&r, &out, block, 1024);
	assert_int_equal(r.end.done_count, 0);
	assert_int_equal(r.end.failed, 0);
	assert_int_equal(r.end.terminated, 0);
	kit_raw_release(&r);
	assert_int_equal(r.end.done_count, 1);
	assert_true(r.end.done_status < 0);
}

static void a_spoiled_data_out_fails_its_task(void **state)
{
	struct iscsi_params params = digest_params();
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_COMMAND, .itt = 7, .final = true};
	struct iscsi_pdu out = {.opcode = ISCSI_DATA_OUT, .itt = 7, .final = true}, r2t;
	struct dm_transfer t = {.data = block + 4096, .length = 1024, .done = kit_done};
	uint8_t bytes[52];
	struct kit_raw r;

	(void)state;
	pdu.command.write = true;
	pdu.command.expected_length = 1024;
	kit_raw_init(&r, true, &params);
	send_digested(&r, &pdu, 0, 0);
	r.end.pdus[0].task->owner = &r.end;
	assert_int_equal(dm_get_data(r.end.conn, r.end.pdus[0].task, &t), 0);
	kit_settle(r.loop);
	assert_int_equal(recv(r.fd, bytes, 52, MSG_DONTWAIT), 52);
	assert_int_equal(iscsi_pdu_decode(bytes, &r2t), 0);
	out.data_out.ttt = r2t.r2t.ttt;
	send_digested(&r, &out, 1024, 1);
	assert_int_equal(r.end.done_status, -EBADMSG);
	assert_int_equal(r.end.failed, 1);
	assert_int_equal(r.end.terminated, 0);
	kit_raw_release(&r);
}

static void memory_of_a_deallocated_get_is_not_touched(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_COMMAND, .itt = 7, .final = true};
	struct iscsi_pdu out = {.opcode = ISCSI_DATA_OUT, .itt = 7, .final = true}, r2t;
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_OUT, .itt = 8};
	uint8_t *data = malloc(32768), bhs[ISCSI_BHS_SIZE];
	struct dm_transfer t = {.data = data, .length = 32768, .done = kit_done};
	struct kit_end *e;
	struct kit_raw r;

	(void)state;
	pdu.command.write = true;
	pdu.command.expected_length = 32768;
	kit_raw_init(&r, true, &params);
	e = &r.end;
	kit_raw_send(&r, &pdu, NULL, 0);
	e->pdus[0].task->owner = e;
	assert_int_equal(dm_get_data(e->conn, e->pdus[0].task, &t), 0);
	kit_settle(r.loop);
	assert_true(kit_raw_receive(&r, &r2t, NULL));
	out.data_out.ttt = r2t.r2t.ttt;
	out.data_length = 32768;
	iscsi_pdu_encode(&out, bhs);
	assert_int_equal(write(r.fd, bhs, sizeof(bhs)), sizeof(bhs));
	assert_int_equal(write(r.fd, block, 10000), 10000);
	kit_settle(r.loop);
	dm_deallocate_task_resources(e->conn, e->pdus[0].task);
	assert_int_equal(e->done_count, 0);
	kit_settle(r.loop);
	assert_int_equal(e->done_count, 1);
	assert_int_equal(e->done_status, -ECANCELED);
	free(data);
	assert_int_equal(write(r.fd, block, 22768), 22768);
	kit_raw_send(&r, &nop, NULL, 0);
	assert_int_equal(e->pdus[e->count - 1].pdu.opcode, ISCSI_NOP_OUT);
	kit_raw_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_r2t_says_what_the_task_lacks),
		cmocka_unit_test(data_outs_in_order_complete_the_transfer),
		cmocka_unit_test(a_wrong_data_out_fails_its_task_alone),
		cmocka_unit_test(data_nobody_asked_for_is_thrown_away),
		cmocka_unit_test(a_spoiled_data_out_fails_its_task),
		cmocka_unit_test(memory_of_a_deallocated_get_is_not_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

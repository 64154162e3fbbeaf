/* The iSCSI/TCP mover against peers that break the rules, that stop, or that send in odd pieces;
 * and against a heap and a kernel that refuse. A raw peer speaks bytes. */
#include "tests/unit/common/datamover/tcp_kit.h"

#include "common/base/sys.h"

static uint8_t block[65536];

/* ---- a target and its hostile initiator ---- */

static struct iscsi_pdu command_of(bool write, uint32_t length)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_COMMAND, .itt = 7, .cmd_sn = 1, .final = true};

	pdu.command.read = !write;
	pdu.command.write = write;
	pdu.command.expected_length = length;
	return pdu;
}

/* A write of `length` bytes for which the target has sent its R2T. */
static void write_begin(
	struct kit_raw *r, struct dm_transfer *t, uint32_t length, struct iscsi_pdu *ret_r2t)
{
	struct iscsi_pdu pdu = command_of(true, length);
	struct dm_task *task;

	kit_raw_send(r, &pdu, NULL, 0);
	task = r->end.pdus[r->end.count - 1].task;
	assert_non_null(task);
	task->owner = &r->end;
	*t = (struct dm_transfer){.data = block, .length = length, .done = kit_done};
	memset(block, 0, sizeof(block));
	assert_int_equal(dm_get_data(r->end.conn, task, t), 0);
	kit_settle(r->loop);
	assert_true(kit_raw_receive(r, ret_r2t, NULL));
	assert_int_equal(ret_r2t->opcode, ISCSI_R2T);
}

static struct iscsi_pdu data_out_of(const struct iscsi_pdu *r2t)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_DATA_OUT, .itt = r2t->itt, .final = true};

	pdu.data_out.ttt = r2t->r2t.ttt;
	pdu.data_out.offset = r2t->r2t.offset;
	return pdu;
}

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

static void immediate_data_beyond_what_was_agreed_is_not_taken(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = command_of(true, 8192);
	struct kit_raw r;

	(void)state;
	params.first_burst_length = 4096;
	kit_raw_init(&r, true, &params);
	kit_raw_send(&r, &pdu, block, 4096);
	assert_int_equal(r.end.pdus[0].decode_error, 0);
	assert_int_equal(r.end.pdus[0].task->immediate_length, 4096);
	kit_raw_send(&r, &pdu, block, 4097);
	assert_int_equal(r.end.pdus[1].decode_error, -EPROTO);
	assert_null(r.end.pdus[1].task);
	pdu = command_of(true, 100);
	kit_raw_send(&r, &pdu, block, 101);
	assert_int_equal(r.end.pdus[2].decode_error, -EPROTO);
	pdu = command_of(false, 100);
	kit_raw_send(&r, &pdu, block, 100);
	assert_int_equal(r.end.pdus[3].decode_error, -EPROTO);
	kit_raw_release(&r);
}

static void a_segment_longer_than_declared_ends_the_connection(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_LOGIN_REQUEST, .itt = 7};
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, NULL);
	kit_raw_send(&r, &pdu, block, 8193);
	assert_int_equal(r.end.terminated, 1);
	assert_int_equal(r.end.error, -EMSGSIZE);
	assert_int_equal(r.end.count, 0);
	kit_raw_release(&r);
}

static void bytes_come_one_at_a_time(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = command_of(true, 4096);
	uint8_t bytes[48 + 1000];
	struct kit_raw r;

	(void)state;
	memset(bytes, 0x77, sizeof(bytes));
	pdu.data_length = 1000;
	iscsi_pdu_encode(&pdu, bytes);
	kit_raw_init(&r, true, &params);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		assert_int_equal(r.end.count, 0);
		assert_int_equal(write(r.fd, bytes + i, 1), 1);
		kit_settle(r.loop);
	}
	assert_int_equal(r.end.count, 1);
	assert_memory_equal(r.end.pdus[0].data, bytes + 48, 1000);
	kit_raw_release(&r);
}

static void a_peer_that_ends_within_a_pdu(void **state)
{
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, NULL);
	assert_int_equal(write(r.fd, "C", 1), 1);
	close(r.fd);
	r.fd = -1;
	kit_settle(r.loop);
	assert_int_equal(r.end.error, -ECONNRESET);
	kit_raw_release(&r);
}

static void more_commands_than_any_window_end_the_connection(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = command_of(false, 0);
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, &params);
	for (uint32_t i = 0; i < 1024; i++) {
		pdu.itt = i;
		kit_raw_send(&r, &pdu, NULL, 0);
	}
	assert_int_equal(r.end.terminated, 0);
	kit_raw_send(&r, &pdu, NULL, 0);
	assert_int_equal(r.end.error, -ENOBUFS);
	kit_raw_release(&r);
}

static void a_peer_that_does_not_read_is_given_up(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = {.opcode = ISCSI_NOP_IN, .itt = 7, .data_length = 8000};
	struct kit_raw r;
	int error = 0, n = 0;

	(void)state;
	kit_raw_init(&r, true, &params);
	while (!error && n++ < 100000) {
		error = dm_send_control(r.end.conn, &pdu, NULL, block, NULL);
		loop_turn(r.loop, 0);
	}
	assert_int_equal(error, -ENOBUFS);
	kit_settle(r.loop);
	assert_int_equal(r.end.error, -ENOBUFS);
	kit_raw_release(&r);
}

static void an_orderly_end_waits_a_second_for_the_peer(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_NOP_IN, .itt = 7}, got;
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, NULL);
	assert_int_equal(dm_send_control(r.end.conn, &pdu, NULL, NULL, NULL), 0);
	dm_terminate(r.end.conn, true);
	kit_settle(r.loop);
	assert_true(kit_raw_receive(&r, &got, NULL));
	assert_int_equal(r.end.terminated, 0);
	loop_advance(r.loop, LOOP_NS_PER_S - 1);
	assert_int_equal(r.end.terminated, 0);
	loop_advance(r.loop, 1);
	kit_settle(r.loop);
	assert_int_equal(r.end.terminated, 1);
	assert_int_equal(r.end.error, 0);
	kit_raw_release(&r);
}

/* ---- an initiator and its hostile target ---- */

/* The initiator has a read and a write under way; the target sends `pdu`. The error that ends it.
 */
static int initiator_meets(const struct iscsi_pdu *pdu, uint32_t length)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND};
	uint8_t *memory = malloc(1024);
	struct dm_task read = {.read = {.data = memory, .length = 1024}};
	struct dm_task write = {.write = {.data = memory, .length = 1024}};
	struct kit_raw r;
	int error;

	params.immediate_data = false;
	params.max_burst_length = 512;
	kit_raw_init(&r, false, &params);
	command.itt = 1;
	assert_int_equal(dm_send_control(r.end.conn, &command, NULL, NULL, &read), 0);
	command.itt = 2;
	assert_int_equal(dm_send_control(r.end.conn, &command, NULL, NULL, &write), 0);
	kit_settle(r.loop);
	kit_raw_send(&r, pdu, block, length);
	error = r.end.terminated ? r.end.error : 0;
	kit_raw_release(&r);
	free(memory);
	return error;
}

static void a_target_that_breaks_the_rules_loses_the_connection(void **state)
{
	struct iscsi_pdu in = {.opcode = ISCSI_DATA_IN, .itt = 1};
	struct iscsi_pdu r2t = {.opcode = ISCSI_R2T, .itt = 2, .r2t = {.ttt = 5, .length = 512}};
	struct iscsi_pdu response = {.opcode = ISCSI_SCSI_RESPONSE, .itt = 3}, pdu;

	(void)state;
	assert_int_equal(initiator_meets(&in, 512), 0);
	assert_int_equal(initiator_meets(&in, 1025), -EPROTO); /* beyond the buffer */
	pdu = in, pdu.itt = 9;
	assert_int_equal(initiator_meets(&pdu, 512), -EPROTO);
	pdu = in, pdu.itt = 2; /* a write has no room for it */
	assert_int_equal(initiator_meets(&pdu, 4), -EPROTO);
	pdu = in, pdu.data_in.data_sn = 1;
	assert_int_equal(initiator_meets(&pdu, 512), -EPROTO);
	pdu = in, pdu.data_in.offset = 512;
	assert_int_equal(initiator_meets(&pdu, 512), -EPROTO);
	pdu = in, pdu.data_in.offset = 0xffffffff;
	assert_int_equal(initiator_meets(&pdu, 512), -EPROTO);
	assert_int_equal(initiator_meets(&r2t, 0), 0);
	pdu = r2t, pdu.itt = 1;
	assert_int_equal(initiator_meets(&pdu, 0), -EPROTO);
	pdu = r2t, pdu.r2t.length = 513; /* MaxBurstLength */
	assert_int_equal(initiator_meets(&pdu, 0), -EPROTO);
	pdu = r2t, pdu.r2t.offset = 1000;
	assert_int_equal(initiator_meets(&pdu, 0), -EPROTO);
	pdu = r2t, pdu.r2t.offset = 0xffffffff;
	assert_int_equal(initiator_meets(&pdu, 0), -EPROTO);
	pdu = r2t, pdu.r2t.r2t_sn = 1;
	assert_int_equal(initiator_meets(&pdu, 0), -EPROTO);
	assert_int_equal(initiator_meets(&response, 0), -EPROTO);
}

/* Its first 48 bytes, taken as a BHS, claim an AHS of 46 words. */
static void a_web_server_is_told_apart_by_its_first_bytes(void **state)
{
	static const char answer[] =
		"HTTP/1.1 400 Bad Request\r\nServer: web\r\nContent-Length: 0\r\n";
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, false, NULL);
	assert_int_equal(write(r.fd, answer, sizeof(answer) - 1), sizeof(answer) - 1);
	kit_settle(r.loop);
	assert_int_equal(r.end.terminated, 1);
	assert_int_equal(r.end.error, -EMSGSIZE);
	kit_raw_release(&r);
}

/* ---- what can fail in our own house ---- */

/* A whole life: adopt, enable, a command, its data asked for, the end. Any step may fail; nothing
 * may leak, hang or be called twice. */
static void every_failing_allocation_is_survived(void **state)
{
	static const struct tcp_mover_config config = {0};
	struct iscsi_params params = kit_params();

	(void)state;
	for (unsigned long n = 1; n < 40; n++) {
		struct iscsi_pdu pdu = command_of(true, 1024);
		struct dm_transfer t = {.data = block, .length = 1024, .done = kit_done};
		struct kit_end e = {.acceptor.accepted = kit_accepted};
		int fd[2], adopted;
		uint8_t bhs[48];

		e.loop = kit_loop();
		e.pdus = calloc(KIT_PDUS, sizeof(*e.pdus));
		kit_sockets(fd, 0);
		iscsi_pdu_encode(&pdu, bhs);
		alloc_fail_nth(n);
		e.mover = tcp_mover_new(e.loop, &config);
		adopted = e.mover ? tcp_mover_adopt(e.mover, fd[0], &e.acceptor) : -ENOMEM;
		if (!e.mover)
			close(fd[0]);
		kit_settle(e.loop);
		if (!adopted && e.conn && !dm_enable(e.conn, &params)) {
			assert_int_equal(write(fd[1], bhs, 48), 48);
			kit_settle(e.loop);
		}
		if (e.conn && e.count) {
			e.pdus[0].task->owner = &e;
			(void)dm_get_data(e.conn, e.pdus[0].task, &t);
			kit_settle(e.loop);
		}
		alloc_fail_nth(0);
		close(fd[1]);
		kit_settle(e.loop);
		assert_int_equal(e.terminated, adopted ? 0 : 1);
		kit_end_release(&e);
		loop_free(e.loop);
		assert_int_equal(alloc_live(), 0);
	}
}

static void every_failing_call_is_survived(void **state)
{
	struct iscsi_params params = kit_params();

	(void)state;
	for (unsigned long n = 1; n < 30; n++) {
		struct iscsi_pdu r2t, out;
		struct dm_transfer t;
		struct kit_raw r;

		kit_raw_init(&r, true, &params);
		write_begin(&r, &t, 1024, &r2t);
		out = data_out_of(&r2t);
		sys_fail_nth(n, EIO);
		kit_raw_send(&r, &out, block, 1024);
		sys_fail_nth(0, 0);
		kit_raw_release(&r);
		assert_int_equal(r.end.done_count, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_r2t_says_what_the_task_lacks),
		cmocka_unit_test(data_outs_in_order_complete_the_transfer),
		cmocka_unit_test(a_wrong_data_out_fails_its_task_alone),
		cmocka_unit_test(data_nobody_asked_for_is_thrown_away),
		cmocka_unit_test(immediate_data_beyond_what_was_agreed_is_not_taken),
		cmocka_unit_test(a_segment_longer_than_declared_ends_the_connection),
		cmocka_unit_test(bytes_come_one_at_a_time),
		cmocka_unit_test(a_peer_that_ends_within_a_pdu),
		cmocka_unit_test(more_commands_than_any_window_end_the_connection),
		cmocka_unit_test(a_peer_that_does_not_read_is_given_up),
		cmocka_unit_test(an_orderly_end_waits_a_second_for_the_peer),
		cmocka_unit_test(a_target_that_breaks_the_rules_loses_the_connection),
		cmocka_unit_test(a_web_server_is_told_apart_by_its_first_bytes),
		cmocka_unit_test(every_failing_allocation_is_survived),
		cmocka_unit_test(every_failing_call_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tasks of the initiator of the iSCSI/TCP mover (common/datamover/tcp_initiator.c): the memory of a
 * task that was given up, and targets that break the rules. */
#include "tests/unit/common/datamover/tcp_raw.h"
#include "tests/unit/common/datamover/tcp_store.h"

static void memory_of_a_deallocated_read_is_not_touched(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {0};
	uint8_t *data = malloc(262144); /* freed below: ASan sees a late write */
	struct dm_task task = {.read = {.data = data, .length = 262144}};
	struct kit_pair p;

	(void)state;
	params.peer_max_recv_data_segment_length = 262144;
	params.max_recv_data_segment_length = 262144;
	kit_pair_init(&p, &params, 4096);
	p.target.react = serve;
	p.target.arg = &server;
	command_send(&p.initiator, &task, 1);
	for (int i = 0; i < 20; i++)
		loop_turn(p.loop, 0);
	dm_deallocate_task_resources(p.initiator.conn, &task);
	free(data);
	kit_settle(p.loop);
	/* The one Data-In was under way and is thrown away, its status with it. */
	assert_int_equal(p.initiator.count, 0);
	assert_int_equal(p.initiator.terminated, 0);
	kit_pair_release(&p);
}

static void memory_of_a_deallocated_write_is_not_sent(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {0};
	uint8_t *data = malloc(262144);
	struct dm_task task = {.write = {.data = data, .length = 262144}};
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_OUT, .itt = 9};
	struct kit_pair p;

	(void)state;
	memset(data, 1, 262144);
	kit_pair_init(&p, &params, 4096);
	p.target.react = serve;
	p.target.arg = &server;
	command_send(&p.initiator, &task, 1);
	for (int i = 0; i < 12; i++)
		loop_turn(p.loop, 0);
	dm_deallocate_task_resources(p.initiator.conn, &task);
	free(data);
	assert_int_equal(dm_send_control(p.initiator.conn, &nop, NULL, NULL, NULL), 0);
	kit_settle(p.loop);
	/* The stream is whole: what follows arrives. */
	assert_int_equal(p.target.pdus[p.target.count - 1].pdu.opcode, ISCSI_NOP_OUT);
	assert_int_equal(p.target.done_count, 0);
	kit_pair_release(&p);
}

static void immediate_data_of_a_deallocated_write_is_copied(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {0};
	uint8_t *data = malloc(8192);
	struct dm_task task = {.write = {.data = data, .length = 8192}};
	struct kit_pair p;

	(void)state;
	store_fill();
	memset(data, 0x5a, 8192);
	kit_pair_init(&p, &params, 0);
	p.target.react = serve;
	p.target.arg = &server;
	command_send(&p.initiator, &task, 1);
	dm_deallocate_task_resources(p.initiator.conn, &task);
	free(data);
	p.initiator.react = NULL;
	loop_turn(p.loop, 0);
	loop_turn(p.loop, 0);
	assert_int_equal(p.target.count, 1);
	assert_int_equal(store[8191], 0x5a);
	kit_pair_release(&p);
}

/* The initiator has a read and a write under way; the target sends `pdu`. The error that ends it.
 */
static int initiator_meets(const struct iscsi_pdu *pdu, uint32_t length)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND};
	uint8_t *data = malloc(1024);
	struct dm_task read = {.read = {.data = data, .length = 1024}};
	struct dm_task write = {.write = {.data = data, .length = 1024}};
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
	free(data);
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

static void every_failing_allocation_of_the_initiator_is_survived(void **state)
{
	static const struct tcp_mover_config config = {0};
	struct iscsi_params params = kit_params();

	(void)state;
	for (unsigned long n = 1; n < 30; n++) {
		struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND, .itt = 1};
		struct iscsi_pdu r2t = {.opcode = ISCSI_R2T, .itt = 1};
		uint8_t *data = calloc(1, 65536), bhs[ISCSI_BHS_SIZE];
		struct dm_task task = {.write = {.data = data, .length = 65536}};
		struct kit_end e = {.loop = kit_loop()};
		int fd[2], error;

		e.pdus = calloc(KIT_PDUS, sizeof(*e.pdus));
		r2t.r2t.ttt = 1;
		r2t.r2t.length = 65536;
		iscsi_pdu_encode(&r2t, bhs);
		kit_sockets(fd, 4096);
		alloc_fail_nth(n);
		e.mover = tcp_mover_new(e.loop, &config);
		error = e.mover ? tcp_mover_adopt_active(e.mover, fd[0], &kit_upcalls, &e, &e.conn)
				: -ENOMEM;
		if (!e.mover)
			close(fd[0]);
		if (!error)
			dm_conn_set_sequence(e.conn, &e.sequence);
		kit_settle(e.loop);
		if (e.conn && !dm_enable(e.conn, &params) &&
			!dm_send_control(e.conn, &command, NULL, NULL, &task)) {
			assert_int_equal(write(fd[1], bhs, sizeof(bhs)), sizeof(bhs));
			kit_settle(e.loop);
		}
		/* Half of the Data-Out has left: the rest is copied, or the connection fails. */
		if (e.conn)
			dm_deallocate_task_resources(e.conn, &task);
		free(data);
		kit_settle(e.loop);
		alloc_fail_nth(0);
		close(fd[1]);
		kit_settle(e.loop);
		assert_int_equal(e.terminated, error ? 0 : 1);
		kit_end_release(&e);
		loop_free(e.loop);
		assert_int_equal(alloc_live(), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_a_deallocated_read_is_not_touched),
		cmocka_unit_test(memory_of_a_deallocated_write_is_not_sent),
		cmocka_unit_test(immediate_data_of_a_deallocated_write_is_copied),
		cmocka_unit_test(a_target_that_breaks_the_rules_loses_the_connection),
		cmocka_unit_test(every_failing_allocation_of_the_initiator_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Both ends of the iSCSI/TCP mover over a socketpair: control PDUs, reads, writes, digests, the
 * order of data and status, and the end of a connection. */
#include "tests/unit/common/datamover/tcp_kit.h"

#define STORE_SIZE (4u * 1024 * 1024)

static uint8_t store[STORE_SIZE], memory[STORE_SIZE];

static void store_fill(void)
{
	for (size_t i = 0; i < STORE_SIZE; i++)
		store[i] = (uint8_t)(i * 2654435761u >> 13);
	memset(memory, 0, STORE_SIZE);
}

static void respond(struct kit_end *e, struct dm_task *task, uint32_t itt)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_SCSI_RESPONSE, .itt = itt, .stat_sn = e->sequence.stat_sn++};

	assert_int_equal(dm_send_control(e->conn, &pdu, NULL, NULL, task), 0);
}

/* ---- a target that reads from and writes to the store ---- */

struct server {
	bool respond_late; /* only once the data has left */
	uint32_t extent;   /* bytes per transfer; 0: all in one */
	struct dm_transfer transfers[64];
	int used, pending;
	struct dm_task *task;
};

static void served(struct dm_transfer *t, int status)
{
	struct kit_end *e = t->task->owner;
	struct server *s = e->arg;

	kit_done(t, status);
	if (--s->pending || status)
		return;
	if (s->respond_late || t->task->can_get)
		respond(e, t->task, t->task->itt);
	s->used = 0;
	dm_deallocate_task_resources(e->conn, t->task);
}

static void serve(struct kit_end *e, const struct kit_pdu *p, const void *data)
{
	struct server *s = e->arg;
	bool write = p->pdu.command.write;
	uint32_t at = p->pdu.data_length, length = p->pdu.command.expected_length;

	if (p->pdu.opcode != ISCSI_SCSI_COMMAND)
		return;
	p->task->owner = e;
	assert_int_equal(p->task->can_get, write);
	if (at)
		memcpy(store, data, at);
	s->pending = 0;
	while (at < length) {
		struct dm_transfer *t = &s->transfers[s->used++];
		uint32_t n = s->extent ? min_u32(s->extent, length - at) : length - at;

		*t = (struct dm_transfer){
			.data = store + at, .length = n, .offset = at, .done = served};
		s->pending++;
		assert_int_equal((write ? dm_get_data : dm_put_data)(e->conn, p->task, t), 0);
		at += n;
	}
	if (!write && !s->respond_late)
		respond(e, p->task, p->pdu.itt);
	if (s->pending)
		return;
	respond(e, p->task, p->pdu.itt);
	dm_deallocate_task_resources(e->conn, p->task);
}

static void command_send(struct kit_end *e, struct dm_task *task, uint32_t itt)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_COMMAND, .itt = itt, .cmd_sn = itt};

	pdu.command.read = task->read.length > 0;
	pdu.command.write = task->write.length > 0;
	pdu.command.expected_length = task->read.length + task->write.length;
	assert_int_equal(dm_send_control(e->conn, &pdu, NULL, NULL, task), 0);
}

static void one_read(struct kit_pair *p, uint32_t length)
{
	struct dm_task task = {.read = {.data = memory, .length = length}};
	int before = p->initiator.count;

	store_fill();
	command_send(&p->initiator, &task, 5);
	kit_settle(p->loop);
	assert_int_equal(p->initiator.count, before + 1);
	assert_int_equal(p->initiator.pdus[before].pdu.opcode, ISCSI_SCSI_RESPONSE);
	assert_int_equal(p->initiator.pdus[before].pdu.itt, 5);
	assert_ptr_equal(p->initiator.pdus[before].task, &task);
	assert_int_equal(task.received, length);
	assert_memory_equal(memory, store, length);
	assert_int_equal(memory[length], 0);
	dm_deallocate_task_resources(p->initiator.conn, &task);
}

static void one_write(struct kit_pair *p, uint32_t length, uint32_t immediate)
{
	struct dm_task task = {.write = {.data = memory, .length = length}};
	int before = p->initiator.count;

	store_fill();
	memcpy(memory, store, length);
	memset(store, 0, STORE_SIZE);
	command_send(&p->initiator, &task, 6);
	kit_settle(p->loop);
	assert_int_equal(task.immediate_length, immediate);
	assert_int_equal(p->initiator.count, before + 1);
	assert_memory_equal(memory, store, length);
	assert_int_equal(store[length], 0);
	dm_deallocate_task_resources(p->initiator.conn, &task);
}

static void lengths(const struct iscsi_params *params, struct server *server, int buffer)
{
	static const uint32_t table[] = {1, 511, 512, 4096, 8192, 16384, 65536, 65537, 262144,
		300001, 1048576, STORE_SIZE - 1};
	struct kit_pair p;

	kit_pair_init(&p, params, buffer);
	p.target.react = serve;
	p.target.arg = server;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (server->extent && table[i] / server->extent > 60)
			continue;
		one_read(&p, table[i]);
		one_write(&p, table[i], params->immediate_data && table[i] <= 16384 ? table[i] : 0);
	}
	assert_int_equal(p.target.done_status, 0);
	kit_pair_release(&p);
}

static void reads_and_writes_of_every_length(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {0};

	(void)state;
	lengths(&params, &server, 0);
	server.respond_late = true;
	lengths(&params, &server, 0);
	server.extent = 65536;
	lengths(&params, &server, 0);
	params.immediate_data = false;
	lengths(&params, &server, 0);
}

static void a_socket_that_takes_little_at_a_time(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {0};

	(void)state;
	lengths(&params, &server, 4096);
}

static void digests_small_segments_and_several_r2ts(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {.extent = 262144};

	(void)state;
	params.header_digest = params.data_digest = ISCSI_DIGEST_CRC32C;
	params.peer_max_recv_data_segment_length = 1000; /* no multiple of 4 */
	params.max_burst_length = 5555;
	params.first_burst_length = 5000;
	params.max_outstanding_r2t = 3;
	params.immediate_data = false;
	lengths(&params, &server, 0);
}

static void good_status_travels_in_the_last_data_in(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {0};
	struct dm_conn_info info;
	struct kit_pair p;

	(void)state;
	kit_pair_init(&p, &params, 0);
	p.target.react = serve;
	p.target.arg = &server;
	one_read(&p, 4096);
	dm_conn_get_info(p.initiator.conn, &info);
	assert_int_equal(info.pdus_received, 1);
	assert_int_equal(p.initiator.pdus[0].pdu.stat_sn, 100);
	assert_int_equal(p.initiator.pdus[0].pdu.response.exp_data_sn, 1);
	assert_int_equal(p.initiator.pdus[0].pdu.max_cmd_sn, 64);
	server.respond_late = true;
	one_read(&p, 4096);
	dm_conn_get_info(p.initiator.conn, &info);
	assert_int_equal(info.pdus_received, 3);
	assert_int_equal(p.initiator.pdus[1].pdu.response.exp_data_sn, 1);
	kit_pair_release(&p);
}

/* The target's task is deallocated when its read has left in part. */
static void abort_in_mid_read(bool responded, int expected_status)
{
	struct iscsi_params params = kit_params();
	struct dm_transfer t = {.data = store, .length = 262144, .done = served};
	struct dm_task task = {.read = {.data = memory, .length = 262144}};
	struct server server = {.pending = 2};
	struct kit_pair p;

	store_fill();
	kit_pair_init(&p, &params, 4096);
	command_send(&p.initiator, &task, 1);
	kit_settle(p.loop);
	p.target.arg = &server;
	p.target.pdus[0].task->owner = &p.target;
	assert_int_equal(dm_put_data(p.target.conn, p.target.pdus[0].task, &t), 0);
	if (responded)
		respond(&p.target, p.target.pdus[0].task, 1);
	for (int i = 0; i < 5; i++)
		loop_turn(p.loop, 0);
	assert_int_equal(p.target.done_count, 0);
	dm_deallocate_task_resources(p.target.conn, p.target.pdus[0].task);
	kit_settle(p.loop);
	assert_int_equal(p.target.done_count, 1);
	assert_int_equal(p.target.done_status, expected_status);
	assert_int_equal(p.initiator.count, responded ? 1 : 0);
	assert_int_equal(task.received == 262144, responded);
	kit_pair_release(&p);
}

static void an_aborted_read_stops_unless_its_status_is_on_its_way(void **state)
{
	(void)state;
	abort_in_mid_read(false, -ECANCELED);
	abort_in_mid_read(true, 0);
}

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

static void keys_are_the_movers_own(void **state)
{
	struct iscsi_params offer = kit_params();
	struct kit_pair p;

	(void)state;
	kit_pair_init(&p, NULL, 0);
	offer.max_recv_data_segment_length = 1;
	offer.header_digest = 0;
	dm_declare_keys(p.initiator.conn, &offer);
	assert_int_equal(offer.max_recv_data_segment_length, 262144);
	assert_int_equal(offer.header_digest, ISCSI_DIGEST_NONE);
	assert_int_equal(offer.max_burst_length, 262144);
	kit_pair_release(&p);
}

static void what_was_queued_leaves_before_an_orderly_end(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_IN, .itt = 9};
	struct kit_pair p;

	(void)state;
	kit_pair_init(&p, &params, 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(dm_send_control(p.target.conn, &nop, NULL, NULL, NULL), 0);
	dm_terminate(p.target.conn, true);
	dm_terminate(p.target.conn, true);
	assert_int_equal(dm_send_control(p.target.conn, &nop, NULL, NULL, NULL), -ENOTCONN);
	kit_settle(p.loop);
	assert_int_equal(p.initiator.count, 100);
	assert_int_equal(p.initiator.terminated, 1);
	assert_int_equal(p.initiator.error, 0);
	assert_int_equal(p.target.error, 0);
	kit_pair_release(&p);
}

static void transfers_under_way_end_before_the_connection(void **state)
{
	struct iscsi_params params = kit_params();
	struct server server = {.respond_late = true};
	struct dm_task task = {.read = {.data = memory, .length = STORE_SIZE}};
	struct kit_pair p;

	(void)state;
	kit_pair_init(&p, &params, 4096);
	p.target.react = serve;
	p.target.arg = &server;
	command_send(&p.initiator, &task, 1);
	for (int i = 0; i < 20; i++)
		loop_turn(p.loop, 0);
	assert_int_equal(p.target.done_count, 0);
	assert_in_range(task.received, 1, STORE_SIZE - 1);
	dm_terminate(p.initiator.conn, false);
	kit_settle(p.loop);
	assert_int_equal(p.target.done_count, 1);
	assert_true(p.target.done_status < 0);
	assert_true(p.target.error < 0);
	kit_pair_release(&p);
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_writes_of_every_length),
		cmocka_unit_test(a_socket_that_takes_little_at_a_time),
		cmocka_unit_test(digests_small_segments_and_several_r2ts),
		cmocka_unit_test(good_status_travels_in_the_last_data_in),
		cmocka_unit_test(an_aborted_read_stops_unless_its_status_is_on_its_way),
		cmocka_unit_test(control_pdus_arrive_as_they_were_sent),
		cmocka_unit_test(keys_are_the_movers_own),
		cmocka_unit_test(what_was_queued_leaves_before_an_orderly_end),
		cmocka_unit_test(transfers_under_way_end_before_the_connection),
		cmocka_unit_test(memory_of_a_deallocated_read_is_not_touched),
		cmocka_unit_test(memory_of_a_deallocated_write_is_not_sent),
		cmocka_unit_test(immediate_data_of_a_deallocated_write_is_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

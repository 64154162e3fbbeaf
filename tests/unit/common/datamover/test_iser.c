/* The iSER mover (RFC 7145), both roles: two movers over the memory provider, and raw peers that
 * say what no honest one would. */
#include "tests/kit/iser_ends.h"

static const struct iser_mover_config allow = {.allow_remote_invalidate = true};
static const struct iser_mover_config forbid = {.allow_remote_invalidate = false};
static const struct iser_header plain = {.opcode = ISER_CONTROL};

struct transfer {
	struct dm_transfer dm;
	unsigned done;
	int status;
};

static void transfer_done(struct dm_transfer *t, int status)
{
	struct transfer *x = container_of(t, struct transfer, dm);

	x->done++;
	x->status = status;
}

static struct transfer transfer_of(struct fixture *f, uint32_t offset, uint32_t length)
{
	return (struct transfer){.dm = {.data = f->far + offset,
					 .length = length,
					 .offset = offset,
					 .region = f->far_region,
					 .done = transfer_done}};
}

static void fill(uint8_t *p, uint32_t seed)
{
	for (uint32_t i = 0; i < IO_SIZE; i++)
		p[i] = (uint8_t)(i * 31 + (i >> 8) + seed);
}

static struct iscsi_pdu command_of(const struct dm_task *t, uint32_t itt)
{
	return (struct iscsi_pdu){.opcode = ISCSI_SCSI_COMMAND,
		.final = true,
		.itt = itt,
		.command = {.read = t->read.length > 0,
			.write = t->write.length > 0,
			.attribute = ISCSI_ATTR_SIMPLE,
			.expected_length = t->write.length ? t->write.length : t->read.length}};
}

static void send_command(struct fixture *f, struct dm_task *task, uint32_t itt)
{
	struct iscsi_pdu pdu = command_of(task, itt);

	assert_int_equal(dm_send_control(f->i.conn, &pdu, NULL, NULL, task), 0);
	fixture_turn(f);
	assert_int_equal(f->t.pdu.itt, itt);
	assert_non_null(f->t.task);
}

static void send_response(struct fixture *f, uint32_t itt, struct dm_task *task)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_RESPONSE, .final = true, .itt = itt};

	assert_int_equal(dm_send_control(f->t.conn, &pdu, NULL, NULL, task), 0);
}

/* ---- sessions ---- */

static void pdus_and_data_cross_in_login(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct iscsi_pdu pdu = {.opcode = ISCSI_TEXT_REQUEST, .itt = 5, .data_length = 8192};

	(void)state;
	fill(f->near, 1);
	fixture_session(f, &params);
	assert_int_equal(dm_send_control(f->i.conn, &pdu, NULL, f->near, NULL), 0);
	fixture_turn(f);
	assert_int_equal(f->t.pdu.opcode, ISCSI_TEXT_REQUEST);
	assert_int_equal(f->t.pdu.data_length, 8192);
	assert_memory_equal(f->t.data, f->near, 8192);
	fixture_free(f);
}

static void keys_are_rdma_without_digests(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params(), offer;

	(void)state;
	fixture_session(f, &params);
	memset(&offer, 0, sizeof(offer));
	offer.header_digest = offer.data_digest = ISCSI_DIGEST_CRC32C;
	dm_declare_keys(f->t.conn, &offer);
	assert_true(offer.rdma_extensions);
	assert_true(offer.initial_r2t);
	assert_int_equal(offer.header_digest, ISCSI_DIGEST_NONE);
	assert_int_equal(offer.data_digest, ISCSI_DIGEST_NONE);
	assert_int_equal(offer.target_recv_data_segment_length, 8192);
	assert_int_equal(offer.initiator_recv_data_segment_length, 8192);
	fixture_free(f);
}

static void read_is_written_before_its_response_with_one_completion(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, IO_SIZE, f->near_region}};
	struct transfer a, b;
	struct memory_rdma_counts before, after;

	(void)state;
	fill(f->far, 2);
	fixture_session(f, &params);
	send_command(f, &task, 10);
	assert_true(f->t.task->can_put);
	assert_false(f->t.task->can_get);
	before = memory_rdma_counts(f->provider);
	a = transfer_of(f, 0, 4096);
	b = transfer_of(f, 4096, IO_SIZE - 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), 0);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &b.dm), 0);
	send_response(f, 10, f->t.task);
	assert_int_equal(a.done, 0);
	fixture_turn(f);
	after = memory_rdma_counts(f->provider);
	assert_int_equal(after.writes - before.writes, 2);
	assert_int_equal(after.unsignalled - before.unsignalled, 2);
	assert_int_equal(after.flushes - before.flushes, 1);
	assert_int_equal(a.done, 1);
	assert_int_equal(b.done, 1);
	assert_int_equal(b.status, 0);
	assert_ptr_equal(f->i.task, &task);
	assert_int_equal(task.received, IO_SIZE);
	assert_memory_equal(f->near, f->far, IO_SIZE);
	dm_deallocate_task_resources(f->t.conn, f->t.task);
	dm_deallocate_task_resources(f->i.conn, &task);
	assert_int_equal(memory_rdma_counts(f->provider).tags, 0);
	fixture_free(f);
}

static void put_alone_is_done_without_a_response(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, IO_SIZE, f->near_region}};
	struct transfer a;

	(void)state;
	fixture_session(f, &params);
	send_command(f, &task, 10);
	a = transfer_of(f, 0, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), 0);
	fixture_turn(f);
	assert_int_equal(a.done, 1);
	assert_int_equal(memory_rdma_counts(f->provider).unsignalled, 0);
	fixture_free(f);
}

static void long_write_is_read_by_the_target(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.write = {f->near, IO_SIZE, f->near_region}};
	struct transfer a, b;

	(void)state;
	fill(f->near, 3);
	fixture_session(f, &params);
	send_command(f, &task, 11);
	assert_int_equal(task.immediate_length, 0);
	assert_true(f->t.task->can_get);
	a = transfer_of(f, 0, 1024);
	b = transfer_of(f, 1024, IO_SIZE - 1024);
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &b.dm), 0);
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &a.dm), 0);
	fixture_turn(f);
	assert_int_equal(a.done + b.done, 2);
	assert_memory_equal(f->near, f->far, IO_SIZE);
	dm_deallocate_task_resources(f->t.conn, f->t.task);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void small_write_goes_whole_with_its_command(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.write = {f->near, 8192, f->near_region}};

	(void)state;
	fill(f->near, 4);
	fixture_session(f, &params);
	send_command(f, &task, 12);
	assert_int_equal(task.immediate_length, 8192);
	assert_int_equal(f->t.task->immediate_length, 8192);
	assert_false(f->t.task->can_get); /* no tag where nothing is left */
	assert_memory_equal(f->t.data, f->near, 8192);
	assert_int_equal(memory_rdma_counts(f->provider).tags, 0);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void immediate_data_keeps_to_what_was_negotiated(void **state)
{
	static const struct {
		bool immediate;
		uint32_t segment, burst, length, expected;
	} rows[] = {
		{true, 262144, 65536, 8192, 8192}, /* LIO echoes any number */
		{true, 262144, 65536, 8193, 0},
		{true, 512, 65536, 512, 512}, /* SCST */
		{true, 512, 65536, 1024, 0},
		{true, 8192, 4096, 8192, 0},
		{false, 8192, 65536, 512, 0},
	};

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(rows); n++) {
		struct fixture *f = fixture_new(&allow);
		struct iscsi_params params = fixture_params();
		struct dm_task task = {.write = {f->near, rows[n].length, f->near_region}};

		params.immediate_data = rows[n].immediate;
		params.target_recv_data_segment_length = rows[n].segment;
		params.first_burst_length = rows[n].burst;
		fixture_session(f, &params);
		send_command(f, &task, 13);
		assert_int_equal(f->t.task->immediate_length, rows[n].expected);
		assert_int_equal(f->t.task->can_get, rows[n].expected == 0);
		dm_deallocate_task_resources(f->i.conn, &task);
		fixture_free(f);
	}
}

static void buffer_outside_any_region_is_registered_for_its_task(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	uint8_t local[512] = {0};
	struct dm_task task = {.read = {local, sizeof(local), NULL}};
	struct transfer a;
	unsigned regions;

	(void)state;
	fill(f->far, 5);
	fixture_session(f, &params);
	regions = memory_rdma_counts(f->provider).regions;
	send_command(f, &task, 14);
	assert_int_equal(memory_rdma_counts(f->provider).regions, regions + 1);
	a = transfer_of(f, 0, sizeof(local));
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), 0);
	send_response(f, 14, f->t.task);
	fixture_turn(f);
	assert_memory_equal(local, f->far, sizeof(local));
	dm_deallocate_task_resources(f->i.conn, &task);
	assert_int_equal(memory_rdma_counts(f->provider).regions, regions);
	fixture_free(f);
}

static void response_takes_the_tag_away_where_both_allow_it(void **state)
{
	static const struct iser_mover_config *configs[] = {&allow, &forbid};

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		struct fixture *f = fixture_new(configs[n]);
		struct iscsi_params params = fixture_params();
		struct dm_task task = {.write = {f->near, IO_SIZE, f->near_region}};

		fixture_session(f, &params);
		send_command(f, &task, 15);
		send_response(f, 15, f->t.task);
		fixture_turn(f);
		assert_int_equal(memory_rdma_counts(f->provider).invalidations, n == 0);
		assert_int_equal(memory_rdma_counts(f->provider).tags, n == 1);
		dm_deallocate_task_resources(f->i.conn, &task);
		assert_int_equal(memory_rdma_counts(f->provider).tags, 0);
		fixture_free(f);
	}
}

static void deallocated_task_is_out_of_reach(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, 4096, f->near_region}};
	struct transfer a;

	(void)state;
	fill(f->far, 6);
	fixture_session(f, &params);
	send_command(f, &task, 16);
	dm_deallocate_task_resources(f->i.conn, &task);
	dm_deallocate_task_resources(f->i.conn, &task); /* harmless */
	a = transfer_of(f, 0, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), 0);
	fixture_turn(f);
	assert_int_equal(a.done, 1);
	assert_int_equal(a.status, -EACCES);
	assert_int_equal(f->near[1], 0);
	assert_int_equal(f->t.terminated, 1);
	assert_int_equal(f->i.terminated, 1);
	fixture_free(f);
}

static void transfers_of_a_released_command_are_cancelled(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, IO_SIZE, f->near_region}};
	struct transfer posted, waiting;

	(void)state;
	fixture_session(f, &params);
	send_command(f, &task, 17);
	memory_rdma_hold(memory_rdma_newest(f->provider, false), true);
	posted = transfer_of(f, 0, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &posted.dm), 0);
	fixture_turn(f);
	waiting = transfer_of(f, 4096, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &waiting.dm), 0);
	dm_deallocate_task_resources(f->t.conn, f->t.task);
	assert_int_equal(waiting.done, 0); /* from the loop, never from inside the call */
	fixture_turn(f);
	assert_int_equal(waiting.done, 1);
	assert_int_equal(waiting.status, -ECANCELED);
	assert_int_equal(posted.done, 0); /* still in the provider's hands */
	memory_rdma_hold(memory_rdma_newest(f->provider, false), false);
	fixture_turn(f);
	assert_int_equal(posted.done, 1);
	assert_int_equal(posted.status, -ECANCELED);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void transfers_out_of_bounds_are_refused(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, 4096, f->near_region}};
	struct transfer a;

	(void)state;
	fixture_session(f, &params);
	send_command(f, &task, 18);
	a = transfer_of(f, 1, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), -EINVAL);
	a = transfer_of(f, 0, 4096);
	a.dm.offset = UINT32_MAX;
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), -EINVAL);
	a.dm.offset = 0;
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &a.dm), -EINVAL); /* a read */
	a.dm.length = 0;
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &a.dm), -EINVAL);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void loss_of_the_connection_tells_every_transfer_then_both_ends_once(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, IO_SIZE, NULL}};
	struct transfer posted, waiting;

	(void)state;
	fixture_session(f, &params);
	send_command(f, &task, 19);
	memory_rdma_hold(memory_rdma_newest(f->provider, false), true);
	posted = transfer_of(f, 0, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &posted.dm), 0);
	send_response(f, 19, f->t.task);
	fixture_turn(f);
	waiting = transfer_of(f, 4096, 4096);
	assert_int_equal(dm_put_data(f->t.conn, f->t.task, &waiting.dm), 0);
	memory_rdma_break(memory_rdma_newest(f->provider, false));
	fixture_turn(f);
	assert_int_equal(posted.status, -ECANCELED);
	assert_int_equal(posted.done, 1);
	assert_int_equal(waiting.status, -ECANCELED);
	assert_int_equal(waiting.done, 1);
	assert_int_equal(f->t.terminated, 1);
	assert_int_equal(f->t.error, -ECONNRESET);
	assert_int_equal(f->i.terminated, 1);
	fixture_free(f);
}

static void graceful_end_lets_the_last_pdu_leave(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct iscsi_pdu logout = {.opcode = ISCSI_LOGOUT_RESPONSE, .final = true, .itt = 20};
	struct dm_conn *conn;

	(void)state;
	fixture_session(f, &params);
	conn = f->t.conn;
	assert_int_equal(dm_send_control(conn, &logout, NULL, NULL, NULL), 0);
	dm_terminate(conn, true);
	dm_terminate(conn, true); /* harmless */
	assert_int_equal(dm_send_control(conn, &logout, NULL, NULL, NULL), -ENOTCONN);
	assert_int_equal(f->t.terminated, 0);
	fixture_turn(f);
	assert_int_equal(f->i.pdu.opcode, ISCSI_LOGOUT_RESPONSE);
	assert_int_equal(f->t.terminated, 1);
	assert_int_equal(f->t.error, 0);
	assert_int_equal(f->i.terminated, 1);
	assert_int_equal(f->i.error, 0);
	fixture_free(f);
}

static void graceful_end_takes_at_most_a_second(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct iscsi_pdu logout = {.opcode = ISCSI_LOGOUT_RESPONSE, .final = true, .itt = 21};

	(void)state;
	fixture_session(f, &params);
	memory_rdma_hold(memory_rdma_newest(f->provider, false), true);
	assert_int_equal(dm_send_control(f->t.conn, &logout, NULL, NULL, NULL), 0);
	dm_terminate(f->t.conn, true);
	fixture_turn(f);
	assert_int_equal(f->t.terminated, 0);
	loop_advance(f->loop, LOOP_NS_PER_S + 1);
	fixture_turn(f);
	assert_int_equal(f->t.terminated, 1);
	assert_int_equal(f->t.error, 0);
	fixture_free(f);
}

static void more_than_the_send_queue_holds_waits_its_turn(void **state)
{
	const struct iser_mover_config small = {.queue_depth = 1};
	struct fixture *f = fixture_new(&small);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.read = {f->near, IO_SIZE, f->near_region}};
	struct transfer x[64];
	unsigned done = 0;

	(void)state;
	fill(f->far, 7);
	fixture_session(f, &params);
	send_command(f, &task, 22);
	for (uint32_t n = 0; n < 64; n++) {
		x[n] = transfer_of(f, n * 1024, 1024);
		assert_int_equal(dm_put_data(f->t.conn, f->t.task, &x[n].dm), 0);
	}
	send_response(f, 22, f->t.task);
	fixture_turn(f);
	for (uint32_t n = 0; n < 64; n++)
		done += x[n].done == 1 && x[n].status == 0;
	assert_int_equal(done, 64);
	assert_int_equal(f->i.pdu.opcode, ISCSI_SCSI_RESPONSE);
	assert_memory_equal(f->near, f->far, IO_SIZE);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void target_sends_no_more_data_than_linux_has_room_for(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_IN, .final = true, .data_length = 4096};
	struct iscsi_pdu response = {.opcode = ISCSI_SCSI_RESPONSE, .data_length = 254};
	uint8_t sense[254] = {0, 252};

	(void)state;
	fixture_session(f, &params);
	assert_int_equal(dm_send_control(f->t.conn, &nop, NULL, f->far, NULL), 0);
	fixture_turn(f);
	assert_int_equal(f->i.pdu.data_length, 128);
	assert_int_equal(dm_send_control(f->t.conn, &response, NULL, sense, NULL), 0);
	fixture_turn(f);
	assert_int_equal(f->i.pdu.data_length, 128);
	assert_int_equal(get_be16(f->i.data), 126);
	nop.opcode = ISCSI_TEXT_RESPONSE;
	assert_int_equal(dm_send_control(f->t.conn, &nop, NULL, f->far, NULL), 0);
	fixture_turn(f);
	assert_int_equal(f->i.pdu.data_length, 4096);
	fixture_free(f);
}

static void long_cdb_travels_in_an_ahs(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct dm_task task = {.write = {f->near, 4096, f->near_region}};
	struct iscsi_pdu pdu = command_of(&task, 23);
	uint8_t ahs[248];

	(void)state;
	memset(ahs, 0x5a, sizeof(ahs));
	fixture_session(f, &params);
	pdu.ahs_words = sizeof(ahs) / 4;
	assert_int_equal(dm_send_control(f->i.conn, &pdu, ahs, NULL, &task), 0);
	fixture_turn(f);
	assert_memory_equal(f->t.ahs, ahs, sizeof(ahs));
	assert_int_equal(f->t.task->immediate_length, 4096);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void info_tells_mover_and_provider(void **state)
{
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct dm_conn_info info;

	(void)state;
	fixture_session(f, &params);
	dm_conn_get_info(f->i.conn, &info);
	assert_string_equal(info.mover, "iser");
	assert_string_equal(info.provider, "memory");
	assert_int_equal(info.pdus_sent, 1);
	assert_int_equal(info.pdus_received, 1);
	assert_true(info.queue_depth >= 128);
	fixture_free(f);
}

static void every_allocation_of_a_session_may_fail(void **state)
{
	const struct iser_mover_config small = {.queue_depth = 1};
	struct iscsi_params params = fixture_params();

	(void)state;
	for (unsigned long n = 1; n < 40; n++) {
		struct fixture *f = fixture_new(&small);
		struct end *e = &f->i;

		alloc_fail_nth(n);
		if (fixture_connect(f) == 0) {
			fixture_turn(f);
			if (e->conn && e->connected)
				dm_allocate_connection_resources(e->conn, &params);
			if (f->t.conn)
				dm_allocate_connection_resources(f->t.conn, &params);
		}
		alloc_fail_nth(0);
		fixture_free(f);
	}
}

/* ---- raw peers ---- */

static void private_data_is_always_sent(void **state)
{
	struct fixture *f = fixture_new(&allow);

	(void)state;
	raw_connect(f, NULL, 0);
	assert_true(f->raw.theirs.length >= 4);
	assert_memory_equal(f->raw.theirs.bytes, "\x80\0\0\0", 4);
	fixture_free(f);
	f = fixture_new(&forbid);
	raw_connect(f, NULL, 0);
	assert_memory_equal(f->raw.theirs.bytes, "\xc0\0\0\0", 4);
	fixture_free(f);
}

/* A raw initiator, logged in, with one read command outstanding; tells whether the response came
 * with an invalidation. */
static bool raw_is_invalidated(const void *private_data, size_t length)
{
	static const struct iser_header header = {.opcode = ISER_CONTROL, .read_valid = true};
	struct iscsi_pdu login = {.opcode = ISCSI_LOGIN_REQUEST, .immediate = true};
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND,
		.itt = 30,
		.final = true,
		.command = {.read = true, .expected_length = 512}};
	struct fixture *f = fixture_new(&allow);
	struct iscsi_params params = fixture_params();
	struct iser_header h = header;
	uint64_t address;
	bool invalidated;

	raw_connect(f, private_data, length);
	raw_send_pdu(f, &plain, &login, NULL);
	assert_int_equal(dm_allocate_connection_resources(f->t.conn, &params), 0);
	assert_int_equal(dm_enable(f->t.conn, &params), 0);
	assert_int_equal(rdma_expose(f->raw.conn, f->raw.region, f->raw.memory, 512,
				 RDMA_REMOTE_WRITE, &h.read_stag, &address),
		0);
	h.read_address = address;
	raw_send_pdu(f, &h, &command, NULL);
	assert_non_null(f->t.task);
	send_response(f, 30, f->t.task);
	fixture_turn(f);
	assert_int_equal(f->raw.received, 1);
	invalidated = f->raw.last_invalidated;
	fixture_free(f);
	return invalidated;
}

static void silent_private_data_is_not_taken_for_consent(void **state)
{
	static const uint8_t zeros[56], linux_padded[56] = {0x80};

	(void)state;
	assert_false(raw_is_invalidated(NULL, 0));
	assert_false(raw_is_invalidated(zeros, sizeof(zeros)));
	assert_false(raw_is_invalidated("\xc0\0\0\0", 4));
	assert_true(raw_is_invalidated("\x80\0\0\0", 4));
	assert_true(raw_is_invalidated(linux_padded, sizeof(linux_padded)));
}

static void expect_refused(const void *bytes, size_t length, const char *reason)
{
	struct fixture *f = fixture_new(&allow);

	raw_connect(f, NULL, 0);
	raw_send(f, bytes, length);
	assert_int_equal(f->t.pdus, 0);
	assert_int_equal(f->t.terminated, 1);
	assert_int_equal(f->t.error, -EPROTO);
	assert_string_equal(f->t.reason, reason);
	assert_int_equal(f->raw.closed, 1);
	fixture_free(f);
}

static void messages_shorter_than_their_headers_are_refused(void **state)
{
	static const uint8_t bytes[76] = {0x10};

	(void)state;
	expect_refused(bytes, 0, "a message without an iSER header");
	expect_refused(bytes, 1, "a message without an iSER header");
	expect_refused(bytes, 27, "a message without an iSER header");
	expect_refused(bytes, 28, "a PDU shorter than its headers");
	expect_refused(bytes, 75, "a PDU shorter than its headers");
}

static void headers_alone_are_a_pdu(void **state)
{
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_OUT, .itt = 31, .final = true};
	struct fixture *f = fixture_new(&allow);

	(void)state;
	raw_connect(f, NULL, 0);
	raw_send_pdu(f, &plain, &nop, NULL);
	assert_int_equal(f->t.pdus, 1);
	assert_int_equal(f->t.pdu.itt, 31);
	fixture_free(f);
}

static void unknown_iser_opcode_and_hello_reply_are_refused(void **state)
{
	uint8_t bytes[76] = {0x40};

	(void)state;
	expect_refused(bytes, sizeof(bytes), "a message without an iSER header");
	bytes[0] = 0x30;
	expect_refused(bytes, sizeof(bytes), "an iSER HelloReply that nobody asked for");
}

static void lengths_beyond_what_was_received_are_refused(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_NOP_OUT, .final = true, .data_length = 100};
	uint8_t bytes[1024] = {0};

	(void)state;
	raw_compose(bytes, &plain, &pdu, NULL);
	expect_refused(bytes, 76, "a data segment longer than the PDU");
	expect_refused(bytes, 76 + 99, "a data segment longer than the PDU");
	expect_refused(bytes, 76 + 105, "a PDU longer than its header says");
	pdu.data_length = 0xffffff;
	raw_compose(bytes, &plain, &pdu, NULL);
	expect_refused(bytes, sizeof(bytes), "a data segment longer than the PDU");
	pdu.data_length = 0;
	pdu.ahs_words = 255;
	raw_compose(bytes, &plain, &pdu, NULL);
	expect_refused(bytes, 76 + 64, "an AHS longer than the PDU");
}

static void padding_may_be_there_or_not(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_LOGIN_REQUEST, .immediate = true, .data_length = 5};
	uint8_t bytes[128] = {0};
	struct fixture *f = fixture_new(&allow);

	(void)state;
	raw_compose(bytes, &plain, &pdu, "abcde");
	raw_connect(f, NULL, 0);
	raw_send(f, bytes, 76 + 5);
	raw_send(f, bytes, 76 + 8);
	assert_int_equal(f->t.pdus, 2);
	assert_int_equal(f->t.pdu.data_length, 5);
	fixture_free(f);
}

static struct fixture *raw_session(void)
{
	struct iscsi_pdu login = {.opcode = ISCSI_LOGIN_REQUEST, .immediate = true};
	struct iscsi_params params = fixture_params();
	struct fixture *f = fixture_new(&allow);

	raw_connect(f, NULL, 0);
	raw_send_pdu(f, &plain, &login, NULL);
	assert_int_equal(dm_allocate_connection_resources(f->t.conn, &params), 0);
	assert_int_equal(dm_enable(f->t.conn, &params), 0);
	return f;
}

/* libiscsi 1.19, as Debian 12 ships it. */
static void declared_immediate_data_that_never_came_is_fetched(void **state)
{
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND,
		.itt = 32,
		.final = true,
		.data_length = 4096,
		.command = {.write = true, .expected_length = 4096}};
	struct iser_header h = {.opcode = ISER_CONTROL, .write_valid = true};
	struct fixture *f = raw_session();
	struct transfer a = transfer_of(f, 0, 4096);

	(void)state;
	memset(f->raw.memory, 0x77, 4096);
	assert_int_equal(rdma_expose(f->raw.conn, f->raw.region, f->raw.memory, 4096,
				 RDMA_REMOTE_READ, &h.write_stag, &h.write_address),
		0);
	raw_send_pdu(f, &h, &command, NULL);
	assert_non_null(f->t.task);
	assert_int_equal(f->t.task->immediate_length, 0);
	assert_int_equal(f->t.pdu.data_length, 0);
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &a.dm), 0);
	fixture_turn(f);
	assert_int_equal(a.status, 0);
	assert_int_equal(a.done, 1);
	assert_int_equal(f->far[4095], 0x77);
	fixture_free(f);
}

/* ib_iser, 64 KiB with 8 KiB immediate: the address is that of the first byte that is not here. */
static void write_address_already_counts_the_immediate_data(void **state)
{
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND,
		.itt = 33,
		.final = true,
		.data_length = 8192,
		.command = {.write = true, .expected_length = 65536}};
	struct iser_header h = {.opcode = ISER_CONTROL, .write_valid = true};
	struct fixture *f = raw_session();
	struct transfer a = transfer_of(f, 8192, 65536 - 8192);
	uint8_t *data = f->raw.memory;

	(void)state;
	fill(data, 9);
	assert_int_equal(rdma_expose(f->raw.conn, f->raw.region, data, 65536, RDMA_REMOTE_READ,
				 &h.write_stag, &h.write_address),
		0);
	h.write_address += 8192;
	raw_send_pdu(f, &h, &command, data);
	assert_int_equal(f->t.task->immediate_length, 8192);
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &a.dm), 0);
	fixture_turn(f);
	assert_int_equal(a.status, 0);
	assert_memory_equal(f->far + 8192, data + 8192, 65536 - 8192);
	a.dm.offset = 4096;
	assert_int_equal(dm_get_data(f->t.conn, f->t.task, &a.dm), -EINVAL);
	fixture_free(f);
}

static void immediate_data_that_no_write_expects_fails_the_connection(void **state)
{
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND,
		.itt = 34,
		.final = true,
		.data_length = 512,
		.command = {.write = true, .expected_length = 256}};
	uint8_t data[512] = {0};

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		struct fixture *f = raw_session();

		raw_send_pdu(f, &plain, &command, data);
		assert_int_equal(f->t.error, -EPROTO);
		fixture_free(f);
		command.command.write = false;
		command.command.expected_length = 512;
	}
}

static void data_out_fails_the_target(void **state)
{
	struct iscsi_pdu data_out = {.opcode = ISCSI_DATA_OUT, .final = true};
	struct fixture *f = raw_session();

	(void)state;
	raw_send_pdu(f, &plain, &data_out, NULL);
	assert_int_equal(f->t.error, -EPROTO);
	fixture_free(f);
}

static void hello_is_answered_by_hello_reply_alone(void **state)
{
	static const uint8_t hello[28] = {0x20, 0xaa, 0x00, 0x08};
	static const uint8_t expected[28] = {0x30, 0xaa, 0x00, 0x08};
	struct fixture *f = fixture_new(&allow);

	(void)state;
	raw_connect(f, NULL, 0);
	raw_send(f, hello, sizeof(hello));
	assert_int_equal(f->t.pdus, 0);
	assert_int_equal(f->raw.received, 1);
	assert_int_equal(f->raw.last_length, 28);
	assert_memory_equal(f->raw.last, expected, 28);
	fixture_free(f);
}

static void commands_beyond_every_window_fail_the_connection(void **state)
{
	struct iscsi_pdu command = {.opcode = ISCSI_SCSI_COMMAND, .final = true};
	struct fixture *f = raw_session();
	unsigned n = 0;

	(void)state;
	while (f->raw.conn && n++ < 1000)
		raw_send_pdu(f, &plain, &command, NULL);
	assert_true(n > 128 && n < 1000);
	assert_string_equal(f->t.reason, "more commands than the command window allows");
	fixture_free(f);
}

/* ---- a raw target ---- */

static struct fixture *raw_target(const struct iser_mover_config *config)
{
	struct fixture *f = fixture_new(config);
	struct iscsi_params params = fixture_params();
	struct iscsi_pdu login = {.opcode = ISCSI_LOGIN_RESPONSE};

	raw_listen(f, NULL, 0);
	assert_int_equal(fixture_connect(f), 0);
	fixture_turn(f);
	assert_int_equal(f->i.connected, 1);
	assert_int_equal(dm_allocate_connection_resources(f->i.conn, &params), 0);
	raw_send_pdu(f, &plain, &login, NULL);
	assert_int_equal(dm_enable(f->i.conn, &params), 0);
	return f;
}

/* The initiator's read of 4 KiB at f->near; its header as the target got it. */
static struct iser_header raw_target_command(struct fixture *f, struct dm_task *task, uint32_t itt)
{
	struct iscsi_pdu pdu;
	struct iser_header h;

	*task = (struct dm_task){.read = {f->near, 4096, f->near_region}};
	pdu = command_of(task, itt);
	assert_int_equal(dm_send_control(f->i.conn, &pdu, NULL, NULL, task), 0);
	fixture_turn(f);
	assert_int_equal(f->raw.last_length, 76);
	assert_int_equal(iser_header_decode(f->raw.last, &h), 0);
	assert_true(h.read_valid);
	return h;
}

static void raw_respond(struct fixture *f, uint32_t itt, uint32_t stag)
{
	struct iscsi_pdu response = {.opcode = ISCSI_SCSI_RESPONSE, .final = true, .itt = itt};

	f->raw.send.invalidate = true;
	f->raw.send.invalidate_stag = stag;
	raw_send_pdu(f, &plain, &response, NULL);
}

static void invalidation_of_the_task_itself_is_taken(void **state)
{
	struct fixture *f = raw_target(&allow);
	struct dm_task task;
	struct iser_header h = raw_target_command(f, &task, 40);

	(void)state;
	raw_respond(f, 40, h.read_stag);
	assert_int_equal(f->i.terminated, 0);
	assert_ptr_equal(f->i.task, &task);
	dm_deallocate_task_resources(f->i.conn, &task);
	fixture_free(f);
}

static void invalidation_of_another_task_fails_the_connection(void **state)
{
	struct fixture *f = raw_target(&allow);
	struct dm_task one, two;
	struct iser_header h;

	(void)state;
	raw_target_command(f, &one, 41);
	h = raw_target_command(f, &two, 42);
	raw_respond(f, 41, h.read_stag);
	assert_int_equal(f->i.terminated, 1);
	assert_int_equal(f->i.error, -EPROTO);
	fixture_free(f);
}

static void invalidation_for_an_unknown_task_fails_the_connection(void **state)
{
	struct fixture *f = raw_target(&allow);
	struct dm_task task;
	struct iser_header h = raw_target_command(f, &task, 43);

	(void)state;
	raw_respond(f, 999, h.read_stag);
	assert_int_equal(f->i.error, -EPROTO);
	fixture_free(f);
}

static void invalidation_that_was_not_allowed_fails_the_connection(void **state)
{
	struct fixture *f = raw_target(&forbid);
	struct dm_task task;
	struct iser_header h = raw_target_command(f, &task, 44);

	(void)state;
	raw_respond(f, 44, h.read_stag);
	assert_int_equal(f->i.error, -EPROTO);
	fixture_free(f);
}

static void response_for_an_unknown_task_comes_without_one(void **state)
{
	struct iscsi_pdu response = {.opcode = ISCSI_SCSI_RESPONSE, .final = true, .itt = 777};
	struct fixture *f = raw_target(&allow);

	(void)state;
	raw_send_pdu(f, &plain, &response, NULL);
	assert_int_equal(f->i.pdu.itt, 777);
	assert_null(f->i.task);
	assert_int_equal(f->i.terminated, 0);
	fixture_free(f);
}

static void data_in_and_r2t_and_hello_fail_the_initiator(void **state)
{
	static const uint8_t first[] = {ISCSI_DATA_IN, ISCSI_R2T};
	static const uint8_t hello[28] = {0x20, 0xaa};
	struct fixture *f;

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(first); n++) {
		struct iscsi_pdu pdu = {.opcode = first[n], .final = true};

		f = raw_target(&allow);
		raw_send_pdu(f, &plain, &pdu, NULL);
		assert_int_equal(f->i.error, -EPROTO);
		fixture_free(f);
	}
	f = raw_target(&allow);
	raw_send(f, hello, sizeof(hello));
	assert_int_equal(f->i.error, -EPROTO);
	fixture_free(f);
}

static void message_longer_than_any_receive_fails_the_connection(void **state)
{
	static const uint8_t bytes[RAW_SIZE] = {0x10};
	struct fixture *f = fixture_new(&allow);

	(void)state;
	raw_connect(f, NULL, 0);
	raw_send(f, bytes, 9000);
	assert_int_equal(f->t.terminated, 1);
	assert_true(f->t.error < 0);
	fixture_free(f);
}

static void refused_connection_is_told_once(void **state)
{
	struct fixture *f = fixture_new(&allow);

	(void)state;
	memory_rdma_listen(f->provider, NULL);
	assert_int_equal(fixture_connect(f), -ECONNREFUSED);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pdus_and_data_cross_in_login),
		cmocka_unit_test(keys_are_rdma_without_digests),
		cmocka_unit_test(read_is_written_before_its_response_with_one_completion),
		cmocka_unit_test(put_alone_is_done_without_a_response),
		cmocka_unit_test(long_write_is_read_by_the_target),
		cmocka_unit_test(small_write_goes_whole_with_its_command),
		cmocka_unit_test(immediate_data_keeps_to_what_was_negotiated),
		cmocka_unit_test(buffer_outside_any_region_is_registered_for_its_task),
		cmocka_unit_test(response_takes_the_tag_away_where_both_allow_it),
		cmocka_unit_test(deallocated_task_is_out_of_reach),
		cmocka_unit_test(transfers_of_a_released_command_are_cancelled),
		cmocka_unit_test(transfers_out_of_bounds_are_refused),
		cmocka_unit_test(loss_of_the_connection_tells_every_transfer_then_both_ends_once),
		cmocka_unit_test(graceful_end_lets_the_last_pdu_leave),
		cmocka_unit_test(graceful_end_takes_at_most_a_second),
		cmocka_unit_test(more_than_the_send_queue_holds_waits_its_turn),
		cmocka_unit_test(target_sends_no_more_data_than_linux_has_room_for),
		cmocka_unit_test(long_cdb_travels_in_an_ahs),
		cmocka_unit_test(info_tells_mover_and_provider),
		cmocka_unit_test(every_allocation_of_a_session_may_fail),
		cmocka_unit_test(private_data_is_always_sent),
		cmocka_unit_test(silent_private_data_is_not_taken_for_consent),
		cmocka_unit_test(messages_shorter_than_their_headers_are_refused),
		cmocka_unit_test(headers_alone_are_a_pdu),
		cmocka_unit_test(unknown_iser_opcode_and_hello_reply_are_refused),
		cmocka_unit_test(lengths_beyond_what_was_received_are_refused),
		cmocka_unit_test(padding_may_be_there_or_not),
		cmocka_unit_test(declared_immediate_data_that_never_came_is_fetched),
		cmocka_unit_test(write_address_already_counts_the_immediate_data),
		cmocka_unit_test(immediate_data_that_no_write_expects_fails_the_connection),
		cmocka_unit_test(data_out_fails_the_target),
		cmocka_unit_test(hello_is_answered_by_hello_reply_alone),
		cmocka_unit_test(commands_beyond_every_window_fail_the_connection),
		cmocka_unit_test(invalidation_of_the_task_itself_is_taken),
		cmocka_unit_test(invalidation_of_another_task_fails_the_connection),
		cmocka_unit_test(invalidation_for_an_unknown_task_fails_the_connection),
		cmocka_unit_test(invalidation_that_was_not_allowed_fails_the_connection),
		cmocka_unit_test(response_for_an_unknown_task_comes_without_one),
		cmocka_unit_test(data_in_and_r2t_and_hello_fail_the_initiator),
		cmocka_unit_test(message_longer_than_any_receive_fails_the_connection),
		cmocka_unit_test(refused_connection_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

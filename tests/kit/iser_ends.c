/* See iser_ends.h. */
#include "tests/kit/iser_ends.h"

#include <stdio.h>

/* ---- an upper layer ---- */

static void end_control_notify(void *owner, const struct iscsi_pdu *pdu, const uint8_t *bhs,
	int decode_error, const void *ahs, const void *data, struct dm_task *task)
{
	struct end *e = owner;

	e->pdus++;
	e->pdu = *pdu;
	e->decode_error = decode_error;
	e->task = task;
	memcpy(e->bhs, bhs, sizeof(e->bhs));
	if (pdu->ahs_words)
		memcpy(e->ahs, ahs, pdu->ahs_words * 4u);
	assert_true(pdu->data_length <= sizeof(e->data));
	if (pdu->data_length)
		memcpy(e->data, data, pdu->data_length);
	if (task && e->release)
		dm_deallocate_task_resources(e->conn, task);
}

static void end_connected(void *owner)
{
	((struct end *)owner)->connected++;
}

static void end_terminated(void *owner, int error, const char *reason)
{
	struct end *e = owner;

	e->terminated++;
	e->error = error;
	e->conn = NULL;
	snprintf(e->reason, sizeof(e->reason), "%s", reason);
}

static const struct dm_upcalls end_upcalls = {
	.control_notify = end_control_notify,
	.connected = end_connected,
	.connection_terminate_notify = end_terminated,
};

static void fixture_accepted(
	struct dm_acceptor *a, struct dm_conn *conn, const struct address *peer)
{
	struct fixture *f = container_of(a, struct fixture, upper);

	(void)peer;
	f->t.conn = conn;
	dm_conn_set_owner(conn, &end_upcalls, &f->t);
}

/* ---- both ends ---- */

struct fixture *fixture_new(const struct iser_mover_config *config)
{
	static const struct loop_config virtual = {.virtual_clock = true};
	unsigned long live = alloc_live();
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->live = live;
	f->loop = loop_new(&virtual);
	f->provider = memory_rdma_new(f->loop);
	f->target = iser_mover_new(f->loop, f->provider, config);
	f->initiator = iser_mover_new(f->loop, f->provider, config);
	f->upper.accepted = fixture_accepted;
	f->acceptor = iser_mover_acceptor(f->target, &f->upper);
	memory_rdma_listen(f->provider, f->acceptor);
	f->near = calloc(1, IO_SIZE);
	f->far = calloc(1, IO_SIZE);
	assert_int_equal(dm_register_region(f->initiator, f->near, IO_SIZE, &f->near_region), 0);
	assert_int_equal(dm_register_region(f->target, f->far, IO_SIZE, &f->far_region), 0);
	return f;
}

void fixture_turn(struct fixture *f)
{
	for (int i = 0; i < 64; i++)
		loop_turn(f->loop, 0);
}

static void raw_free(struct raw *r)
{
	rdma_unregister(r->provider, r->region);
	free(r->memory);
}

void fixture_free(struct fixture *f)
{
	struct memory_rdma_counts counts;

	if (f->t.conn)
		dm_terminate(f->t.conn, false);
	if (f->i.conn)
		dm_terminate(f->i.conn, false);
	if (f->raw.conn)
		rdma_disconnect(f->raw.conn, false);
	fixture_turn(f);
	assert_null(f->t.conn);
	assert_null(f->i.conn);
	assert_null(f->raw.conn);
	if (f->raw.memory)
		raw_free(&f->raw);
	dm_unregister_region(f->initiator, f->near_region);
	dm_unregister_region(f->target, f->far_region);
	dm_mover_free(f->initiator);
	dm_mover_free(f->target);
	counts = memory_rdma_counts(f->provider);
	assert_int_equal(counts.conns, 0);
	assert_int_equal(counts.regions, 0);
	assert_int_equal(counts.tags, 0);
	rdma_provider_free(f->provider);
	loop_free(f->loop);
	assert_int_equal(alloc_live(), f->live);
	free(f->near);
	free(f->far);
	free(f);
}

int fixture_connect(struct fixture *f)
{
	struct address nowhere = {.length = 0};

	return dm_connect(f->initiator, &nowhere, LOOP_NS_PER_S, &end_upcalls, &f->i, &f->i.conn);
}

struct iscsi_params fixture_params(void)
{
	return (struct iscsi_params){.immediate_data = true,
		.initial_r2t = true,
		.first_burst_length = 65536,
		.max_burst_length = 262144,
		.rdma_extensions = true,
		.initiator_recv_data_segment_length = 8192,
		.target_recv_data_segment_length = 8192};
}

void fixture_session(struct fixture *f, const struct iscsi_params *params)
{
	struct iscsi_pdu request = {.opcode = ISCSI_LOGIN_REQUEST, .immediate = true, .itt = 1};
	struct iscsi_pdu response = {.opcode = ISCSI_LOGIN_RESPONSE, .itt = 1};

	assert_int_equal(fixture_connect(f), 0);
	fixture_turn(f);
	assert_int_equal(f->i.connected, 1);
	assert_int_equal(dm_allocate_connection_resources(f->i.conn, params), 0);
	assert_int_equal(dm_send_control(f->i.conn, &request, NULL, NULL, NULL), 0);
	fixture_turn(f);
	assert_int_equal(f->t.pdus, 1);
	assert_int_equal(dm_allocate_connection_resources(f->t.conn, params), 0);
	assert_int_equal(dm_send_control(f->t.conn, &response, NULL, NULL, NULL), 0);
	assert_int_equal(dm_enable(f->t.conn, params), 0);
	fixture_turn(f);
	assert_int_equal(f->i.pdus, 1);
	assert_int_equal(dm_enable(f->i.conn, params), 0);
}

/* ---- the raw peer ---- */

static void raw_received(struct rdma_work *w, int status)
{
	struct rdma_receive *receive = container_of(w, struct rdma_receive, work);
	struct raw *r = receive->sge.region->provider_handle;

	if (status < 0)
		return;
	r->received++;
	r->last_length = receive->length;
	r->last_invalidated = receive->invalidated;
	r->last_stag = receive->invalidated_stag;
	memcpy(r->last, receive->sge.data, receive->length);
	if (r->conn)
		rdma_post_receive(r->conn, receive);
}

static void raw_sent(struct rdma_work *w, int status)
{
	struct raw *r = container_of(container_of(w, struct rdma_send, work), struct raw, send);

	if (status == 0)
		r->sent++;
}

static void raw_event(void *owner, enum rdma_conn_event event, const struct rdma_private_data *pd)
{
	struct raw *r = owner;

	r->theirs = *pd;
	if (event == RDMA_ESTABLISHED)
		r->established++;
}

static void raw_closed(void *owner, int error, const char *reason)
{
	struct raw *r = owner;

	(void)reason;
	r->closed++;
	r->error = error;
	r->conn = NULL;
}

static const struct rdma_conn_upcalls raw_upcalls = {.event = raw_event, .closed = raw_closed};
static const struct rdma_conn_limits raw_limits = {64, 32, 16, 16};

static void raw_requested(struct rdma_acceptor *a, struct rdma_conn *c, const struct address *peer,
	const struct rdma_private_data *pd)
{
	struct raw *r = container_of(a, struct raw, acceptor);

	(void)peer;
	r->conn = c;
	r->theirs = *pd;
	for (size_t i = 0; i < ARRAY_SIZE(r->receives); i++)
		assert_int_equal(rdma_post_receive(c, &r->receives[i]), 0);
	assert_int_equal(rdma_accept(c, &raw_limits, &r->mine, &raw_upcalls, r), 0);
}

static void raw_init(struct fixture *f, const void *private_data, size_t length)
{
	struct raw *r = &f->raw;
	size_t n = ARRAY_SIZE(r->receives);

	r->provider = f->provider;
	r->acceptor.requested = raw_requested;
	r->mine.length = length;
	if (length)
		memcpy(r->mine.bytes, private_data, length);
	r->memory = calloc(n + 1, RAW_SIZE);
	assert_int_equal(rdma_register(f->provider, r->memory, (n + 1) * RAW_SIZE, &r->region), 0);
	r->region->provider_handle = r;
	for (size_t i = 0; i < n; i++) {
		r->receives[i].work.done = raw_received;
		r->receives[i].sge =
			(struct rdma_sge){r->memory + i * RAW_SIZE, RAW_SIZE, r->region};
	}
	r->send.work.done = raw_sent;
	r->send.sge[0] = (struct rdma_sge){r->memory + n * RAW_SIZE, 0, r->region};
	r->send.sge_count = 1;
	r->send.signalled = true;
}

void raw_connect(struct fixture *f, const void *private_data, size_t length)
{
	struct raw *r = &f->raw;
	struct address nowhere = {.length = 0};

	raw_init(f, private_data, length);
	assert_int_equal(rdma_connect(f->provider, &nowhere, LOOP_NS_PER_S, &raw_limits, &r->mine,
				 &raw_upcalls, r, &r->conn),
		0);
	for (size_t i = 0; i < ARRAY_SIZE(r->receives); i++)
		assert_int_equal(rdma_post_receive(r->conn, &r->receives[i]), 0);
	fixture_turn(f);
	assert_int_equal(r->established, 1);
}

void raw_listen(struct fixture *f, const void *private_data, size_t length)
{
	raw_init(f, private_data, length);
	memory_rdma_listen(f->provider, &f->raw.acceptor);
}

void raw_send(struct fixture *f, const void *bytes, size_t length)
{
	struct raw *r = &f->raw;

	if (length)
		memcpy(r->send.sge[0].data, bytes, length);
	r->send.sge[0].length = (uint32_t)length;
	assert_int_equal(rdma_post_send(r->conn, &r->send), 0);
	fixture_turn(f);
}

size_t raw_compose(
	uint8_t *out, const struct iser_header *h, const struct iscsi_pdu *pdu, const void *data)
{
	iser_header_encode(h, out);
	iscsi_pdu_encode(pdu, out + ISER_HEADER_SIZE);
	if (pdu->data_length && data)
		memcpy(out + ISER_HEADERS_SIZE, data, pdu->data_length);
	return ISER_HEADERS_SIZE + (data ? pdu->data_length : 0);
}

void raw_send_pdu(struct fixture *f, const struct iser_header *h, const struct iscsi_pdu *pdu,
	const void *data)
{
	uint8_t bytes[RAW_SIZE];

	raw_send(f, bytes, raw_compose(bytes, h, pdu, data));
}

/* ---- what stories need ---- */

const struct iser_mover_config iser_ends_allow = {.allow_remote_invalidate = true};
const struct iser_mover_config iser_ends_forbid = {.allow_remote_invalidate = false};
const struct iser_header iser_ends_plain = {.opcode = ISER_CONTROL};

static void transfer_done(struct dm_transfer *t, int status)
{
	struct transfer *x = container_of(t, struct transfer, dm);

	x->done++;
	x->status = status;
}

struct transfer ends_transfer(struct fixture *f, uint32_t offset, uint32_t length)
{
	return (struct transfer){.dm = {.data = f->far + offset,
					 .length = length,
					 .offset = offset,
					 .region = f->far_region,
					 .done = transfer_done}};
}

void ends_fill(uint8_t *p, uint32_t seed)
{
	for (uint32_t i = 0; i < IO_SIZE; i++)
		p[i] = (uint8_t)(i * 31 + (i >> 8) + seed);
}

struct iscsi_pdu ends_command(const struct dm_task *t, uint32_t itt)
{
	return (struct iscsi_pdu){.opcode = ISCSI_SCSI_COMMAND,
		.final = true,
		.itt = itt,
		.command = {.read = t->read.length > 0,
			.write = t->write.length > 0,
			.attribute = ISCSI_ATTR_SIMPLE,
			.expected_length = t->write.length ? t->write.length : t->read.length}};
}

void ends_send_command(struct fixture *f, struct dm_task *task, uint32_t itt)
{
	struct iscsi_pdu pdu = ends_command(task, itt);

	assert_int_equal(dm_send_control(f->i.conn, &pdu, NULL, NULL, task), 0);
	fixture_turn(f);
	assert_int_equal(f->t.pdu.itt, itt);
	assert_non_null(f->t.task);
}

void ends_send_response(struct fixture *f, uint32_t itt, struct dm_task *task)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_RESPONSE, .final = true, .itt = itt};

	assert_int_equal(dm_send_control(f->t.conn, &pdu, NULL, NULL, task), 0);
}

struct fixture *raw_session(void)
{
	struct iscsi_pdu login = {.opcode = ISCSI_LOGIN_REQUEST, .immediate = true};
	struct iscsi_params params = fixture_params();
	struct fixture *f = fixture_new(&iser_ends_allow);

	raw_connect(f, NULL, 0);
	raw_send_pdu(f, &iser_ends_plain, &login, NULL);
	assert_int_equal(dm_allocate_connection_resources(f->t.conn, &params), 0);
	assert_int_equal(dm_enable(f->t.conn, &params), 0);
	return f;
}

struct fixture *raw_target(const struct iser_mover_config *config)
{
	struct fixture *f = fixture_new(config);
	struct iscsi_params params = fixture_params();
	struct iscsi_pdu login = {.opcode = ISCSI_LOGIN_RESPONSE};

	raw_listen(f, NULL, 0);
	assert_int_equal(fixture_connect(f), 0);
	fixture_turn(f);
	assert_int_equal(f->i.connected, 1);
	assert_int_equal(dm_allocate_connection_resources(f->i.conn, &params), 0);
	raw_send_pdu(f, &iser_ends_plain, &login, NULL);
	assert_int_equal(dm_enable(f->i.conn, &params), 0);
	return f;
}

/* The initiator's read of 4 KiB at f->near; its header as the target got it. */
struct iser_header raw_target_command(struct fixture *f, struct dm_task *task, uint32_t itt)
{
	struct iscsi_pdu pdu;
	struct iser_header h;

	*task = (struct dm_task){.read = {f->near, 4096, f->near_region}};
	pdu = ends_command(task, itt);
	assert_int_equal(dm_send_control(f->i.conn, &pdu, NULL, NULL, task), 0);
	fixture_turn(f);
	assert_int_equal(f->raw.last_length, 76);
	assert_int_equal(iser_header_decode(f->raw.last, &h), 0);
	assert_true(h.read_valid);
	return h;
}

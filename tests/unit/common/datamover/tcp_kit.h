/* What the tests of the iSCSI/TCP mover are built from: an end of a connection that remembers its
 * upcalls, two ends over a socketpair on one loop with a virtual clock, and a raw peer that speaks
 * bytes. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/datamover/tcp.h"
#include "common/loop/loop.h"

#define KIT_PDUS 512

struct kit_pdu {
	struct iscsi_pdu pdu;
	int decode_error;
	struct dm_task *task;
	uint8_t data[9000];
};

struct kit_end {
	struct loop *loop;
	struct dm_mover *mover;
	struct dm_conn *conn;
	struct dm_acceptor acceptor;
	struct dm_sequence sequence;
	struct kit_pdu *pdus; /* what control_notify() brought */
	int count, connected, terminated, error, done_count, done_status, failed;
	const char *reason, *failure;
	/* called in control_notify(), after it was remembered */
	void (*react)(struct kit_end *e, const struct kit_pdu *p, const void *data);
	void *arg;
};

static void kit_notify(void *owner, const struct iscsi_pdu *pdu, const uint8_t *bhs,
	int decode_error, const void *ahs, const void *data, struct dm_task *task)
{
	struct kit_end *e = owner;
	struct kit_pdu *p = &e->pdus[e->count % KIT_PDUS];

	(void)ahs;
	assert_non_null(bhs);
	assert_int_equal(e->terminated, 0);
	e->count++;
	p->pdu = *pdu;
	p->decode_error = decode_error;
	p->task = task;
	if (data)
		memcpy(p->data, data, min_size(pdu->data_length, sizeof(p->data)));
	if (e->react)
		e->react(e, p, data);
}

static void kit_connected(void *owner)
{
	((struct kit_end *)owner)->connected++;
}

static void kit_terminated(void *owner, int error, const char *reason)
{
	struct kit_end *e = owner;

	e->terminated++;
	e->error = error;
	e->reason = reason;
	e->conn = NULL;
}

static void kit_failed(void *owner, struct dm_task *task, const char *reason)
{
	struct kit_end *e = owner;

	(void)task;
	e->failed++;
	e->failure = reason;
}

static const struct dm_upcalls kit_upcalls = {
	.control_notify = kit_notify,
	.connected = kit_connected,
	.connection_terminate_notify = kit_terminated,
	.task_failed = kit_failed,
};

static void kit_accepted(struct dm_acceptor *a, struct dm_conn *conn, const struct address *peer)
{
	struct kit_end *e = container_of(a, struct kit_end, acceptor);

	(void)peer;
	e->conn = conn;
	dm_conn_set_owner(conn, &kit_upcalls, e);
	dm_conn_set_sequence(conn, &e->sequence);
}

static void kit_end_init(
	struct kit_end *e, struct loop *loop, const struct tcp_mover_config *config)
{
	*e = (struct kit_end){.loop = loop, .acceptor.accepted = kit_accepted};
	e->sequence = (struct dm_sequence){
		.stat_sn = 100, .exp_cmd_sn = 1, .max_cmd_sn = 64, .exp_stat_sn = 100};
	e->mover = tcp_mover_new(loop, config);
	assert_non_null(e->mover);
	e->pdus = calloc(KIT_PDUS, sizeof(*e->pdus));
}

static inline void kit_end_release(struct kit_end *e)
{
	dm_mover_free(e->mover);
	free(e->pdus);
}

/* Turns until nothing happens any more. */
static void kit_settle(struct loop *loop)
{
	for (int i = 0; i < 100000; i++)
		if (!loop_turn(loop, 0))
			return;
	fail_msg("the loop does not come to rest");
}

static struct loop *kit_loop(void)
{
	static const struct loop_config config = {.virtual_clock = true};
	struct loop *l = loop_new(&config);

	assert_non_null(l);
	return l;
}

static inline struct iscsi_params kit_params(void)
{
	return (struct iscsi_params){
		.initial_r2t = true,
		.immediate_data = true,
		.max_burst_length = 262144,
		.first_burst_length = 65536,
		.max_outstanding_r2t = 1,
		.data_pdu_in_order = true,
		.data_sequence_in_order = true,
		.header_digest = ISCSI_DIGEST_NONE,
		.data_digest = ISCSI_DIGEST_NONE,
		.max_recv_data_segment_length = 65536,
		.peer_max_recv_data_segment_length = 65536,
	};
}

static void kit_sockets(int fd[2], int buffer)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
	for (int i = 0; buffer && i < 2; i++) {
		setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
		setsockopt(fd[i], SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	}
}

static inline void kit_done(struct dm_transfer *t, int status)
{
	struct kit_end *e = t->task->owner;

	e->done_count++;
	e->done_status = status;
}

/* ---- two ends ---- */

struct kit_pair {
	struct loop *loop;
	struct kit_end target, initiator;
};

static inline void kit_pair_init(struct kit_pair *p, const struct iscsi_params *params, int buffer)
{
	static const struct tcp_mover_config config = {0};
	int fd[2];

	p->loop = kit_loop();
	kit_end_init(&p->target, p->loop, &config);
	kit_end_init(&p->initiator, p->loop, &config);
	kit_sockets(fd, buffer);
	assert_int_equal(tcp_mover_adopt(p->target.mover, fd[0], &p->target.acceptor), 0);
	assert_int_equal(tcp_mover_adopt_active(p->initiator.mover, fd[1], &kit_upcalls,
				 &p->initiator, &p->initiator.conn),
		0);
	dm_conn_set_sequence(p->initiator.conn, &p->initiator.sequence);
	kit_settle(p->loop);
	assert_non_null(p->target.conn);
	assert_int_equal(p->initiator.connected, 1);
	if (!params)
		return;
	assert_int_equal(dm_enable(p->target.conn, params), 0);
	assert_int_equal(dm_enable(p->initiator.conn, params), 0);
}

static inline void kit_pair_release(struct kit_pair *p)
{
	if (p->initiator.conn)
		dm_terminate(p->initiator.conn, false);
	kit_settle(p->loop);
	assert_int_equal(p->initiator.terminated, 1);
	assert_int_equal(p->target.terminated, 1);
	kit_end_release(&p->initiator);
	kit_end_release(&p->target);
	loop_free(p->loop);
	assert_int_equal(alloc_live(), 0);
}

/* ---- a target and a raw initiator, or the other way round ---- */

struct kit_raw {
	struct loop *loop;
	struct kit_end end;
	int fd;
};

static inline void kit_raw_init(struct kit_raw *r, bool target, const struct iscsi_params *params)
{
	static const struct tcp_mover_config config = {0};
	int fd[2];

	r->loop = kit_loop();
	kit_end_init(&r->end, r->loop, &config);
	kit_sockets(fd, 0);
	r->fd = fd[1];
	if (target)
		assert_int_equal(tcp_mover_adopt(r->end.mover, fd[0], &r->end.acceptor), 0);
	else
		assert_int_equal(tcp_mover_adopt_active(
					 r->end.mover, fd[0], &kit_upcalls, &r->end, &r->end.conn),
			0);
	kit_settle(r->loop);
	dm_conn_set_sequence(r->end.conn, &r->end.sequence);
	if (params)
		assert_int_equal(dm_enable(r->end.conn, params), 0);
}

static inline void kit_raw_release(struct kit_raw *r)
{
	if (r->fd >= 0)
		close(r->fd);
	kit_settle(r->loop);
	assert_int_equal(r->end.terminated, 1);
	kit_end_release(&r->end);
	loop_free(r->loop);
	assert_int_equal(alloc_live(), 0);
}

static inline void kit_raw_send(
	struct kit_raw *r, const struct iscsi_pdu *pdu, const void *data, uint32_t length)
{
	static const uint8_t zeros[4];
	struct iscsi_pdu copy = *pdu;
	uint8_t bhs[ISCSI_BHS_SIZE];

	copy.data_length = length;
	iscsi_pdu_encode(&copy, bhs);
	assert_int_equal(write(r->fd, bhs, sizeof(bhs)), sizeof(bhs));
	if (length)
		assert_int_equal(write(r->fd, data, length), length);
	if (length & 3)
		assert_int_equal(write(r->fd, zeros, -length & 3), -length & 3);
	kit_settle(r->loop);
}

/* The next PDU of the mover; false when there is none. */
static inline bool kit_raw_receive(struct kit_raw *r, struct iscsi_pdu *ret, void *data)
{
	uint8_t bhs[ISCSI_BHS_SIZE];
	ssize_t n = recv(r->fd, bhs, sizeof(bhs), MSG_DONTWAIT);
	size_t padded;

	if (n <= 0)
		return false;
	assert_int_equal(n, sizeof(bhs));
	assert_int_equal(iscsi_pdu_decode(bhs, ret), 0);
	padded = round_up(ret->data_length, 4);
	if (padded)
		assert_int_equal(recv(r->fd, data, padded, MSG_DONTWAIT), padded);
	return true;
}

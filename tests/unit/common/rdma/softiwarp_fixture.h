/* Two providers over a socketpair or TCP on one loop, or one against a peer made by hand: what the
 * tests of the provider's files share. */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/crc32c.h"
#include "common/base/sys.h"
#include "common/loop/address.h"
#include "common/loop/loop.h"
#include "common/rdma/softiwarp.h"
#include "tests/kit/await.h"

#define MEMORY (4u << 20)
#define WORKS 64

/* One end and all that it was told. */
struct end {
	struct rdma_provider *provider;
	struct rdma_conn *conn;
	struct rdma_region *region;
	uint8_t *memory;
	struct rdma_private_data pd;
	unsigned established, rejected, closed;
	int error;
	char reason[160];
};

struct work {
	struct work *self;
	union {
		struct rdma_work work;
		struct rdma_receive receive;
		struct rdma_send send;
		struct rdma_transfer transfer;
	};
	unsigned done;
	int status;
	unsigned order;
};

static struct world {
	struct loop *loop;
	struct end active, passive;
	struct rdma_acceptor acceptor;
	struct rdma_private_data reply;
	bool reject, later;
	int raw; /* a hand-made peer's end of the socketpair */
	struct work works[WORKS];
	unsigned used, completions;
} w;

static const struct rdma_conn_limits limits = {
	.send_depth = 16, .receive_depth = 16, .reads_out = 4, .reads_in = 4};

static inline void event(void *owner, enum rdma_conn_event e, const struct rdma_private_data *pd)
{
	struct end *end = owner;

	end->pd = *pd;
	if (e == RDMA_ESTABLISHED)
		end->established++;
	else
		end->rejected++;
}

static inline void closed(void *owner, int error, const char *reason)
{
	struct end *end = owner;

	end->closed++;
	end->error = error;
	end->conn = NULL;
	snprintf(end->reason, sizeof(end->reason), "%s", reason);
}

static const struct rdma_conn_upcalls upcalls = {event, closed};

static inline void requested(struct rdma_acceptor *a, struct rdma_conn *c,
	const struct address *peer, const struct rdma_private_data *pd)
{
	(void)a;
	(void)peer;
	w.passive.pd = *pd;
	w.passive.conn = c;
	if (w.later)
		return;
	if (w.reject) {
		rdma_reject(c, &w.reply);
		w.passive.conn = NULL;
	} else {
		assert_int_equal(rdma_accept(c, &limits, &w.reply, &upcalls, &w.passive), 0);
	}
}

static inline void done(struct rdma_work *work, int status)
{
	struct work *x = container_of(work, struct work, work);

	x->done++;
	x->status = status;
	x->order = ++w.completions;
}

static inline struct work *work_new(void)
{
	struct work *x = &w.works[w.used++];

	assert_true(w.used <= WORKS);
	x->work.done = done;
	return x;
}

static inline void turn(void)
{
	for (int idle = 0; idle < 3;)
		idle = loop_turn(w.loop, 0) ? 0 : idle + 1;
}

static inline void end_open(struct end *e, const struct softiwarp_config *config)
{
	e->provider = softiwarp_new(w.loop, config);
	assert_non_null(e->provider);
	e->memory = alloc_zeroed(MEMORY);
	assert_int_equal(rdma_register(e->provider, e->memory, MEMORY, &e->region), 0);
}

static inline void end_close(struct end *e)
{
	rdma_unregister(e->provider, e->region);
	rdma_provider_free(e->provider);
	alloc_free(e->memory);
}

static inline void world_open(const struct softiwarp_config *config)
{
	struct loop_config virtual = {.virtual_clock = true};

	w = (struct world){.acceptor.requested = requested, .raw = -1};
	w.loop = loop_new(&virtual);
	end_open(&w.active, config);
	end_open(&w.passive, config);
}

static inline void world_close(void)
{
	end_close(&w.active);
	end_close(&w.passive);
	loop_free(w.loop);
	if (w.raw >= 0)
		close(w.raw);
	assert_int_equal(alloc_live(), 0);
	for (unsigned i = 0; i < w.used; i++)
		assert_true(w.works[i].done <= 1);
}

static inline void pair_make(int fds[2])
{
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

/* A TCP connection over loopback: a socket that has segments, and buffers that fill up. */
static inline void tcp_make(int fds[2])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(l, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&a, &n), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fds[0], (struct sockaddr *)&a, sizeof(a)), 0);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	fds[1] = accept4(l, NULL, NULL, SOCK_NONBLOCK);
	assert_true(fds[1] >= 0);
	close(l);
}

static inline void connect_over(int fds[2], const char *pd)
{
	struct rdma_private_data data = {.length = strlen(pd)};

	memcpy(data.bytes, pd, data.length);
	assert_int_equal(softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor), 0);
	assert_int_equal(softiwarp_connect_fd(w.active.provider, fds[0], LOOP_NS_PER_S, &limits,
				 &data, &upcalls, &w.active, &w.active.conn),
		0);
	turn();
}

static inline void world_connect(const struct softiwarp_config *config)
{
	int fds[2];

	world_open(config);
	pair_make(fds);
	connect_over(fds, "hello");
	assert_int_equal(w.active.established, 1);
	assert_int_equal(w.passive.established, 1);
}

static inline struct work *receive(struct end *e, uint32_t at, uint32_t length)
{
	struct work *x = work_new();

	x->receive.sge = (struct rdma_sge){e->memory + at, length, e->region};
	assert_int_equal(rdma_post_receive(e->conn, &x->receive), 0);
	return x;
}

static inline struct work *send_make(struct end *e, uint32_t at, uint32_t length, bool signalled)
{
	struct work *x = work_new();

	x->send.sge[0] = (struct rdma_sge){e->memory + at, length, e->region};
	x->send.sge_count = 1;
	x->send.signalled = signalled;
	return x;
}

static inline struct work *send_post(struct end *e, uint32_t at, uint32_t length, bool signalled)
{
	struct work *x = send_make(e, at, length, signalled);

	assert_int_equal(rdma_post_send(e->conn, &x->send), 0);
	return x;
}

static inline struct work *transfer_make(
	struct end *e, uint32_t at, uint32_t length, uint32_t stag, uint64_t address)
{
	struct work *x = work_new();

	x->transfer.local = (struct rdma_sge){e->memory + at, length, e->region};
	x->transfer.remote_stag = stag;
	x->transfer.remote_address = address;
	x->transfer.signalled = true;
	return x;
}

static inline struct work *read_post(
	struct end *e, uint32_t at, uint32_t length, uint32_t stag, uint64_t address)
{
	struct work *x = transfer_make(e, at, length, stag, address);

	assert_int_equal(rdma_post_read(e->conn, &x->transfer), 0);
	return x;
}

static inline struct work *write_post(
	struct end *e, uint32_t at, uint32_t length, uint32_t stag, uint64_t address)
{
	struct work *x = transfer_make(e, at, length, stag, address);

	assert_int_equal(rdma_post_write(e->conn, &x->transfer), 0);
	return x;
}

static inline void expose(
	struct end *e, uint32_t at, uint32_t length, unsigned access, uint32_t *stag, uint64_t *to)
{
	assert_int_equal(
		rdma_expose(e->conn, e->region, e->memory + at, length, access, stag, to), 0);
}

static inline void fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 13 + i / 251);
}

/* A word from one end to the other: what was sent before has arrived, too. */
static inline void speak(struct end *from, struct end *to)
{
	struct work *r = receive(to, MEMORY - 64, 64);
	struct work *s = send_post(from, 0, 5, true);

	AWAIT(w.loop, r->done && s->done);
	assert_int_equal(r->status, 0);
	assert_int_equal(r->receive.length, 5);
}

/* The passive end may speak only after the active one has. */
static inline void greet(void)
{
	speak(&w.active, &w.passive);
}

/* Both ends are closed, the first to fail with `error` and a reason that contains `text`. */
static inline void assert_closed(struct end *first, int error, const char *text)
{
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(w.passive.closed, 1);
	assert_int_equal(first->error, error);
	if (!strstr(first->reason, text))
		fail_msg("\"%s\" does not contain \"%s\"", first->reason, text);
}

#define REPLY "MPA ID Rep Frame\x10\x02\x00\x04\x00\x01\x00\x01"
#define REQUEST "MPA ID Req Frame\x10\x02\x00\x04\x00\x01\x00\x01"

/* The active end connects; the hand-made peer has read the request and answered with `reply`. */
static inline void raw_answer(const void *reply, size_t length)
{
	struct rdma_private_data pd = {.bytes = "\x80", .length = 4};
	uint8_t request[64];
	int fds[2];

	world_open(NULL);
	pair_make(fds);
	w.raw = fds[1];
	assert_int_equal(softiwarp_connect_fd(w.active.provider, fds[0], LOOP_NS_PER_S, &limits,
				 &pd, &upcalls, &w.active, &w.active.conn),
		0);
	turn();
	assert_int_equal(read(w.raw, request, sizeof(request)), 28);
	assert_memory_equal(
		request, "MPA ID Req Frame\x10\x02\x00\x08\x00\x04\x00\x04\x80\x00\x00\x00", 28);
	assert_int_equal(write(w.raw, reply, length), length);
	turn();
}
#define RAW_ANSWER(text) raw_answer(text, sizeof(text) - 1)

static inline size_t raw_read(uint8_t *out, size_t size)
{
	ssize_t n = read(w.raw, out, size);

	return n < 0 ? 0 : (size_t)n;
}

static inline void raw_request(const void *request, size_t length)
{
	int fds[2];

	world_open(NULL);
	pair_make(fds);
	w.raw = fds[0];
	assert_int_equal(softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor), 0);
	for (size_t i = 0; i < length; i++) { /* in single bytes */
		assert_int_equal(write(w.raw, (const char *)request + i, 1), 1);
		turn();
	}
}
#define RAW_REQUEST(text) raw_request(text, sizeof(text) - 1)

/* Sends, writes and reads of every kind over one connection, to its end in order. */
static inline void everything_once(const struct softiwarp_config *config, bool tcp)
{
	uint32_t stag, reader;
	uint64_t to, reader_to;
	struct work *r, *s, *x, *big;
	int fds[2];

	world_open(config);
	if (tcp)
		tcp_make(fds);
	else
		pair_make(fds);
	connect_over(fds, "hello");
	AWAIT(w.loop, w.active.established && w.passive.established);
	greet();
	fill(w.active.memory, 1 << 20);
	expose(&w.passive, 0, 1 << 20, RDMA_REMOTE_WRITE | RDMA_REMOTE_READ, &stag, &to);
	expose(&w.active, 0, 1 << 20, RDMA_REMOTE_READ, &reader, &reader_to);
	r = receive(&w.passive, 2 << 20, 100000);
	x = write_post(&w.active, 0, 1 << 20, stag, to);
	s = send_make(&w.active, 1, 17, true);
	s->send.sge[1] = (struct rdma_sge){w.active.memory + 3, 70001, w.active.region};
	s->send.sge_count = 2;
	assert_int_equal(rdma_post_send(w.active.conn, &s->send), 0);
	AWAIT(w.loop, x->done && s->done && r->done);
	assert_true(!x->status && !s->status && !r->status);
	assert_true(x->order < s->order);
	assert_memory_equal(w.passive.memory, w.active.memory, 1 << 20);
	assert_int_equal(r->receive.length, 70018);
	assert_memory_equal(w.passive.memory + (2 << 20), w.active.memory + 1, 17);
	assert_memory_equal(w.passive.memory + (2 << 20) + 17, w.active.memory + 3, 70001);
	/* more reads than the ORD, of several sizes, then one of nothing */
	for (int i = 0; i < 6; i++)
		big = read_post(&w.passive, (2u << 20) + 150000u * (unsigned)i, 150000, reader,
			reader_to + 7);
	x = read_post(&w.passive, 0, 0, 0, 0);
	AWAIT(w.loop, big->done && x->done);
	assert_true(!big->status && !x->status);
	for (int i = 0; i < 6; i++)
		assert_memory_equal(w.passive.memory + (2u << 20) + 150000u * (unsigned)i,
			w.active.memory + 7, 150000);
	rdma_disconnect(w.active.conn, true);
	AWAIT(w.loop, w.active.closed && w.passive.closed);
	assert_closed(&w.active, 0, "");
	assert_int_equal(w.passive.error, 0);
	world_close();
}

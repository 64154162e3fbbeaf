/* The software iWARP provider: two of them over a socketpair (or TCP) on one loop, and one against
 * bytes written by hand. */
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

static void event(void *owner, enum rdma_conn_event e, const struct rdma_private_data *pd)
{
	struct end *end = owner;

	end->pd = *pd;
	if (e == RDMA_ESTABLISHED)
		end->established++;
	else
		end->rejected++;
}

static void closed(void *owner, int error, const char *reason)
{
	struct end *end = owner;

	end->closed++;
	end->error = error;
	end->conn = NULL;
	snprintf(end->reason, sizeof(end->reason), "%s", reason);
}

static const struct rdma_conn_upcalls upcalls = {event, closed};

static void requested(struct rdma_acceptor *a, struct rdma_conn *c, const struct address *peer,
	const struct rdma_private_data *pd)
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

static void done(struct rdma_work *work, int status)
{
	struct work *x = container_of(work, struct work, work);

	x->done++;
	x->status = status;
	x->order = ++w.completions;
}

static struct work *work_new(void)
{
	struct work *x = &w.works[w.used++];

	assert_true(w.used <= WORKS);
	x->work.done = done;
	return x;
}

static void turn(void)
{
	for (int idle = 0; idle < 3;)
		idle = loop_turn(w.loop, 0) ? 0 : idle + 1;
}

/* ---- setting up ---- */

static void end_open(struct end *e, const struct softiwarp_config *config)
{
	e->provider = softiwarp_new(w.loop, config);
	assert_non_null(e->provider);
	e->memory = alloc_zeroed(MEMORY);
	assert_int_equal(rdma_register(e->provider, e->memory, MEMORY, &e->region), 0);
}

static void end_close(struct end *e)
{
	rdma_unregister(e->provider, e->region);
	rdma_provider_free(e->provider);
	alloc_free(e->memory);
}

static void world_open(const struct softiwarp_config *config)
{
	struct loop_config virtual = {.virtual_clock = true};

	w = (struct world){.acceptor.requested = requested, .raw = -1};
	w.loop = loop_new(&virtual);
	end_open(&w.active, config);
	end_open(&w.passive, config);
}

static void world_close(void)
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

static void pair_make(int fds[2])
{
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

/* A TCP connection over loopback: a socket that has segments, and buffers that fill up. */
static void tcp_make(int fds[2])
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

static void connect_over(int fds[2], const char *pd)
{
	struct rdma_private_data data = {.length = strlen(pd)};

	memcpy(data.bytes, pd, data.length);
	assert_int_equal(softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor), 0);
	assert_int_equal(softiwarp_connect_fd(w.active.provider, fds[0], LOOP_NS_PER_S, &limits,
				 &data, &upcalls, &w.active, &w.active.conn),
		0);
	turn();
}

static void world_connect(const struct softiwarp_config *config)
{
	int fds[2];

	world_open(config);
	pair_make(fds);
	connect_over(fds, "hello");
	assert_int_equal(w.active.established, 1);
	assert_int_equal(w.passive.established, 1);
}

/* ---- requests ---- */

static struct work *receive(struct end *e, uint32_t at, uint32_t length)
{
	struct work *x = work_new();

	x->receive.sge = (struct rdma_sge){e->memory + at, length, e->region};
	assert_int_equal(rdma_post_receive(e->conn, &x->receive), 0);
	return x;
}

static struct work *send_make(struct end *e, uint32_t at, uint32_t length, bool signalled)
{
	struct work *x = work_new();

	x->send.sge[0] = (struct rdma_sge){e->memory + at, length, e->region};
	x->send.sge_count = 1;
	x->send.signalled = signalled;
	return x;
}

static struct work *send_post(struct end *e, uint32_t at, uint32_t length, bool signalled)
{
	struct work *x = send_make(e, at, length, signalled);

	assert_int_equal(rdma_post_send(e->conn, &x->send), 0);
	return x;
}

static struct work *transfer_make(
	struct end *e, uint32_t at, uint32_t length, uint32_t stag, uint64_t address)
{
	struct work *x = work_new();

	x->transfer.local = (struct rdma_sge){e->memory + at, length, e->region};
	x->transfer.remote_stag = stag;
	x->transfer.remote_address = address;
	x->transfer.signalled = true;
	return x;
}

static struct work *read_post(
	struct end *e, uint32_t at, uint32_t length, uint32_t stag, uint64_t address)
{
	struct work *x = transfer_make(e, at, length, stag, address);

	assert_int_equal(rdma_post_read(e->conn, &x->transfer), 0);
	return x;
}

static struct work *write_post(
	struct end *e, uint32_t at, uint32_t length, uint32_t stag, uint64_t address)
{
	struct work *x = transfer_make(e, at, length, stag, address);

	assert_int_equal(rdma_post_write(e->conn, &x->transfer), 0);
	return x;
}

static void expose(
	struct end *e, uint32_t at, uint32_t length, unsigned access, uint32_t *stag, uint64_t *to)
{
	assert_int_equal(
		rdma_expose(e->conn, e->region, e->memory + at, length, access, stag, to), 0);
}

static void fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 13 + i / 251);
}

/* The passive end may speak only after the active one has. */
static void greet(void)
{
	struct work *r = receive(&w.passive, MEMORY - 64, 64);
	struct work *s = send_post(&w.active, 0, 5, true);

	turn();
	assert_int_equal(r->done, 1);
	assert_int_equal(r->status, 0);
	assert_int_equal(r->receive.length, 5);
	assert_int_equal(s->done, 1);
}

/* Both ends are closed, the first to fail with `error` and a reason that contains `text`. */
static void assert_closed(struct end *first, int error, const char *text)
{
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(w.passive.closed, 1);
	assert_int_equal(first->error, error);
	if (!strstr(first->reason, text))
		fail_msg("\"%s\" does not contain \"%s\"", first->reason, text);
}

/* ---- connecting ---- */

static void private_data_reaches_both_ends(void **state)
{
	int fds[2];

	(void)state;
	world_open(NULL);
	memcpy(w.reply.bytes, "welcome", 7);
	w.reply.length = 7;
	pair_make(fds);
	connect_over(fds, "hello");
	assert_int_equal(w.active.pd.length, 7);
	assert_memory_equal(w.active.pd.bytes, "welcome", 7);
	assert_false(w.active.conn->checksums_data); /* auto: both ends are here */
	world_close();
}

static void rejected_with_private_data(void **state)
{
	int fds[2];

	(void)state;
	world_open(NULL);
	w.reject = true;
	memcpy(w.reply.bytes, "no", 2);
	w.reply.length = 2;
	pair_make(fds);
	connect_over(fds, "hello");
	assert_int_equal(w.active.rejected, 1);
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(w.active.error, -ECONNREFUSED);
	assert_memory_equal(w.active.pd.bytes, "no", 2);
	assert_int_equal(w.passive.closed, 0);
	world_close();
}

static void accepted_later_after_the_peer_has_gone(void **state)
{
	int fds[2];

	(void)state;
	world_open(NULL);
	w.later = true;
	pair_make(fds);
	connect_over(fds, "hello");
	assert_non_null(w.passive.conn);
	rdma_disconnect(w.active.conn, false);
	turn();
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(rdma_accept(w.passive.conn, &limits, &w.reply, &upcalls, &w.passive), 0);
	turn();
	assert_int_equal(w.passive.closed, 1);
	assert_int_equal(w.passive.established, 0);
	world_close();
}

static void peer_that_says_nothing_is_timed_out(void **state)
{
	int fds[2];

	(void)state;
	world_open(NULL);
	pair_make(fds);
	assert_int_equal(softiwarp_connect_fd(w.active.provider, fds[0], LOOP_NS_PER_S, &limits,
				 NULL, &upcalls, &w.active, &w.active.conn),
		0);
	turn();
	loop_advance(w.loop, LOOP_NS_PER_S - 1);
	assert_int_equal(w.active.closed, 0);
	loop_advance(w.loop, 1);
	turn();
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(w.active.error, -ETIMEDOUT);
	close(fds[1]);
	world_close();
}

static void peer_that_does_not_ask_is_dropped(void **state)
{
	int fds[2];
	char byte;

	(void)state;
	world_open(NULL);
	pair_make(fds);
	assert_int_equal(softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor), 0);
	assert_int_equal(write(fds[0], "MPA ID", 6), 6);
	turn();
	loop_advance(w.loop, 5 * LOOP_NS_PER_S);
	turn();
	assert_int_equal(read(fds[0], &byte, 1), 0);
	close(fds[0]);
	world_close();
}

static void address_that_nobody_listens_on(void **state)
{
	struct address a;
	const char *why;

	(void)state;
	world_open(NULL);
	assert_int_equal(address_parse("127.0.0.1:1", 0, &a, &why), 0);
	if (!rdma_connect(w.active.provider, &a, LOOP_NS_PER_S, &limits, NULL, &upcalls, &w.active,
		    &w.active.conn)) {
		turn();
		assert_int_equal(w.active.closed, 1);
		assert_int_equal(w.active.error, -ECONNREFUSED);
	}
	world_close();
}

/* ---- data ---- */

static void everything_once(const struct softiwarp_config *config, bool tcp)
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
	assert_int_equal(w.active.established, 1);
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
	turn();
	assert_true(x->done && !x->status && s->done && !s->status && r->done && !r->status);
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
	turn();
	assert_true(big->done && !big->status && x->done && !x->status);
	for (int i = 0; i < 6; i++)
		assert_memory_equal(w.passive.memory + (2u << 20) + 150000u * (unsigned)i,
			w.active.memory + 7, 150000);
	rdma_disconnect(w.active.conn, true);
	turn();
	assert_closed(&w.active, 0, "");
	assert_int_equal(w.passive.error, 0);
	world_close();
}

static void data_moves_with_any_fpdu_size_and_crc(void **state)
{
	static const uint32_t sizes[] = {128, 1460, 0, 65535};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (int mode = 0; mode < 4; mode++) {
			struct softiwarp_config config = {.max_ulpdu = sizes[i],
				.crc = mode & 1 ? SOFTIWARP_CRC_ON : SOFTIWARP_CRC_OFF};

			everything_once(&config, mode & 2);
		}
	}
}

static void fpdus_are_kept_to_the_segment_size(void **state)
{
	struct softiwarp_config config = {.ulpdu_by_mss = true, .crc = SOFTIWARP_CRC_ON};

	(void)state;
	everything_once(&config, true);
}

static void crc_is_adopted_from_the_peer(void **state)
{
	struct softiwarp_config on = {.crc = SOFTIWARP_CRC_ON};
	struct rdma_conn_info info;
	int fds[2];

	(void)state;
	world_open(NULL);
	rdma_unregister(w.active.provider, w.active.region);
	rdma_provider_free(w.active.provider);
	alloc_free(w.active.memory);
	end_open(&w.active, &on);
	pair_make(fds);
	connect_over(fds, "");
	assert_true(w.active.conn->checksums_data && w.passive.conn->checksums_data);
	rdma_conn_get_info(w.passive.conn, &info);
	assert_string_equal(info.provider, "softiwarp");
	assert_true(info.crc);
	greet();
	world_close();
}

static void send_with_invalidate_ends_the_exposure(void **state)
{
	struct work *r, *s, *x;
	uint32_t stag;
	uint64_t to;

	(void)state;
	world_connect(NULL);
	greet();
	expose(&w.active, 0, 4096, RDMA_REMOTE_WRITE, &stag, &to);
	r = receive(&w.active, 8192, 64);
	s = send_make(&w.passive, 0, 10, false);
	s->send.invalidate = true;
	s->send.invalidate_stag = stag;
	assert_int_equal(rdma_post_send(w.passive.conn, &s->send), 0);
	turn();
	assert_true(r->done && r->receive.invalidated);
	assert_int_equal(r->receive.invalidated_stag, stag);
	assert_int_equal(s->done, 0);	  /* not signalled */
	rdma_revoke(w.active.conn, stag); /* harmless */
	x = write_post(&w.passive, 0, 16, stag, to);
	turn();
	assert_int_equal(x->done, 1);
	assert_closed(&w.active, -EPROTO, "invalid STag");
	world_close();
}

static void foreign_tag_cannot_be_invalidated(void **state)
{
	struct work *s;

	(void)state;
	world_connect(NULL);
	greet();
	receive(&w.active, 8192, 64);
	s = send_make(&w.passive, 0, 10, false);
	s->send.invalidate = true;
	s->send.invalidate_stag = 0x1234501;
	assert_int_equal(rdma_post_send(w.passive.conn, &s->send), 0);
	turn();
	assert_closed(&w.active, -EPROTO, "cannot be invalidated");
	world_close();
}

static void posts_are_limited_by_the_depth(void **state)
{
	struct work *x;

	(void)state;
	world_connect(NULL);
	for (unsigned i = 0; i < limits.receive_depth; i++)
		receive(&w.active, 0, 64);
	x = work_new();
	assert_int_equal(rdma_post_receive(w.active.conn, &x->receive), -ENOBUFS);
	for (unsigned i = 0; i < limits.send_depth; i++)
		send_post(&w.passive, 0, 1, false);
	x = send_make(&w.passive, 0, 1, false);
	assert_int_equal(rdma_post_send(w.passive.conn, &x->send), -ENOBUFS);
	rdma_disconnect(w.passive.conn, false);
	assert_int_equal(rdma_post_send(w.passive.conn, &x->send), -ENOTCONN);
	turn();
	for (unsigned i = limits.receive_depth + 1; i < w.used - 1; i++)
		assert_int_equal(w.works[i].status, -ECANCELED); /* unsignalled, but not sent */
	world_close();
}

/* ---- what breaks a connection ---- */

static void send_longer_than_the_receive(void **state)
{
	struct work *first, *second;

	(void)state;
	world_connect(NULL);
	first = receive(&w.passive, 0, 64);
	second = receive(&w.passive, 64, 64);
	send_post(&w.active, 0, 65, true);
	turn();
	assert_int_equal(first->status, -EMSGSIZE);
	assert_int_equal(second->status, -ECANCELED);
	assert_closed(&w.passive, -EPROTO, "no buffer");
	assert_int_equal(w.active.error, -ECONNRESET);
	assert_non_null(strstr(w.active.reason, "1.2.02"));
	world_close();
}

static void send_without_a_receive(void **state)
{
	(void)state;
	world_connect(NULL);
	send_post(&w.active, 0, 1, true);
	turn();
	assert_closed(&w.passive, -EPROTO, "no buffer");
	world_close();
}

static void write_out_of_bounds(void **state)
{
	uint32_t stag;
	uint64_t to;

	(void)state;
	world_connect(NULL);
	expose(&w.passive, 0, 100, RDMA_REMOTE_WRITE, &stag, &to);
	write_post(&w.active, 0, 101, stag, to);
	turn();
	assert_closed(&w.passive, -EPROTO, "out of bounds");
	assert_int_equal(w.passive.memory[0], 0);
	assert_non_null(strstr(w.active.reason, "1.1.01"));
	world_close();
}

static void read_that_is_refused(void **state)
{
	struct work *refused, *after;
	uint32_t stag;
	uint64_t to;

	(void)state;
	world_connect(NULL);
	expose(&w.passive, 0, 100, RDMA_REMOTE_WRITE, &stag, &to);
	refused = read_post(&w.active, 0, 10, stag, to);
	after = read_post(&w.active, 0, 10, stag, to);
	turn();
	assert_int_equal(refused->status, -EACCES);
	assert_int_equal(after->status, -ECANCELED);
	assert_closed(&w.passive, -EPROTO, "without the right");
	world_close();
}

static void tags_are_of_one_connection_alone(void **state)
{
	struct end *other = alloc_zeroed(sizeof(*other));
	struct rdma_acceptor acceptor = w.acceptor;
	struct rdma_conn *first;
	uint32_t stag;
	uint64_t to;
	int fds[2];

	(void)state;
	(void)acceptor;
	world_connect(NULL);
	first = w.passive.conn;
	expose(&w.passive, 0, 100, RDMA_REMOTE_WRITE, &stag, &to);
	pair_make(fds);
	*other = (struct end){.provider = w.active.provider,
		.memory = w.active.memory,
		.region = w.active.region};
	assert_int_equal(softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor), 0);
	assert_int_equal(softiwarp_connect_fd(w.active.provider, fds[0], LOOP_NS_PER_S, &limits,
				 NULL, &upcalls, other, &other->conn),
		0);
	turn();
	assert_ptr_not_equal(w.passive.conn, first);
	write_post(other, 0, 10, stag, to);
	turn();
	assert_int_equal(other->closed, 1);
	assert_int_equal(w.active.closed, 0);
	assert_non_null(strstr(other->reason, "1.1.02"));
	alloc_free(other);
	world_close();
}

static void revoked_memory_is_not_read(void **state)
{
	struct work *x;
	uint32_t stag;
	uint64_t to;

	(void)state;
	world_connect(NULL);
	expose(&w.passive, 0, MEMORY, RDMA_REMOTE_READ, &stag, &to);
	x = read_post(&w.active, 0, MEMORY, stag, to);
	/* so large that it cannot have left in the turn in which it came */
	for (int i = 0; i < 4; i++)
		loop_turn(w.loop, 0);
	assert_int_equal(x->done, 0);
	rdma_revoke(w.passive.conn, stag);
	turn();
	assert_int_equal(x->done, 1);
	assert_true(x->status < 0);
	assert_closed(&w.passive, -EPROTO, "0.1");
	world_close();
}

static void abrupt_end_cancels_everything(void **state)
{
	struct work *r, *x;
	uint32_t stag;
	uint64_t to;

	(void)state;
	world_connect(NULL);
	expose(&w.passive, 0, 4096, RDMA_REMOTE_READ, &stag, &to);
	r = receive(&w.active, 0, 64);
	x = read_post(&w.active, 0, 4096, stag, to);
	rdma_disconnect(w.active.conn, false);
	rdma_disconnect(w.active.conn, true);
	assert_int_equal(r->done + x->done + w.active.closed, 0); /* from the loop only */
	turn();
	assert_int_equal(r->status, -ECANCELED);
	assert_int_equal(x->status, -ECANCELED);
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(w.passive.closed, 1);
	world_close();
}

static void graceful_end_lets_everything_leave(void **state)
{
	struct work *r, *s;

	(void)state;
	world_connect(NULL);
	r = receive(&w.passive, 0, MEMORY);
	s = send_post(&w.active, 0, MEMORY, true);
	rdma_disconnect(w.active.conn, true);
	turn();
	assert_int_equal(s->status, 0);
	assert_int_equal(r->done, 1);
	assert_int_equal(r->status, 0);
	assert_closed(&w.active, 0, "");
	world_close();
}

/* ---- against a peer made by hand ---- */

#define REPLY "MPA ID Rep Frame\x10\x02\x00\x04\x00\x01\x00\x01"
#define REQUEST "MPA ID Req Frame\x10\x02\x00\x04\x00\x01\x00\x01"

/* The active end connects; the hand-made peer has read the request and answered with `reply`. */
static void raw_answer(const void *reply, size_t length)
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

static size_t raw_read(uint8_t *out, size_t size)
{
	ssize_t n = read(w.raw, out, size);

	return n < 0 ? 0 : (size_t)n;
}

static void silent_peer_is_kicked_a_few_times(void **state)
{
	uint8_t bytes[256];
	unsigned kicks = 0;

	(void)state;
	RAW_ANSWER(REPLY);
	assert_int_equal(w.active.established, 1);
	send_post(&w.active, 0, 4, false);
	turn();
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 28);
	for (int i = 0; i < 20; i++) {
		loop_advance(w.loop, 150 * LOOP_NS_PER_MS);
		turn();
		if (!raw_read(bytes, sizeof(bytes)))
			continue;
		assert_memory_equal(bytes, "\x00\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 20);
		kicks++;
	}
	assert_int_equal(kicks, 5);
	world_close();
}

static void peer_that_answers_is_not_kicked(void **state)
{
	uint8_t bytes[256];

	(void)state;
	RAW_ANSWER(REPLY);
	send_post(&w.active, 0, 4, false);
	turn();
	raw_read(bytes, sizeof(bytes));
	assert_int_equal(write(w.raw, "\x00\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 20), 20);
	turn();
	loop_advance(w.loop, LOOP_NS_PER_S);
	turn();
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 0);
	world_close();
}

static void replies_that_cannot_be_used(void **state)
{
	uint8_t bytes[64];

	(void)state;
	RAW_ANSWER("HTTP/1.1 400 Bad Request\r\n");
	assert_int_equal(w.active.error, -EPROTO);
	assert_non_null(strstr(w.active.reason, "does not speak MPA"));
	world_close();
	RAW_ANSWER("MPA ID Rep Frame\x90\x02\x00\x04\x00\x01\x00\x01"); /* markers */
	assert_int_equal(w.active.error, -EPROTO);
	world_close();
	RAW_ANSWER("MPA ID Rep Frame\x10\x02\x00\x04\x00\x01\x00\xff"); /* ORD 255 */
	assert_int_equal(w.active.error, -EPROTO);
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 28);
	assert_memory_equal(bytes + 20, "\x20\x06\x00\x00", 4);
	world_close();
	RAW_ANSWER("MPA ID Rep Frame\x10\x03\x00\x04\x00\x01\x00\x01"); /* revision 3 */
	assert_int_equal(w.active.closed, 1);
	world_close();
}

static void peer_without_reads_cannot_be_read(void **state)
{
	struct work *x;

	(void)state;
	RAW_ANSWER("MPA ID Rep Frame\x10\x02\x00\x04\x00\x00\x00\x01");
	x = transfer_make(&w.active, 0, 10, 1, 0);
	assert_int_equal(rdma_post_read(w.active.conn, &x->transfer), -EOPNOTSUPP);
	world_close();
}

static void terminate_of_siw_is_understood(void **state)
{
	static const uint8_t terminate[] = "\x00\x2a\x41\x47\0\0\0\0\0\0\0\2\0\0\0\1\0\0\0\0"
					   "\x21\x03\x03\x00\x00\x10\x41\x43\0\0\0\0\0\0\0\0\0\0\0"
					   "\2\0\0\0\0\0\0\0\0";

	(void)state;
	RAW_ANSWER(REPLY);
	assert_int_equal(write(w.raw, terminate, 48), 48);
	turn();
	assert_int_equal(w.active.error, -ECONNRESET);
	assert_non_null(strstr(w.active.reason, "1.2.03"));
	world_close();
}

static void close_within_an_fpdu(void **state)
{
	struct work *r;

	(void)state;
	RAW_ANSWER(REPLY);
	r = receive(&w.active, 0, 64);
	assert_int_equal(write(w.raw, "\x00\x22\x41\x43\0\0\0\0\0\0\0\0", 12), 12);
	turn();
	assert_int_equal(w.active.closed, 0);
	close(w.raw);
	w.raw = -1;
	turn();
	assert_int_equal(r->status, -ECANCELED);
	assert_int_equal(w.active.error, -ECONNRESET);
	world_close();
}

static void close_between_fpdus(void **state)
{
	(void)state;
	RAW_ANSWER(REPLY);
	shutdown(w.raw, SHUT_WR);
	turn();
	assert_int_equal(w.active.closed, 1);
	assert_int_equal(w.active.error, 0);
	world_close();
}

static void raw_request(const void *request, size_t length)
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

static void request_for_markers_is_refused(void **state)
{
	uint8_t bytes[64];

	(void)state;
	RAW_REQUEST("MPA ID Req Frame\x90\x02\x00\x04\x00\x01\x00\x01");
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 24);
	assert_memory_equal(bytes, "MPA ID Rep Frame\x30\x02\x00\x04\x00\x00\x00\x00", 24);
	assert_null(w.passive.conn);
	world_close();
}

static void ready_to_receive_read_is_answered(void **state)
{
	uint8_t bytes[128], rtr[52] = "\x00\x2e\x41\x41\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0\7";

	(void)state;
	RAW_REQUEST("MPA ID Req Frame\x10\x02\x00\x04\x80\x01\x40\x01"); /* A, D */
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 24);
	assert_memory_equal(bytes, "MPA ID Rep Frame\x10\x02\x00\x04\x80\x04\x40\x01", 24);
	assert_int_equal(write(w.raw, rtr, 52), 52);
	turn();
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 20);
	assert_memory_equal(bytes, "\x00\x0e\xc1\x42\0\0\0\7\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	assert_int_equal(w.passive.closed, 0);
	world_close();
}

static void passive_end_holds_its_sends_back(void **state)
{
	uint8_t bytes[128];

	(void)state;
	RAW_REQUEST(REQUEST);
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 24);
	send_post(&w.passive, 0, 4, false);
	turn();
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 0);
	assert_int_equal(write(w.raw, "\x00\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 20), 20);
	turn();
	assert_int_equal(raw_read(bytes, sizeof(bytes)), 28);
	world_close();
}

static void more_reads_than_agreed(void **state)
{
	uint8_t read_request[52] = "\x00\x2e\x41\x41\0\0\0\0\0\0\0\1\0\0\0\1";
	uint8_t all[5 * 52], bytes[256];
	size_t n;

	(void)state;
	RAW_REQUEST(REQUEST); /* ORD 1; our end serves 4 */
	raw_read(bytes, sizeof(bytes));
	for (unsigned i = 0; i < 5; i++) {
		read_request[15] = (uint8_t)(i + 1);
		memcpy(all + i * 52, read_request, 52);
	}
	assert_int_equal(write(w.raw, all, sizeof(all)), sizeof(all));
	turn();
	n = raw_read(bytes, sizeof(bytes));
	assert_true(n >= 28);
	assert_memory_equal(bytes + 20, "\x02\x07", 2);
	assert_int_equal(w.passive.error, -EPROTO);
	world_close();
}

/* ---- failures of the system ---- */

static void every_allocation_may_fail(void **state)
{
	(void)state;
	for (unsigned long n = 1; n < 40; n++) {
		int fds[2], r;

		world_open(NULL);
		pair_make(fds);
		w.later = true;
		alloc_fail_nth(n);
		r = softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor);
		assert_true(r == 0 || r == -ENOMEM);
		r = softiwarp_connect_fd(w.active.provider, fds[0], LOOP_NS_PER_S, &limits, NULL,
			&upcalls, &w.active, &w.active.conn);
		assert_true(r == 0 || r == -ENOMEM);
		turn();
		if (w.passive.conn &&
			rdma_accept(w.passive.conn, &limits, NULL, &upcalls, &w.passive))
			rdma_reject(w.passive.conn, NULL);
		turn();
		alloc_fail_nth(0);
		world_close();
	}
}

static void every_call_may_fail(void **state)
{
	(void)state;
	for (unsigned long n = 1; n < 60; n++) {
		struct work *r = NULL, *s = NULL;
		int fds[2];

		world_open(NULL);
		pair_make(fds);
		sys_fail_nth(n, ECONNRESET);
		if (softiwarp_adopt(w.passive.provider, fds[1], &w.acceptor) == 0)
			turn();
		if (softiwarp_connect_fd(w.active.provider, fds[0], LOOP_NS_PER_S, &limits, NULL,
			    &upcalls, &w.active, &w.active.conn) == 0)
			turn();
		if (w.passive.conn && w.passive.established)
			r = receive(&w.passive, 0, 100);
		if (w.active.conn && w.active.established)
			s = send_post(&w.active, 0, 100, true);
		turn();
		sys_fail_nth(0, 0);
		if (w.active.conn)
			rdma_disconnect(w.active.conn, true);
		turn();
		loop_advance(w.loop, 10 * LOOP_NS_PER_S);
		turn();
		assert_true((!r || r->done) && (!s || s->done));
		world_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_data_reaches_both_ends),
		cmocka_unit_test(rejected_with_private_data),
		cmocka_unit_test(accepted_later_after_the_peer_has_gone),
		cmocka_unit_test(peer_that_says_nothing_is_timed_out),
		cmocka_unit_test(peer_that_does_not_ask_is_dropped),
		cmocka_unit_test(address_that_nobody_listens_on),
		cmocka_unit_test(data_moves_with_any_fpdu_size_and_crc),
		cmocka_unit_test(fpdus_are_kept_to_the_segment_size),
		cmocka_unit_test(crc_is_adopted_from_the_peer),
		cmocka_unit_test(send_with_invalidate_ends_the_exposure),
		cmocka_unit_test(foreign_tag_cannot_be_invalidated),
		cmocka_unit_test(posts_are_limited_by_the_depth),
		cmocka_unit_test(send_longer_than_the_receive),
		cmocka_unit_test(send_without_a_receive),
		cmocka_unit_test(write_out_of_bounds),
		cmocka_unit_test(read_that_is_refused),
		cmocka_unit_test(tags_are_of_one_connection_alone),
		cmocka_unit_test(revoked_memory_is_not_read),
		cmocka_unit_test(abrupt_end_cancels_everything),
		cmocka_unit_test(graceful_end_lets_everything_leave),
		cmocka_unit_test(silent_peer_is_kicked_a_few_times),
		cmocka_unit_test(peer_that_answers_is_not_kicked),
		cmocka_unit_test(replies_that_cannot_be_used),
		cmocka_unit_test(peer_without_reads_cannot_be_read),
		cmocka_unit_test(terminate_of_siw_is_understood),
		cmocka_unit_test(close_within_an_fpdu),
		cmocka_unit_test(close_between_fpdus),
		cmocka_unit_test(request_for_markers_is_refused),
		cmocka_unit_test(ready_to_receive_read_is_answered),
		cmocka_unit_test(passive_end_holds_its_sends_back),
		cmocka_unit_test(more_reads_than_agreed),
		cmocka_unit_test(every_allocation_may_fail),
		cmocka_unit_test(every_call_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* How fast is the software iWARP provider by itself? Two processes over loopback, each on one core:
 * the client sends requests of 76 bytes (an iSER header and a BHS), the server answers each with an
 * RDMA Write of `size` bytes and a Send of 76, as a READ is served.
 *
 *     cc -O2 -std=gnu11 -D_GNU_SOURCE -I. -o /tmp/rdma_stream tests/bench/rdma_stream.c \
 *         build/release/libcommon.a -lisal -lcrypto -ljson-c -pthread
 *     /tmp/rdma_stream SIZE DEPTH SECONDS [CRC 0|1] [ULPDU] [SPIN us] */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/loop/loop.h"
#include "common/rdma/softiwarp.h"

#define MESSAGE 76
#define DEPTH_MAX 256

struct slot { /* one request of the client's, or its answer at the server */
	struct rdma_receive receive;
	struct rdma_send send;
	struct rdma_transfer write;
	struct end *end;
	uint8_t in[MESSAGE], out[MESSAGE];
};

struct end {
	struct loop *loop;
	struct rdma_provider *provider;
	struct rdma_conn *conn;
	struct rdma_region *region, *messages;
	struct rdma_acceptor acceptor;
	struct loop_timer timer;
	struct slot slots[DEPTH_MAX];
	uint8_t *memory;
	uint32_t size, depth, stag;
	uint64_t address, done, bytes;
	double seconds;
	uint64_t spin_ns;
	bool client, timing, over;
};

static const struct rdma_conn_limits limits = {
	.send_depth = 4 * DEPTH_MAX, .receive_depth = 2 * DEPTH_MAX, .reads_in = 4, .reads_out = 4};

static void fail(const char *what)
{
	fprintf(stderr, "rdma_stream: %s failed\n", what);
	exit(1);
}

static void receive_post(struct slot *s)
{
	if (rdma_post_receive(s->end->conn, &s->receive))
		fail("post_receive");
}

static void send_post(struct slot *s)
{
	if (rdma_post_send(s->end->conn, &s->send))
		fail("post_send");
}

static void received(struct rdma_work *w, int status)
{
	struct slot *s = container_of(w, struct slot, receive.work);
	struct end *e = s->end;

	if (status || e->over)
		return;
	if (e->client) {
		e->done++;
		receive_post(s);
		send_post(s);
		return;
	}
	s->write.remote_stag = get_be32(s->in);
	s->write.remote_address = get_be64(s->in + 4);
	if (rdma_post_write(e->conn, &s->write))
		fail("post_write");
	receive_post(s);
	send_post(s);
}

static void ignore(struct rdma_work *w, int status)
{
	(void)w;
	(void)status;
}

static void slots_make(struct end *e)
{
	e->memory = alloc_aligned(4096, (size_t)e->size * e->depth);
	if (!e->memory)
		fail("memory");
	memset(e->memory, 1, (size_t)e->size * e->depth);
	for (uint32_t i = 0; i < e->depth; i++) {
		struct slot *s = &e->slots[i];

		s->end = e;
		s->receive.work.done = received;
		s->receive.sge = (struct rdma_sge){s->in, MESSAGE, e->messages};
		s->send.work.done = ignore;
		s->send.sge[0] = (struct rdma_sge){s->out, MESSAGE, e->messages};
		s->send.sge_count = 1;
		s->write.work.done = ignore;
		s->write.local =
			(struct rdma_sge){e->memory + (size_t)e->size * i, e->size, e->region};
		put_be32(s->out, e->stag);
		put_be64(s->out + 4, e->address + (uint64_t)e->size * i);
	}
}

static void event(void *owner, enum rdma_conn_event what, const struct rdma_private_data *pd)
{
	struct end *e = owner;

	(void)pd;
	if (what != RDMA_ESTABLISHED)
		fail("connect");
	if (!e->client)
		return;
	if (rdma_register(e->provider, e->memory, (size_t)e->size * e->depth, &e->region) ||
		rdma_expose(e->conn, e->region, e->memory, e->size * e->depth, RDMA_REMOTE_WRITE,
			&e->stag, &e->address))
		fail("expose");
	for (uint32_t i = 0; i < e->depth; i++) {
		put_be32(e->slots[i].out, e->stag);
		put_be64(e->slots[i].out + 4, e->address + (uint64_t)e->size * i);
		receive_post(&e->slots[i]);
		send_post(&e->slots[i]);
	}
}

static void closed(void *owner, int error, const char *reason)
{
	struct end *e = owner;

	if (error)
		fprintf(stderr, "%s: %s\n", e->client ? "client" : "server", reason);
	loop_stop(e->loop);
}

static const struct rdma_conn_upcalls upcalls = {event, closed};

static void requested(struct rdma_acceptor *a, struct rdma_conn *c, const struct address *peer,
	const struct rdma_private_data *pd)
{
	struct end *e = container_of(a, struct end, acceptor);

	(void)peer;
	(void)pd;
	e->conn = c;
	for (uint32_t i = 0; i < e->depth; i++)
		receive_post(&e->slots[i]);
	if (rdma_accept(c, &limits, NULL, &upcalls, e))
		fail("accept");
}

static void expired(struct loop_timer *t)
{
	struct end *e = container_of(t, struct end, timer);

	if (!e->timing) { /* the first tenth warms up */
		e->timing = true;
		e->done = 0;
		loop_timer_arm(e->loop, t, (uint64_t)(e->seconds * 1e9));
		return;
	}
	e->over = true;
	rdma_disconnect(e->conn, false);
}

static void usage_print(const char *who, const struct end *e)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("%s: %.2f s user, %.2f s system\n", who,
		(double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6,
		(double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6);
	if (e->client)
		printf("%.0f messages/s, %.2f GB/s, %.2f us each at depth %u\n",
			(double)e->done / e->seconds, (double)e->done * e->size / e->seconds / 1e9,
			e->seconds * 1e6 * e->depth / (double)e->done, e->depth);
}

static void end_run(struct end *e, int fd, int cpu, const struct softiwarp_config *config)
{
	struct loop_config lc = {.spin_ns = e->spin_ns};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	e->loop = loop_new(&lc);
	e->provider = softiwarp_new(e->loop, config);
	slots_make(e);
	e->timer.expired = expired;
	e->acceptor.requested = requested;
	if (e->client) {
		if (softiwarp_connect_fd(e->provider, fd, 0, &limits, NULL, &upcalls, e, &e->conn))
			fail("connect");
		loop_timer_arm(e->loop, &e->timer, (uint64_t)(e->seconds * 1e8));
	} else if (softiwarp_adopt(e->provider, fd, &e->acceptor)) {
		fail("adopt");
	}
	loop_run(e->loop);
	usage_print(e->client ? "client" : "server", e);
	rdma_unregister(e->provider, e->region);
	rdma_provider_free(e->provider);
	loop_free(e->loop);
}

static void tcp_make(int fds[2])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(l, (struct sockaddr *)&a, n) || listen(l, 1) ||
		getsockname(l, (struct sockaddr *)&a, &n))
		fail("listen");
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fds[0], (struct sockaddr *)&a, n))
		fail("connect");
	fds[1] = accept4(l, NULL, NULL, SOCK_NONBLOCK);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	close(l);
}

static uint32_t number(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	struct softiwarp_config config = {
		.crc = argc > 4 && number(argv[4]) ? SOFTIWARP_CRC_ON : SOFTIWARP_CRC_OFF,
		.max_ulpdu = argc > 5 ? number(argv[5]) : 0};
	struct end *e = alloc_zeroed(sizeof(*e));
	int fds[2];
	pid_t child;

	if (argc < 4 || !e) {
		fprintf(stderr, "usage: rdma_stream SIZE DEPTH SECONDS [CRC] [ULPDU] [SPIN]\n");
		return 2;
	}
	e->size = number(argv[1]);
	e->depth = min_u32(number(argv[2]), DEPTH_MAX);
	e->seconds = atof(argv[3]);
	e->spin_ns = argc > 6 ? (uint64_t)number(argv[6]) * 1000 : 0;
	tcp_make(fds);
	child = fork();
	e->client = child != 0;
	close(fds[e->client]);
	end_run(e, fds[!e->client], e->client, &config);
	if (child)
		waitpid(child, NULL, 0);
	return 0;
}

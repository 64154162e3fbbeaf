/* The iSCSI/TCP mover as a whole (common/datamover/tcp.c): both ends over a socketpair, connections
 * in and out, keys, and a heap and a kernel that refuse. */
#include <arpa/inet.h>
#include <poll.h>

#include "tests/unit/common/datamover/tcp_raw.h"
#include "tests/unit/common/datamover/tcp_store.h"

#include "common/loop/address.h"
#include "common/loop/listener.h"
#include "tests/kit/await.h"

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

static int listening(int backlog, struct address *ret)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	if (backlog >= 0)
		assert_int_equal(listen(fd, backlog), 0);
	*ret = (struct address){.length = sizeof(ret->sa)};
	assert_int_equal(getsockname(fd, (struct sockaddr *)&ret->sa, &ret->length), 0);
	return fd;
}

static void connect_begin(struct kit_end *e, const struct address *to)
{
	static const struct tcp_mover_config config = {.congestion_control = "reno"};

	kit_end_init(e, kit_loop(), &config);
	assert_int_equal(dm_connect(e->mover, to, LOOP_NS_PER_S, &kit_upcalls, e, &e->conn), 0);
	assert_int_equal(e->connected + e->terminated, 0);
	kit_settle(e->loop);
}

static void connect_end(struct kit_end *e, int fd)
{
	if (e->conn)
		dm_terminate(e->conn, false);
	kit_settle(e->loop);
	assert_int_equal(e->terminated, 1);
	close(fd);
	kit_end_release(e);
	loop_free(e->loop);
	assert_int_equal(alloc_live(), 0);
}

static void a_connect_that_succeeds(void **state)
{
	char text[ADDRESS_TEXT_SIZE];
	struct dm_conn_info info;
	struct address to;
	struct kit_end e;
	int fd = listening(5, &to);

	(void)state;
	connect_begin(&e, &to);
	AWAIT(e.loop, e.connected);
	dm_conn_get_info(e.conn, &info);
	assert_string_equal(info.mover, "tcp");
	assert_string_equal(info.peer, address_print(&to, text));
	assert_memory_equal(info.local, "127.0.0.1:", 10);
	connect_end(&e, fd);
	assert_int_equal(e.error, 0);
}

static void a_connect_that_is_refused(void **state)
{
	struct address to;
	struct kit_end e;
	int fd = listening(-1, &to);

	(void)state;
	connect_begin(&e, &to);
	AWAIT(e.loop, e.terminated);
	assert_int_equal(e.connected, 0);
	assert_int_equal(e.error, -ECONNREFUSED);
	connect_end(&e, fd);
}

/* A full backlog lets a SYN go unanswered. */
static void a_connect_that_is_not_answered(void **state)
{
	int fill[4];
	struct pollfd p;
	struct address to;
	struct kit_end e;
	int fd = listening(0, &to);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fill); i++) {
		fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(fill[i], (struct sockaddr *)&to.sa, to.length);
		p = (struct pollfd){.fd = fill[i], .events = POLLOUT};
		poll(&p, 1, 50);
	}
	connect_begin(&e, &to);
	assert_int_equal(e.connected + e.terminated, 0);
	loop_advance(e.loop, LOOP_NS_PER_S);
	kit_settle(e.loop);
	assert_int_equal(e.error, -ETIMEDOUT);
	connect_end(&e, fd);
	for (size_t i = 0; i < ARRAY_SIZE(fill); i++)
		close(fill[i]);
}

static void nobody(struct dm_acceptor *a, struct dm_conn *conn, const struct address *peer)
{
	(void)a, (void)conn, (void)peer;
}

static void a_connection_nobody_takes_is_closed(void **state)
{
	struct kit_end e;
	int fd[2];

	(void)state;
	kit_end_init(&e, kit_loop(), &(struct tcp_mover_config){0});
	e.acceptor.accepted = nobody;
	kit_sockets(fd, 0);
	assert_int_equal(tcp_mover_adopt(e.mover, fd[0], &e.acceptor), 0);
	kit_settle(e.loop);
	assert_int_equal(read(fd[1], block, 1), 0);
	close(fd[1]);
	kit_end_release(&e);
	loop_free(e.loop);
	assert_int_equal(alloc_live(), 0);
}

static void the_first_byte_tells_a_login(void **state)
{
	(void)state;
	assert_int_equal(tcp_mover_match((const uint8_t *)"\x43\x87", 2), LISTENER_YES);
	assert_int_equal(tcp_mover_match((const uint8_t *)"GET /", 5), LISTENER_NO);
	assert_int_equal(tcp_mover_match((const uint8_t *)"MPA ID Req Frame", 16), LISTENER_NO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_and_writes_of_every_length),
		cmocka_unit_test(keys_are_the_movers_own),
		cmocka_unit_test(every_failing_allocation_is_survived),
		cmocka_unit_test(every_failing_call_is_survived),
		cmocka_unit_test(a_connect_that_succeeds),
		cmocka_unit_test(a_connect_that_is_refused),
		cmocka_unit_test(a_connect_that_is_not_answered),
		cmocka_unit_test(a_connection_nobody_takes_is_closed),
		cmocka_unit_test(the_first_byte_tells_a_login),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

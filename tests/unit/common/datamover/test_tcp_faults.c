/* The iSCSI/TCP mover where data is spoiled or given away in mid-segment, where the heap refuses
 * the initiator, and dm_connect() in its three outcomes. */
#include <arpa/inet.h>

#include "tests/unit/common/datamover/tcp_kit.h"

#include "common/base/crc32c.h"
#include "common/loop/address.h"
#include "common/loop/listener.h"

static uint8_t block[65536];

/* ---- digests ---- */

/* One PDU with a right header digest and a data digest that is off by `spoil`. */
static void send_digested(
	struct kit_raw *r, const struct iscsi_pdu *pdu, uint32_t length, uint32_t spoil)
{
	static uint8_t bytes[ISCSI_BHS_SIZE + 4 + 4096 + 4];
	struct iscsi_pdu copy = *pdu;
	size_t size = ISCSI_BHS_SIZE + 4;

	copy.data_length = length;
	iscsi_pdu_encode(&copy, bytes);
	put_le32(bytes + ISCSI_BHS_SIZE, crc32c_update(0, bytes, ISCSI_BHS_SIZE));
	if (length) {
		memcpy(bytes + size, block, length);
		put_le32(bytes + size + length, crc32c_update(0, block, length) + spoil);
		size += length + 4;
	}
	assert_int_equal(write(r->fd, bytes, size), size);
	kit_settle(r->loop);
}

static struct iscsi_params digest_params(void)
{
	struct iscsi_params params = kit_params();

	params.header_digest = params.data_digest = ISCSI_DIGEST_CRC32C;
	return params;
}

static void a_spoiled_data_out_fails_its_task(void **state)
{
	struct iscsi_params params = digest_params();
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_COMMAND, .itt = 7, .final = true};
	struct iscsi_pdu out = {.opcode = ISCSI_DATA_OUT, .itt = 7, .final = true}, r2t;
	struct dm_transfer t = {.data = block + 4096, .length = 1024, .done = kit_done};
	uint8_t bytes[52];
	struct kit_raw r;

	(void)state;
	pdu.command.write = true;
	pdu.command.expected_length = 1024;
	kit_raw_init(&r, true, &params);
	send_digested(&r, &pdu, 0, 0);
	r.end.pdus[0].task->owner = &r.end;
	assert_int_equal(dm_get_data(r.end.conn, r.end.pdus[0].task, &t), 0);
	kit_settle(r.loop);
	assert_int_equal(recv(r.fd, bytes, 52, MSG_DONTWAIT), 52);
	assert_int_equal(iscsi_pdu_decode(bytes, &r2t), 0);
	out.data_out.ttt = r2t.r2t.ttt;
	send_digested(&r, &out, 1024, 1);
	assert_int_equal(r.end.done_status, -EBADMSG);
	assert_int_equal(r.end.failed, 1);
	assert_int_equal(r.end.terminated, 0);
	kit_raw_release(&r);
}

static void any_other_spoiled_pdu_ends_the_connection(void **state)
{
	struct iscsi_params params = digest_params();
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_OUT, .itt = 7};
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, &params);
	send_digested(&r, &nop, 512, 0);
	assert_int_equal(r.end.count, 1);
	send_digested(&r, &nop, 512, 1);
	assert_int_equal(r.end.count, 1);
	assert_int_equal(r.end.error, -EBADMSG);
	kit_raw_release(&r);
}

/* ---- given away in mid-segment ---- */

static void memory_of_a_deallocated_get_is_not_touched(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_COMMAND, .itt = 7, .final = true};
	struct iscsi_pdu out = {.opcode = ISCSI_DATA_OUT, .itt = 7, .final = true}, r2t;
	struct iscsi_pdu nop = {.opcode = ISCSI_NOP_OUT, .itt = 8};
	uint8_t *data = malloc(32768), bhs[ISCSI_BHS_SIZE];
	struct dm_transfer t = {.data = data, .length = 32768, .done = kit_done};
	struct kit_end *e;
	struct kit_raw r;

	(void)state;
	pdu.command.write = true;
	pdu.command.expected_length = 32768;
	kit_raw_init(&r, true, &params);
	e = &r.end;
	kit_raw_send(&r, &pdu, NULL, 0);
	e->pdus[0].task->owner = e;
	assert_int_equal(dm_get_data(e->conn, e->pdus[0].task, &t), 0);
	kit_settle(r.loop);
	assert_true(kit_raw_receive(&r, &r2t, NULL));
	out.data_out.ttt = r2t.r2t.ttt;
	out.data_length = 32768;
	iscsi_pdu_encode(&out, bhs);
	assert_int_equal(write(r.fd, bhs, sizeof(bhs)), sizeof(bhs));
	assert_int_equal(write(r.fd, block, 10000), 10000);
	kit_settle(r.loop);
	dm_deallocate_task_resources(e->conn, e->pdus[0].task);
	assert_int_equal(e->done_count, 0);
	kit_settle(r.loop);
	assert_int_equal(e->done_count, 1);
	assert_int_equal(e->done_status, -ECANCELED);
	free(data);
	assert_int_equal(write(r.fd, block, 22768), 22768);
	kit_raw_send(&r, &nop, NULL, 0);
	assert_int_equal(e->pdus[e->count - 1].pdu.opcode, ISCSI_NOP_OUT);
	kit_raw_release(&r);
}

/* ---- the heap refuses the initiator ---- */

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

/* ---- dm_connect() ---- */

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
	assert_int_equal(e.connected, 1);
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
	assert_int_equal(e.connected, 0);
	assert_int_equal(e.error, -ECONNREFUSED);
	connect_end(&e, fd);
}

/* A full backlog lets a SYN go unanswered. */
static void a_connect_that_is_not_answered(void **state)
{
	int fill[4];
	struct address to;
	struct kit_end e;
	int fd = listening(0, &to);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fill); i++) {
		fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(fill[i], (struct sockaddr *)&to.sa, to.length);
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
		cmocka_unit_test(a_spoiled_data_out_fails_its_task),
		cmocka_unit_test(any_other_spoiled_pdu_ends_the_connection),
		cmocka_unit_test(memory_of_a_deallocated_get_is_not_touched),
		cmocka_unit_test(every_failing_allocation_of_the_initiator_is_survived),
		cmocka_unit_test(a_connect_that_succeeds),
		cmocka_unit_test(a_connect_that_is_refused),
		cmocka_unit_test(a_connect_that_is_not_answered),
		cmocka_unit_test(a_connection_nobody_takes_is_closed),
		cmocka_unit_test(the_first_byte_tells_a_login),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Bytes into the iSCSI/TCP mover (common/datamover/tcp_rx.c): in odd pieces, too many, spoiled, and
 * of somebody who speaks another protocol. */
#include "tests/unit/common/datamover/tcp_digests.h"

static void a_segment_longer_than_declared_ends_the_connection(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_LOGIN_REQUEST, .itt = 7};
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, true, NULL);
	kit_raw_send(&r, &pdu, block, 8193);
	assert_int_equal(r.end.terminated, 1);
	assert_int_equal(r.end.error, -EMSGSIZE);
	assert_int_equal(r.end.count, 0);
	kit_raw_release(&r);
}

static void bytes_come_one_at_a_time(void **state)
{
	struct iscsi_params params = kit_params();
	struct iscsi_pdu pdu = command_of(true, 4096);
	uint8_t bytes[48 + 1000];
	struct kit_raw r;

	(void)state;
	memset(bytes, 0x77, sizeof(bytes));
	pdu.data_length = 1000;
	iscsi_pdu_encode(&pdu, bytes);
	kit_raw_init(&r, true, &params);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		assert_int_equal(r.end.count, 0);
		assert_int_equal(write(r.fd, bytes + i, 1), 1);
		kit_settle(r.loop);
	}
	assert_int_equal(r.end.count, 1);
	assert_memory_equal(r.end.pdus[0].data, bytes + 48, 1000);
	kit_raw_release(&r);
}

/* Its first 48 bytes, taken as a BHS, claim an AHS of 46 words. */
static void a_web_server_is_told_apart_by_its_first_bytes(void **state)
{
	static const char answer[] =
		"HTTP/1.1 400 Bad Request\r\nServer: web\r\nContent-Length: 0\r\n";
	struct kit_raw r;

	(void)state;
	kit_raw_init(&r, false, NULL);
	assert_int_equal(write(r.fd, answer, sizeof(answer) - 1), sizeof(answer) - 1);
	kit_settle(r.loop);
	assert_int_equal(r.end.terminated, 1);
	assert_int_equal(r.end.error, -EMSGSIZE);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_one_at_a_time),
		cmocka_unit_test(a_segment_longer_than_declared_ends_the_connection),
		cmocka_unit_test(a_web_server_is_told_apart_by_its_first_bytes),
		cmocka_unit_test(any_other_spoiled_pdu_ends_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

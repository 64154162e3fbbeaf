/* What the iSER mover receives from peers that say what no honest one would (RFC 7145 section 10).
 */
#include "tests/kit/iser_ends.h"

static void expect_refused(const void *bytes, size_t length, const char *reason)
{
	struct fixture *f = fixture_new(&iser_ends_allow);

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
	struct fixture *f = fixture_new(&iser_ends_allow);

	(void)state;
	raw_connect(f, NULL, 0);
	raw_send_pdu(f, &iser_ends_plain, &nop, NULL);
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
	raw_compose(bytes, &iser_ends_plain, &pdu, NULL);
	expect_refused(bytes, 76, "a data segment longer than the PDU");
	expect_refused(bytes, 76 + 99, "a data segment longer than the PDU");
	expect_refused(bytes, 76 + 105, "a PDU longer than its header says");
	pdu.data_length = 0xffffff;
	raw_compose(bytes, &iser_ends_plain, &pdu, NULL);
	expect_refused(bytes, sizeof(bytes), "a data segment longer than the PDU");
	pdu.data_length = 0;
	pdu.ahs_words = 255;
	raw_compose(bytes, &iser_ends_plain, &pdu, NULL);
	expect_refused(bytes, 76 + 64, "an AHS longer than the PDU");
}

static void padding_may_be_there_or_not(void **state)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_LOGIN_REQUEST, .immediate = true, .data_length = 5};
	uint8_t bytes[128] = {0};
	struct fixture *f = fixture_new(&iser_ends_allow);

	(void)state;
	raw_compose(bytes, &iser_ends_plain, &pdu, "abcde");
	raw_connect(f, NULL, 0);
	raw_send(f, bytes, 76 + 5);
	raw_send(f, bytes, 76 + 8);
	assert_int_equal(f->t.pdus, 2);
	assert_int_equal(f->t.pdu.data_length, 5);
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

		raw_send_pdu(f, &iser_ends_plain, &command, data);
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
	raw_send_pdu(f, &iser_ends_plain, &data_out, NULL);
	assert_int_equal(f->t.error, -EPROTO);
	fixture_free(f);
}

static void hello_is_answered_by_hello_reply_alone(void **state)
{
	static const uint8_t hello[28] = {0x20, 0xaa, 0x00, 0x08};
	static const uint8_t expected[28] = {0x30, 0xaa, 0x00, 0x08};
	struct fixture *f = fixture_new(&iser_ends_allow);

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
		raw_send_pdu(f, &iser_ends_plain, &command, NULL);
	assert_true(n > 128 && n < 1000);
	assert_string_equal(f->t.reason, "more commands than the command window allows");
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

		f = raw_target(&iser_ends_allow);
		raw_send_pdu(f, &iser_ends_plain, &pdu, NULL);
		assert_int_equal(f->i.error, -EPROTO);
		fixture_free(f);
	}
	f = raw_target(&iser_ends_allow);
	raw_send(f, hello, sizeof(hello));
	assert_int_equal(f->i.error, -EPROTO);
	fixture_free(f);
}

static void message_longer_than_any_receive_fails_the_connection(void **state)
{
	static const uint8_t bytes[RAW_SIZE] = {0x10};
	struct fixture *f = fixture_new(&iser_ends_allow);

	(void)state;
	raw_connect(f, NULL, 0);
	raw_send(f, bytes, 9000);
	assert_int_equal(f->t.terminated, 1);
	assert_true(f->t.error < 0);
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_shorter_than_their_headers_are_refused),
		cmocka_unit_test(headers_alone_are_a_pdu),
		cmocka_unit_test(unknown_iser_opcode_and_hello_reply_are_refused),
		cmocka_unit_test(lengths_beyond_what_was_received_are_refused),
		cmocka_unit_test(padding_may_be_there_or_not),
		cmocka_unit_test(immediate_data_that_no_write_expects_fails_the_connection),
		cmocka_unit_test(data_out_fails_the_target),
		cmocka_unit_test(hello_is_answered_by_hello_reply_alone),
		cmocka_unit_test(commands_beyond_every_window_fail_the_connection),
		cmocka_unit_test(data_in_and_r2t_and_hello_fail_the_initiator),
		cmocka_unit_test(message_longer_than_any_receive_fails_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

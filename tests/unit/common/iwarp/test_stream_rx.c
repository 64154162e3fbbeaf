/* What a stream accepts, and each fault with its Terminate. */
#include "tests/unit/common/iwarp/stream_fixture.h"

static void frame_of_siw_is_received(void **state)
{
	struct world w;
	uint8_t inbox[16];

	(void)state;
	world_open(&w, true, 65528);
	receive_post(&w.b, inbox, sizeof(inbox));
	assert_int_equal(iwarp_rx_feed(w.b.s, siw_send, 40), 0);
	assert_int_equal(w.b.received, 1);
	assert_memory_equal(inbox, siw_send + 20, 16);
	world_close(&w);
}

struct fault_row {
	const char *what;
	const char *ulpdu; /* from the control byte on */
	size_t length;
	const char *control; /* first two bytes of the Terminate's control */
};

#define ROW(what, text, control)                                                                   \
	{                                                                                          \
		what, text, sizeof(text) - 1, control                                              \
	}
#define ZERO8 "\0\0\0\0\0\0\0\0"
#define UN(op, qn, msn, mo) "\x41" op "\0\0\0\0" qn msn mo
#define QN(n) "\0\0\0" n
#define READ_TAIL(size, stag, to) "\x80\0\0\0" ZERO8 size stag to

/* w.b: one receive of 16 bytes is posted; its own STag is \0\0\1\1 << 32, w.a's is \0\0\0\1.
 * STag \0\0\2\1 of b is 16 bytes long and may not be read, \0\0\3\1 may not be written. */
static const struct fault_row faults[] = {
	ROW("wrong MSN on a Send", UN("\x43", QN("\0"), QN("\2"), QN("\0")) "x", "\x12\x03"),
	ROW("wrong MSN on a Read Request",
		UN("\x41", QN("\1"), QN("\2"), QN("\0")) READ_TAIL("\0\0\0\1", "\0\0\1\1", ZERO8),
		"\x12\x03"),
	ROW("longer than the receive", UN("\x43", QN("\0"), QN("\1"), QN("\0")) "12345678901234567",
		"\x12\x02"),
	ROW("wrong queue", UN("\x43", QN("\3"), QN("\1"), QN("\0")) "x", "\x12\x01"),
	ROW("wrong offset", UN("\x43", QN("\0"), QN("\1"), QN("\1")) "x", "\x12\x04"),
	ROW("unknown STag", "\xc1\x40\0\0\x20\1" ZERO8 "x", "\x11\x00"),
	ROW("older key", "\xc1\x40\0\0\1\2\0\0\1\1\0\0\0\0x", "\x11\x00"),
	ROW("no right to write", "\xc1\x40\0\0\3\1\0\0\3\1\0\0\0\0x", "\x11\x00"),
	ROW("out of bounds", "\xc1\x40\0\0\2\1\0\0\2\1\0\0\0\x10x", "\x11\x01"),
	ROW("before the bounds", "\xc1\x40\0\0\2\1\0\0\2\0\xff\xff\xff\xffx", "\x11\x01"),
	ROW("another's STag", "\xc1\x40\0\0\0\1\0\0\0\1\0\0\0\0x", "\x11\x02"),
	ROW("offset that wraps", "\xc1\x40\0\0\2\1\xff\xff\xff\xff\xff\xff\xff\xffx", "\x11\x03"),
	ROW("read from an unknown STag",
		UN("\x41", QN("\1"), QN("\1"), QN("\0")) READ_TAIL("\0\0\0\1", "\0\0\x20\1", ZERO8),
		"\x01\x00"),
	ROW("read out of bounds",
		UN("\x41", QN("\1"), QN("\1"), QN("\0"))
			READ_TAIL("\0\0\0\x11", "\0\0\3\1", "\0\0\3\1\0\0\0\0"),
		"\x01\x01"),
	ROW("read without the right",
		UN("\x41", QN("\1"), QN("\1"), QN("\0"))
			READ_TAIL("\0\0\0\1", "\0\0\2\1", "\0\0\2\1\0\0\0\0"),
		"\x01\x02"),
	ROW("read of another's STag",
		UN("\x41", QN("\1"), QN("\1"), QN("\0"))
			READ_TAIL("\0\0\0\1", "\0\0\0\1", "\0\0\0\1\0\0\0\0"),
		"\x01\x03"),
	ROW("Read Response without a request", "\xc1\x42\x80\0\0\0" ZERO8 "x", "\x10\x00"),
	ROW("opcode 8", UN("\x48", QN("\0"), QN("\1"), QN("\0")), "\x02\x06"),
	ROW("opcode 15", UN("\x4f", QN("\0"), QN("\1"), QN("\0")), "\x02\x06"),
	ROW("tagged Send", "\xc1\x43\0\0\2\1\0\0\2\1\0\0\0\0x", "\x02\x06"),
	ROW("DDP version 0, untagged", "\x40\x43\0\0\0\0\0\0\0\0", "\x12\x06"),
	ROW("DDP version 0, tagged", "\xc0\x40\0\0\0\0\0\0\0\0", "\x11\x04"),
	ROW("RDMAP version 0", "\x41\x03\0\0\0\0\0\0\0\0", "\x02\x05"),
	ROW("shorter than the header", "\x41\x43\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0", "\x20\x03"),
	ROW("invalidates another's STag", "\x41\x44\0\0\0\1" QN("\0") QN("\1") QN("\0"),
		"\x02\x09"),
	ROW("Read Request with a payload",
		UN("\x41", QN("\1"), QN("\1"), QN("\0"))
			READ_TAIL("\0\0\0\0", "\0\0\0\0", ZERO8) "x",
		"\x12\x05"),
};

static void fault_world_open(struct world *w, uint8_t inbox[16])
{
	uint32_t stag;
	uint64_t to;

	world_open(w, true, 65528);
	stag_add(w->stags, &w->b, w->b.memory, 16, STAG_REMOTE_WRITE, &stag, &to);
	assert_int_equal(stag, 0x201);
	assert_true(to == 0x20100000000);
	stag_add(w->stags, &w->b, w->b.memory, 16, STAG_REMOTE_READ, &stag, &to);
	assert_int_equal(stag, 0x301);
	receive_post(&w->b, inbox, 16);
}

static void each_fault_is_answered_with_its_terminate(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		uint8_t frame[256], out[256], inbox[16];
		size_t n = fpdu_make(frame, faults[i].ulpdu, faults[i].length);
		const struct rdmap_terminate *t;
		struct world w;

		fault_world_open(&w, inbox);
		if (iwarp_rx_feed(w.b.s, frame, n) != -EPROTO)
			fail_msg("%s: accepted", faults[i].what);
		iwarp_tx_terminate(w.b.s, iwarp_stream_fault(w.b.s));
		n = have_all(&w.b, out);
		if (memcmp(out + 2, "\x41\x47\0\0\0\0\0\0\0\2\0\0\0\1\0\0\0\0", 18) ||
			memcmp(out + 20, faults[i].control, 2))
			fail_msg("%s: Terminate %02x %02x", faults[i].what, out[20], out[21]);
		assert_int_equal(iwarp_rx_feed(w.b.s, frame, 1), -EPROTO);
		assert_int_equal(w.b.received, 0);
		/* and the other end understands it */
		assert_int_equal(iwarp_rx_feed(w.a.s, out, n), -ECONNRESET);
		t = iwarp_stream_terminated(w.a.s);
		assert_int_equal(t->layer << 4 | t->type, out[20]);
		assert_int_equal(t->code, out[21]);
		world_close(&w);
	}
}

static void flipped_bit_is_a_crc_mismatch(void **state)
{
	uint8_t frame[40], inbox[16];
	struct world w;

	(void)state;
	for (size_t byte = 20; byte < 40; byte++) {
		world_open(&w, true, 65528);
		receive_post(&w.b, inbox, sizeof(inbox));
		memcpy(frame, siw_send, 40);
		frame[byte] ^= 0x10;
		assert_int_equal(iwarp_rx_feed(w.b.s, frame, 40), -EPROTO);
		assert_int_equal(iwarp_stream_fault(w.b.s), FAULT_CRC);
		assert_int_equal(w.b.received, 0);
		world_close(&w);
	}
	world_open(&w, false, 65528);
	receive_post(&w.b, inbox, sizeof(inbox));
	frame[39] ^= 0x20;
	assert_int_equal(iwarp_rx_feed(w.b.s, frame, 40), 0); /* off: nobody looks */
	world_close(&w);
}

static void send_without_a_receive_is_refused(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, true, 65528);
	assert_int_equal(iwarp_rx_feed(w.b.s, siw_send, 40), -EPROTO);
	assert_int_equal(iwarp_stream_fault(w.b.s), FAULT_NO_BUFFER);
	world_close(&w);
}

static void more_reads_than_the_ird_are_refused(void **state)
{
	uint8_t frame[64];
	struct world w;

	(void)state;
	world_open(&w, true, 65528);
	for (uint32_t i = 1; i <= 2; i++)
		assert_int_equal(iwarp_rx_feed(w.b.s, frame, read_frame(frame, &w.b, i, 10)), 0);
	assert_int_equal(iwarp_rx_feed(w.b.s, frame, read_frame(frame, &w.b, 3, 10)), -EPROTO);
	assert_int_equal(iwarp_stream_fault(w.b.s), FAULT_READ_LIMIT);
	world_close(&w);
}

static void response_that_is_not_what_was_asked_for_is_refused(void **state)
{
	static const struct {
		const char *ulpdu;
		size_t length;
		enum rdmap_fault fault;
	} rows[] = {
		{"\xc1\x42\x80\0\0\1" ZERO8 "12345678", 22, FAULT_TAG_STAG},
		{"\xc1\x42\x80\0\0\0\0\0\0\0\0\0\0\1"
		 "12345678",
			22, FAULT_TAG_BOUNDS},
		{"\xc1\x42\x80\0\0\0" ZERO8 "123456789", 23, FAULT_TAG_BOUNDS},
		{"\xc1\x42\x80\0\0\0" ZERO8 "1234567", 21, FAULT_TAG_BOUNDS},
		{"\xc1\x42\x80\0\0\0" ZERO8, 14, FAULT_TAG_BOUNDS},
		{"\xc1\x42\x80\0\0\0" ZERO8 "12345678", 22, RDMAP_NO_FAULT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct iwarp_message m;
		uint8_t out[128];
		struct world w;

		world_open(&w, true, 65528);
		m = transfer_of(RDMAP_READ_REQUEST, &w.b, 0, w.a.memory, 8);
		iwarp_tx_post(w.a.s, &m);
		have_all(&w.a, out);
		iwarp_rx_feed(w.a.s, out, fpdu_make(out, rows[i].ulpdu, rows[i].length));
		assert_int_equal(iwarp_stream_fault(w.a.s), rows[i].fault);
		assert_int_equal(w.a.completions, rows[i].fault == RDMAP_NO_FAULT);
		world_close(&w);
	}
}

static void revoked_while_a_write_arrives_is_refused(void **state)
{
	struct iwarp_message m;
	uint8_t out[1200];
	struct iwarp_want want;
	struct world w;

	(void)state;
	world_open(&w, true, 65528);
	m = transfer_of(RDMAP_WRITE, &w.b, 0, w.a.memory, 1000);
	iwarp_tx_post(w.a.s, &m);
	have_all(&w.a, out);
	assert_int_equal(iwarp_rx_feed(w.b.s, out, 500), 0);
	iwarp_rx_want(w.b.s, &want);
	assert_false(want.large);
	assert_ptr_equal(want.data, w.b.memory + 484);
	assert_int_equal(want.length, 516);
	assert_int_equal(want.behind, mpa_pad(1014) + 4);
	assert_int_equal(iwarp_stream_revoke(w.b.s, w.b.stag), -EBUSY);
	assert_int_equal(iwarp_rx_feed(w.b.s, out + 500, 1), -EPROTO);
	world_close(&w);
}

/* Frames that were good, with some bytes changed, in chunks: whatever comes, nothing but what was
 * exposed or posted is touched (the sanitizers watch), and the stream ends with a fault it names.
 */
static void mutated_frames_reach_nothing_else(void **state)
{
	static uint8_t good[16384], bad[16384];
	size_t length;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		uint8_t *inbox = alloc_zeroed(600);
		struct iwarp_message send = send_of(siw_send, 40), write, read;
		const struct iovec *iov;
		unsigned count;
		struct world w;
		size_t at = 0;
		int r = 0;

		world_open(&w, false, 200);
		write = transfer_of(RDMAP_WRITE, &w.b, 9, w.a.memory, 700);
		read = transfer_of(RDMAP_READ_REQUEST, &w.b, 3, w.a.memory, 500);
		send.place[1] = (struct iwarp_place){w.a.memory, 500};
		send.places = 2;
		iwarp_tx_post(w.a.s, &write);
		iwarp_tx_post(w.a.s, &send);
		iwarp_tx_post(w.a.s, &read);
		length = have_all(&w.a, good);
		memcpy(bad, good, length);
		for (size_t i = random_below(4); i < 4; i++)
			bad[random_below(length)] ^= (uint8_t)(1 << random_below(8));
		receive_post(&w.b, inbox, 600);
		while (at < length && !r) {
			size_t k = min_size(length - at, 1 + random_below(300));

			r = deliver(&w.b, bad + at, k, round & 1);
			at += k;
		}
		/* a changed size may ask for all that is exposed */
		while ((count = iwarp_tx_have(w.b.s, &iov)))
			iwarp_tx_sent(w.b.s, iov[0].iov_len);
		assert_int_equal(r == -EPROTO, iwarp_stream_fault(w.b.s) != RDMAP_NO_FAULT && r);
		alloc_free(inbox);
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_of_siw_is_received),
		cmocka_unit_test(each_fault_is_answered_with_its_terminate),
		cmocka_unit_test(flipped_bit_is_a_crc_mismatch),
		cmocka_unit_test(send_without_a_receive_is_refused),
		cmocka_unit_test(more_reads_than_the_ird_are_refused),
		cmocka_unit_test(response_that_is_not_what_was_asked_for_is_refused),
		cmocka_unit_test(revoked_while_a_write_arrives_is_refused),
		cmocka_unit_test(mutated_frames_reach_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

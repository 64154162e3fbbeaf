/* The stream: frames of Linux siw as vectors, two streams against each other in any chunking, and
 * each fault with its Terminate. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/crc32c.h"
#include "common/iwarp/mpa.h"
#include "common/iwarp/stream.h"

#define MEMORY (1 << 20)
#define RECEIVES 8

/* One end: what it posted and what came. */
struct end {
	struct iwarp_stream *s;
	uint8_t *memory; /* exposed as `stag` at `to` */
	uint32_t stag;
	uint64_t to;
	struct iwarp_place receive[RECEIVES];
	unsigned posted, received;
	struct iwarp_arrival arrival[RECEIVES];
	struct iwarp_message *completed[64];
	unsigned completions;
};

struct world {
	struct stag_table *stags;
	struct end a, b; /* a: active */
};

static bool place_send(void *owner, struct iwarp_place *ret)
{
	struct end *e = owner;

	if (e->received >= e->posted)
		return false;
	*ret = e->receive[e->received];
	return true;
}

static void received(void *owner, const struct iwarp_arrival *a)
{
	struct end *e = owner;

	e->arrival[e->received++] = *a;
}

static void completed(void *owner, struct iwarp_message *m)
{
	struct end *e = owner;

	e->completed[e->completions++] = m;
}

static const struct iwarp_upcalls upcalls = {place_send, received, completed};

static void end_open(struct world *w, struct end *e, struct iwarp_stream_config config)
{
	config.stags = w->stags;
	config.domain = e;
	config.up = &upcalls;
	config.owner = e;
	e->memory = alloc_zeroed(MEMORY);
	assert_int_equal(stag_add(w->stags, e, e->memory, MEMORY,
				 STAG_REMOTE_READ | STAG_REMOTE_WRITE, &e->stag, &e->to),
		0);
	assert_int_equal(iwarp_stream_new(&config, &e->s), 0);
}

static void world_open(struct world *w, bool crc, uint32_t max_ulpdu)
{
	struct iwarp_stream_config config = {
		.crc = crc, .max_ulpdu = max_ulpdu, .reads_in = 2, .reads_out = 2};

	*w = (struct world){.stags = stag_table_new(64)};
	end_open(w, &w->a, config);
	config.passive = true;
	end_open(w, &w->b, config);
}

static void world_close(struct world *w)
{
	iwarp_stream_free(w->a.s);
	iwarp_stream_free(w->b.s);
	alloc_free(w->a.memory);
	alloc_free(w->b.memory);
	stag_table_free(w->stags);
	assert_int_equal(alloc_live(), 0);
}

static void receive_post(struct end *e, void *data, uint32_t length)
{
	e->receive[e->posted++] = (struct iwarp_place){data, length};
}

/* Puts bytes where the stream wants them, or feeds them. */
static int deliver(struct end *e, const uint8_t *data, size_t n, bool in_place)
{
	struct iwarp_want want;
	int r = 0;

	if (!in_place)
		return iwarp_rx_feed(e->s, data, n);
	while (n && !r) {
		size_t k;

		iwarp_rx_want(e->s, &want);
		k = n < want.length ? n : want.length;
		memcpy(want.data, data, k);
		r = iwarp_rx_got(e->s, k);
		data += k;
		n -= k;
	}
	return r;
}

/* Moves at most `chunk` bytes (0: a random number) at a time until nothing is left. */
static int pump(struct end *from, struct end *to, size_t chunk, bool in_place, bool *moved)
{
	static uint8_t bytes[65536];
	const struct iovec *iov;
	int r = 0;

	while (!r && iwarp_tx_have(from->s, &iov)) {
		size_t limit = chunk ? chunk : 1 + (size_t)rand() % 5000;
		size_t k = min_size(iov->iov_len, min_size(limit, sizeof(bytes)));

		memcpy(bytes, iov->iov_base, k);
		iwarp_tx_sent(from->s, k);
		*moved = true;
		r = deliver(to, bytes, k, in_place);
	}
	return r;
}

static int exchange(struct world *w, size_t chunk, bool in_place)
{
	bool moved = true;
	int r = 0;

	while (moved && !r) {
		moved = false;
		r = pump(&w->a, &w->b, chunk, in_place, &moved);
		if (!r)
			r = pump(&w->b, &w->a, chunk, in_place, &moved);
	}
	return r;
}

static void fill(uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 7 + i / 256 + seed);
}

static struct iwarp_message send_of(const void *data, uint32_t length)
{
	return (struct iwarp_message){
		.opcode = RDMAP_SEND, .place = {{(void *)data, length}}, .places = 1};
}

static struct iwarp_message transfer_of(
	enum rdmap_opcode op, struct end *peer, uint32_t at, void *data, uint32_t length)
{
	return (struct iwarp_message){.opcode = op,
		.place = {{data, length}},
		.places = 1,
		.remote_stag = peer->stag,
		.remote_offset = peer->to + at};
}

/* Everything that a stream can do, in one conversation. */
static void conversation(bool crc, uint32_t ulpdu, size_t chunk, bool in_place)
{
	static uint8_t text[300], big[200001], read_back[200001], inbox[2][70000];
	struct iwarp_message hello, write, read, read2, answer;
	struct world w;

	world_open(&w, crc, ulpdu);
	fill(text, sizeof(text), 1);
	fill(big, sizeof(big), 2);
	receive_post(&w.b, inbox[0], sizeof(inbox[0]));
	receive_post(&w.a, inbox[1], sizeof(inbox[1]));
	hello = send_of(text, 77);
	hello.place[1] = (struct iwarp_place){big, 66001};
	hello.places = 2;
	write = transfer_of(RDMAP_WRITE, &w.b, 5, big, sizeof(big));
	read = transfer_of(RDMAP_READ_REQUEST, &w.b, 5, read_back, sizeof(read_back));
	read2 = transfer_of(RDMAP_READ_REQUEST, &w.b, 0, NULL, 0);
	iwarp_tx_post(w.a.s, &write);
	iwarp_tx_post(w.a.s, &hello);
	iwarp_tx_post(w.a.s, &read);
	iwarp_tx_post(w.a.s, &read2);
	answer = send_of(text, 0);
	answer.opcode = RDMAP_SEND_SE_INVALIDATE;
	answer.remote_stag = w.a.stag;
	iwarp_tx_post(w.b.s, &answer);
	assert_int_equal(exchange(&w, chunk, in_place), 0);

	assert_memory_equal(w.b.memory + 5, big, sizeof(big));
	assert_int_equal(w.b.received, 1);
	assert_int_equal(w.b.arrival[0].length, 77 + 66001);
	assert_memory_equal(inbox[0], text, 77);
	assert_memory_equal(inbox[0] + 77, big, 66001);
	assert_memory_equal(read_back, big, sizeof(big));
	assert_int_equal(w.a.completions, 4);
	assert_ptr_equal(w.a.completed[0], &write);
	assert_ptr_equal(w.a.completed[1], &hello);
	assert_ptr_equal(w.a.completed[2], &read);
	assert_ptr_equal(w.a.completed[3], &read2);
	assert_int_equal(w.a.received, 1);
	assert_int_equal(w.a.arrival[0].length, 0);
	assert_true(w.a.arrival[0].invalidated && w.a.arrival[0].solicited);
	assert_int_equal(w.a.arrival[0].stag, w.a.stag);
	assert_true(iwarp_rx_at_boundary(w.a.s) && iwarp_tx_drained(w.a.s));
	world_close(&w);
}

static void conversation_survives_any_chunking(void **state)
{
	static const size_t chunks[] = {1, 2, 3, 7, 16, 1448, 65536, 0, 0, 0};
	static const uint32_t ulpdus[] = {128, 1442, 32786, 65528, 65535};

	(void)state;
	srand(1);
	for (unsigned c = 0; c < ARRAY_SIZE(chunks); c++)
		for (unsigned u = 0; u < ARRAY_SIZE(ulpdus); u++)
			for (int mode = 0; mode < 4; mode++)
				conversation(mode & 1, ulpdus[u], chunks[c], mode & 2);
}

/* ---- frames of siw ---- */

static const uint8_t siw_send[] = "\x00\x22\x41\x43\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0"
				  "\x00\x00\x55\xc4\xe4\x46\x26\x10\xf7\x7e\x46\0\0\0\xea\x60"
				  "\x1b\x8f\x22\x2e";

static size_t have_all(struct end *e, uint8_t *out)
{
	const struct iovec *iov;
	size_t n = 0;
	unsigned count;

	while ((count = iwarp_tx_have(e->s, &iov))) {
		size_t all = 0;

		for (unsigned i = 0; i < count; i++) {
			memcpy(out + n + all, iov[i].iov_base, iov[i].iov_len);
			all += iov[i].iov_len;
		}
		iwarp_tx_sent(e->s, all);
		n += all;
	}
	return n;
}

static void send_is_built_as_siw_does(void **state)
{
	struct iwarp_message m = send_of(siw_send + 20, 16);
	struct world w;
	uint8_t out[256];

	(void)state;
	world_open(&w, true, 65528);
	iwarp_tx_post(w.a.s, &m);
	assert_int_equal(have_all(&w.a, out), 40);
	assert_memory_equal(out, siw_send, 40);
	world_close(&w);
}

static void send_with_pad_is_built(void **state)
{
	static const uint8_t frame[] = "\x00\x1f\x41\x43\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0"
				       "qqqqqqqqqqqqq\0\0\0\x2a\x58\xd5\x21";
	struct iwarp_message m = send_of("qqqqqqqqqqqqq", 13);
	struct world w;
	uint8_t out[256];

	(void)state;
	world_open(&w, true, 65528);
	iwarp_tx_post(w.a.s, &m);
	assert_int_equal(have_all(&w.a, out), 40);
	assert_memory_equal(out, frame, 40);
	world_close(&w);
}

static void kick_is_the_zero_length_write(void **state)
{
	static const uint8_t frame[] = "\x00\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\xeb\xd3\x4c\x5f";
	struct world w;
	uint8_t out[256];

	(void)state;
	world_open(&w, true, 65528);
	iwarp_tx_kick(w.a.s);
	assert_int_equal(have_all(&w.a, out), 20);
	assert_memory_equal(out, frame, 20);
	assert_int_equal(w.a.completions, 0);
	assert_int_equal(iwarp_rx_feed(w.b.s, out, 20), 0);
	world_close(&w);
}

static void read_request_is_one_fpdu_of_52_bytes(void **state)
{
	struct iwarp_message m;
	struct world w;
	uint8_t out[256];

	(void)state;
	world_open(&w, true, 65528);
	m = transfer_of(RDMAP_READ_REQUEST, &w.b, 16, w.a.memory, 60000);
	iwarp_tx_post(w.a.s, &m);
	assert_int_equal(have_all(&w.a, out), 52);
	assert_memory_equal(out, "\x00\x2e\x41\x41\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0", 20);
	assert_int_equal(get_be32(out + 32), 60000);
	assert_int_equal(get_be32(out + 36), w.b.stag);
	assert_true(get_be64(out + 40) == w.b.to + 16);
	world_close(&w);
}

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

static void passive_end_waits_for_the_first_fpdu(void **state)
{
	struct iwarp_message m = send_of("x", 1);
	const struct iovec *iov;
	struct world w;
	uint8_t inbox[16];

	(void)state;
	world_open(&w, true, 65528);
	receive_post(&w.b, inbox, sizeof(inbox));
	iwarp_tx_post(w.b.s, &m);
	assert_int_equal(iwarp_tx_have(w.b.s, &iov), 0);
	assert_false(iwarp_tx_pending(w.b.s));
	assert_int_equal(iwarp_rx_feed(w.b.s, siw_send, 39), 0);
	assert_int_equal(iwarp_tx_have(w.b.s, &iov), 0);
	assert_int_equal(iwarp_rx_feed(w.b.s, siw_send + 39, 1), 0);
	assert_true(iwarp_tx_pending(w.b.s));
	assert_int_equal(iwarp_tx_have(w.b.s, &iov), 1);
	world_close(&w);
}

static void reads_beyond_the_ord_wait(void **state)
{
	struct iwarp_message m[5];
	struct world w;
	uint8_t out[1024];

	(void)state;
	world_open(&w, false, 65528);
	for (int i = 0; i < 5; i++) {
		m[i] = transfer_of(RDMAP_READ_REQUEST, &w.b, 0, w.a.memory, 10);
		iwarp_tx_post(w.a.s, &m[i]);
	}
	assert_int_equal(have_all(&w.a, out), 2 * 52);
	assert_false(iwarp_tx_drained(w.a.s));
	assert_int_equal(iwarp_rx_feed(w.b.s, out, 2 * 52), 0);
	assert_int_equal(exchange(&w, 0, false), 0);
	assert_int_equal(w.a.completions, 5);
	world_close(&w);
}

static void sends_complete_in_order_behind_a_read(void **state)
{
	struct iwarp_message read, send = send_of("x", 1);
	struct world w;
	uint8_t out[1024], inbox[8];
	size_t n;

	(void)state;
	world_open(&w, false, 65528);
	receive_post(&w.b, inbox, sizeof(inbox));
	read = transfer_of(RDMAP_READ_REQUEST, &w.b, 0, w.a.memory, 10);
	iwarp_tx_post(w.a.s, &read);
	iwarp_tx_post(w.a.s, &send);
	n = have_all(&w.a, out);
	assert_int_equal(w.a.completions, 0);
	assert_int_equal(iwarp_rx_feed(w.b.s, out, n), 0);
	assert_int_equal(exchange(&w, 0, false), 0);
	assert_int_equal(w.a.completions, 2);
	assert_ptr_equal(w.a.completed[0], &read);
	world_close(&w);
}

/* ---- faults ---- */

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

static size_t fpdu_make(uint8_t *out, const char *ulpdu, size_t length)
{
	size_t pad = -(length + 2) & 3;

	put_be16(out, (uint16_t)length);
	memcpy(out + 2, ulpdu, length);
	memset(out + 2 + length, 0, pad);
	put_le32(out + 2 + length + pad, crc32c_update(0, out, 2 + length + pad));
	return 2 + length + pad + 4;
}

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

static size_t read_frame(uint8_t *out, struct end *source, uint32_t msn, uint32_t size)
{
	uint8_t ulpdu[46] = "\x41\x41\0\0\0\0\0\0\0\1";

	put_be32(ulpdu + 10, msn);
	put_be32(ulpdu + 30, size);
	put_be32(ulpdu + 34, source->stag);
	put_be64(ulpdu + 38, source->to);
	return fpdu_make(out, (char *)ulpdu, sizeof(ulpdu));
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

static void revoked_while_the_response_waits_is_terminated(void **state)
{
	uint8_t frame[64], out[256];
	const struct iovec *iov;
	struct world w;

	(void)state;
	world_open(&w, true, 65528);
	assert_int_equal(iwarp_rx_feed(w.b.s, frame, read_frame(frame, &w.b, 1, 10)), 0);
	assert_int_equal(iwarp_stream_revoke(w.b.s, w.b.stag), 0);
	assert_int_equal(iwarp_tx_have(w.b.s, &iov), 0);
	assert_int_equal(iwarp_stream_fault(w.b.s), FAULT_READ_STAG);
	iwarp_tx_terminate(w.b.s, FAULT_READ_STAG);
	assert_int_equal(have_all(&w.b, out), 28);
	assert_memory_equal(out + 20, "\x01\x00\x00\x00", 4);
	world_close(&w);
}

static void revoked_while_the_response_leaves_is_cut_off(void **state)
{
	uint8_t frame[64];
	const struct iovec *iov;
	struct world w;

	(void)state;
	world_open(&w, true, 65528);
	iwarp_rx_feed(w.b.s, frame, read_frame(frame, &w.b, 1, 100000));
	assert_true(iwarp_tx_have(w.b.s, &iov) > 0);
	iwarp_tx_sent(w.b.s, 1000);
	assert_int_equal(iwarp_stream_revoke(w.b.s, w.b.stag), -EBUSY);
	assert_int_equal(iwarp_tx_have(w.b.s, &iov), 0);
	world_close(&w);
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
	assert_true(want.payload);
	assert_ptr_equal(want.data, w.b.memory + 484);
	assert_int_equal(want.length, 516);
	assert_int_equal(want.behind, mpa_pad(1014) + 4);
	assert_int_equal(iwarp_stream_revoke(w.b.s, w.b.stag), -EBUSY);
	assert_int_equal(iwarp_rx_feed(w.b.s, out + 500, 1), -EPROTO);
	world_close(&w);
}

static void requests_are_taken_back_in_order(void **state)
{
	struct iwarp_message m[4], waiting;
	struct world w;
	uint8_t out[512];

	(void)state;
	world_open(&w, true, 65528);
	for (int i = 0; i < 3; i++) {
		m[i] = transfer_of(RDMAP_READ_REQUEST, &w.b, 0, w.a.memory, 8);
		iwarp_tx_post(w.a.s, &m[i]);
	}
	have_all(&w.a, out);
	waiting = send_of("x", 1);
	iwarp_tx_post(w.a.s, &waiting);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(iwarp_stream_take(w.a.s), &m[i]);
	assert_ptr_equal(iwarp_stream_take(w.a.s), &waiting);
	assert_null(iwarp_stream_take(w.a.s));
	world_close(&w);
}

static void no_memory_for_a_stream(void **state)
{
	struct iwarp_stream_config config = {.max_ulpdu = 128};
	struct iwarp_stream *s = NULL;

	(void)state;
	alloc_fail_nth(1);
	assert_int_equal(iwarp_stream_new(&config, &s), -ENOMEM);
	alloc_fail_nth(0);
	assert_null(s);
	iwarp_stream_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conversation_survives_any_chunking),
		cmocka_unit_test(send_is_built_as_siw_does),
		cmocka_unit_test(send_with_pad_is_built),
		cmocka_unit_test(kick_is_the_zero_length_write),
		cmocka_unit_test(read_request_is_one_fpdu_of_52_bytes),
		cmocka_unit_test(frame_of_siw_is_received),
		cmocka_unit_test(passive_end_waits_for_the_first_fpdu),
		cmocka_unit_test(reads_beyond_the_ord_wait),
		cmocka_unit_test(sends_complete_in_order_behind_a_read),
		cmocka_unit_test(each_fault_is_answered_with_its_terminate),
		cmocka_unit_test(flipped_bit_is_a_crc_mismatch),
		cmocka_unit_test(send_without_a_receive_is_refused),
		cmocka_unit_test(more_reads_than_the_ird_are_refused),
		cmocka_unit_test(response_that_is_not_what_was_asked_for_is_refused),
		cmocka_unit_test(revoked_while_the_response_waits_is_terminated),
		cmocka_unit_test(revoked_while_the_response_leaves_is_cut_off),
		cmocka_unit_test(revoked_while_a_write_arrives_is_refused),
		cmocka_unit_test(requests_are_taken_back_in_order),
		cmocka_unit_test(no_memory_for_a_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

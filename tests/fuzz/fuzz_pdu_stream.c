/* iSCSI PDUs over a byte stream (common/iscsi/stream_rx.c, pdu*.c): the same bytes by two ways, fed
 * in one piece and read in place in many, must give the same PDUs and the same end.
 * Input: flags, seed of the cuts, MaxRecvDataSegmentLength (2), then the stream; or, composed,
 * records of a BHS, a length (2) and so many bytes, that get right lengths and digests. */
#include "common/base/crc32c.h"
#include "common/iscsi/stream.h"
#include "tests/fuzz/fuzz.h"

enum flags {
	HEADER_DIGEST = 1,
	DATA_DIGEST = 2,
	COMPOSED = 4,
	PLACED = 8, /* data segments get a place, else they are thrown away */
	NO_AHS = 16,
	REVOKED = 32, /* the place is taken back in mid-segment */
};

#define STREAM_MAX (256 * 1024)
#define DATA_MAX 65536

struct outcome {
	uint32_t events, hash;
	int error;
	bool idle;
};

struct side {
	struct iscsi_rx rx;
	uint8_t flags;
	uint8_t *place;
	struct outcome outcome;
};

static void note(struct outcome *o, const void *bytes, size_t n)
{
	o->hash = crc32c_update(o->hash, bytes, n);
}

/* What was decoded must survive being encoded. */
static void check_pdu(const struct iscsi_pdu *pdu)
{
	uint8_t bhs[ISCSI_BHS_SIZE], again[ISCSI_BHS_SIZE];
	struct iscsi_pdu copy;

	iscsi_pdu_encode(pdu, bhs);
	FUZZ_CHECK(iscsi_pdu_decode(bhs, &copy) == 0);
	iscsi_pdu_encode(&copy, again);
	FUZZ_CHECK(!memcmp(bhs, again, sizeof(bhs)));
	FUZZ_CHECK(copy.data_length == pdu->data_length && copy.ahs_words == pdu->ahs_words);
}

static void on_header(struct side *s)
{
	free(s->place);
	s->place = NULL;
	FUZZ_CHECK(s->rx.pdu.data_length > 0);
	FUZZ_CHECK(s->rx.pdu.data_length <= s->rx.max_data_length);
	if (s->flags & PLACED) {
		s->place = malloc(s->rx.pdu.data_length);
		iscsi_rx_place(&s->rx, s->place);
	}
}

static void on_pdu(struct side *s)
{
	const uint8_t *ahs = iscsi_rx_ahs(&s->rx);

	note(&s->outcome, &s->rx.pdu.data_length, sizeof(s->rx.pdu.data_length));
	note(&s->outcome, s->rx.header, ISCSI_BHS_SIZE);
	note(&s->outcome, &s->rx.decode_error, sizeof(s->rx.decode_error));
	note(&s->outcome, &s->rx.data_digest_bad, sizeof(s->rx.data_digest_bad));
	FUZZ_CHECK((ahs != NULL) == (s->rx.pdu.ahs_words > 0));
	if (ahs)
		note(&s->outcome, ahs, s->rx.pdu.ahs_words * 4u);
	if (s->place && !(s->flags & REVOKED))
		note(&s->outcome, s->place, s->rx.pdu.data_length);
	if (!s->rx.decode_error)
		check_pdu(&s->rx.pdu);
	FUZZ_CHECK(iscsi_opcode_name(s->rx.pdu.opcode) != NULL);
	free(s->place);
	s->place = NULL;
}

/* False: the stream is over. */
static bool on_event(struct side *s, int event)
{
	if (event < 0) {
		s->outcome.error = event;
		return false;
	}
	s->outcome.events += event != ISCSI_RX_NONE;
	if (event == ISCSI_RX_HEADER)
		on_header(s);
	if (event == ISCSI_RX_PDU)
		on_pdu(s);
	return true;
}

static void run_feed(struct side *s, const uint8_t *data, size_t size, struct fuzz_cut cut)
{
	while (size) {
		size_t piece = fuzz_piece(&cut, size), used = 0;
		uint8_t *copy = fuzz_copy(data, piece, false);
		int event = iscsi_rx_feed(&s->rx, copy, piece, &used);

		free(copy);
		FUZZ_CHECK(used <= piece);
		data += used;
		size -= used;
		if (!on_event(s, event))
			return;
		FUZZ_CHECK(used > 0 || event > 0);
	}
}

static void run_in_place(struct side *s, const uint8_t *data, size_t size, struct fuzz_cut cut)
{
	while (size) {
		void *to;
		size_t n = iscsi_rx_want(&s->rx, &to);

		if (n == 0) {
			FUZZ_CHECK(s->outcome.error < 0);
			return;
		}
		n = fuzz_piece(&cut, min_size(n, size));
		memcpy(to, data, n);
		data += n;
		size -= n;
		if (!on_event(s, iscsi_rx_got(&s->rx, n)))
			return;
		if ((s->flags & REVOKED) && s->place && iscsi_rx_data_left(&s->rx)) {
			iscsi_rx_place(&s->rx, NULL);
			free(s->place);
			s->place = NULL;
		}
	}
}

static struct outcome run(const uint8_t *data, size_t size, uint8_t flags, uint16_t limit,
	struct fuzz_cut cut, bool in_place)
{
	struct side s = {.flags = flags};

	iscsi_rx_init(&s.rx, limit);
	s.rx.header_digest = flags & HEADER_DIGEST;
	s.rx.data_digest = flags & DATA_DIGEST;
	if (flags & NO_AHS)
		s.rx.max_ahs_length = 0;
	(in_place ? run_in_place : run_feed)(&s, data, size, cut);
	s.outcome.idle = iscsi_rx_idle(&s.rx);
	free(s.place);
	return s.outcome;
}

/* Through the sending half, which thereby is tested with the other. */
static size_t compose(struct fuzz_input *in, uint8_t flags, uint8_t *out)
{
	size_t n = 0;

	while (in->left && n < STREAM_MAX - DATA_MAX - 2048) {
		uint8_t bhs[ISCSI_BHS_SIZE], ahs[ISCSI_AHS_MAX];
		struct iscsi_tx_pdu p = {.sent = NULL};
		struct iovec iov[ISCSI_TX_IOVECS_MAX];
		struct iscsi_tx tx;
		struct iscsi_pdu pdu;
		const uint8_t *data;
		size_t length, all;
		int count;

		fuzz_fill(in, bhs, sizeof(bhs));
		iscsi_pdu_decode(bhs, &pdu);
		length = fuzz_u16(in);
		fuzz_fill(in, ahs, pdu.ahs_words * 4u);
		length = fuzz_take(in, length, &data);
		iscsi_tx_init(&tx);
		tx.header_digest = flags & HEADER_DIGEST;
		tx.data_digest = flags & DATA_DIGEST;
		iscsi_tx_queue(&tx, &p, &pdu, ahs, data, (uint32_t)length);
		count = iscsi_tx_have(&tx, iov, ISCSI_TX_IOVECS_MAX, &all);
		for (int i = 0; i < count; i++) {
			memcpy(out + n, iov[i].iov_base, iov[i].iov_len);
			n += iov[i].iov_len;
		}
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	uint8_t flags = fuzz_u8(&in), seed = fuzz_u8(&in);
	uint16_t limit = fuzz_u16(&in);
	struct outcome a, b;
	uint8_t *stream = NULL;
	size_t n = in.left;

	if (flags & COMPOSED) {
		stream = malloc(STREAM_MAX);
		n = compose(&in, flags, stream);
	}
	data = stream ? stream : in.at;
	a = run(data, n, flags, limit, fuzz_cut(0), false);
	b = run(data, n, flags, limit, fuzz_cut(seed), true);
	FUZZ_CHECK(a.error == b.error && a.events == b.events && a.idle == b.idle);
	FUZZ_CHECK(a.hash == b.hash);
	b = run(data, n, flags, limit, fuzz_cut(seed), false);
	FUZZ_CHECK(a.error == b.error && a.events == b.events && a.idle == b.idle);
	FUZZ_CHECK(a.hash == b.hash);
	free(stream);
	return 0;
}

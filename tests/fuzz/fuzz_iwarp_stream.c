/* DDP and RDMAP over MPA's FPDUs (common/iwarp/stream_rx.c, stream_tx.c, ddp.c, rdmap.c, stag.c).
 * Two streams get the same bytes, one fed in one piece, one read in place in many: they must see
 * the same and end alike.
 * Input: flags, seed of the cuts, then the peer's bytes; or, composed, records of a kind, a length
 * (2) and so many bytes of ULPDU, that get MPA's length and CRC, and what else the kind says. */
#include <errno.h>

#include "common/base/crc32c.h"
#include "common/iwarp/mpa.h"
#include "common/iwarp/stream.h"
#include "tests/fuzz/fuzz.h"

enum flags {
	CRC = 1,
	PASSIVE = 2,
	COMPOSED = 4,
	READS_POSTED = 8, /* reads are outstanding */
	WRITES_POSTED = 16,
	NO_RECEIVES = 32,
	REVOKED = 64, /* the exposed memory is taken back in the middle */
};

enum kind {
	KIND_TAG = 1,	  /* the STag of the exposed memory */
	KIND_TO = 2,	  /* its tagged offset is added */
	KIND_MSN = 4,	  /* the next message sequence number of the queue */
	KIND_SINK = 8,	  /* the STag and offset of our oldest read's sink */
	KIND_SOURCE = 16, /* a Read Request's source is the exposed memory */
	KIND_BAD_CRC = 32,
};

#define MEMORY 8192
#define RECEIVE 1024
#define RECEIVES 4
#define MESSAGES 4
#define STREAM_MAX (256 * 1024)

struct end {
	struct stag_table *stags;
	struct iwarp_stream *s;
	uint8_t *memory, *sink, *receive[RECEIVES];
	uint32_t stag;
	uint64_t to;
	unsigned receives, placed, received, completed;
	struct iwarp_message messages[MESSAGES];
	uint32_t hash, sent_hash;
	int error;
};

static bool place_send(void *owner, struct iwarp_place *ret)
{
	struct end *e = owner;

	FUZZ_CHECK(e->placed == e->received);
	if (e->placed >= e->receives)
		return false;
	*ret = (struct iwarp_place){e->receive[e->placed % RECEIVES], RECEIVE};
	e->placed++;
	return true;
}

static void received(void *owner, const struct iwarp_arrival *a)
{
	struct end *e = owner;

	FUZZ_CHECK(e->placed == e->received + 1 && a->length <= RECEIVE);
	e->hash = crc32c_update(e->hash, e->receive[e->received % RECEIVES], a->length);
	e->hash = crc32c_update(e->hash, &a->solicited, sizeof(a->solicited));
	e->received++;
}

static void completed(void *owner, struct iwarp_message *m)
{
	struct end *e = owner;

	FUZZ_CHECK(m == &e->messages[e->completed]);
	e->completed++;
}

static const struct iwarp_upcalls upcalls = {place_send, received, completed};

static void post(struct end *e, unsigned i, enum rdmap_opcode opcode)
{
	e->messages[i] = (struct iwarp_message){.opcode = opcode,
		.place = {{e->sink + 512 * i, 512}},
		.places = 1,
		.remote_stag = 0x1234,
		.remote_offset = 0x10000};
	iwarp_tx_post(e->s, &e->messages[i]);
}

static void end_open(struct end *e, uint8_t flags)
{
	struct iwarp_stream_config config = {
		.crc = flags & CRC,
		.passive = flags & PASSIVE,
		.max_ulpdu = 1500,
		.reads_in = 2,
		.reads_out = 2,
		.domain = e,
		.up = &upcalls,
		.owner = e,
	};

	*e = (struct end){.receives = flags & NO_RECEIVES ? 0 : 64};
	e->stags = config.stags = stag_table_new(16);
	e->memory = calloc(1, MEMORY);
	e->sink = calloc(1, MESSAGES * 512);
	for (unsigned i = 0; i < RECEIVES; i++)
		e->receive[i] = calloc(1, RECEIVE);
	FUZZ_CHECK(stag_add(e->stags, e, e->memory, MEMORY, STAG_REMOTE_READ | STAG_REMOTE_WRITE,
			   &e->stag, &e->to) == 0);
	FUZZ_CHECK(iwarp_stream_new(&config, &e->s) == 0);
	for (unsigned i = 0; i < MESSAGES && (flags & (READS_POSTED | WRITES_POSTED)); i++)
		post(e, i, flags & READS_POSTED ? RDMAP_READ_REQUEST : RDMAP_WRITE);
}

static void end_close(struct end *e)
{
	while (iwarp_stream_take(e->s))
		;
	iwarp_stream_free(e->s);
	stag_table_free(e->stags);
	free(e->memory);
	free(e->sink);
	for (unsigned i = 0; i < RECEIVES; i++)
		free(e->receive[i]);
}

/* Everything that may leave does: the sanitizer sees what it reads. */
static void drain(struct end *e)
{
	const struct iovec *iov;
	unsigned count;

	while ((count = iwarp_tx_have(e->s, &iov))) {
		size_t all = 0;

		for (unsigned i = 0; i < count; i++) {
			e->sent_hash = crc32c_update(e->sent_hash, iov[i].iov_base, iov[i].iov_len);
			all += iov[i].iov_len;
		}
		FUZZ_CHECK(all > 0);
		iwarp_tx_sent(e->s, all);
	}
}

static void revoke(struct end *e, uint8_t flags)
{
	if (flags & REVOKED)
		iwarp_stream_revoke(e->s, e->stag);
}

static void run_feed(struct end *e, const uint8_t *data, size_t size, struct fuzz_cut cut)
{
	while (size && !e->error) {
		size_t n = fuzz_piece(&cut, size);
		uint8_t *copy = fuzz_copy(data, n, false);

		e->error = iwarp_rx_feed(e->s, copy, n);
		free(copy);
		data += n;
		size -= n;
	}
}

static void run_in_place(struct end *e, const uint8_t *data, size_t size, struct fuzz_cut cut)
{
	while (size && !e->error) {
		struct iwarp_want want;
		size_t n;

		iwarp_rx_want(e->s, &want);
		FUZZ_CHECK(want.length > 0);
		n = fuzz_piece(&cut, min_size(want.length, size));
		memcpy(want.data, data, n);
		e->error = iwarp_rx_got(e->s, n);
		data += n;
		size -= n;
	}
}

static void run(struct end *e, uint8_t flags, const uint8_t *data, size_t size, struct fuzz_cut cut,
	bool in_place)
{
	size_t half = size / 2;

	drain(e);
	(in_place ? run_in_place : run_feed)(e, data, half, cut);
	/* At the same byte on both sides: what has left decides which requests are too many. */
	drain(e);
	revoke(e, flags);
	(in_place ? run_in_place : run_feed)(e, data + half, size - half, cut);
	if (e->error == -EPROTO) {
		FUZZ_CHECK(iwarp_stream_fault(e->s) > RDMAP_NO_FAULT &&
			   iwarp_stream_fault(e->s) < RDMAP_FAULTS);
		iwarp_tx_terminate(e->s, iwarp_stream_fault(e->s));
		drain(e);
	}
	if (e->error == -ECONNRESET)
		FUZZ_CHECK(iwarp_stream_terminated(e->s));
}

/* ---- composing ---- */

struct composer {
	const struct end *end;
	uint32_t msn[4];
	size_t used;
	uint8_t out[STREAM_MAX];
};

static void fix_tagged(struct composer *c, uint8_t kind, uint8_t *ulpdu)
{
	if (kind & KIND_TAG)
		put_be32(ulpdu + 2, c->end->stag);
	if (kind & KIND_TO)
		put_be64(ulpdu + 6, c->end->to + get_be64(ulpdu + 6));
	if (kind & KIND_SINK) {
		put_be32(ulpdu + 2, 0x80000000u | (get_be32(ulpdu + 2) & 0xf));
		put_be64(ulpdu + 6, get_be64(ulpdu + 6) & 0xfff);
	}
}

static void fix_untagged(struct composer *c, uint8_t kind, uint8_t *ulpdu, size_t n)
{
	uint32_t *msn = &c->msn[ulpdu[9] & 3];

	if (kind & KIND_TAG)
		put_be32(ulpdu + 2, c->end->stag);
	if (kind & KIND_MSN) {
		put_be32(ulpdu + 10, *msn);
		*msn += ulpdu[0] >> 6 & 1;
	}
	if ((kind & KIND_SOURCE) && n >= 46) {
		put_be32(ulpdu + 34, c->end->stag);
		put_be64(ulpdu + 38, c->end->to + get_be64(ulpdu + 38));
	}
}

static void compose(struct composer *c, struct fuzz_input *in)
{
	uint8_t kind = fuzz_u8(in), *fpdu = c->out + c->used;
	const uint8_t *bytes;
	size_t n = fuzz_take(in, fuzz_u16(in), &bytes), pad;
	uint32_t crc;

	put_be16(fpdu, (uint16_t)n);
	if (n)
		memcpy(fpdu + 2, bytes, n);
	if (n >= 14 && (fpdu[2] & 0x80))
		fix_tagged(c, kind, fpdu + 2);
	else if (n >= 18 && !(fpdu[2] & 0x80))
		fix_untagged(c, kind, fpdu + 2, n);
	pad = mpa_pad((uint32_t)n);
	memset(fpdu + 2 + n, 0, pad);
	crc = crc32c_update(0, fpdu, 2 + n + pad);
	put_le32(fpdu + 2 + n + pad, kind & KIND_BAD_CRC ? ~crc : crc);
	c->used += 2 + n + pad + 4;
}

static size_t compose_all(const struct end *e, struct fuzz_input *in, uint8_t **ret)
{
	struct composer *c = malloc(sizeof(*c));
	size_t used;

	c->end = e;
	c->used = 0;
	c->msn[0] = c->msn[1] = c->msn[2] = c->msn[3] = 1;
	while (in->left && c->used < STREAM_MAX - 70000)
		compose(c, in);
	used = c->used;
	*ret = fuzz_copy(c->out, used, false);
	free(c);
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	uint8_t flags = fuzz_u8(&in), seed = fuzz_u8(&in), *bytes = NULL;
	struct end a, b;
	size_t n = in.left;

	end_open(&a, flags);
	end_open(&b, flags);
	FUZZ_CHECK(a.stag == b.stag && a.to == b.to);
	if (flags & COMPOSED)
		n = compose_all(&a, &in, &bytes);
	else
		bytes = fuzz_copy(in.at, n, false);
	run(&a, flags, bytes, n, fuzz_cut(0), false);
	run(&b, flags, bytes, n, fuzz_cut(seed), true);
	FUZZ_CHECK(a.error == b.error && a.received == b.received && a.completed == b.completed);
	FUZZ_CHECK(iwarp_stream_fault(a.s) == iwarp_stream_fault(b.s));
	FUZZ_CHECK(a.hash == b.hash);
	if (!a.error)
		FUZZ_CHECK(!memcmp(a.memory, b.memory, MEMORY));
	FUZZ_CHECK(!memcmp(a.sink, b.sink, MESSAGES * 512) || a.error);
	end_close(&a);
	end_close(&b);
	free(bytes);
	FUZZ_CHECK(alloc_live() == 0);
	return 0;
}

/* Two streams against each other, and frames by hand: what the tests of the stream's files share.
 */
#pragma once

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

static inline bool place_send(void *owner, struct iwarp_place *ret)
{
	struct end *e = owner;

	if (e->received >= e->posted)
		return false;
	*ret = e->receive[e->received];
	return true;
}

static inline void received(void *owner, const struct iwarp_arrival *a)
{
	struct end *e = owner;

	e->arrival[e->received++] = *a;
}

static inline void completed(void *owner, struct iwarp_message *m)
{
	struct end *e = owner;

	e->completed[e->completions++] = m;
}

static const struct iwarp_upcalls upcalls = {place_send, received, completed};

static inline void end_open(struct world *w, struct end *e, struct iwarp_stream_config config)
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

static inline void world_open(struct world *w, bool crc, uint32_t max_ulpdu)
{
	struct iwarp_stream_config config = {
		.crc = crc, .max_ulpdu = max_ulpdu, .reads_in = 2, .reads_out = 2};

	*w = (struct world){.stags = stag_table_new(64)};
	end_open(w, &w->a, config);
	config.passive = true;
	end_open(w, &w->b, config);
}

static inline void world_close(struct world *w)
{
	iwarp_stream_free(w->a.s);
	iwarp_stream_free(w->b.s);
	alloc_free(w->a.memory);
	alloc_free(w->b.memory);
	stag_table_free(w->stags);
	assert_int_equal(alloc_live(), 0);
}

static inline void receive_post(struct end *e, void *data, uint32_t length)
{
	e->receive[e->posted++] = (struct iwarp_place){data, length};
}

/* The same numbers in every run. */
static inline size_t random_below(size_t n)
{
	static uint32_t x = 1;

	x = x * 1664525 + 1013904223;
	return (x >> 8) % n;
}

/* Puts bytes where the stream wants them, or feeds them. */
static inline int deliver(struct end *e, const uint8_t *data, size_t n, bool in_place)
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
static inline int pump(struct end *from, struct end *to, size_t chunk, bool in_place, bool *moved)
{
	static uint8_t bytes[65536];
	const struct iovec *iov;
	int r = 0;

	while (!r && iwarp_tx_have(from->s, &iov)) {
		size_t limit = chunk ? chunk : 1 + random_below(5000);
		size_t k = min_size(iov->iov_len, min_size(limit, sizeof(bytes)));

		memcpy(bytes, iov->iov_base, k);
		iwarp_tx_sent(from->s, k);
		*moved = true;
		r = deliver(to, bytes, k, in_place);
	}
	return r;
}

static inline int exchange(struct world *w, size_t chunk, bool in_place)
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

static inline void fill(uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 7 + i / 256 + seed);
}

static inline struct iwarp_message send_of(const void *data, uint32_t length)
{
	return (struct iwarp_message){
		.opcode = RDMAP_SEND, .place = {{(void *)data, length}}, .places = 1};
}

static inline struct iwarp_message transfer_of(
	enum rdmap_opcode op, struct end *peer, uint32_t at, void *data, uint32_t length)
{
	return (struct iwarp_message){.opcode = op,
		.place = {{data, length}},
		.places = 1,
		.remote_stag = peer->stag,
		.remote_offset = peer->to + at};
}

static inline size_t have_all(struct end *e, uint8_t *out)
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

static inline size_t fpdu_make(uint8_t *out, const char *ulpdu, size_t length)
{
	size_t pad = -(length + 2) & 3;

	put_be16(out, (uint16_t)length);
	memcpy(out + 2, ulpdu, length);
	memset(out + 2 + length, 0, pad);
	put_le32(out + 2 + length + pad, crc32c_update(0, out, 2 + length + pad));
	return 2 + length + pad + 4;
}

static inline size_t read_frame(uint8_t *out, struct end *source, uint32_t msn, uint32_t size)
{
	uint8_t ulpdu[46] = "\x41\x41\0\0\0\0\0\0\0\1";

	put_be32(ulpdu + 10, msn);
	put_be32(ulpdu + 30, size);
	put_be32(ulpdu + 34, source->stag);
	put_be64(ulpdu + 38, source->to);
	return fpdu_make(out, (char *)ulpdu, sizeof(ulpdu));
}

static const uint8_t siw_send[] = "\x00\x22\x41\x43\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0"
				  "\x00\x00\x55\xc4\xe4\x46\x26\x10\xf7\x7e\x46\0\0\0\xea\x60"
				  "\x1b\x8f\x22\x2e";

/* The receiving half of a stream: FPDUs are taken apart (RFC 5044 section 4), each segment is
 * checked and given its place (RFC 5041 section 5), and whole messages are delivered (RFC 5040
 * section 5). Header, payload, trailer: each phase has a place for its bytes and a function for its
 * end. */
#include <errno.h>

#include "common/base/crc32c.h"
#include "common/iwarp/stream_state.h"

/* How many bytes of the next FPDU are read with this one's end: a tagged header, when this is not
 * the message's last segment. */
#define NEXT_HEAD (MPA_LENGTH_SIZE + DDP_TAGGED_SIZE)
/* Between two large ones there are a message's short last segment, a Send, some requests. */
#define LARGE_MEMORY 8

static void head_begin(struct iwarp_rx *rx)
{
	rx->phase = RX_HEAD;
	rx->at = rx->head;
	rx->left = HEAD_FIRST;
	rx->head_used = 0;
}

void iwarp_rx_init(struct iwarp_stream *s)
{
	s->rx.send_msn = s->rx.read_msn = 1;
	head_begin(&s->rx);
}

/* ---- RFC 5041 section 5: untagged segments ---- */

static enum rdmap_fault untagged_check(
	const struct iwarp_rx *rx, uint32_t expected_msn, uint32_t expected_offset)
{
	const struct ddp_segment *seg = &rx->segment;

	if (seg->un.queue != rx->row->queue)
		return FAULT_QUEUE;
	if (seg->un.msn != expected_msn)
		return FAULT_MSN;
	return seg->un.offset == expected_offset ? RDMAP_NO_FAULT : FAULT_OFFSET;
}

static enum rdmap_fault send_open(struct iwarp_stream *s)
{
	struct iwarp_rx *rx = &s->rx;

	if (rx->send_open)
		return rx->opcode == rx->send_opcode ? RDMAP_NO_FAULT : FAULT_OPCODE;
	if (!s->config.up->place_send(s->config.owner, &rx->send))
		return FAULT_NO_BUFFER;
	rx->send_open = true;
	rx->send_opcode = rx->opcode;
	return RDMAP_NO_FAULT;
}

static enum rdmap_fault send_begin(struct iwarp_stream *s)
{
	struct iwarp_rx *rx = &s->rx;
	enum rdmap_fault fault = untagged_check(rx, rx->send_msn, rx->send_progress);

	if (!fault)
		fault = send_open(s);
	if (!fault && rx->payload > rx->send.length - rx->send_progress)
		fault = FAULT_NO_BUFFER;
	if (!fault && rx->payload)
		rx->at = (uint8_t *)rx->send.data + rx->send_progress;
	return fault;
}

static enum rdmap_fault send_end(struct iwarp_stream *s)
{
	struct iwarp_rx *rx = &s->rx;
	struct iwarp_arrival a = {
		.length = rx->send_progress += rx->payload,
		.solicited = rx->opcode == RDMAP_SEND_SE || rx->opcode == RDMAP_SEND_SE_INVALIDATE,
		.invalidated = rx->row->invalidates,
		.stag = rx->segment.un.ulp_word,
	};
	uint8_t *ignored;

	if (!rx->segment.last)
		return RDMAP_NO_FAULT;
	if (a.invalidated) {
		/* Only its being there and being this connection's matters, no right does. */
		enum stag_verdict v =
			stag_check(s->config.stags, s->config.domain, a.stag, ~0u, 0, 0, &ignored);

		if (v == STAG_UNKNOWN || v == STAG_FOREIGN)
			return FAULT_INVALIDATE;
		if (iwarp_stream_revoke(s, a.stag))
			return s->fault;
	}
	rx->send_open = false;
	rx->send_progress = 0;
	rx->send_msn++;
	s->config.up->received(s->config.owner, &a);
	return RDMAP_NO_FAULT;
}

/* ---- RFC 5040 section 5.2: Read Requests of the peer ---- */

static const enum rdmap_fault read_faults[STAG_VERDICTS] = {
	[STAG_UNKNOWN] = FAULT_READ_STAG,
	[STAG_FOREIGN] = FAULT_READ_STREAM,
	[STAG_FORBIDDEN] = FAULT_READ_RIGHTS,
	[STAG_OUT_OF_BOUNDS] = FAULT_READ_BOUNDS,
	[STAG_WRAPS] = FAULT_READ_WRAP,
};

static enum rdmap_fault read_request_begin(struct iwarp_stream *s)
{
	struct iwarp_rx *rx = &s->rx;
	enum rdmap_fault fault = untagged_check(rx, rx->read_msn, 0);
	struct rdmap_read r;
	uint8_t *source;

	if (fault)
		return fault;
	if (rx->payload)
		return FAULT_TOO_LONG;
	if (!rx->segment.last)
		return FAULT_UNSPECIFIED;
	rdmap_read_decode(rx->head + MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE, &r);
	if (!r.size)
		return RDMAP_NO_FAULT;
	return read_faults[stag_check(s->config.stags, s->config.domain, r.source_stag,
		STAG_REMOTE_READ, r.source_offset, r.size, &source)];
}

static enum rdmap_fault read_request_end(struct iwarp_stream *s)
{
	struct rdmap_read r;

	rdmap_read_decode(s->rx.head + MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE, &r);
	s->rx.read_msn++;
	return iwarp_tx_respond(s, &r) ? RDMAP_NO_FAULT : FAULT_READ_LIMIT;
}

/* ---- tagged segments ---- */

static const enum rdmap_fault tag_faults[STAG_VERDICTS] = {
	[STAG_UNKNOWN] = FAULT_TAG_STAG,
	[STAG_FOREIGN] = FAULT_TAG_STREAM,
	/* DDP has no code for a missing right; siw says "invalid STag". */
	[STAG_FORBIDDEN] = FAULT_TAG_STAG,
	[STAG_OUT_OF_BOUNDS] = FAULT_TAG_BOUNDS,
	[STAG_WRAPS] = FAULT_TAG_WRAP,
};

static enum rdmap_fault write_begin(struct iwarp_stream *s)
{
	struct iwarp_rx *rx = &s->rx;
	const struct ddp_segment *seg = &rx->segment;

	/* RFC 5040 section 5.1: of a zero-length Write neither STag nor TO is looked at. */
	if (!rx->payload)
		return RDMAP_NO_FAULT;
	return tag_faults[stag_check(s->config.stags, s->config.domain, seg->tag.stag,
		STAG_REMOTE_WRITE, seg->tag.offset, rx->payload, &rx->at)];
}

static enum rdmap_fault write_end(struct iwarp_stream *s)
{
	(void)s;
	return RDMAP_NO_FAULT;
}

/* Responses come in the order of the requests, each exactly as long as was asked for. */
static enum rdmap_fault read_response_begin(struct iwarp_stream *s)
{
	struct iwarp_rx *rx = &s->rx;
	const struct ddp_segment *seg = &rx->segment;
	const struct iwarp_message *m = iwarp_tx_read_oldest(s);
	uint32_t left;

	if (!m)
		return FAULT_NO_READ;
	left = m->length - m->progress;
	if (rx->payload && seg->tag.stag != m->local_stag)
		return FAULT_TAG_STAG;
	if (rx->payload && seg->tag.offset != m->local_offset + m->progress)
		return FAULT_TAG_BOUNDS;
	if (rx->payload > left || (seg->last && rx->payload != left))
		return FAULT_TAG_BOUNDS;
	if (rx->payload)
		rx->at = (uint8_t *)m->place[0].data + m->progress;
	return RDMAP_NO_FAULT;
}

static enum rdmap_fault read_response_end(struct iwarp_stream *s)
{
	struct iwarp_message *m = iwarp_tx_read_oldest(s);

	m->progress += s->rx.payload;
	if (s->rx.segment.last)
		iwarp_tx_read_answered(s, m);
	return RDMAP_NO_FAULT;
}

/* ---- RFC 5040 section 4.8: the peer's Terminate ---- */

static enum rdmap_fault terminate_begin(struct iwarp_stream *s)
{
	struct iwarp_rx *rx = &s->rx;
	enum rdmap_fault fault = untagged_check(rx, 1, 0);

	if (!fault && rx->payload > sizeof(rx->ignored))
		fault = FAULT_TOO_LONG;
	rx->at = rx->ignored;
	return fault;
}

static enum rdmap_fault terminate_end(struct iwarp_stream *s)
{
	rdmap_terminate_decode(s->rx.head + MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE, &s->terminate);
	s->terminated = true;
	return RDMAP_NO_FAULT;
}

/* `begin` checks the header and sets rx.at to the payload's place (of rx.payload bytes); `end` is
 * called when the FPDU is whole and its CRC was right. */
static const struct {
	enum rdmap_fault (*begin)(struct iwarp_stream *s);
	enum rdmap_fault (*end)(struct iwarp_stream *s);
} handlers[RDMAP_OPCODES] = {
	[RDMAP_WRITE] = {write_begin, write_end},
	[RDMAP_READ_REQUEST] = {read_request_begin, read_request_end},
	[RDMAP_READ_RESPONSE] = {read_response_begin, read_response_end},
	[RDMAP_SEND] = {send_begin, send_end},
	[RDMAP_SEND_INVALIDATE] = {send_begin, send_end},
	[RDMAP_SEND_SE] = {send_begin, send_end},
	[RDMAP_SEND_SE_INVALIDATE] = {send_begin, send_end},
	[RDMAP_TERMINATE] = {terminate_begin, terminate_end},
};

/* ---- phases ---- */

static enum rdmap_fault control_check(struct iwarp_rx *rx)
{
	struct ddp_segment *seg = &rx->segment;

	ddp_control_decode(rx->head + MPA_LENGTH_SIZE, seg);
	if (seg->version != DDP_VERSION)
		return seg->tagged ? FAULT_TAG_VERSION : FAULT_UNTAGGED_VERSION;
	if (rdmap_control_version(seg->ulp_control) != RDMAP_VERSION)
		return FAULT_RDMAP_VERSION;
	rx->opcode = rdmap_control_opcode(seg->ulp_control);
	rx->row = rdmap_opcode_find(rx->opcode);
	if (!rx->row || rx->row->tagged != seg->tagged)
		return FAULT_OPCODE;
	return get_be16(rx->head) < rx->row->header ? FAULT_LENGTH : RDMAP_NO_FAULT;
}

static enum rdmap_fault head_full(struct iwarp_stream *s)
{
	struct iwarp_rx *rx = &s->rx;
	uint32_t whole;
	enum rdmap_fault fault;

	rx->head_used = (uint32_t)(rx->at - rx->head);
	if (rx->head_used == HEAD_FIRST) {
		fault = control_check(rx);
		if (fault)
			return fault;
	}
	whole = MPA_LENGTH_SIZE + rx->row->header;
	if (rx->head_used < whole) {
		rx->left = whole - rx->head_used;
		return RDMAP_NO_FAULT;
	}
	ddp_segment_decode(rx->head + MPA_LENGTH_SIZE, &rx->segment);
	rx->payload = get_be16(rx->head) - rx->row->header;
	fault = handlers[rx->opcode].begin(s);
	if (fault)
		return fault;
	if (s->config.crc)
		rx->crc = crc32c_update(0, rx->head, whole);
	rx->phase = RX_PAYLOAD;
	rx->left = rx->payload;
	return RDMAP_NO_FAULT;
}

static enum rdmap_fault payload_full(struct iwarp_stream *s)
{
	struct iwarp_rx *rx = &s->rx;

	rx->phase = RX_TRAILER;
	rx->at = rx->trailer;
	rx->left = mpa_pad(get_be16(rx->head)) + MPA_CRC_SIZE;
	return RDMAP_NO_FAULT;
}

static enum rdmap_fault trailer_full(struct iwarp_stream *s)
{
	struct iwarp_rx *rx = &s->rx;
	uint32_t pad = mpa_pad(get_be16(rx->head));
	enum rdmap_fault fault;

	if (s->config.crc &&
		crc32c_update(rx->crc, rx->trailer, pad) != get_le32(rx->trailer + pad))
		return FAULT_CRC;
	rx->any = true;
	if (rx->payload >= IWARP_LARGE)
		rx->large = LARGE_MEMORY;
	else if (rx->large)
		rx->large--;
	fault = handlers[rx->opcode].end(s);
	if (!fault)
		head_begin(rx);
	return fault;
}

static enum rdmap_fault (*const full[RX_PHASES])(struct iwarp_stream *s) = {
	[RX_HEAD] = head_full,
	[RX_PAYLOAD] = payload_full,
	[RX_TRAILER] = trailer_full,
};

/* ---- the byte stream ---- */

static size_t want_behind(const struct iwarp_rx *rx)
{
	if (rx->phase != RX_PAYLOAD)
		return 0;
	return mpa_pad(get_be16(rx->head)) + MPA_CRC_SIZE + (rx->segment.last ? 0 : NEXT_HEAD);
}

void iwarp_rx_want(const struct iwarp_stream *s, struct iwarp_want *ret)
{
	const struct iwarp_rx *rx = &s->rx;

	*ret = (struct iwarp_want){
		.data = rx->at,
		.length = rx->left,
		.large = rx->phase == RX_PAYLOAD && rx->payload >= IWARP_LARGE,
		.behind = want_behind(rx),
	};
}

static int verdict(const struct iwarp_stream *s)
{
	if (s->fault)
		return -EPROTO;
	return s->terminated ? -ECONNRESET : 0;
}

int iwarp_rx_got(struct iwarp_stream *s, size_t n)
{
	struct iwarp_rx *rx = &s->rx;

	if (verdict(s))
		return verdict(s);
	if (rx->phase == RX_PAYLOAD && s->config.crc)
		rx->crc = crc32c_update(rx->crc, rx->at, n);
	rx->at += n;
	rx->left -= (uint32_t)n;
	/* A phase may need nothing at all: no payload. */
	while (!rx->left && !verdict(s)) {
		enum rdmap_fault fault = full[rx->phase](s);

		if (fault)
			s->fault = fault;
	}
	return verdict(s);
}

int iwarp_rx_feed(struct iwarp_stream *s, const uint8_t *data, size_t n)
{
	while (n && !verdict(s)) {
		size_t k = min_size(n, s->rx.left);

		memcpy(s->rx.at, data, k);
		data += k;
		n -= k;
		iwarp_rx_got(s, k);
	}
	return verdict(s);
}

bool iwarp_rx_at_boundary(const struct iwarp_stream *s)
{
	return s->rx.phase == RX_HEAD && s->rx.at == s->rx.head;
}

bool iwarp_rx_expects_large(const struct iwarp_stream *s)
{
	return s->rx.large;
}

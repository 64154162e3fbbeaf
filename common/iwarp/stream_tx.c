/* The sending half of a stream: messages are cut into FPDUs (RFC 5041 section 5.2, RFC 5044 section
 * 4) and laid out as iovecs, payload by reference. Headers and trailers stand in one scratch, one
 * behind the other, so that a trailer and the next header share an iovec. */
#include <errno.h>

#include "common/base/crc32c.h"
#include "common/iwarp/stream_state.h"

/* Data is cut at whole pages where the FPDUs are large enough: the receiver then places and copies
 * whole pages. */
#define PAGE 4096u

void iwarp_tx_init(struct iwarp_stream *s)
{
	struct iwarp_tx *tx = &s->tx;

	list_init(&tx->queue);
	list_init(&tx->leaving);
	list_init(&tx->reads);
	list_init(&tx->waiting);
	list_init(&tx->order);
	list_init(&tx->responses);
	tx->send_msn = tx->read_msn = 1;
	for (unsigned i = 0; i < s->config.reads_in; i++)
		list_append(&tx->responses, &s->response[i].link);
}

/* ---- messages ---- */

/* Equal segments of whole pages, as large as the peer takes them. */
static uint32_t chunk_choose(const struct iwarp_stream *s, const struct iwarp_message *m)
{
	uint32_t max = s->config.max_ulpdu - rdmap_opcode_find(m->opcode)->header;
	uint32_t segments, even;

	if (m->length <= max || max < PAGE)
		return max;
	max -= max % PAGE;
	segments = m->length / max + !!(m->length % max);
	even = m->length / segments + !!(m->length % segments);
	return min_u32((uint32_t)round_up(even, PAGE), max);
}

static void message_queue(struct iwarp_stream *s, struct iwarp_message *m)
{
	struct iwarp_tx *tx = &s->tx;

	if (m->opcode == RDMAP_READ_REQUEST && tx->reads_out >= s->config.reads_out) {
		list_append(&tx->waiting, &m->link);
		return;
	}
	if (m->opcode == RDMAP_READ_REQUEST)
		tx->reads_out++;
	list_append(&tx->queue, &m->link);
}

void iwarp_tx_post(struct iwarp_stream *s, struct iwarp_message *m)
{
	m->length = m->progress = 0;
	for (unsigned i = 0; i < m->places; i++)
		m->length += m->place[i].length;
	m->finished = false;
	if (m->opcode == RDMAP_READ_REQUEST) {
		m->local_stag = SINK_STAG | (s->tx.sinks++ & ~SINK_STAG);
		m->local_offset = 0;
	} else {
		m->chunk = chunk_choose(s, m);
	}
	list_append(&s->tx.order, &m->order);
	message_queue(s, m);
}

bool iwarp_tx_respond(struct iwarp_stream *s, const struct rdmap_read *r)
{
	struct list *free = list_pop(&s->tx.responses);
	struct iwarp_message *m;

	if (!free)
		return false;
	m = list_entry(free, struct iwarp_message, link);
	*m = (struct iwarp_message){
		.opcode = RDMAP_READ_RESPONSE,
		.remote_stag = r->sink_stag,
		.remote_offset = r->sink_offset,
		.local_stag = r->source_stag,
		.local_offset = r->source_offset,
		.length = r->size,
	};
	m->chunk = chunk_choose(s, m);
	s->tx.reads_in++;
	list_append(&s->tx.queue, &m->link);
	return true;
}

/* Completions are told in the order of posting, as a queue pair of a device does. */
static void message_finish(struct iwarp_stream *s, struct iwarp_message *m)
{
	struct list *order = &s->tx.order;

	m->finished = true;
	while (!list_empty(order) && list_first(order, struct iwarp_message, order)->finished) {
		m = list_first(order, struct iwarp_message, order);
		list_remove(&m->order);
		s->config.up->completed(s->config.owner, m);
	}
}

struct iwarp_message *iwarp_tx_read_oldest(struct iwarp_stream *s)
{
	struct list *reads = &s->tx.reads;

	return list_empty(reads) ? NULL : list_first(reads, struct iwarp_message, link);
}

void iwarp_tx_read_answered(struct iwarp_stream *s, struct iwarp_message *m)
{
	struct list *next;

	list_remove(&m->link);
	s->tx.reads_out--;
	next = list_pop(&s->tx.waiting);
	if (next)
		message_queue(s, list_entry(next, struct iwarp_message, link));
	message_finish(s, m);
}

/* ---- iovecs ---- */

static void iov_add(struct iwarp_tx *tx, const void *data, size_t length)
{
	struct iovec *last = tx->count > tx->first ? &tx->iov[tx->count - 1] : NULL;

	if (last && (const char *)last->iov_base + last->iov_len == data)
		last->iov_len += length;
	else
		tx->iov[tx->count++] = (struct iovec){(void *)data, length};
	tx->built += length;
}

static uint8_t *scratch_add(struct iwarp_tx *tx, uint32_t length)
{
	uint8_t *p = tx->scratch + tx->used;

	tx->used += length;
	iov_add(tx, p, length);
	return p;
}

static bool room(struct iwarp_tx *tx)
{
	if (tx->first == tx->count)
		tx->first = tx->count = tx->used = 0;
	return tx->count + TX_FPDU_IOVECS <= TX_IOVECS && tx->used + TX_FPDU_SCRATCH <= TX_SCRATCH;
}

/* ---- FPDUs ---- */

/* The header, from the length field on. Returns its size. */
static uint32_t head_encode(struct iwarp_stream *s, const struct iwarp_message *m, uint32_t payload,
	uint8_t out[HEAD_MAX])
{
	const struct rdmap_opcode_row *row = rdmap_opcode_find(m->opcode);
	bool read = m->opcode == RDMAP_READ_REQUEST;
	struct ddp_segment seg = {
		.tagged = row->tagged,
		.last = read || m->progress + payload == m->length,
		.ulp_control = rdmap_control(m->opcode),
	};

	if (row->tagged) {
		seg.tag.stag = m->remote_stag;
		seg.tag.offset = m->remote_offset + m->progress;
	} else {
		seg.un.queue = row->queue;
		seg.un.ulp_word = row->invalidates ? m->remote_stag : 0;
		seg.un.msn = read ? s->tx.read_msn : s->tx.send_msn;
		seg.un.offset = m->progress;
	}
	put_be16(out, (uint16_t)(row->header + payload));
	ddp_segment_encode(&seg, out + MPA_LENGTH_SIZE);
	if (read)
		rdmap_read_encode(
			&(struct rdmap_read){
				.sink_stag = m->local_stag,
				.sink_offset = m->local_offset,
				.size = m->length,
				.source_stag = m->remote_stag,
				.source_offset = m->remote_offset,
			},
			out + MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE);
	return MPA_LENGTH_SIZE + row->header;
}

static uint32_t piece_add(struct iwarp_stream *s, uint32_t crc, const uint8_t *data, uint32_t n)
{
	if (n <= TX_COPY_MAX)
		data = memcpy(scratch_add(&s->tx, n), data, n);
	else
		iov_add(&s->tx, data, n);
	return s->config.crc ? crc32c_update(crc, data, n) : 0;
}

/* `n` bytes of the message from its progress on. */
static uint32_t pieces_add(
	struct iwarp_stream *s, uint32_t crc, const struct iwarp_message *m, uint32_t n)
{
	uint32_t skip = m->progress;

	for (unsigned i = 0; n && i < m->places; i++) {
		const struct iwarp_place *p = &m->place[i];
		uint32_t k = skip < p->length ? min_u32(n, p->length - skip) : 0;

		if (k)
			crc = piece_add(s, crc, (const uint8_t *)p->data + skip, k);
		skip -= min_u32(skip, p->length);
		n -= k;
		if (k)
			skip = 0;
	}
	return crc;
}

static void trailer_add(struct iwarp_stream *s, uint32_t crc, uint32_t ulpdu)
{
	uint32_t pad = mpa_pad(ulpdu);
	uint8_t *p = scratch_add(&s->tx, pad + MPA_CRC_SIZE);

	memset(p, 0, pad + MPA_CRC_SIZE);
	if (s->config.crc)
		put_le32(p + pad, crc32c_update(crc, p, pad));
}

static void message_built(struct iwarp_stream *s, struct iwarp_message *m)
{
	struct iwarp_tx *tx = &s->tx;

	m->end = tx->built;
	list_remove(&m->link);
	if (m->opcode == RDMAP_READ_REQUEST) {
		m->progress = 0; /* counts what has come, from now on */
		tx->read_msn++;
		list_append(&tx->reads, &m->link);
		return;
	}
	if (rdmap_opcode_find(m->opcode)->queue == DDP_QUEUE_SEND &&
		!rdmap_opcode_find(m->opcode)->tagged)
		tx->send_msn++;
	list_append(&tx->leaving, &m->link);
}

/* A response is sent from memory that was exposed when it was asked for; it must still be. */
static enum rdmap_fault response_locate(
	struct iwarp_stream *s, struct iwarp_message *m, uint32_t payload)
{
	uint8_t *source = NULL;

	if (payload && stag_check(s->config.stags, s->config.domain, m->local_stag,
			       STAG_REMOTE_READ, m->local_offset + m->progress, payload, &source))
		return FAULT_READ_STAG;
	/* Laid out as if the place began where the message does. */
	m->place[0] = (struct iwarp_place){source ? source - m->progress : NULL, m->length};
	m->places = 1;
	return RDMAP_NO_FAULT;
}

static void fpdu_build(struct iwarp_stream *s, struct iwarp_message *m)
{
	bool read = m->opcode == RDMAP_READ_REQUEST;
	uint32_t payload = read ? 0 : min_u32(m->chunk, m->length - m->progress);
	uint8_t head[HEAD_MAX], *at;
	uint32_t size, crc = 0;

	if (m->opcode == RDMAP_READ_RESPONSE) {
		s->fault = response_locate(s, m, payload);
		if (s->fault) {
			/* What has come of the next header did not cause this. */
			s->rx.head_used = 0;
			return;
		}
	}
	size = head_encode(s, m, payload, head);
	at = memcpy(scratch_add(&s->tx, size), head, size);
	if (s->config.crc)
		crc = crc32c_update(0, at, size);
	crc = pieces_add(s, crc, m, payload);
	trailer_add(s, crc, size - MPA_LENGTH_SIZE + payload);
	m->progress += payload;
	if (read || m->progress == m->length)
		message_built(s, m);
}

/* ---- the byte stream ---- */

/* RFC 5044 section 7.1.2: the responder waits for the initiator's first FPDU. */
static bool held(const struct iwarp_stream *s)
{
	return s->tx.closed || s->fault || (s->config.passive && !s->rx.any);
}

unsigned iwarp_tx_have(struct iwarp_stream *s, const struct iovec **ret)
{
	struct iwarp_tx *tx = &s->tx;
	uint64_t ahead = s->config.crc ? TX_AHEAD_CRC : TX_AHEAD;

	while (!held(s) && !list_empty(&tx->queue) && tx->built - tx->sent < ahead && room(tx))
		fpdu_build(s, list_first(&tx->queue, struct iwarp_message, link));
	*ret = tx->iov + tx->first;
	return tx->count - tx->first;
}

static void response_done(struct iwarp_tx *tx, struct iwarp_message *m)
{
	tx->reads_in--;
	list_append(&tx->responses, &m->link);
}

void iwarp_tx_sent(struct iwarp_stream *s, size_t n)
{
	struct iwarp_tx *tx = &s->tx;

	tx->sent += n;
	while (n) {
		struct iovec *v = &tx->iov[tx->first];
		size_t k = min_size(n, v->iov_len);

		v->iov_base = (char *)v->iov_base + k;
		v->iov_len -= k;
		n -= k;
		if (!v->iov_len)
			tx->first++;
	}
	while (!list_empty(&tx->leaving)) {
		struct iwarp_message *m = list_first(&tx->leaving, struct iwarp_message, link);

		if (m->end > tx->sent)
			return;
		list_remove(&m->link);
		if (m->opcode == RDMAP_READ_RESPONSE)
			response_done(tx, m);
		else
			message_finish(s, m);
	}
}

bool iwarp_tx_pending(const struct iwarp_stream *s)
{
	return s->tx.first < s->tx.count || (!held(s) && !list_empty(&s->tx.queue));
}

bool iwarp_tx_drained(const struct iwarp_stream *s)
{
	const struct iwarp_tx *tx = &s->tx;

	return tx->first == tx->count && list_empty(&tx->queue) && list_empty(&tx->waiting);
}

void iwarp_tx_kick(struct iwarp_stream *s)
{
	/* STag and TO are not looked at by anybody; these are siw's own for its RTR. */
	static const struct iwarp_message write = {.opcode = RDMAP_WRITE, .remote_stag = 1};
	struct iwarp_message kick = write;

	if (held(s) || iwarp_tx_pending(s) || !room(&s->tx))
		return;
	list_init(&kick.link);
	fpdu_build(s, &kick);
	/* It ends with this function, its bytes do not. */
	list_remove(&kick.link);
}

void iwarp_tx_terminate(struct iwarp_stream *s, enum rdmap_fault fault)
{
	const uint8_t *failed = s->rx.head;
	struct ddp_segment seg = {.last = true,
		.ulp_control = rdmap_control(RDMAP_TERMINATE),
		.un = {.queue = DDP_QUEUE_TERMINATE, .msn = 1}};
	uint8_t body[RDMAP_TERMINATE_MAX];
	uint8_t *head;
	size_t size;
	uint32_t crc = 0;

	if (s->tx.closed || (s->config.passive && !s->rx.any && !s->rx.head_used) || !room(&s->tx))
		return;
	s->tx.closed = true;
	size = rdmap_terminate_encode(fault, failed, s->rx.head_used, body);
	head = scratch_add(&s->tx, MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE);
	put_be16(head, (uint16_t)(DDP_UNTAGGED_SIZE + size));
	ddp_segment_encode(&seg, head + MPA_LENGTH_SIZE);
	if (s->config.crc)
		crc = crc32c_update(0, head, MPA_LENGTH_SIZE + DDP_UNTAGGED_SIZE);
	crc = piece_add(s, crc, body, (uint32_t)size);
	trailer_add(s, crc, (uint32_t)(DDP_UNTAGGED_SIZE + size));
}

/* ---- revocation ---- */

bool iwarp_tx_uses(const struct iwarp_stream *s, uint32_t stag)
{
	const struct iwarp_message *m;

	if (!s->tx.reads_in || s->tx.first == s->tx.count)
		return false;
	list_for_each(m, &s->tx.leaving, link)
		if (m->opcode == RDMAP_READ_RESPONSE && m->local_stag == stag && m->length)
			return true;
	if (list_empty(&s->tx.queue))
		return false;
	/* Only the one that is being cut up can have been built in part. */
	m = list_first(&s->tx.queue, const struct iwarp_message, link);
	return m->opcode == RDMAP_READ_RESPONSE && m->local_stag == stag && m->progress;
}

void iwarp_tx_cut(struct iwarp_stream *s)
{
	s->tx.closed = true;
	s->tx.first = s->tx.count;
}

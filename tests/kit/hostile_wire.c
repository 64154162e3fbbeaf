/* See hostile.h: bytes out, and bytes in, which become words. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "tests/kit/hostile.h"

/* ---- words ---- */

static void flush(struct hostile *h)
{
	size_t used = strlen(h->heard);

	if (!h->repeats)
		return;
	if (h->repeats == 1)
		snprintf(h->heard + used, sizeof(h->heard) - used, "%s%s", used ? ", " : "",
			h->last);
	else
		snprintf(h->heard + used, sizeof(h->heard) - used, "%s%s %u times",
			used ? ", " : "", h->last, h->repeats);
	h->repeats = 0;
}

void hostile_say(struct hostile *h, const char *words)
{
	if (h->repeats && !strcmp(h->last, words)) {
		h->repeats++;
		return;
	}
	flush(h);
	snprintf(h->last, sizeof(h->last), "%s", words);
	h->repeats = 1;
}

const char *hostile_heard(const struct hostile *h)
{
	flush((struct hostile *)h);
	return h->heard[0] ? h->heard : "nothing";
}

void hostile_forget(struct hostile *h)
{
	h->heard[0] = h->last[0] = '\0';
	h->repeats = 0;
}

/* The code behind a PDU's name: status, reason, or nothing. */
static void say_pdu(struct hostile *h, const uint8_t *bhs, const uint8_t *data)
{
	const struct iscsi_pdu *p = &h->pdu;
	const char *name = iscsi_opcode_name(p->opcode);
	char words[80];

	snprintf(words, sizeof(words), "%s", name);
	switch (p->opcode) {
	case ISCSI_LOGIN_RESPONSE:
		snprintf(words, sizeof(words), "%s %02x%02x", name, bhs[36], bhs[37]);
		break;
	case ISCSI_REJECT:
	case ISCSI_TMF_RESPONSE:
	case ISCSI_LOGOUT_RESPONSE:
		snprintf(words, sizeof(words), "%s %02x", name, bhs[2]);
		break;
	case ISCSI_DATA_IN:
		if (p->data_in.has_status)
			snprintf(words, sizeof(words), "%s %02x", name, bhs[3]);
		break;
	case ISCSI_SCSI_RESPONSE:
		if (p->data_length >= 16)
			snprintf(words, sizeof(words), "%s %02x (%x/%02x/%02x)", name, bhs[3],
				data[4] & 0xf, data[14], data[15]);
		else
			snprintf(words, sizeof(words), "%s %02x", name, bhs[3]);
		break;
	}
	hostile_say(h, words);
}

/* ---- bytes in ---- */

static void got_pdu(struct hostile *h, const uint8_t *bhs, const uint8_t *data, size_t n)
{
	assert_int_equal(iscsi_pdu_decode(bhs, &h->pdu), 0);
	if (h->target)
		h->exp_stat_sn = h->pdu.exp_stat_sn;
	else if (h->pdu.opcode != ISCSI_R2T && h->pdu.opcode != ISCSI_DATA_IN)
		h->exp_stat_sn = h->pdu.stat_sn + 1;
	memcpy(h->data, data, min_size(n, sizeof(h->data)));
	h->pdus++;
	say_pdu(h, bhs, data);
}

static size_t take_pdu(struct hostile *h)
{
	size_t ahs, data, whole;

	if (h->used < ISCSI_BHS_SIZE)
		return 0;
	ahs = h->in[4] * 4u;
	data = get_be24(h->in + 5);
	whole = ISCSI_BHS_SIZE + ahs + round_up(data, 4);
	if (h->used < whole)
		return 0;
	got_pdu(h, h->in, h->in + ISCSI_BHS_SIZE + ahs, data);
	return whole;
}

static void got_send(struct hostile *h, const uint8_t *bytes, size_t n)
{
	size_t data;

	assert_true(n >= ISER_HEADER_SIZE);
	assert_int_equal(iser_header_decode(bytes, &h->tags), 0);
	if (h->tags.opcode != ISER_CONTROL) {
		hostile_say(h, bytes[0] & 1 ? "HelloReply with REJ" : "HelloReply");
		return;
	}
	assert_true(n >= ISER_HEADERS_SIZE);
	data = get_be24(bytes + ISER_HEADER_SIZE + 5);
	assert_true(n - ISER_HEADERS_SIZE >= data);
	got_pdu(h, bytes + ISER_HEADER_SIZE, bytes + ISER_HEADERS_SIZE, data);
}

static void got_untagged(struct hostile *h, uint8_t opcode, const uint8_t *bytes, size_t n)
{
	char words[40];

	switch (opcode) {
	case RDMAP_READ_REQUEST:
		rdmap_read_decode(bytes, &h->read);
		hostile_say(h, "RDMA Read Request");
		break;
	case RDMAP_TERMINATE:
		snprintf(words, sizeof(words), "Terminate %x.%x.%02x", bytes[0] >> 4,
			bytes[0] & 0xf, bytes[1]);
		hostile_say(h, words);
		break;
	default:
		got_send(h, bytes, n);
	}
}

static size_t take_fpdu(struct hostile *h)
{
	const uint8_t *ulpdu = h->in + MPA_LENGTH_SIZE;
	size_t n, whole;

	if (h->used < MPA_LENGTH_SIZE)
		return 0;
	n = get_be16(h->in);
	whole = MPA_LENGTH_SIZE + n + mpa_pad((uint32_t)n) + MPA_CRC_SIZE;
	if (h->used < whole)
		return 0;
	if (ulpdu[0] & 0x80)
		hostile_say(
			h, (ulpdu[1] & 0xf) == RDMAP_WRITE ? "RDMA Write" : "RDMA Read Response");
	else
		got_untagged(h, ulpdu[1] & 0xf, ulpdu + DDP_UNTAGGED_SIZE, n - DDP_UNTAGGED_SIZE);
	return whole;
}

static size_t take_mpa(struct hostile *h)
{
	enum mpa_kind kind = h->target ? MPA_REQUEST : MPA_REPLY;
	int whole;

	if (h->used < MPA_FIXED_SIZE)
		return 0;
	whole = mpa_frame_length(h->in, kind);
	assert_true(whole > 0);
	if (h->used < (size_t)whole)
		return 0;
	assert_int_equal(mpa_frame_decode(h->in, (size_t)whole, kind, &h->mpa), 0);
	h->mpa_done = true;
	if (!h->target)
		hostile_say(h, h->mpa.reject ? "MPA reply with R" : "MPA reply");
	return (size_t)whole;
}

static size_t take(struct hostile *h)
{
	if (!h->rdma)
		return take_pdu(h);
	return h->mpa_done ? take_fpdu(h) : take_mpa(h);
}

/* Most of a thousand peers hear nothing at all. */
static bool has_heard(struct hostile *h)
{
	uint8_t byte;

	if (h->in)
		return true;
	if (recv(h->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno != ECONNRESET)
		return false;
	h->in = malloc(HOSTILE_IN);
	assert_non_null(h->in);
	return true;
}

void hostile_listen(struct hostile *h)
{
	ssize_t n;
	size_t front;

	while (h->fd >= 0 && !h->closed && !h->deaf && has_heard(h)) {
		n = recv(h->fd, h->in + h->used, HOSTILE_IN - h->used, MSG_DONTWAIT);
		if (n < 0 && errno != ECONNRESET)
			return;
		if (n <= 0) {
			h->closed = true;
			hostile_say(h, "closed");
			return;
		}
		h->used += (size_t)n;
		while ((front = take(h))) {
			h->used -= front;
			memmove(h->in, h->in + front, h->used);
		}
	}
}

/* ---- bytes out ---- */

void hostile_bytes(struct hostile *h, const void *bytes, size_t length)
{
	const uint8_t *p = bytes;

	for (unsigned idle = 0; length && idle < 3;) {
		ssize_t n = send(h->fd, p, length, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno != EAGAIN)
			return; /* it was closed: a row says whether that is right */
		if (n > 0) {
			p += n;
			length -= (size_t)n;
			idle = 0;
		} else {
			idle++;
			hostile_settle(h);
		}
	}
}

void hostile_fpdu(struct hostile *h, const void *ulpdu, size_t length, size_t claimed)
{
	static uint8_t out[MPA_LENGTH_SIZE + 65536 + MPA_TRAILER_MAX];
	size_t n = MPA_LENGTH_SIZE + length, pad = mpa_pad((uint32_t)length);

	put_be16(out, (uint16_t)claimed);
	memcpy(out + MPA_LENGTH_SIZE, ulpdu, length);
	memset(out + n, 0, pad + MPA_CRC_SIZE);
	if (h->crc)
		put_le32(out + n + pad, crc32c_update(0, out, n + pad));
	hostile_bytes(h, out, n + pad + MPA_CRC_SIZE);
}

void hostile_untagged(struct hostile *h, enum rdmap_opcode opcode, const struct ddp_segment *un,
	const void *payload, size_t length)
{
	static uint8_t out[65536];
	struct ddp_segment s = *un;
	uint32_t at;

	s.tagged = false;
	s.ulp_control = rdmap_control(opcode);
	at = ddp_segment_encode(&s, out);
	if (length)
		memcpy(out + at, payload, length);
	hostile_fpdu(h, out, at + length, at + length);
}

void hostile_tagged(struct hostile *h, enum rdmap_opcode opcode, uint32_t stag, uint64_t offset,
	const void *payload, size_t length)
{
	static uint8_t out[65536];
	struct ddp_segment s = {.tagged = true, .last = true, .tag = {stag, offset}};
	uint32_t at;

	s.ulp_control = rdmap_control(opcode);
	at = ddp_segment_encode(&s, out);
	if (length)
		memcpy(out + at, payload, length);
	hostile_fpdu(h, out, at + length, at + length);
}

void hostile_send(struct hostile *h, const void *message, size_t length)
{
	struct ddp_segment s = {.last = true, .un = {.msn = h->send_msn++}};

	hostile_untagged(h, RDMAP_SEND, &s, message, length);
}

void hostile_read_request(struct hostile *h, uint32_t stag, uint64_t offset, uint32_t size)
{
	struct ddp_segment s = {
		.last = true, .un = {.queue = DDP_QUEUE_READ_REQUEST, .msn = h->read_msn++}};
	const struct rdmap_read r = {
		.sink_stag = 0x1234, .size = size, .source_stag = stag, .source_offset = offset};
	uint8_t out[RDMAP_READ_HEADER_SIZE];

	rdmap_read_encode(&r, out);
	hostile_untagged(h, RDMAP_READ_REQUEST, &s, out, sizeof(out));
}

void hostile_pdu_claiming(struct hostile *h, const uint8_t bhs[ISCSI_BHS_SIZE], const void *data,
	size_t n, size_t claimed)
{
	static uint8_t out[ISER_HEADERS_SIZE + HOSTILE_DATA + 4];
	size_t at = h->rdma ? ISER_HEADER_SIZE : 0;

	memset(out, 0, sizeof(out));
	h->advertise.opcode = ISER_CONTROL;
	iser_header_encode(&h->advertise, out);
	memcpy(out + at, bhs, ISCSI_BHS_SIZE);
	put_be24(out + at + 5, (uint32_t)claimed);
	at += ISCSI_BHS_SIZE;
	if (n)
		memcpy(out + at, data, n);
	if (h->rdma)
		hostile_send(h, out, at + n);
	else
		hostile_bytes(h, out, at + round_up(n, 4));
}

void hostile_pdu(struct hostile *h, const uint8_t bhs[ISCSI_BHS_SIZE], const void *data, size_t n)
{
	hostile_pdu_claiming(h, bhs, data, n, n);
}

/* PDUs out of a byte stream (RFC 7143 section 11.2). Used by datamover/tcp_rx.c.
 *
 * A PDU passes through four phases: the 48 bytes of the BHS, which tell how long the rest is; AHS
 * and header digest; the data segment; padding and data digest. A phase
 * of 0 bytes is passed over. */
#include "common/iscsi/stream.h"

#include <errno.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"

enum phase {
	PHASE_BHS,
	PHASE_HEADER, /* AHS and header digest, behind the BHS in rx->header */
	PHASE_DATA,
	PHASE_TRAILER,
};

static int bhs_done(struct iscsi_rx *rx);
static int header_done(struct iscsi_rx *rx);
static int data_done(struct iscsi_rx *rx);
static int trailer_done(struct iscsi_rx *rx);

static int (*const phase_done[])(struct iscsi_rx *rx) = {
	[PHASE_BHS] = bhs_done,
	[PHASE_HEADER] = header_done,
	[PHASE_DATA] = data_done,
	[PHASE_TRAILER] = trailer_done,
};

static int phase_enter(struct iscsi_rx *rx, enum phase phase, uint32_t need)
{
	rx->phase = phase;
	rx->got = 0;
	rx->need = need;
	return need ? ISCSI_RX_NONE : phase_done[phase](rx);
}

static uint32_t padding_size(const struct iscsi_rx *rx)
{
	return -rx->pdu.data_length & 3;
}

static uint32_t trailer_size(const struct iscsi_rx *rx)
{
	return padding_size(rx) + (rx->data_digest ? ISCSI_DIGEST_SIZE : 0);
}

static int bhs_done(struct iscsi_rx *rx)
{
	uint32_t ahs_length;

	rx->decode_error = iscsi_pdu_decode(rx->header, &rx->pdu);
	rx->data_digest_bad = false;
	rx->place = NULL;
	ahs_length = rx->pdu.ahs_words * 4u;
	if (ahs_length > rx->max_ahs_length)
		return -EMSGSIZE;
	return phase_enter(
		rx, PHASE_HEADER, ahs_length + (rx->header_digest ? ISCSI_DIGEST_SIZE : 0));
}

/* The length of the data segment is believed only once the digest has vouched for it. */
static int header_done(struct iscsi_rx *rx)
{
	size_t length = ISCSI_BHS_SIZE + rx->pdu.ahs_words * 4u;

	if (rx->header_digest &&
		crc32c_update(0, rx->header, length) != get_le32(rx->header + length))
		return -EBADMSG;
	if (rx->pdu.data_length > rx->max_data_length)
		return -EMSGSIZE;
	rx->crc = 0;
	if (!rx->pdu.data_length) {
		phase_enter(rx, PHASE_BHS, ISCSI_BHS_SIZE);
		return ISCSI_RX_PDU;
	}
	phase_enter(rx, PHASE_DATA, rx->pdu.data_length);
	return ISCSI_RX_HEADER;
}

static int data_done(struct iscsi_rx *rx)
{
	return phase_enter(rx, PHASE_TRAILER, trailer_size(rx));
}

/* The digest covers the padding too (section 13.1). */
static int trailer_done(struct iscsi_rx *rx)
{
	uint32_t padding = padding_size(rx);

	if (rx->data_digest)
		rx->data_digest_bad = crc32c_update(rx->crc, rx->trailer, padding) !=
				      get_le32(rx->trailer + padding);
	phase_enter(rx, PHASE_BHS, ISCSI_BHS_SIZE);
	return ISCSI_RX_PDU;
}

/* Where the next bytes of the present phase belong; NULL for thrown data. */
static uint8_t *phase_place(struct iscsi_rx *rx)
{
	switch (rx->phase) {
	case PHASE_BHS:
		return rx->header + rx->got;
	case PHASE_HEADER:
		return rx->header + ISCSI_BHS_SIZE + rx->got;
	case PHASE_DATA:
		return rx->place ? rx->place + rx->got : NULL;
	default:
		return rx->trailer + rx->got;
	}
}

/* `n` bytes of the present phase have come and lie at `bytes`. */
static int phase_advance(struct iscsi_rx *rx, const void *bytes, uint32_t n)
{
	int event = ISCSI_RX_NONE;

	if (rx->phase == PHASE_DATA && rx->data_digest)
		rx->crc = crc32c_update(rx->crc, bytes, n);
	rx->got += n;
	if (rx->got == rx->need)
		event = phase_done[rx->phase](rx);
	if (event < 0)
		rx->error = event;
	return event;
}

void iscsi_rx_init(struct iscsi_rx *rx, uint32_t max_data_length)
{
	memset(rx, 0, sizeof(*rx));
	rx->max_data_length = max_data_length;
	rx->max_ahs_length = ISCSI_AHS_MAX;
	rx->need = ISCSI_BHS_SIZE;
}

size_t iscsi_rx_want(struct iscsi_rx *rx, void **ret)
{
	uint32_t left = rx->need - rx->got;
	uint8_t *place = phase_place(rx);

	if (rx->error)
		return 0;
	*ret = place ? place : rx->sink;
	return place ? left : min_size(left, sizeof(rx->sink));
}

int iscsi_rx_got(struct iscsi_rx *rx, size_t n)
{
	uint8_t *place = phase_place(rx);

	if (rx->error)
		return rx->error;
	return n ? phase_advance(rx, place ? place : rx->sink, (uint32_t)n) : ISCSI_RX_NONE;
}

void iscsi_rx_place(struct iscsi_rx *rx, void *data)
{
	rx->place = data;
}

int iscsi_rx_feed(struct iscsi_rx *rx, const void *bytes, size_t length, size_t *ret_used)
{
	const uint8_t *at = bytes;
	int event = rx->error;

	while (length && event == ISCSI_RX_NONE) {
		uint32_t n = (uint32_t)min_size(length, rx->need - rx->got);
		uint8_t *place = phase_place(rx);

		if (place && place != at)
			memcpy(place, at, n);
		event = phase_advance(rx, at, n);
		at += n;
		length -= n;
	}
	*ret_used = (size_t)(at - (const uint8_t *)bytes);
	return event;
}

uint32_t iscsi_rx_data_left(const struct iscsi_rx *rx)
{
	return rx->phase == PHASE_DATA && rx->place ? rx->need - rx->got : 0;
}

size_t iscsi_rx_body_size(const struct iscsi_rx *rx)
{
	return rx->pdu.data_length ? (size_t)rx->pdu.data_length + trailer_size(rx) : 0;
}

const uint8_t *iscsi_rx_ahs(const struct iscsi_rx *rx)
{
	return rx->pdu.ahs_words ? rx->header + ISCSI_BHS_SIZE : NULL;
}

bool iscsi_rx_idle(const struct iscsi_rx *rx)
{
	return rx->phase == PHASE_BHS && rx->got == 0;
}

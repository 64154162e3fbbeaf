/* PDUs into a byte stream (RFC 7143 section 11.2). Used by datamover/tcp_tx.c. */
#include <errno.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/iscsi/stream.h"

/* One contiguous part of a PDU. */
struct part {
	const void *data;
	size_t length;
};

static size_t parts_of(const struct iscsi_tx_pdu *p, struct part parts[ISCSI_TX_IOVECS_MAX])
{
	size_t n = 0;

	/* Without AHS the digest lies right behind the BHS: one part. */
	parts[n++] = (struct part){
		p->header, ISCSI_BHS_SIZE + (size_t)(p->ahs_length ? 0 : p->header_digest_size)};
	if (p->ahs_length) {
		parts[n++] = (struct part){p->ahs, p->ahs_length};
		parts[n++] = (struct part){p->header + ISCSI_BHS_SIZE, p->header_digest_size};
	}
	parts[n++] = (struct part){p->data, p->data_length};
	parts[n++] = (struct part){p->trailer, p->trailer_size};
	return n;
}

static size_t size_of(const struct iscsi_tx_pdu *p)
{
	return (size_t)ISCSI_BHS_SIZE + p->ahs_length + p->header_digest_size + p->data_length +
	       p->trailer_size;
}

static void header_finish(struct iscsi_tx_pdu *p, bool digest)
{
	uint32_t crc;

	p->header_digest_size = digest ? ISCSI_DIGEST_SIZE : 0;
	if (!digest)
		return;
	crc = crc32c_update(0, p->header, ISCSI_BHS_SIZE);
	crc = crc32c_update(crc, p->ahs, p->ahs_length);
	put_le32(p->header + ISCSI_BHS_SIZE, crc);
}

static void trailer_finish(struct iscsi_tx_pdu *p, bool digest)
{
	uint8_t padding = -p->data_length & 3;
	uint32_t crc;

	memset(p->trailer, 0, sizeof(p->trailer));
	p->trailer_size = padding;
	if (!digest || !p->data_length)
		return;
	crc = crc32c_update(0, p->data, p->data_length);
	crc = crc32c_update(crc, p->trailer, padding);
	put_le32(p->trailer + padding, crc);
	p->trailer_size = (uint8_t)(padding + ISCSI_DIGEST_SIZE);
}

void iscsi_tx_init(struct iscsi_tx *tx)
{
	memset(tx, 0, sizeof(*tx));
	list_init(&tx->queue);
}

void iscsi_tx_queue(struct iscsi_tx *tx, struct iscsi_tx_pdu *p, const struct iscsi_pdu *pdu,
	const void *ahs, const void *data, uint32_t length)
{
	iscsi_pdu_encode(pdu, p->header);
	put_be24(p->header + 5, length);
	p->ahs = ahs;
	p->ahs_length = pdu->ahs_words * 4u;
	p->data = data;
	p->data_length = length;
	header_finish(p, tx->header_digest);
	trailer_finish(p, tx->data_digest);
	list_append(&tx->queue, &p->link);
	tx->queued_bytes += size_of(p);
}

int iscsi_tx_have(const struct iscsi_tx *tx, struct iovec *iov, int max, size_t *ret_bytes)
{
	size_t skip = tx->front_sent, bytes = 0;
	const struct iscsi_tx_pdu *p;
	int n = 0;

	list_for_each(p, &tx->queue, link) {
		struct part parts[ISCSI_TX_IOVECS_MAX];
		size_t count = parts_of(p, parts);

		if (n + ISCSI_TX_IOVECS_MAX > max)
			break;
		for (size_t i = 0; i < count; i++) {
			size_t gone = min_size(skip, parts[i].length);

			skip -= gone;
			if (gone == parts[i].length)
				continue;
			iov[n].iov_base = (uint8_t *)parts[i].data + gone;
			iov[n].iov_len = parts[i].length - gone;
			bytes += iov[n++].iov_len;
		}
	}
	*ret_bytes = bytes;
	return n;
}

void iscsi_tx_sent(struct iscsi_tx *tx, size_t n)
{
	tx->queued_bytes -= n;
	tx->front_sent += n;
	while (!list_empty(&tx->queue)) {
		struct iscsi_tx_pdu *p = list_first(&tx->queue, struct iscsi_tx_pdu, link);

		if (tx->front_sent < size_of(p))
			return;
		tx->front_sent -= size_of(p);
		list_remove(&p->link);
		p->sent(p);
	}
}

bool iscsi_tx_begun(const struct iscsi_tx *tx, const struct iscsi_tx_pdu *p)
{
	return tx->queue.next == &p->link && tx->front_sent > 0;
}

void iscsi_tx_remove(struct iscsi_tx *tx, struct iscsi_tx_pdu *p)
{
	tx->queued_bytes -= size_of(p);
	list_remove(&p->link);
}

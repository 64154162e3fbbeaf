/* Registered send and receive buffers of one connection: one range of memory and one registration
 * for the login, one for the full-feature phase. Called by iser_conn.c. */
#include <errno.h>

#include "common/base/alloc.h"
#include "common/datamover/iser_internal.h"

#define CACHE_LINE 64
#define AHS_MAX 1020 /* TotalAHSLength is one byte of words */

/* Every receive takes the longest PDU this end has declared, with its AHS: thus discovery and
 * normal sessions, login and full-feature phase need no buffers of their own. */
static size_t receive_size(const struct iser_conn *c)
{
	const struct iser_mover_config *k = &c->mover->config;
	uint32_t data = c->initiator ? k->initiator_recv_data_segment_length
				     : k->target_recv_data_segment_length;

	if (data < ISER_DATA_MAX)
		data = ISER_DATA_MAX; /* login and text PDUs, before and beside those keys */
	return round_up(ISER_HEADERS_SIZE + ISER_AHS_ROOM + data, CACHE_LINE);
}

static size_t large_send_size(void)
{
	return round_up(ISER_HEADERS_SIZE + AHS_MAX + ISER_DATA_MAX, CACHE_LINE);
}

static void receives_init(struct iser_conn *c, struct iser_buffers *b, uint8_t *at)
{
	size_t size = receive_size(c);

	for (uint32_t i = 0; i < b->receive_count; i++, at += size) {
		struct iser_receive *r = &b->receives[i];

		r->conn = c;
		r->rdma.work.done = iser_receive_done;
		r->rdma.sge = (struct rdma_sge){at, (uint32_t)size, b->region};
	}
}

static void sends_init(struct iser_conn *c, struct iser_buffers *b,
	const struct iser_buffers_shape *shape, uint8_t *at)
{
	for (uint32_t i = 0; i < shape->large_sends + shape->small_sends; i++) {
		struct iser_send *s = &b->sends[i];
		bool large = i < shape->large_sends;
		size_t size = large ? large_send_size() : ISER_SMALL_SEND;

		s->conn = c;
		s->rdma.work.done = iser_send_done;
		s->rdma.sge[0] = (struct rdma_sge){at, (uint32_t)size, b->region};
		s->home = large ? &c->free_large : &c->free_small;
		list_append(s->home, &s->link);
		at += size;
	}
}

int iser_buffers_make(
	struct iser_conn *c, struct iser_buffers *b, const struct iser_buffers_shape *shape)
{
	size_t receives = shape->receives * receive_size(c);
	size_t size = receives + shape->large_sends * large_send_size() +
		      (size_t)shape->small_sends * ISER_SMALL_SEND;
	int r = -ENOMEM;

	b->memory = alloc_aligned(4096, size);
	b->receives = alloc_array(shape->receives, sizeof(*b->receives));
	b->sends = alloc_array(shape->large_sends + shape->small_sends, sizeof(*b->sends));
	if (!b->memory || !b->receives || !b->sends)
		goto fail;
	r = rdma_register(c->mover->provider, b->memory, size, &b->region);
	if (r < 0)
		goto fail;
	b->receive_count = shape->receives;
	receives_init(c, b, b->memory);
	sends_init(c, b, shape, b->memory + receives);
	return 0;
fail:
	iser_buffers_free(c, b);
	return r;
}

int iser_buffers_post(struct iser_conn *c, struct iser_buffers *b)
{
	int r = 0;

	for (uint32_t i = 0; i < b->receive_count && r == 0; i++)
		r = rdma_post_receive(c->rdma, &b->receives[i].rdma);
	return r;
}

void iser_buffers_free(struct iser_conn *c, struct iser_buffers *b)
{
	rdma_unregister(c->mover->provider, b->region);
	alloc_free(b->memory);
	alloc_free(b->receives);
	alloc_free(b->sends);
	*b = (struct iser_buffers){0};
}

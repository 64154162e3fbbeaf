/* The memory provider's registered memory, tags and work requests. See memory_rdma.h. */
#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"
#include "tests/kit/memory_rdma_internal.h"

/* In rdma_work.provider_private. */
static enum work_kind work_kind(const struct rdma_work *w)
{
	return (enum work_kind)(uintptr_t)w->provider_private[0];
}

/* ---- memory ---- */

int memory_register(struct rdma_provider *p, void *address, size_t length, struct rdma_region **ret)
{
	struct rdma_region *r = alloc_zeroed(sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct rdma_region){.address = address, .length = length};
	provider_of(p)->counts.regions++;
	*ret = r;
	return 0;
}

void memory_unregister(struct rdma_provider *p, struct rdma_region *r)
{
	provider_of(p)->counts.regions--;
	alloc_free(r);
}

static bool sge_is_registered(const struct rdma_sge *s)
{
	const uint8_t *start, *data = s->data;

	if (!s->region)
		return false;
	start = s->region->address;
	return data >= start && s->length <= s->region->length &&
	       (size_t)(data - start) <= s->region->length - s->length;
}

static struct memory_tag *tag_find(struct memory_provider *p, uint32_t stag)
{
	struct memory_tag *t = &p->tags[(stag >> 8) % TAGS];

	return t->conn && t->generation == (uint8_t)stag ? t : NULL;
}

int memory_expose(struct rdma_conn *base, struct rdma_region *region, void *data, uint32_t length,
	unsigned access, uint32_t *ret_stag, uint64_t *ret_address)
{
	struct memory_conn *c = conn_of(base);
	struct memory_provider *p = c->provider;
	struct rdma_sge whole = {data, length, region};

	if (!sge_is_registered(&whole))
		return -EINVAL;
	for (uint32_t i = 0; i < TAGS; i++) {
		uint32_t index = p->next_tag++ % TAGS;
		struct memory_tag *t = &p->tags[index];

		if (t->conn)
			continue;
		*t = (struct memory_tag){c, data, length, access, (uint8_t)(t->generation + 1)};
		p->counts.tags++;
		*ret_stag = index << 8 | t->generation;
		*ret_address = (uintptr_t)data;
		return 0;
	}
	return -ENOSPC;
}

static void tag_free(struct memory_provider *p, struct memory_tag *t)
{
	t->conn = NULL;
	p->counts.tags--;
}

void memory_revoke(struct rdma_conn *base, uint32_t stag)
{
	struct memory_conn *c = conn_of(base);
	struct memory_tag *t = tag_find(c->provider, stag);

	if (t && t->conn == c)
		tag_free(c->provider, t);
}

void memory_tags_free(struct memory_conn *c)
{
	for (uint32_t i = 0; i < TAGS; i++) {
		if (c->provider->tags[i].conn == c)
			tag_free(c->provider, &c->provider->tags[i]);
	}
}

/* Where `length` bytes at `address` of the peer's tag are, or NULL. */
static uint8_t *remote_find(
	struct memory_conn *c, uint32_t stag, uint64_t address, uint32_t length, unsigned access)
{
	struct memory_tag *t = tag_find(c->provider, stag);
	uint64_t offset;

	if (!t || t->conn != c->peer || !(t->access & access))
		return NULL;
	offset = address - (uintptr_t)t->data;
	if (offset > t->length || length > t->length - offset)
		return NULL;
	return t->data + offset;
}

/* ---- carrying out ---- */

static int send_invalidate(struct memory_conn *c, const struct rdma_send *s, struct rdma_receive *r)
{
	struct memory_tag *t;

	if (!s->invalidate)
		return 0;
	t = tag_find(c->provider, s->invalidate_stag);
	if (!t || t->conn != c->peer)
		return -EACCES;
	tag_free(c->provider, t);
	c->provider->counts.invalidations++;
	r->invalidated = true;
	r->invalidated_stag = s->invalidate_stag;
	return 0;
}

static int send_gather(struct memory_conn *c, const struct rdma_send *s, struct rdma_receive *r)
{
	uint8_t *to = r->sge.data;

	r->length = 0;
	for (unsigned i = 0; i < s->sge_count; i++) {
		if (s->sge[i].length > r->sge.length - r->length)
			return -EMSGSIZE;
		if (s->sge[i].length)
			memcpy(to + r->length, s->sge[i].data, s->sge[i].length);
		r->length += s->sge[i].length;
	}
	c->bytes_sent += r->length;
	c->peer->bytes_received += r->length;
	return 0;
}

/* The peer's receive is done first: it is told of the Send before the sender is. */
static int carry_send(struct memory_conn *c, struct rdma_work *w)
{
	struct rdma_send *s = container_of(w, struct rdma_send, work);
	struct list *node = list_pop(&c->peer->receives);
	struct rdma_receive *r;
	int status;

	if (!node)
		return -ENOBUFS;
	c->peer->receive_count--;
	c->provider->counts.sends++;
	r = container_of(list_entry(node, struct rdma_work, link), struct rdma_receive, work);
	r->invalidated = false;
	status = send_gather(c, s, r);
	if (status == 0)
		status = send_invalidate(c, s, r);
	r->work.done(&r->work, status);
	return status;
}

static int carry_write(struct memory_conn *c, struct rdma_work *w)
{
	struct rdma_transfer *t = container_of(w, struct rdma_transfer, work);
	uint8_t *to = remote_find(
		c, t->remote_stag, t->remote_address, t->local.length, RDMA_REMOTE_WRITE);

	if (!to)
		return -EACCES;
	memcpy(to, t->local.data, t->local.length);
	c->bytes_sent += t->local.length;
	c->provider->counts.writes++;
	c->provider->counts.unsignalled += !t->signalled;
	return 0;
}

static int carry_read(struct memory_conn *c, struct rdma_work *w)
{
	struct rdma_transfer *t = container_of(w, struct rdma_transfer, work);
	uint8_t *from = remote_find(
		c, t->remote_stag, t->remote_address, t->local.length, RDMA_REMOTE_READ);

	if (!from)
		return -EACCES;
	memcpy(t->local.data, from, t->local.length);
	c->bytes_received += t->local.length;
	c->provider->counts.reads++;
	return 0;
}

static bool work_is_signalled(const struct rdma_work *w)
{
	if (work_kind(w) == WORK_SEND)
		return container_of(w, const struct rdma_send, work)->signalled;
	if (work_kind(w) == WORK_WRITE)
		return container_of(w, const struct rdma_transfer, work)->signalled;
	return true;
}

static int (*const carry[])(struct memory_conn *c, struct rdma_work *w) = {
	[WORK_SEND] = carry_send,
	[WORK_WRITE] = carry_write,
	[WORK_READ] = carry_read,
};

static void fault(struct memory_conn *c, int status)
{
	const char *why = status == -ENOBUFS  ? "a Send found no receive"
			  : status == -EACCES ? "access to a tag was refused"
					      : "a message was longer than its receive";

	if (c->peer)
		memory_conn_close(c->peer, -EPROTO, why);
	memory_conn_close(c, status, why);
}

void memory_work_run(struct memory_conn *c)
{
	struct list *node;

	while ((c->state == STATE_OPEN || c->state == STATE_DRAINING) && !c->held && !c->stalled &&
		c->peer && c->peer->state != STATE_CLOSED && (node = list_pop(&c->work))) {
		struct rdma_work *w = list_entry(node, struct rdma_work, link);
		int status = carry[work_kind(w)](c, w);

		c->work_count--;
		if (status < 0 || work_is_signalled(w))
			w->done(w, status);
		if (status < 0)
			fault(c, status);
		memory_conn_message(c);
	}
}

void memory_work_cancel(struct list *all)
{
	struct list *node;

	while ((node = list_pop(all))) {
		struct rdma_work *w = list_entry(node, struct rdma_work, link);

		w->done(w, -ECANCELED);
	}
}

/* ---- posting ---- */

int memory_post_receive(struct rdma_conn *base, struct rdma_receive *r)
{
	struct memory_conn *c = conn_of(base);

	if (c->state == STATE_CLOSED)
		return -ENOTCONN;
	if (c->limits.receive_depth && c->receive_count == c->limits.receive_depth)
		return -ENOBUFS;
	if (!sge_is_registered(&r->sge))
		return -EINVAL;
	c->receive_count++;
	list_append(&c->receives, &r->work.link);
	return 0;
}

static int work_post(struct rdma_conn *base, struct rdma_work *w, enum work_kind kind)
{
	struct memory_conn *c = conn_of(base);

	if (c->state != STATE_OPEN)
		return -ENOTCONN;
	if (c->work_count == c->limits.send_depth)
		return -ENOBUFS;
	w->provider_private[0] = (void *)(uintptr_t)kind;
	c->work_count++;
	list_append(&c->work, &w->link);
	memory_conn_schedule(c);
	return 0;
}

int memory_post_send(struct rdma_conn *c, struct rdma_send *s)
{
	for (unsigned i = 0; i < s->sge_count; i++) {
		if (!sge_is_registered(&s->sge[i]))
			return -EINVAL;
	}
	return work_post(c, &s->work, WORK_SEND);
}

int memory_post_write(struct rdma_conn *c, struct rdma_transfer *t)
{
	return sge_is_registered(&t->local) ? work_post(c, &t->work, WORK_WRITE) : -EINVAL;
}

int memory_post_read(struct rdma_conn *c, struct rdma_transfer *t)
{
	return sge_is_registered(&t->local) ? work_post(c, &t->work, WORK_READ) : -EINVAL;
}

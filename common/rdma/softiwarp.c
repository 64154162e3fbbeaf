/* The software iWARP provider of rdma.h: provider, verbs and completions. The streams of
 * common/iwarp do the protocol; the sockets are in the files named in softiwarp_internal.h. Used by
 * datamover/iser.c through rdma.h. */
#include "common/rdma/softiwarp.h"

#include <errno.h>
#include <stdio.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/rdma/softiwarp_internal.h"

#define ULPDU_MIN 128u
#define ULPDU_DEFAULT (MPA_ULPDU_MAX & ~7u)
#define MPA_TIMEOUT_NS (5 * LOOP_NS_PER_S)

_Static_assert(LISTENER_NO == 0 && LISTENER_MORE == 1 && LISTENER_YES == 2,
	"mpa_key_match() answers with the same numbers");

enum listener_verdict softiwarp_match(const uint8_t *bytes, size_t length)
{
	return (enum listener_verdict)mpa_key_match(bytes, length);
}

/* ---- provider ---- */

static void config_complete(struct softiwarp_config *c)
{
	if (!c->max_ulpdu)
		c->max_ulpdu = ULPDU_DEFAULT;
	if (c->max_ulpdu < ULPDU_MIN)
		c->max_ulpdu = ULPDU_MIN;
	c->max_ulpdu = min_u32(c->max_ulpdu, MPA_ULPDU_MAX);
	if (!c->mpa_timeout_ns)
		c->mpa_timeout_ns = MPA_TIMEOUT_NS;
}

static void provider_free(struct rdma_provider *base)
{
	struct softiwarp *p = container_of(base, struct softiwarp, base);
	struct softiwarp_conn *c, *next;

	list_for_each_safe(c, next, &p->conns, link) {
		softiwarp_conn_over(c, -ECANCELED, "the provider was closed");
		softiwarp_conn_finish(c);
	}
	stag_table_free(p->stags);
	alloc_free(p->staging);
	alloc_free(p);
}

struct rdma_provider *softiwarp_new(struct loop *loop, const struct softiwarp_config *config)
{
	struct softiwarp *p = alloc_zeroed(sizeof(*p));

	if (!p)
		return NULL;
	p->base.ops = &softiwarp_ops;
	p->loop = loop;
	list_init(&p->conns);
	if (config)
		p->config = *config;
	config_complete(&p->config);
	p->staging = alloc_aligned(64, SOFTIWARP_STAGING);
	p->stags = stag_table_new(SOFTIWARP_STAGS);
	if (!p->staging || !p->stags)
		goto fail;
	return &p->base;
fail:
	provider_free(&p->base);
	return NULL;
}

/* ---- memory ---- */

static int region_register(
	struct rdma_provider *p, void *address, size_t length, struct rdma_region **ret)
{
	struct rdma_region *r = alloc_zeroed(sizeof(*r));

	(void)p;
	if (!r)
		return -ENOMEM;
	r->address = address;
	r->length = length;
	*ret = r;
	return 0;
}

static void region_unregister(struct rdma_provider *p, struct rdma_region *r)
{
	(void)p;
	alloc_free(r);
}

static int stag_expose(struct rdma_conn *base, struct rdma_region *region, void *data,
	uint32_t length, unsigned access, uint32_t *ret_stag, uint64_t *ret_address)
{
	struct softiwarp_conn *c = softiwarp_conn_of(base);
	size_t at = (size_t)((uintptr_t)data - (uintptr_t)region->address);
	unsigned rights = (access & RDMA_REMOTE_READ ? STAG_REMOTE_READ : 0) |
			  (access & RDMA_REMOTE_WRITE ? STAG_REMOTE_WRITE : 0);

	if (c->state == SOFTIWARP_OVER)
		return -ENOTCONN;
	if (at > region->length || length > region->length - at)
		return -EINVAL;
	return stag_add(c->provider->stags, c, data, length, rights, ret_stag, ret_address);
}

static void stag_revoke(struct rdma_conn *base, uint32_t stag)
{
	struct softiwarp_conn *c = softiwarp_conn_of(base);

	if (!c->stream)
		stag_remove(c->provider->stags, c, stag);
	else if (iwarp_stream_revoke(c->stream, stag) && c->state != SOFTIWARP_OVER)
		softiwarp_conn_fail(c);
}

/* ---- posting ---- */

static int post_receive(struct rdma_conn *base, struct rdma_receive *r)
{
	struct softiwarp_conn *c = softiwarp_conn_of(base);

	if (c->state >= SOFTIWARP_FLUSHING)
		return -ENOTCONN;
	/* Before rdma_accept() the depth is not known; the memory is the caller's. */
	if (c->owned && c->receive_count >= c->limits.receive_depth)
		return -ENOBUFS;
	c->receive_count++;
	list_append(&c->receives, &r->work.link);
	return 0;
}

static int message_get(
	struct softiwarp_conn *c, struct rdma_work *w, bool signalled, struct iwarp_message **ret)
{
	struct softiwarp_message *m;
	struct list *l;

	if (!c->stream || c->state >= SOFTIWARP_FLUSHING)
		return -ENOTCONN;
	l = list_pop(&c->messages_free);
	if (!l)
		return -ENOBUFS;
	m = container_of(
		list_entry(l, struct iwarp_message, link), struct softiwarp_message, iwarp);
	m->signalled = signalled;
	m->iwarp.cookie = w;
	*ret = &m->iwarp;
	return 0;
}

static int message_post(struct softiwarp_conn *c, struct iwarp_message *m)
{
	iwarp_tx_post(c->stream, m);
	softiwarp_flush_soon(c);
	return 0;
}

static enum rdmap_opcode send_opcode(const struct rdma_send *s)
{
	if (s->invalidate)
		return s->solicited ? RDMAP_SEND_SE_INVALIDATE : RDMAP_SEND_INVALIDATE;
	return s->solicited ? RDMAP_SEND_SE : RDMAP_SEND;
}

static int post_send(struct rdma_conn *base, struct rdma_send *s)
{
	struct softiwarp_conn *c = softiwarp_conn_of(base);
	struct iwarp_message *m;
	int r = message_get(c, &s->work, s->signalled, &m);

	if (r)
		return r;
	m->opcode = send_opcode(s);
	m->remote_stag = s->invalidate_stag;
	m->places = s->sge_count;
	for (unsigned i = 0; i < s->sge_count; i++)
		m->place[i] = (struct iwarp_place){s->sge[i].data, s->sge[i].length};
	return message_post(c, m);
}

static int post_transfer(
	struct rdma_conn *base, struct rdma_transfer *t, enum rdmap_opcode opcode, bool signalled)
{
	struct softiwarp_conn *c = softiwarp_conn_of(base);
	struct iwarp_message *m;
	int r = message_get(c, &t->work, signalled, &m);

	if (r)
		return r;
	m->opcode = opcode;
	m->remote_stag = t->remote_stag;
	m->remote_offset = t->remote_address;
	m->places = 1;
	m->place[0] = (struct iwarp_place){t->local.data, t->local.length};
	return message_post(c, m);
}

static int post_write(struct rdma_conn *base, struct rdma_transfer *t)
{
	return post_transfer(base, t, RDMAP_WRITE, t->signalled);
}

static int post_read(struct rdma_conn *base, struct rdma_transfer *t)
{
	struct softiwarp_conn *c = softiwarp_conn_of(base);

	if (c->stream && !c->agreed.reads_out)
		return -EOPNOTSUPP;
	return post_transfer(base, t, RDMAP_READ_REQUEST, true);
}

static void flush(struct rdma_conn *base)
{
	/* Posting has asked for the one sendmsg() at the end of the turn; a call for every doorbell
	 * would only make more of them. */
	(void)base;
}

/* ---- completions ---- */

static void work_done(struct softiwarp_conn *c, struct rdma_work *w, int status)
{
	w->provider_private[0] = (void *)(intptr_t)status;
	list_append(&c->done, &w->link);
	loop_defer(c->provider->loop, &c->deliver);
}

static void message_put(struct softiwarp_conn *c, struct iwarp_message *m)
{
	list_append(&c->messages_free, &m->link);
}

static void stream_completed(void *owner, struct iwarp_message *m)
{
	struct softiwarp_conn *c = owner;
	struct rdma_work *w = m->cookie;
	bool signalled = container_of(m, struct softiwarp_message, iwarp)->signalled;

	message_put(c, m);
	if (signalled)
		work_done(c, w, 0);
}

static struct rdma_receive *receive_oldest(const struct softiwarp_conn *c)
{
	return list_first(&c->receives, struct rdma_receive, work.link);
}

static bool stream_place_send(void *owner, struct iwarp_place *ret)
{
	struct softiwarp_conn *c = owner;

	if (list_empty(&c->receives))
		return false;
	*ret = (struct iwarp_place){receive_oldest(c)->sge.data, receive_oldest(c)->sge.length};
	return true;
}

static void stream_received(void *owner, const struct iwarp_arrival *a)
{
	struct softiwarp_conn *c = owner;
	struct rdma_receive *r = receive_oldest(c);

	r->length = a->length;
	r->invalidated = a->invalidated;
	r->invalidated_stag = a->invalidated ? a->stag : 0;
	list_remove(&r->work.link);
	c->receive_count--;
	work_done(c, &r->work, 0);
}

const struct iwarp_upcalls softiwarp_upcalls = {
	.place_send = stream_place_send,
	.received = stream_received,
	.completed = stream_completed,
};

static void done_deliver(struct softiwarp_conn *c)
{
	struct list *l;

	while ((l = list_pop(&c->done))) {
		struct rdma_work *w = list_entry(l, struct rdma_work, link);

		w->done(w, (int)(intptr_t)w->provider_private[0]);
	}
}

void softiwarp_deliver(struct loop_call *call)
{
	struct softiwarp_conn *c = container_of(call, struct softiwarp_conn, deliver);

	if (c->event_due) {
		c->event_due = false;
		c->up.event(c->base.owner, c->event, &c->peer_pd);
	}
	done_deliver(c);
	if (c->state == SOFTIWARP_OVER && !c->undecided)
		softiwarp_conn_finish(c);
}

/* The peer refused an RDMA Read: RDMAP, Remote Protection Error (RFC 5040 section 4.8). */
static bool read_refused(const struct softiwarp_conn *c)
{
	const struct rdmap_terminate *t = iwarp_stream_terminated(c->stream);

	return t && t->layer == 0 && t->type == 1;
}

static void messages_cancel(struct softiwarp_conn *c)
{
	bool refused = read_refused(c);
	struct iwarp_message *m;

	while ((m = iwarp_stream_take(c->stream))) {
		/* Reads are answered in order: it is the oldest that was refused. */
		bool this_one = refused && m->opcode == RDMAP_READ_REQUEST;

		/* Finished ones only waited for their turn behind an unanswered read. */
		if (!m->finished || container_of(m, struct softiwarp_message, iwarp)->signalled)
			work_done(c, m->cookie, this_one ? -EACCES : m->finished ? 0 : -ECANCELED);
		refused = refused && !this_one;
		message_put(c, m);
	}
}

static void receives_cancel(struct softiwarp_conn *c)
{
	/* A message longer than the receive it was to be put into: that one is told. */
	int status = c->stream && iwarp_stream_fault(c->stream) == FAULT_NO_BUFFER ? -EMSGSIZE
										   : -ECANCELED;
	struct list *l;

	while ((l = list_pop(&c->receives))) {
		work_done(c, list_entry(l, struct rdma_work, link), status);
		status = -ECANCELED;
	}
}

void softiwarp_conn_finish(struct softiwarp_conn *c)
{
	done_deliver(c);
	if (c->stream)
		messages_cancel(c);
	receives_cancel(c);
	done_deliver(c);
	/* Its owner may end the provider from within the last upcall. */
	loop_call_cancel(&c->deliver);
	loop_call_cancel(&c->flush);
	list_remove(&c->link);
	if (c->owned)
		c->up.closed(c->base.owner, c->error, c->reason);
	iwarp_stream_free(c->stream);
	alloc_free(c->messages);
	alloc_free(c);
}

/* ---- what a person wants to know ---- */

static void name_print(int fd, int (*get)(int, struct sockaddr *, socklen_t *), char out[64])
{
	struct address a = {.length = sizeof(a.sa)};
	int r = fd < 0 ? -1 : get(fd, (struct sockaddr *)&a.sa, &a.length);

	if (r || (a.sa.ss_family != AF_INET && a.sa.ss_family != AF_INET6))
		snprintf(out, 64, "local"); /* a socketpair of a test, as the TCP mover has it */
	else
		address_print(&a, out);
}

static void get_info(const struct rdma_conn *base, struct rdma_conn_info *ret)
{
	const struct softiwarp_conn *c = container_of(base, const struct softiwarp_conn, base);

	*ret = (struct rdma_conn_info){
		.provider = softiwarp_ops.name,
		.crc = c->agreed.crc,
		.bytes_sent = c->bytes_sent,
		.bytes_received = c->bytes_received,
	};
	name_print(c->watch.fd, getsockname, ret->local);
	name_print(c->watch.fd, getpeername, ret->peer);
	snprintf(ret->detail, sizeof(ret->detail), "MPA, IRD %u, ORD %u, ULPDU %u, CRC %s",
		c->agreed.reads_in, c->agreed.reads_out, c->max_ulpdu,
		c->agreed.crc ? "on" : "off");
}

const struct rdma_ops softiwarp_ops = {
	.name = "softiwarp",
	.register_region = region_register,
	.unregister_region = region_unregister,
	.connect = softiwarp_connect,
	.accept = softiwarp_accept,
	.reject = softiwarp_reject,
	.disconnect = softiwarp_disconnect,
	.post_receive = post_receive,
	.post_send = post_send,
	.post_write = post_write,
	.post_read = post_read,
	.flush = flush,
	.expose = stag_expose,
	.revoke = stag_revoke,
	.get_info = get_info,
	.free_provider = provider_free,
};

/* A connection as an object: made around a socket, given its stream when MPA has agreed on its
 * parameters, and taken up. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/rdma/softiwarp_internal.h"

static void ready(struct loop_watch *w, unsigned events)
{
	struct softiwarp_conn *c = container_of(w, struct softiwarp_conn, watch);

	if (c->state < SOFTIWARP_UP) {
		softiwarp_mpa_ready(c);
		return;
	}
	if (events & LOOP_WRITABLE)
		softiwarp_flush_soon(c);
	if (events & (LOOP_READABLE | LOOP_HANGUP))
		softiwarp_receive(c);
}

int softiwarp_conn_new(struct softiwarp *p, int fd, enum softiwarp_state state, unsigned events,
	uint64_t timeout_ns, struct softiwarp_conn **ret)
{
	struct softiwarp_conn *c = alloc_zeroed(sizeof(*c));
	int r = -ENOMEM;

	if (!c)
		goto fail;
	c->base.ops = &softiwarp_ops;
	c->provider = p;
	c->state = state;
	c->watch.ready = ready;
	c->watch.fd = fd;
	c->timer.expired = softiwarp_expired;
	c->flush.call = softiwarp_flush;
	c->deliver.call = softiwarp_deliver;
	c->in_need = MPA_FIXED_SIZE;
	list_init(&c->receives);
	list_init(&c->done);
	list_init(&c->messages_free);
	r = loop_watch_add(p->loop, &c->watch, events);
	if (!r)
		r = loop_timer_arm(p->loop, &c->timer, timeout_ns);
	if (r)
		goto fail;
	list_append(&p->conns, &c->link);
	*ret = c;
	return 0;
fail:
	if (c)
		loop_watch_remove(&c->watch);
	alloc_free(c);
	close(fd);
	return r;
}

/* Options only make the socket better: a socketpair, for one, has none of them. */
void softiwarp_socket_prepare(const struct softiwarp *p, int fd)
{
	const char *congestion = p->config.congestion_control;
	int on = 1;

	sys_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (congestion)
		sys_setsockopt(
			fd, IPPROTO_TCP, TCP_CONGESTION, congestion, (socklen_t)strlen(congestion));
}

struct mpa_wish softiwarp_wish(const struct softiwarp_conn *c)
{
	enum softiwarp_crc crc = c->provider->config.crc;

	return (struct mpa_wish){
		.crc = crc == SOFTIWARP_CRC_ON ||
		       (crc == SOFTIWARP_CRC_AUTO && !address_socket_is_local(c->watch.fd)),
		.reads_in = (uint16_t)min_u32(c->limits.reads_in, MPA_READS_MAX),
		.reads_out = (uint16_t)min_u32(c->limits.reads_out, MPA_READS_MAX),
	};
}

static uint32_t max_ulpdu(const struct softiwarp_conn *c)
{
	const struct softiwarp_config *config = &c->provider->config;
	int mss = 0;
	socklen_t length = sizeof(mss);

	if (!config->ulpdu_by_mss)
		return config->max_ulpdu;
	if (sys_getsockopt(c->watch.fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &length) || mss <= 0)
		return config->max_ulpdu;
	return min_u32(mpa_ulpdu_by_mss((uint32_t)mss), config->max_ulpdu);
}

int softiwarp_stream_open(struct softiwarp_conn *c, const struct mpa_agreement *a)
{
	struct iwarp_stream_config config = {
		.crc = a->crc,
		.passive = !c->active,
		/* A peer that begins with an RDMA Read needs one answered. */
		.reads_in = a->await_rtr && !a->reads_in ? 1 : a->reads_in,
		.reads_out = a->reads_out,
		.max_ulpdu = max_ulpdu(c),
		.stags = c->provider->stags,
		.domain = c,
		.up = &softiwarp_upcalls,
		.owner = c,
	};
	struct softiwarp_message *m;
	struct iwarp_stream *s;

	m = alloc_array(c->limits.send_depth ? c->limits.send_depth : 1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	if (iwarp_stream_new(&config, &s)) {
		alloc_free(m);
		return -ENOMEM;
	}
	c->messages = m;
	for (uint32_t i = 0; i < c->limits.send_depth; i++)
		list_append(&c->messages_free, &m[i].iwarp.link);
	c->stream = s;
	c->agreed = *a;
	c->max_ulpdu = config.max_ulpdu;
	c->base.checksums_data = a->crc;
	return 0;
}

void softiwarp_event_soon(struct softiwarp_conn *c, enum rdma_conn_event event)
{
	c->event_due = true;
	c->event = event;
	loop_defer(c->provider->loop, &c->deliver);
}

void softiwarp_watch(struct softiwarp_conn *c, unsigned events)
{
	int r = c->watch.events == events ? 0 : loop_watch_change(&c->watch, events);

	if (r)
		softiwarp_conn_over(c, r, "cannot watch the socket: %s", strerrordesc_np(-r));
}

void softiwarp_up_begin(struct softiwarp_conn *c)
{
	c->state = SOFTIWARP_UP;
	loop_timer_cancel(&c->timer);
	softiwarp_watch(c, LOOP_READABLE);
	if (c->state == SOFTIWARP_OVER)
		return;
	softiwarp_event_soon(c, RDMA_ESTABLISHED);
	softiwarp_flush_soon(c);
}

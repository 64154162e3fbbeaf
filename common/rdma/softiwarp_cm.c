/* Connection setup by MPA request and reply: RFC 5044 section 7.1, RFC 6581 section 4. MPA frames
 * are read exactly, never a byte behind them: what follows is the stream's. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/sys.h"
#include "common/rdma/softiwarp_internal.h"

static void private_data_keep(struct softiwarp_conn *c, const struct mpa_frame *f)
{
	c->peer_pd.length = min_size(f->private_length, RDMA_PRIVATE_DATA_MAX);
	memcpy(c->peer_pd.bytes, f->private_data, c->peer_pd.length);
}

/* ---- frames in and out ---- */

/* Sends what is left of the frame. 1: it has left; 0: not all; negative errno. */
static int frame_send(struct softiwarp_conn *c)
{
	ssize_t n = sys_send(c->watch.fd, c->out + c->out_sent, c->out_length - c->out_sent,
		MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	c->out_sent += (size_t)n;
	return c->out_sent == c->out_length;
}

static int frame_make(
	struct softiwarp_conn *c, struct mpa_frame *f, const struct rdma_private_data *pd)
{
	int n;

	if (pd && pd->length > RDMA_PRIVATE_DATA_MAX)
		return -EINVAL;
	f->private_data = pd ? pd->bytes : NULL;
	f->private_length = pd ? pd->length : 0;
	n = mpa_frame_encode(f, c->out, sizeof(c->out));
	if (n < 0)
		return n;
	c->out_length = (size_t)n;
	c->out_sent = 0;
	return 0;
}

/* Reads towards a whole frame. 1: it is there; 0: not yet; negative errno (-ECONNRESET: closed). */
static int frame_receive(struct softiwarp_conn *c, enum mpa_kind kind)
{
	while (c->in_used < c->in_need) {
		ssize_t n = sys_recv(
			c->watch.fd, c->in + c->in_used, c->in_need - c->in_used, MSG_DONTWAIT);
		int length;

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (!n)
			return -ECONNRESET;
		c->in_used += (size_t)n;
		if (c->in_used != MPA_FIXED_SIZE)
			continue;
		length = mpa_frame_length(c->in, kind);
		if (length < 0)
			return length;
		c->in_need = (size_t)length;
	}
	return 1;
}

/* ---- active: RFC 6581 section 4.3 ---- */

static void request_send(struct softiwarp_conn *c)
{
	int r = frame_send(c);

	if (r < 0)
		softiwarp_conn_over(
			c, r, "sending the MPA request failed: %s", strerrordesc_np(-r));
	else
		softiwarp_watch(c, r ? LOOP_READABLE : LOOP_READABLE | LOOP_WRITABLE);
}

static void connected(struct softiwarp_conn *c)
{
	struct mpa_wish wish = softiwarp_wish(c);
	/* Revision 2 with the words, or siw serves no reads; never the peer-to-peer bit, which
	 * takes the RDMA connection manager of a siw host down. */
	struct mpa_frame request = {.kind = MPA_REQUEST,
		.revision = 2,
		.enhanced = true,
		.crc = wish.crc,
		.ird = wish.reads_in,
		.ord = wish.reads_out};
	int error = 0;
	socklen_t length = sizeof(error);

	if (sys_getsockopt(c->watch.fd, SOL_SOCKET, SO_ERROR, &error, &length))
		error = errno;
	if (error) {
		softiwarp_conn_over(c, -error, "cannot connect: %s", strerrordesc_np(error));
		return;
	}
	softiwarp_socket_prepare(c->provider, c->watch.fd);
	frame_make(c, &request, &c->own_pd);
	c->state = SOFTIWARP_AWAIT_REPLY;
	request_send(c);
}

/* The peer's reply cannot be used: it is told by a Terminate, as siw does. */
static void reply_refuse(struct softiwarp_conn *c, enum rdmap_fault fault, int error)
{
	struct mpa_agreement none = {.crc = false};

	if (!softiwarp_stream_open(c, &none))
		softiwarp_terminate(c, fault);
	softiwarp_conn_over(
		c, error, "the MPA reply cannot be used: %s", rdmap_fault_find(fault)->text);
}

static void reply_judge(struct softiwarp_conn *c)
{
	struct mpa_wish wish = softiwarp_wish(c);
	struct mpa_agreement a;
	struct mpa_frame reply;
	int r = mpa_frame_decode(c->in, c->in_used, MPA_REPLY, &reply);

	if (r) {
		reply_refuse(c, FAULT_FRAME, r);
		return;
	}
	private_data_keep(c, &reply);
	r = mpa_conclude(&wish, &reply, &a);
	if (r == -ECONNREFUSED) {
		softiwarp_event_soon(c, RDMA_REJECTED);
		softiwarp_conn_over(c, r, "the peer rejected the connection");
		return;
	}
	if (r) {
		reply_refuse(c, r == -ENOBUFS ? FAULT_READS_IN : FAULT_FRAME, -EPROTO);
		return;
	}
	r = softiwarp_stream_open(c, &a);
	if (r)
		softiwarp_conn_over(c, r, "no memory for the connection");
	else
		softiwarp_up_begin(c);
}

static void reply_await(struct softiwarp_conn *c)
{
	int r;

	if (c->out_sent < c->out_length)
		request_send(c);
	if (c->state == SOFTIWARP_OVER)
		return;
	r = frame_receive(c, MPA_REPLY);
	if (r > 0)
		reply_judge(c);
	else if (r == -EPROTO)
		softiwarp_conn_over(c, r, "the peer does not speak MPA (no iSER over iWARP there)");
	else if (r == -ECONNRESET)
		softiwarp_conn_over(c, r, "the peer closed the connection instead of an MPA reply");
	else if (r)
		softiwarp_conn_over(c, r, "awaiting the MPA reply: %s", strerrordesc_np(-r));
}

static int connect_begin(struct softiwarp *p, int fd, uint64_t timeout_ns,
	const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
	const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret)
{
	struct softiwarp_conn *c;
	int r;

	if (pd && pd->length > RDMA_PRIVATE_DATA_MAX) {
		close(fd);
		return -EINVAL;
	}
	r = softiwarp_conn_new(p, fd, SOFTIWARP_CONNECTING, LOOP_WRITABLE,
		timeout_ns ? timeout_ns : p->config.mpa_timeout_ns, &c);
	if (r)
		return r;
	c->active = c->owned = true;
	c->limits = *limits;
	c->up = *up;
	c->base.owner = owner;
	if (pd)
		c->own_pd = *pd;
	*ret = &c->base;
	return 0;
}

int softiwarp_connect_fd(struct rdma_provider *base, int fd, uint64_t timeout_ns,
	const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
	const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret)
{
	struct softiwarp *p = container_of(base, struct softiwarp, base);

	return connect_begin(p, fd, timeout_ns, limits, pd, up, owner, ret);
}

int softiwarp_connect(struct rdma_provider *base, const struct address *to, uint64_t timeout_ns,
	const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
	const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret)
{
	int fd = address_connect(to);

	if (fd < 0)
		return fd;
	return softiwarp_connect_fd(base, fd, timeout_ns, limits, pd, up, owner, ret);
}

/* ---- passive: RFC 6581 section 4.4 ---- */

/* Connections that have not asked yet. Where there are as many as that, the oldest goes: it had the
 * most time to ask. Those that have asked are the acceptor's to count. */
#define REQUESTS_MAX 128

static void requests_limit(struct softiwarp *p)
{
	struct softiwarp_conn *c, *oldest = NULL;
	unsigned count = 0;

	list_for_each(c, &p->conns, link) {
		if (c->state != SOFTIWARP_AWAIT_REQUEST)
			continue;
		if (!oldest)
			oldest = c;
		count++;
	}
	if (count >= REQUESTS_MAX)
		softiwarp_conn_over(oldest, -ENOBUFS, "others came before it asked");
}

int softiwarp_adopt(struct rdma_provider *base, int fd, struct rdma_acceptor *acceptor)
{
	struct softiwarp *p = container_of(base, struct softiwarp, base);
	struct softiwarp_conn *c;
	int r;

	requests_limit(p);
	r = softiwarp_conn_new(
		p, fd, SOFTIWARP_AWAIT_REQUEST, LOOP_READABLE, p->config.mpa_timeout_ns, &c);
	if (r)
		return r;
	c->acceptor = acceptor;
	softiwarp_socket_prepare(p, fd);
	return 0;
}

/* Markers are asked for: a reply with R, and the connection ends. */
static void request_refuse(struct softiwarp_conn *c, struct mpa_frame *reply)
{
	if (!frame_make(c, reply, NULL))
		frame_send(c);
	softiwarp_conn_over(c, -EOPNOTSUPP, "the peer asks for MPA markers");
}

static void requested(struct softiwarp_conn *c)
{
	struct address peer = {.length = sizeof(peer.sa)};

	/* Nothing is read before the owner has decided; a peer that hangs up is noticed. */
	c->state = SOFTIWARP_REQUESTED;
	c->undecided = true;
	loop_timer_cancel(&c->timer);
	loop_watch_change(&c->watch, 0);
	if (getpeername(c->watch.fd, (struct sockaddr *)&peer.sa, &peer.length))
		peer = (struct address){.length = 0};
	c->acceptor->requested(c->acceptor, &c->base, &peer, &c->peer_pd);
}

static void request_judge(struct softiwarp_conn *c)
{
	struct mpa_wish none = {.crc = false};
	struct mpa_agreement a;
	struct mpa_frame reply;
	int r = mpa_frame_decode(c->in, c->in_used, MPA_REQUEST, &c->request);

	if (r) {
		softiwarp_conn_over(c, r, "malformed MPA request");
		return;
	}
	if (mpa_answer(&c->request, &none, &reply, &a)) {
		request_refuse(c, &reply);
		return;
	}
	private_data_keep(c, &c->request);
	requested(c);
}

static void request_await(struct softiwarp_conn *c)
{
	int r = frame_receive(c, MPA_REQUEST);

	if (r > 0)
		request_judge(c);
	else if (r < 0)
		softiwarp_conn_over(c, r, "awaiting the MPA request: %s", strerrordesc_np(-r));
}

static void reply_send(struct softiwarp_conn *c)
{
	int r = frame_send(c);

	if (r < 0)
		softiwarp_conn_over(c, r, "sending the MPA reply failed: %s", strerrordesc_np(-r));
	else if (r)
		softiwarp_up_begin(c);
	else
		softiwarp_watch(c, LOOP_WRITABLE);
}

int softiwarp_accept(struct rdma_conn *base, const struct rdma_conn_limits *limits,
	const struct rdma_private_data *pd, const struct rdma_conn_upcalls *up, void *owner)
{
	struct softiwarp_conn *c = softiwarp_conn_of(base);
	struct mpa_agreement a;
	struct mpa_frame reply;
	struct mpa_wish wish;
	int r;

	c->limits = *limits;
	wish = softiwarp_wish(c);
	mpa_answer(&c->request, &wish, &reply, &a);
	/* The data of a write could not be fetched: better no connection
	 * than one that fails then. */
	if (wish.reads_out && !a.reads_out) {
		log_warning("softiwarp",
			"a connection is rejected: the peer serves no RDMA Reads (the "
			"IRD of its MPA request is 0), by which the data of writes are fetched");
		return -EOPNOTSUPP;
	}
	r = frame_make(c, &reply, pd);
	if (!r)
		r = softiwarp_stream_open(c, &a);
	if (!r && c->state != SOFTIWARP_OVER)
		r = loop_timer_arm(
			c->provider->loop, &c->timer, c->provider->config.mpa_timeout_ns);
	if (r)
		return r;
	c->undecided = false;
	c->owned = true;
	c->up = *up;
	c->base.owner = owner;
	if (c->state == SOFTIWARP_OVER) {
		/* It was lost before the owner decided. */
		loop_defer(c->provider->loop, &c->deliver);
		return 0;
	}
	c->state = SOFTIWARP_REPLYING;
	reply_send(c);
	return 0;
}

void softiwarp_reject(struct rdma_conn *base, const struct rdma_private_data *pd)
{
	struct softiwarp_conn *c = softiwarp_conn_of(base);
	struct mpa_frame reply = {.kind = MPA_REPLY,
		.revision = c->request.revision,
		.enhanced = c->request.enhanced,
		.crc = c->request.crc,
		.reject = true};

	c->undecided = false;
	list_init(&c->receives); /* rdma.h: forgotten, not completed */
	if (c->state != SOFTIWARP_OVER && !frame_make(c, &reply, pd))
		frame_send(c);
	softiwarp_conn_over(c, -ECONNREFUSED, "rejected");
	loop_defer(c->provider->loop, &c->deliver);
}

/* ---- what a descriptor's event means before the stream is up ---- */

static void request_lost(struct softiwarp_conn *c)
{
	softiwarp_conn_over(c, -ECONNRESET, "the peer did not wait for the MPA reply");
}

void softiwarp_mpa_ready(struct softiwarp_conn *c)
{
	static void (*const steps[])(struct softiwarp_conn * c) = {
		[SOFTIWARP_CONNECTING] = connected,
		[SOFTIWARP_AWAIT_REPLY] = reply_await,
		[SOFTIWARP_AWAIT_REQUEST] = request_await,
		[SOFTIWARP_REQUESTED] = request_lost,
		[SOFTIWARP_REPLYING] = reply_send,
	};

	steps[c->state](c);
}

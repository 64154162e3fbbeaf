/* Receiving, a hybrid: headers and small payloads come through one large read into the provider's
 * staging buffer and are fed to the stream; a large payload goes from the socket to its final
 * place, with just enough read behind it to learn where the next one goes. */
#include <errno.h>
#include <string.h>

#include "common/base/sys.h"
#include "common/rdma/softiwarp_internal.h"

/* Read behind a message's last segment, or while the next header is awaited and large payloads are
 * the rule: room for a trailer, a Send with its answer, and the next Write's header. */
#define BEHIND_LAST 512u
/* System calls for one connection in one turn, so that it does not keep others waiting. */
#define TURN_CALLS 8

struct plan {
	struct iovec iov[2];
	unsigned count;
	size_t direct, total;
};

static void plan_make(const struct softiwarp_conn *c, struct plan *p)
{
	uint8_t *staging = c->provider->staging;
	struct iwarp_want w;
	size_t ahead = SOFTIWARP_STAGING;

	iwarp_rx_want(c->stream, &w);
	*p = (struct plan){.count = 1};
	if (w.large) {
		p->iov[0] = (struct iovec){w.data, w.length};
		p->count = 2;
		p->direct = w.length;
		ahead = w.behind > MPA_TRAILER_MAX ? w.behind : BEHIND_LAST;
	} else if (iwarp_rx_expects_large(c->stream)) {
		ahead = w.length + BEHIND_LAST; /* less than IWARP_LARGE more */
	}
	p->iov[p->count - 1] = (struct iovec){staging, ahead};
	p->total = p->direct + ahead;
}

/* Hands `n` received bytes to the stream: first those that are in place. */
static int plan_done(struct softiwarp_conn *c, const struct plan *p, size_t n)
{
	size_t direct = min_size(n, p->direct);
	int r = direct ? iwarp_rx_got(c->stream, direct) : 0;

	if (!r && n > direct)
		r = iwarp_rx_feed(c->stream, c->provider->staging, n - direct);
	return r;
}

/* 1: there may be more; 0: the socket is empty or the connection is over. */
static int receive_once(struct softiwarp_conn *c)
{
	struct plan p;
	struct msghdr msg = {.msg_iov = p.iov};
	ssize_t n;

	plan_make(c, &p);
	msg.msg_iovlen = p.count;
	n = sys_recvmsg(c->watch.fd, &msg, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return 0;
	if (n < 0) {
		int error = errno;

		softiwarp_conn_over(c, -error, "receiving failed: %s", strerrordesc_np(error));
		return 0;
	}
	if (!n) {
		softiwarp_conn_eof(c);
		return 0;
	}
	c->bytes_received += (size_t)n;
	if (plan_done(c, &p, (size_t)n)) {
		softiwarp_conn_fail(c);
		return 0;
	}
	return (size_t)n == p.total;
}

void softiwarp_receive(struct softiwarp_conn *c)
{
	int calls = 0;

	while (calls++ < TURN_CALLS && receive_once(c))
		continue;
	if (c->state < SOFTIWARP_LINGERING && iwarp_tx_pending(c->stream))
		softiwarp_flush_soon(c);
}

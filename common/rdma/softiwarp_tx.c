/* Sending: the stream's iovecs leave in one sendmsg() per connection and turn of the loop. */
#include <errno.h>
#include <limits.h>

#include "common/base/sys.h"
#include "common/rdma/softiwarp_internal.h"

/* One connection's share of a turn; what is left goes in the next, after the others'. */
#define TURN_BYTES (4u * 1024 * 1024)

void softiwarp_flush_soon(struct softiwarp_conn *c)
{
	loop_defer_flush(c->provider->loop, &c->flush);
}

/* 1: nothing is left to send; 0: not now; negative errno. */
static int send_some(struct softiwarp_conn *c, size_t budget)
{
	const struct iovec *iov;
	unsigned count;

	while ((count = iwarp_tx_have(c->stream, &iov))) {
		struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = count};
		ssize_t n = sys_sendmsg(c->watch.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		iwarp_tx_sent(c->stream, (size_t)n);
		c->bytes_sent += (size_t)n;
		if ((size_t)n >= budget)
			return 0;
		budget -= (size_t)n;
	}
	return 1;
}

bool softiwarp_send_rest(struct softiwarp_conn *c)
{
	return send_some(c, SIZE_MAX) == 1;
}

void softiwarp_flush(struct loop_call *call)
{
	struct softiwarp_conn *c = container_of(call, struct softiwarp_conn, flush);
	bool sends = c->state == SOFTIWARP_UP || c->state == SOFTIWARP_FLUSHING;
	uint64_t before = c->bytes_sent;
	int r;

	if (!sends)
		return;
	r = send_some(c, TURN_BYTES);
	if (r < 0) {
		softiwarp_conn_over(c, r, "sending failed: %s", strerrordesc_np(-r));
		return;
	}
	/* A response's memory was revoked before the response could be built. */
	if (iwarp_stream_fault(c->stream)) {
		softiwarp_conn_fail(c);
		return;
	}
	/* Changed only when a socket buffer fills up or has room again, not per message. */
	softiwarp_watch(c, r == 0 ? LOOP_READABLE | LOOP_WRITABLE : LOOP_READABLE);
	if (c->active && !before && c->bytes_sent)
		softiwarp_kick_arm(c);
	if (c->state == SOFTIWARP_FLUSHING && iwarp_tx_drained(c->stream))
		softiwarp_conn_flushed(c);
}

/* The end of a connection, by failure or in order, and its timer. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/base/sys.h"
#include "common/rdma/softiwarp_internal.h"

/* Linux siw as passive end may overlook a first FPDU that comes within microseconds of its reply;
 * any later byte wakes it. Long enough for an answer that is merely slow, far below a login
 * time-out. */
#define KICK_NS (150 * LOOP_NS_PER_MS)
#define KICKS 5
/* A graceful end: for what was posted to leave, and for the peer's FIN. */
#define FLUSH_NS (5 * LOOP_NS_PER_S)
#define LINGER_NS (1 * LOOP_NS_PER_S)

/* ---- the end ---- */

/* Unread bytes would turn close() into a reset, which may overtake our last FPDU (a Terminate).
 * For TCP, MSG_TRUNC without a buffer throws them away. */
static void socket_close(int fd)
{
	shutdown(fd, SHUT_WR);
	sys_recv(fd, NULL, 1 << 20, MSG_TRUNC | MSG_DONTWAIT);
	close(fd);
}

void softiwarp_conn_over(struct softiwarp_conn *c, int error, const char *format, ...)
{
	va_list args;

	if (c->state == SOFTIWARP_OVER)
		return;
	c->state = SOFTIWARP_OVER;
	c->error = error;
	va_start(args, format);
	vsnprintf(c->reason, sizeof(c->reason), format, args);
	va_end(args);
	loop_watch_remove(&c->watch);
	loop_timer_cancel(&c->timer);
	loop_call_cancel(&c->flush);
	socket_close(c->watch.fd);
	c->watch.fd = -1;
	stag_remove_all(c->provider->stags, c);
	loop_defer(c->provider->loop, &c->deliver);
}

static void terminated_over(struct softiwarp_conn *c)
{
	const struct rdmap_terminate *t = iwarp_stream_terminated(c->stream);

	softiwarp_conn_over(c, -ECONNRESET, "peer sent Terminate %u.%u.%02x (%02x%02x%02x%02x%s)",
		t->layer, t->type, t->code, t->raw[0], t->raw[1], t->raw[2], t->raw[3],
		t->swapped ? ", siw's order" : "");
}

void softiwarp_terminate(struct softiwarp_conn *c, enum rdmap_fault fault)
{
	iwarp_tx_terminate(c->stream, fault);
	if (c->state != SOFTIWARP_REPLYING)
		softiwarp_send_rest(c);
}

void softiwarp_conn_fail(struct softiwarp_conn *c)
{
	enum rdmap_fault fault = iwarp_stream_fault(c->stream);

	if (!fault) {
		terminated_over(c);
		return;
	}
	softiwarp_terminate(c, fault);
	softiwarp_conn_over(c, -EPROTO, "sent Terminate %s", rdmap_fault_find(fault)->text);
}

void softiwarp_conn_eof(struct softiwarp_conn *c)
{
	if (iwarp_rx_at_boundary(c->stream))
		softiwarp_conn_over(c, 0, "closed by the peer");
	else
		softiwarp_conn_over(c, -ECONNRESET, "closed by the peer within an FPDU");
}

void softiwarp_conn_flushed(struct softiwarp_conn *c)
{
	c->state = SOFTIWARP_LINGERING;
	shutdown(c->watch.fd, SHUT_WR);
	softiwarp_watch(c, LOOP_READABLE);
	if (c->state == SOFTIWARP_LINGERING &&
		loop_timer_arm(c->provider->loop, &c->timer, LINGER_NS))
		softiwarp_conn_over(c, 0, "disconnected");
}

void softiwarp_disconnect(struct rdma_conn *base, bool graceful)
{
	struct softiwarp_conn *c = softiwarp_conn_of(base);

	if (!graceful || c->state < SOFTIWARP_REPLYING) {
		softiwarp_conn_over(c, 0, "disconnected");
		return;
	}
	if (c->state > SOFTIWARP_UP)
		return;
	/* A reply that has not left yet, or a peer that has never begun, holds everything back. */
	if (c->state == SOFTIWARP_REPLYING ||
		loop_timer_arm(c->provider->loop, &c->timer, FLUSH_NS)) {
		softiwarp_conn_over(c, 0, "disconnected");
		return;
	}
	c->state = SOFTIWARP_FLUSHING;
	softiwarp_flush_soon(c);
}

/* ---- time ---- */

void softiwarp_kick_arm(struct softiwarp_conn *c)
{
	if (c->state == SOFTIWARP_UP && !c->bytes_received && c->kicks < KICKS)
		loop_timer_arm(c->provider->loop, &c->timer, KICK_NS);
}

static void kick(struct softiwarp_conn *c)
{
	if (c->bytes_received)
		return;
	c->kicks++;
	iwarp_tx_kick(c->stream);
	softiwarp_flush_soon(c);
	softiwarp_kick_arm(c);
}

void softiwarp_expired(struct loop_timer *t)
{
	struct softiwarp_conn *c = container_of(t, struct softiwarp_conn, timer);
	static const char *const waited_for[] = {
		[SOFTIWARP_CONNECTING] = "the TCP connection",
		[SOFTIWARP_AWAIT_REPLY] = "the MPA reply",
		[SOFTIWARP_AWAIT_REQUEST] = "the MPA request",
		[SOFTIWARP_REPLYING] = "the peer to take the MPA reply",
		[SOFTIWARP_FLUSHING] = "the peer to take what was sent",
	};

	if (c->state == SOFTIWARP_UP)
		kick(c);
	else if (c->state == SOFTIWARP_LINGERING)
		softiwarp_conn_over(c, 0, "disconnected");
	else
		softiwarp_conn_over(
			c, -ETIMEDOUT, "timed out waiting for %s", waited_for[c->state]);
}

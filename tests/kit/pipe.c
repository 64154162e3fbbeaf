/* See pipe.h. */
#include "tests/kit/pipe.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/alloc.h"

#define BUFFER (256 * 1024)
#define RANDOM_PIECE 3000 /* more than an Ethernet frame, less than two */

/* One direction. */
struct pipe_way {
	struct pipe *pipe;
	struct pipe_side *from, *to;
	uint8_t *buffer;
	size_t used, sent;
	bool ended; /* the reading side has seen the end */
};

struct pipe_side {
	struct pipe *pipe;
	struct loop_watch watch;
	struct pipe_way *in, *out; /* what is read here, what is written here */
	bool hung;
};

struct pipe {
	struct loop *loop;
	enum pipe_chunking chunking;
	uint32_t random;
	bool held;
	uint64_t bytes;
	struct pipe_side sides[2];
	struct pipe_way ways[2];
};

static size_t piece(struct pipe *p, size_t left)
{
	size_t n = left;

	if (p->chunking == PIPE_BYTES)
		n = 1;
	if (p->chunking == PIPE_RANDOM) {
		p->random = p->random * 1664525u + 1013904223u;
		n = 1 + (p->random >> 8) % RANDOM_PIECE;
	}
	return n < left ? n : left;
}

/* Asks for what the two ways through this side wait for. */
static void side_watch(struct pipe_side *s)
{
	unsigned events = 0;

	if (s->watch.fd < 0 || s->hung)
		return;
	if (!s->pipe->held && !s->in->ended && s->in->used == 0)
		events |= LOOP_READABLE;
	if (!s->pipe->held && s->out->used)
		events |= LOOP_WRITABLE;
	loop_watch_change(&s->watch, events);
}

static void side_close(struct pipe_side *s)
{
	if (s->watch.fd < 0)
		return;
	loop_watch_remove(&s->watch);
	close(s->watch.fd);
	s->watch.fd = -1;
}

static void way_read(struct pipe_way *w)
{
	ssize_t n;

	if (w->ended || w->used)
		return;
	n = recv(w->from->watch.fd, w->buffer, BUFFER, MSG_DONTWAIT);
	if (n > 0) {
		w->used = (size_t)n;
		w->sent = 0;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		w->ended = true;
		if (w->to->watch.fd >= 0)
			shutdown(w->to->watch.fd, SHUT_WR);
	}
}

/* What is left for a side that is gone is thrown away. */
static void way_write(struct pipe_way *w)
{
	ssize_t sent = -1;

	if (!w->used)
		return;
	errno = EPIPE;
	if (w->to->watch.fd >= 0)
		sent = send(w->to->watch.fd, w->buffer + w->sent, piece(w->pipe, w->used - w->sent),
			MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent > 0) {
		w->sent += (size_t)sent;
		w->pipe->bytes += (size_t)sent;
	} else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		w->sent = w->used;
	}
	if (w->sent == w->used)
		w->used = w->sent = 0;
}

/* A side that has hung up is told so at every turn: it is watched no more, but read to its end as
 * the other side takes it. */
static void side_settle(struct pipe_side *s)
{
	if (s->hung && !s->in->used)
		way_read(s->in);
	if ((s->in->ended && s->out->ended && !s->out->used) || (s->hung && s->in->ended))
		side_close(s);
	if (s->out->used && s->watch.fd < 0)
		way_write(s->out);
}

static void side_ready(struct loop_watch *watch, unsigned events)
{
	struct pipe_side *s = container_of(watch, struct pipe_side, watch);
	struct pipe *p = s->pipe;

	if (events & LOOP_HANGUP) {
		s->hung = true;
		loop_watch_remove(&s->watch);
	}
	if (events & (LOOP_READABLE | LOOP_HANGUP))
		way_read(s->in);
	if (events & (LOOP_WRITABLE | LOOP_HANGUP))
		way_write(s->out);
	side_settle(&p->sides[0]);
	side_settle(&p->sides[1]);
	side_watch(&p->sides[0]);
	side_watch(&p->sides[1]);
}

static int side_init(struct pipe *p, unsigned i, int fd)
{
	struct pipe_side *s = &p->sides[i];

	s->pipe = p;
	s->in = &p->ways[i];
	s->out = &p->ways[!i];
	s->watch.fd = fd;
	s->watch.ready = side_ready;
	p->ways[i] = (struct pipe_way){.pipe = p, .from = s, .to = &p->sides[!i]};
	p->ways[i].buffer = alloc_zeroed(BUFFER);
	return p->ways[i].buffer ? 0 : -ENOMEM;
}

int pipe_new(struct loop *l, enum pipe_chunking chunking, uint32_t seed, int ret_ends[2],
	struct pipe **ret)
{
	struct pipe *p = alloc_zeroed(sizeof(*p));
	int a[2] = {-1, -1}, b[2] = {-1, -1};
	int r = -ENOMEM;

	if (!p)
		return r;
	p->loop = l;
	p->chunking = chunking;
	p->random = seed;
	p->sides[0].watch.fd = p->sides[1].watch.fd = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, a) < 0 ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, b) < 0) {
		r = -errno;
		goto fail;
	}
	r = side_init(p, 0, a[1]);
	r = r ? r : side_init(p, 1, b[1]);
	r = r ? r : loop_watch_add(l, &p->sides[0].watch, LOOP_READABLE);
	r = r ? r : loop_watch_add(l, &p->sides[1].watch, LOOP_READABLE);
	if (r < 0)
		goto fail;
	ret_ends[0] = a[0];
	ret_ends[1] = b[0];
	*ret = p;
	return 0;
fail:
	for (unsigned i = 0; i < 2; i++) {
		if (a[i] >= 0 && a[i] != p->sides[0].watch.fd)
			close(a[i]);
		if (b[i] >= 0 && b[i] != p->sides[1].watch.fd)
			close(b[i]);
	}
	pipe_free(p);
	return r;
}

void pipe_cut(struct pipe *p)
{
	side_close(&p->sides[0]);
	side_close(&p->sides[1]);
}

void pipe_hold(struct pipe *p, bool held)
{
	p->held = held;
	side_watch(&p->sides[0]);
	side_watch(&p->sides[1]);
}

uint64_t pipe_bytes(const struct pipe *p)
{
	return p->bytes;
}

void pipe_free(struct pipe *p)
{
	if (!p)
		return;
	pipe_cut(p);
	alloc_free(p->ways[0].buffer);
	alloc_free(p->ways[1].buffer);
	alloc_free(p);
}

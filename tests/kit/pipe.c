/* See pipe.h. */
#include "tests/kit/pipe.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"

#define BUFFER (64 * 1024)
#define RANDOM_PIECE 3000 /* more than an Ethernet frame, less than two */

/* One direction. */
struct pipe_way {
	struct pipe *pipe;
	struct pipe_side *from, *to;
	uint8_t *buffer;
	size_t used, sent;
	bool ended; /* the reading side has seen the end */
	bool stalled;
	struct frames frames;
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
	struct pipe_plan plan;
	struct pipe_side sides[2];
	struct pipe_way ways[2];
};

static uint32_t random_next(struct pipe *p)
{
	p->random = p->random * 1664525u + 1013904223u;
	return p->random >> 8;
}

static bool by_messages(const struct pipe_way *w)
{
	const struct pipe_plan *plan = &w->pipe->plan;

	return w->pipe->chunking == PIPE_MESSAGES || plan->cut_messages || plan->stall_messages;
}

/* What is left of the message that comes next in `w`, as far as it has come. */
static size_t message_piece(const struct pipe_way *w, size_t left)
{
	struct frames ahead = w->frames;
	size_t n = 0;
	bool ended = false;

	while (n < left && !ended)
		n += frames_take(&ahead, w->buffer + w->sent + n, left - n, &ended);
	return n;
}

static size_t piece(struct pipe_way *w, size_t left)
{
	struct pipe *p = w->pipe;
	size_t n = left;

	if (p->chunking == PIPE_BYTES)
		n = 1;
	else if (p->chunking == PIPE_RANDOM)
		n = 1 + random_next(p) % RANDOM_PIECE;
	else if (by_messages(w))
		n = message_piece(w, left);
	if (p->plan.cut_bytes)
		n = min_size(n, p->plan.cut_bytes - p->bytes);
	return min_size(n, left);
}

static void side_close(struct pipe_side *s);

/* Counts what has passed, and does what was planned for this point. */
static void passed(struct pipe_way *w, const uint8_t *bytes, size_t length)
{
	struct pipe *p = w->pipe;
	bool ended;

	p->bytes += length;
	while (length) {
		size_t n = frames_take(&w->frames, bytes, length, &ended);

		bytes += n;
		length -= n;
	}
	w->stalled = p->plan.stall_messages && w == &p->ways[p->plan.stall_way] &&
		     w->frames.messages >= p->plan.stall_messages;
	if ((p->plan.cut_bytes && p->bytes >= p->plan.cut_bytes) ||
		(p->plan.cut_messages && p->ways[0].frames.messages + p->ways[1].frames.messages >=
						 p->plan.cut_messages))
		pipe_cut(p);
}

/* Asks for what the two ways through this side wait for. */
static void side_watch(struct pipe_side *s)
{
	unsigned events = 0;

	if (s->watch.fd < 0 || s->hung)
		return;
	if (!s->pipe->held && !s->in->ended && s->in->used == 0)
		events |= LOOP_READABLE;
	if (!s->pipe->held && s->out->used && !s->out->stalled)
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

static bool passes_turn(struct pipe *p)
{
	return p->chunking == PIPE_MESSAGES && p->random && random_next(p) % 3 == 0;
}

/* What is left for a side that is gone is thrown away. */
static void way_write(struct pipe_way *w)
{
	ssize_t sent = -1;

	if (!w->used || w->stalled || passes_turn(w->pipe))
		return;
	errno = EPIPE;
	if (w->to->watch.fd >= 0)
		sent = send(w->to->watch.fd, w->buffer + w->sent, piece(w, w->used - w->sent),
			MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent > 0) {
		w->sent += (size_t)sent;
		passed(w, w->buffer + w->sent - sent, (size_t)sent);
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

void pipe_plan(struct pipe *p, const struct pipe_plan *plan)
{
	p->plan = *plan;
	p->ways[0].frames.kind = p->ways[1].frames.kind = plan->frames;
}

bool pipe_release(struct pipe *p)
{
	struct pipe_way *w = &p->ways[p->plan.stall_way];
	bool any = w->stalled && w->used;

	if (!w->stalled)
		return false;
	w->stalled = false;
	p->plan.stall_messages = 0;
	/* Sides that have hung up meanwhile are not watched any more. */
	way_write(w);
	side_settle(&p->sides[0]);
	side_settle(&p->sides[1]);
	side_watch(&p->sides[0]);
	side_watch(&p->sides[1]);
	return any;
}

uint64_t pipe_messages(const struct pipe *p, unsigned way)
{
	return p->ways[way].frames.messages;
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

bool pipe_is_over(const struct pipe *p)
{
	return p->sides[0].watch.fd < 0 && p->sides[1].watch.fd < 0;
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

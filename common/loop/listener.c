/* One listening port for several protocols. A new connection waits, in one of a fixed number of
 * places, until its first bytes tell what it speaks; those bytes are only peeked at. Called by the
 * target's portals. */
#include "common/loop/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/sys.h"

#define LOGIN_TIMEOUT_DEFAULT (15 * LOOP_NS_PER_S) /* as long as initiators wait for a login */
#define WAITING_DEFAULT 64
/* Connections taken per turn: others on this loop want their turn too. */
#define ACCEPTS_PER_TURN 32
/* How long to leave the backlog alone when there is no descriptor or memory for one more. */
#define PAUSE_NS (100 * LOOP_NS_PER_MS)
/* At most one line about such trouble in this time: a flood of connections is no flood of lines. */
#define COMPLAINT_INTERVAL_NS (10 * LOOP_NS_PER_S)

/* A connection that has not said yet what it speaks. */
struct waiting {
	struct listener *listener;
	struct loop_watch watch;
	struct loop_timer timer;
	struct address peer;
	size_t seen;	  /* bytes that did not decide */
	struct list link; /* in free_places, or in waiting, the oldest first */
};

struct listener {
	struct loop *loop;
	struct listener_config config;
	struct address address;
	struct loop_watch watch;
	struct loop_timer pause;
	uint64_t next_complaint_ns;
	struct list protocols;		  /* struct listener_protocol */
	struct list waiting, free_places; /* struct waiting */
	struct waiting places[];
};

static void listener_complain(struct listener *l, const char *what, int error)
{
	char text[ADDRESS_TEXT_SIZE];

	if (loop_now(l->loop) < l->next_complaint_ns)
		return;
	l->next_complaint_ns = loop_now(l->loop) + COMPLAINT_INTERVAL_NS;
	log_warning("listener", "%s: %s%s%s", address_print(&l->address, text), what,
		error ? ": " : "", error ? strerror(error) : "");
}

/* ---- connections that wait ---- */

/* Gives the place back; the socket is the caller's. */
static int waiting_end(struct waiting *w)
{
	int fd = w->watch.fd;

	loop_watch_remove(&w->watch);
	loop_timer_cancel(&w->timer);
	list_remove(&w->link);
	list_append(&w->listener->free_places, &w->link);
	return fd;
}

static void waiting_drop(struct waiting *w, const char *why)
{
	char text[ADDRESS_TEXT_SIZE];

	log_debug("listener", "connection from %s dropped: %s", address_print(&w->peer, text), why);
	close(waiting_end(w));
}

static void waiting_expired(struct loop_timer *t)
{
	waiting_drop(container_of(t, struct waiting, timer), "it said nothing in time");
}

static int waiting_set_low_water(struct waiting *w, size_t bytes)
{
	int value = (int)bytes;

	return sys_setsockopt(w->watch.fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof(value));
}

static void waiting_hand_over(struct waiting *w, struct listener_protocol *p)
{
	struct address peer = w->peer;

	if (w->seen && waiting_set_low_water(w, 1) < 0) {
		waiting_drop(w, "its socket cannot be set up");
		return;
	}
	p->accepted(p, waiting_end(w), &peer);
}

/* The bytes fit several protocols, or the beginning of one. Level-triggered as the watch is, it
 * would report them again at once; so the socket shall be readable only when there is one more. */
static void waiting_want_more(struct waiting *w, size_t length)
{
	if (length == w->seen)
		waiting_drop(w, "it ended before it said what it speaks");
	else if (length == LISTENER_PEEK_SIZE)
		waiting_drop(w, "it speaks none of the protocols");
	else if (waiting_set_low_water(w, length + 1) < 0)
		waiting_drop(w, "its socket cannot be set up");
	else
		w->seen = length;
}

static void waiting_judge(struct waiting *w, const uint8_t *bytes, size_t length)
{
	struct listener_protocol *p;
	bool more = false;

	list_for_each(p, &w->listener->protocols, link) {
		enum listener_verdict verdict = p->match(bytes, length);

		if (verdict == LISTENER_YES) {
			waiting_hand_over(w, p);
			return;
		}
		more |= verdict == LISTENER_MORE;
	}
	if (more)
		waiting_want_more(w, length);
	else
		waiting_drop(w, "it speaks none of the protocols");
}

static void waiting_ready(struct loop_watch *watch, unsigned events)
{
	struct waiting *w = container_of(watch, struct waiting, watch);
	uint8_t bytes[LISTENER_PEEK_SIZE];
	ssize_t n = sys_recv(watch->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

	(void)events;
	if (n > 0)
		waiting_judge(w, bytes, (size_t)n);
	else if (n == 0)
		waiting_drop(w, "it ended before it said what it speaks");
	else if (errno != EAGAIN && errno != EINTR)
		waiting_drop(w, strerror(errno));
}

/* A place for one more; the oldest that waits makes room, since it had the most time to speak. */
static struct waiting *waiting_place(struct listener *l)
{
	if (list_empty(&l->free_places)) {
		listener_complain(l, "too many connections that say nothing; the oldest go", 0);
		waiting_drop(list_first(&l->waiting, struct waiting, link),
			"others came while it said nothing");
	}
	return list_first(&l->free_places, struct waiting, link);
}

static void waiting_begin(struct listener *l, int fd, const struct address *peer)
{
	struct waiting *w = waiting_place(l);
	int one = 1, rc;

	w->watch.fd = fd;
	w->peer = *peer;
	w->seen = 0;
	list_remove(&w->link);
	list_append(&l->waiting, &w->link);
	rc = sys_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0 ? -errno : 0;
	if (rc == 0)
		rc = loop_timer_arm(l->loop, &w->timer, l->config.login_timeout_ns);
	if (rc == 0)
		rc = loop_watch_add(l->loop, &w->watch, LOOP_READABLE);
	if (rc < 0)
		waiting_drop(w, strerror(-rc));
}

/* ---- accepting ---- */

static void listener_resume(struct loop_timer *t)
{
	struct listener *l = container_of(t, struct listener, pause);

	if (loop_watch_change(&l->watch, LOOP_READABLE) < 0)
		loop_timer_arm(l->loop, &l->pause, PAUSE_NS);
}

/* Without a descriptor the backlog stays readable; looking again at once
 * would burn the processor. */
static void listener_pause(struct listener *l, int error)
{
	listener_complain(l, "cannot accept connections for a moment", error);
	if (loop_timer_arm(l->loop, &l->pause, PAUSE_NS) == 0)
		loop_watch_change(&l->watch, 0);
}

static bool listener_accept_one(struct listener *l)
{
	struct address peer = {.length = sizeof(peer.sa)};
	int fd = sys_accept4(l->watch.fd, (struct sockaddr *)&peer.sa, &peer.length,
		SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		waiting_begin(l, fd, &peer);
		return true;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		listener_pause(l, errno);
	/* Others concern the one connection (accept(2): "treat them like EAGAIN by retrying"). */
	return false;
}

static void listener_ready(struct loop_watch *w, unsigned events)
{
	struct listener *l = container_of(w, struct listener, watch);

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++)
		if (!listener_accept_one(l))
			return;
}

/* ---- the listener ---- */

static int listener_open(struct listener *l, const struct address *a)
{
	l->watch.fd = l->config.fd ? l->config.fd : address_listen(a);
	if (l->watch.fd < 0)
		return l->watch.fd;
	/* One that was handed over may block, and accept() is called until there is no more. */
	if (fcntl(l->watch.fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return -errno;
	l->address.length = sizeof(l->address.sa);
	if (sys_getsockname(l->watch.fd, (struct sockaddr *)&l->address.sa, &l->address.length) < 0)
		return -errno;
	return loop_watch_add(l->loop, &l->watch, LOOP_READABLE);
}

static void listener_init(struct listener *l, struct loop *loop, struct listener_config config)
{
	l->loop = loop;
	l->config = config;
	l->watch.ready = listener_ready;
	l->pause.expired = listener_resume;
	list_init(&l->protocols);
	list_init(&l->waiting);
	list_init(&l->free_places);
	for (unsigned i = 0; i < config.max_waiting; i++) {
		l->places[i].listener = l;
		l->places[i].watch.ready = waiting_ready;
		l->places[i].timer.expired = waiting_expired;
		list_append(&l->free_places, &l->places[i].link);
	}
}

int listener_new(struct loop *loop, const struct address *a, const struct listener_config *config,
	struct listener **ret)
{
	struct listener_config c = config ? *config : (struct listener_config){0};
	struct listener *l;
	int rc;

	if (!c.max_waiting)
		c.max_waiting = WAITING_DEFAULT;
	if (!c.login_timeout_ns)
		c.login_timeout_ns = LOGIN_TIMEOUT_DEFAULT;
	l = alloc_zeroed(sizeof(*l) + c.max_waiting * sizeof(l->places[0]));
	if (!l) {
		if (c.fd)
			close(c.fd);
		return -ENOMEM;
	}
	listener_init(l, loop, c);
	rc = listener_open(l, a);
	if (rc < 0)
		goto fail;
	*ret = l;
	return 0;
fail:
	listener_free(l);
	return rc;
}

void listener_free(struct listener *l)
{
	if (!l)
		return;
	while (!list_empty(&l->waiting))
		waiting_drop(list_first(&l->waiting, struct waiting, link), "the listener ends");
	loop_timer_cancel(&l->pause);
	loop_watch_remove(&l->watch);
	if (l->watch.fd >= 0)
		close(l->watch.fd);
	alloc_free(l);
}

void listener_add_protocol(struct listener *l, struct listener_protocol *p)
{
	list_append(&l->protocols, &p->link);
}

const struct address *listener_address(const struct listener *l)
{
	return &l->address;
}

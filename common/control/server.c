/* The daemon's end of the control socket. A client has one request under way at a time; what it
 * sends meanwhile stays in its socket, so nobody can make the daemon hold more than a line and its
 * answer. Called by isertd's and iserd's main(), and by their handlers. */
#include "common/control/control.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/options.h"
#include "common/base/sys.h"
#include "common/base/utf8.h"
#include "common/control/lines.h"
#include "common/control/socket.h"
#include "common/loop/loop.h"

/* Progress lines that a client does not read: so much may wait before it is dropped. */
#define OUTPUT_MAX (4 * CONTROL_LINE_MAX)
#define READ_SIZE 16384
/* Without a descriptor for one more client, so long is not tried again. */
#define PAUSE_NS (100 * LOOP_NS_PER_MS)

/* One connected tool. */
struct control_peer {
	struct control_server *server;
	struct loop_watch watch;
	/* Looks for the next request, or closes if `broken`: deferred, since answers are given from
	 * within the handler of the request. */
	struct loop_call step;
	struct lines input, output;
	struct control_request *request; /* under way */
	int fd;				 /* came with the request that is being read; -1: none */
	bool privileged, broken;
	bool ended; /* it sends no more, but may still read */
	struct list link;
};

struct control_request {
	struct control_peer *peer; /* NULL: gone */
	struct json_object *json;
	int fd; /* -1: none */
	bool privileged;
	void (*closed)(void *arg);
	void *closed_arg;
};

struct control_server {
	struct loop *loop;
	struct control_socket socket;
	struct loop_watch watch;
	struct loop_timer pause;
	control_handler *handler;
	void *owner;
	struct list peers;
	unsigned peer_count;
};

/* ---- clients ---- */

/* One descriptor at a time: what nobody asked for is closed. */
static void peer_keep_fd(struct control_peer *p, int fd)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = fd;
}

static void peer_close(struct control_peer *p)
{
	struct control_request *r = p->request;

	loop_watch_remove(&p->watch);
	loop_call_cancel(&p->step);
	close(p->watch.fd);
	peer_keep_fd(p, -1);
	list_remove(&p->link);
	p->server->peer_count--;
	lines_free(&p->input);
	lines_free(&p->output);
	alloc_free(p);
	if (!r)
		return;
	r->peer = NULL;
	if (r->closed)
		r->closed(r->closed_arg);
}

static void peer_break(struct control_peer *p)
{
	p->broken = true;
	loop_defer(p->server->loop, &p->step);
}

/* Reads only when it may ask, writes only what is there; a peer that is gone is always noticed. */
static void peer_watch(struct control_peer *p)
{
	unsigned events = (p->request || p->ended ? 0u : LOOP_READABLE) |
			  (p->output.used ? LOOP_WRITABLE : 0u);

	if (!p->broken && loop_watch_change(&p->watch, events) < 0)
		peer_break(p);
}

static void peer_flush(struct control_peer *p)
{
	ssize_t n;

	while (p->output.used && !p->broken) {
		n = sys_send(
			p->watch.fd, p->output.data, p->output.used, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0)
			lines_consume(&p->output, (size_t)n);
		else if (errno == EAGAIN || errno == EINTR)
			break;
		else
			peer_break(p);
	}
	peer_watch(p);
}

static void peer_send(struct control_peer *p, struct json_object *json)
{
	size_t length;
	const char *text = lines_print(json, &length);

	if (!text || lines_append(&p->output, text, length, OUTPUT_MAX) < 0 ||
		lines_append(&p->output, "\n", 1, OUTPUT_MAX) < 0) {
		peer_break(p);
		return;
	}
	/* names that peers gave, or texts that were cut within a character */
	utf8_tame(p->output.data + p->output.used - length - 1, length);
	peer_flush(p);
}

static int peer_start_request(struct control_peer *p, struct json_object *json)
{
	struct control_request *r = alloc_zeroed(sizeof(*r));

	if (!r) {
		json_object_put(json);
		return -ENOMEM;
	}
	r->peer = p;
	r->json = json;
	r->fd = p->fd;
	p->fd = -1;
	r->privileged = p->privileged;
	p->request = r;
	p->server->handler(p->server->owner, r, json);
	return 0;
}

static void peer_step(struct loop_call *c)
{
	struct control_peer *p = container_of(c, struct control_peer, step);
	struct json_object *json;
	int rc = p->broken ? -ECONNRESET : 0;

	if (rc == 0 && !p->request)
		rc = lines_take(&p->input, &json);
	if (rc > 0)
		rc = peer_start_request(p, json);
	else if (rc == 0 && !p->request && p->ended && !p->output.used)
		rc = -ECONNRESET;
	if (rc < 0)
		peer_close(p);
	else
		peer_watch(p);
}

static void peer_take_fds(struct control_peer *p, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= c->cmsg_len - CMSG_LEN(0);
			at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			peer_keep_fd(p, fd);
		}
	}
}

/* recv() for bytes that a descriptor may come with. More of them than fit are the kernel's to
 * close. */
static ssize_t peer_receive(struct control_peer *p, char *bytes, size_t size)
{
	union {
		struct cmsghdr header; /* for its alignment */
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec vector = {.iov_base = bytes, .iov_len = size};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = sys_recvmsg(p->watch.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n >= 0)
		peer_take_fds(p, &message);
	return n;
}

static void peer_read(struct control_peer *p)
{
	char bytes[READ_SIZE];
	ssize_t n = peer_receive(p, bytes, sizeof(bytes));

	if (n > 0 && lines_append(&p->input, bytes, (size_t)n, CONTROL_LINE_MAX + READ_SIZE) < 0)
		p->broken = true;
	if (n == 0)
		p->ended = true;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		p->broken = true;
	peer_step(&p->step);
}

static void peer_ready(struct loop_watch *w, unsigned events)
{
	struct control_peer *p = container_of(w, struct control_peer, watch);

	if (events & LOOP_WRITABLE)
		peer_flush(p);
	if (events & LOOP_READABLE && !p->request) {
		peer_read(p);
	} else if (events & LOOP_HANGUP) {
		p->broken = true;
		peer_step(&p->step);
	} else if (!p->output.used) {
		peer_step(&p->step); /* one that has ended goes when all was written */
	}
}

static bool peer_is_privileged(int fd)
{
	struct ucred cred;
	socklen_t length = sizeof(cred);

	return sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length) == 0 &&
	       (cred.uid == 0 || cred.uid == geteuid());
}

static void server_add_peer(struct control_server *s, int fd)
{
	struct control_peer *p =
		s->peer_count < CONTROL_CLIENTS_MAX ? alloc_zeroed(sizeof(*p)) : NULL;

	if (!p) {
		log_warning("control", "%s: a client is turned away: %s", s->socket.path,
			s->peer_count < CONTROL_CLIENTS_MAX ? "no memory"
							    : "too many are connected");
		close(fd);
		return;
	}
	p->server = s;
	p->fd = -1;
	p->watch.fd = fd;
	p->watch.ready = peer_ready;
	p->step.call = peer_step;
	p->privileged = peer_is_privileged(fd);
	list_append(&s->peers, &p->link);
	s->peer_count++;
	if (loop_watch_add(s->loop, &p->watch, LOOP_READABLE) < 0)
		peer_close(p);
}

/* ---- the listening socket ---- */

static void server_resume(struct loop_timer *t)
{
	struct control_server *s = container_of(t, struct control_server, pause);

	if (loop_watch_change(&s->watch, LOOP_READABLE) < 0)
		loop_timer_arm(s->loop, &s->pause, PAUSE_NS);
}

static void server_ready(struct loop_watch *w, unsigned events)
{
	struct control_server *s = container_of(w, struct control_server, watch);
	int fd = sys_accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd >= 0)
		server_add_peer(s, fd);
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED &&
		 loop_timer_arm(s->loop, &s->pause, PAUSE_NS) == 0)
		loop_watch_change(&s->watch, 0);
}

int control_server_new(struct loop *l, const char *path, control_handler *handler, void *owner,
	struct control_server **ret)
{
	struct control_server *s = alloc_zeroed(sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->loop = l;
	s->handler = handler;
	s->owner = owner;
	s->watch.ready = server_ready;
	s->pause.expired = server_resume;
	list_init(&s->peers);
	rc = control_socket_open(&s->socket, path);
	if (rc < 0)
		goto fail;
	s->watch.fd = s->socket.fd;
	rc = loop_watch_add(l, &s->watch, LOOP_READABLE);
	if (rc < 0)
		goto fail;
	*ret = s;
	return 0;
fail:
	control_server_free(s);
	return rc;
}

void control_server_free(struct control_server *s)
{
	struct control_peer *p, *next;

	if (!s)
		return;
	list_for_each_safe(p, next, &s->peers, link)
		peer_close(p);
	loop_timer_cancel(&s->pause);
	loop_watch_remove(&s->watch);
	control_socket_close(&s->socket);
	alloc_free(s);
}

/* ---- requests ---- */

bool control_request_is_privileged(const struct control_request *r)
{
	return r->privileged;
}

void control_request_on_close(struct control_request *r, void (*closed)(void *arg), void *arg)
{
	r->closed = closed;
	r->closed_arg = arg;
}

int control_request_take_fd(struct control_request *r)
{
	int fd = r->fd;

	r->fd = -1;
	return fd;
}

/* Sends the last line of a request and looks for the client's next one. */
static void request_end(struct control_request *r, struct json_object *json)
{
	struct control_peer *p = r->peer;

	if (p) {
		p->request = NULL;
		if (json)
			peer_send(p, json);
		else
			peer_break(p);
		loop_defer(p->server->loop, &p->step);
	}
	if (r->fd >= 0)
		close(r->fd);
	json_object_put(json);
	json_object_put(r->json);
	alloc_free(r);
}

/* Anything longer would be refused by the client. */
static bool answer_fits(struct json_object *json)
{
	size_t length;

	return lines_print(json, &length) && length < CONTROL_LINE_MAX;
}

void control_reply(struct control_request *r, struct json_object *json)
{
	struct json_object *reply = json ? json : json_object_new_object();

	if (reply && lines_put(reply, "ok", json_object_new_boolean(true)) && answer_fits(reply)) {
		request_end(r, reply);
		return;
	}
	json_object_put(reply);
	control_fail(r, EXIT_FAILED, "the answer is too long; ask for less at a time");
}

void control_progress(struct control_request *r, struct json_object *json)
{
	struct json_object *line = json_object_new_object();

	if (r->peer && line && lines_put(line, "progress", json_object_get(json)) &&
		answer_fits(line))
		peer_send(r->peer, line);
	json_object_put(line);
	json_object_put(json);
}

void control_fail(struct control_request *r, int status, const char *format, ...)
{
	struct json_object *reply = json_object_new_object();
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_tame(text); /* one line, whatever it quotes */
	if (!reply || !lines_put(reply, "ok", json_object_new_boolean(false)) ||
		!lines_put(reply, "status", json_object_new_int(status)) ||
		!lines_put(reply, "error", json_object_new_string(text))) {
		json_object_put(reply);
		reply = NULL;
	}
	request_end(r, reply);
}

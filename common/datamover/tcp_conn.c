/* A connection's life: start, failure, orderly end (RFC 5047 sections 7.1.5 and 7.2.2), and the
 * delivery of completions from the loop. Used by the files beside it. */
#include <errno.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/datamover/tcp_internal.h"

static void conn_start(struct loop_call *call);
static void conn_finish(struct loop_call *call);
static void conn_end(struct loop_call *call);
static void conn_ready(struct loop_watch *w, unsigned events);
static void conn_timeout(struct loop_timer *t);

int tcp_conn_new(struct tcp_mover *m, int fd, bool target, struct tcp_conn **ret)
{
	struct tcp_conn *c = alloc_zeroed(sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->dm.ops = m->dm.ops;
	c->mover = m;
	c->target = target;
	c->watch.fd = fd;
	c->watch.ready = conn_ready;
	c->timer.expired = conn_timeout;
	c->start.call = conn_start;
	c->flush.call = tcp_tx_flush;
	c->finish.call = conn_finish;
	c->end.call = conn_end;
	iscsi_params_default(&c->params);
	c->max_send = TCP_LOGIN_DATA_MAX;
	iscsi_rx_init(&c->rx, TCP_LOGIN_DATA_MAX);
	/* RFC 7143 section 11.2.2: both types of AHS belong to commands. What claims one in a
	 * response is no iSCSI target, and is told as such without waiting for the rest. */
	if (!target)
		c->rx.max_ahs_length = 0;
	iscsi_tx_init(&c->tx);
	list_init(&c->out);
	list_init(&c->tasks);
	list_init(&c->failed);
	list_init(&c->finished);
	list_append(&m->conns, &c->link);
	if (tcp_rx_reserve(c, TCP_LOGIN_DATA_MAX) || (!target && tcp_initiator_init(c))) {
		c->watch.fd = -1;
		tcp_conn_free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

void tcp_conn_free(struct tcp_conn *c)
{
	loop_watch_remove(&c->watch);
	loop_timer_cancel(&c->timer);
	loop_call_cancel(&c->start);
	loop_call_cancel(&c->flush);
	loop_call_cancel(&c->finish);
	loop_call_cancel(&c->end);
	if (c->watch.fd >= 0)
		close(c->watch.fd);
	list_remove(&c->link);
	tags_free(c->tags);
	alloc_free(c->buckets);
	alloc_free(c->control_data);
	alloc_free(c->control_old);
	alloc_free(c);
}

int tcp_conn_open_socket(struct tcp_conn *c)
{
	int error;

	c->phase = TCP_OPEN;
	if (c->watch.loop)
		error = loop_watch_change(&c->watch, LOOP_READABLE);
	else
		error = loop_watch_add(c->mover->loop, &c->watch, LOOP_READABLE);
	return error;
}

/* An adopted socket, in its first turn of the loop. */
static void conn_start(struct loop_call *call)
{
	struct tcp_conn *c = container_of(call, struct tcp_conn, start);
	struct dm_acceptor *acceptor = c->acceptor;
	int error = tcp_conn_open_socket(c);

	if (error) {
		tcp_conn_fail(c, error, "cannot watch the socket");
		if (c->target)
			return;
	}
	c->acceptor = NULL;
	if (acceptor) {
		acceptor->accepted(acceptor, &c->dm, &c->peer);
		if (!c->dm.up)
			tcp_conn_fail(c, 0, "refused");
	} else if (!error && c->dm.up->connected)
		c->dm.up->connected(c->dm.owner);
}

/* The socket of dm_connect() is connected, or it has failed. */
static void conn_connected(struct tcp_conn *c)
{
	socklen_t length = sizeof(int);
	int error = 0;

	if (sys_getsockopt(c->watch.fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		error = errno;
	if (error) {
		tcp_conn_fail(c, -error, "cannot connect");
		return;
	}
	loop_timer_cancel(&c->timer);
	c->local.length = sizeof(c->local.sa);
	if (getsockname(c->watch.fd, (struct sockaddr *)&c->local.sa, &c->local.length) < 0)
		c->local.length = 0;
	error = tcp_conn_open_socket(c);
	if (error)
		tcp_conn_fail(c, error, "cannot watch the socket");
	else if (c->dm.up->connected)
		c->dm.up->connected(c->dm.owner);
}

/* Reads, and throws away, what the peer still sends; its end of stream is what is waited for. */
static void conn_linger(struct tcp_conn *c)
{
	ssize_t n = sys_recv(c->watch.fd, c->mover->staging, TCP_STAGING_SIZE, MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		tcp_conn_fail(c, 0, "closed");
}

static void conn_ready(struct loop_watch *w, unsigned events)
{
	struct tcp_conn *c = container_of(w, struct tcp_conn, watch);

	if (c->phase == TCP_CONNECTING) {
		conn_connected(c);
		return;
	}
	if (events & (LOOP_WRITABLE | LOOP_HANGUP) &&
		(c->phase == TCP_FLUSHING || c->watch.events & LOOP_WRITABLE))
		tcp_tx_ready(c);
	if (c->phase == TCP_LINGERING)
		conn_linger(c);
	else if (c->phase == TCP_OPEN && events & (LOOP_READABLE | LOOP_HANGUP))
		tcp_rx_ready(c);
}

static void conn_timeout(struct loop_timer *t)
{
	struct tcp_conn *c = container_of(t, struct tcp_conn, timer);

	if (c->phase == TCP_CONNECTING)
		tcp_conn_fail(c, -ETIMEDOUT, "no answer to the connect");
	else
		tcp_conn_fail(c, 0, "closed; the peer did not follow");
}

void tcp_conn_fail(struct tcp_conn *c, int error, const char *reason)
{
	if (c->phase == TCP_DEAD)
		return;
	/* What goes wrong while it is being closed in order is of no interest. */
	c->error = c->phase == TCP_FLUSHING || c->phase == TCP_LINGERING ? 0 : error;
	c->phase = TCP_DEAD;
	c->reason = reason;
	loop_watch_remove(&c->watch);
	loop_timer_cancel(&c->timer);
	loop_call_cancel(&c->start);
	loop_call_cancel(&c->flush);
	loop_defer(c->mover->loop, &c->end);
}

void tcp_conn_flushed(struct tcp_conn *c)
{
	int error;

	if (shutdown(c->watch.fd, SHUT_WR) < 0) {
		tcp_conn_fail(c, 0, "closed");
		return;
	}
	c->phase = TCP_LINGERING;
	error = loop_watch_change(&c->watch, LOOP_READABLE);
	if (error)
		tcp_conn_fail(c, 0, "closed");
}

void tcp_conn_terminate(struct dm_conn *dm, bool graceful)
{
	struct tcp_conn *c = tcp_conn_of(dm);

	if (!graceful || c->phase == TCP_CONNECTING) {
		tcp_conn_fail(c, 0, "closed");
		return;
	}
	if (c->phase != TCP_OPEN)
		return;
	/* Nothing is read from here on; writability, not yet known, decides when it is flushed. */
	c->phase = TCP_FLUSHING;
	if (loop_timer_arm(c->mover->loop, &c->timer, TCP_LINGER_NS) ||
		loop_watch_change(&c->watch, LOOP_WRITABLE))
		tcp_conn_fail(c, 0, "closed");
}

void tcp_transfer_finish(struct tcp_conn *c, struct dm_transfer *t, int status)
{
	tcp_transfer_of(t)->status = status;
	tcp_task_of(t->task)->finishing++;
	list_remove(&t->link);
	list_append(&c->finished, &t->link);
	loop_defer(c->mover->loop, &c->finish);
}

/* Completions, and after them the tasks that failed with them. */
static void conn_finish(struct loop_call *call)
{
	struct tcp_conn *c = container_of(call, struct tcp_conn, finish);
	struct list *link;

	while ((link = list_pop(&c->finished)) != NULL) {
		struct dm_transfer *t = container_of(link, struct dm_transfer, link);
		struct tcp_task *task = tcp_task_of(t->task);

		t->done(t, tcp_transfer_of(t)->status);
		task->finishing--;
		tcp_target_settle(c, task);
	}
	while (c->phase != TCP_DEAD && (link = list_pop(&c->failed)) != NULL) {
		struct tcp_task *task = container_of(link, struct tcp_task, failed_link);

		if (c->dm.up->task_failed)
			c->dm.up->task_failed(c->dm.owner, &task->dm, task->failure);
	}
}

/* Everything that was under way ends, then the owner is told, then nothing is left. */
static void conn_end(struct loop_call *call)
{
	struct tcp_conn *c = container_of(call, struct tcp_conn, end);
	struct tcp_task *task, *next;

	tcp_tx_drop(c);
	list_for_each_safe(task, next, &c->tasks, link)
		tcp_target_gets_cancel(c, task, c->error ? c->error : -ECONNRESET);
	if (!c->target)
		tcp_initiator_forget(c);
	conn_finish(&c->finish);
	if (c->dm.up && c->dm.up->connection_terminate_notify)
		c->dm.up->connection_terminate_notify(c->dm.owner, c->error, c->reason);
	list_for_each_safe(task, next, &c->tasks, link)
		tcp_slab_put(&c->mover->tasks, task);
	tcp_conn_free(c);
}

/* SIGTERM and `isertadm stop`: no connection is accepted any more, initiators are asked to log out,
 * commands run to their end, backends are flushed. All within `drain_timeout`; a second SIGTERM
 * does not wait for initiators. */
#include <errno.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "target/daemon/daemon.h"
#include "target/drain.h"

/* An initiator that honours the request does so within a round trip; then sessions are closed as
 * soon as they are at rest. */
#define ASK_NS LOOP_NS_PER_S
/* A backend that does not answer: what it holds is lost anyway. */
#define FLUSH_NS (10 * LOOP_NS_PER_S)

static void ask(struct broadcast_part *p, void *arg)
{
	const struct daemon *d = arg;

	drain_ask(p->worker->worker, (uint16_t)(d->config->drain_timeout_ns / LOOP_NS_PER_S));
}

static void close_sessions(struct broadcast_part *p, void *arg)
{
	(void)arg;
	drain_close(p->worker->worker);
}

static void abort_sessions(struct broadcast_part *p, void *arg)
{
	(void)arg;
	drain_abort(p->worker->worker);
}

/* ---- the workers' ends ---- */

struct worker_end {
	struct loop_message message;
	struct daemon *daemon;
};

static void worker_ended(struct loop_message *m)
{
	struct worker_end *e = container_of(m, struct worker_end, message);
	struct daemon *d = e->daemon;

	alloc_free(e);
	d->workers_flushing--;
	daemon_stop_settle(d);
}

void daemon_stop_settle(struct daemon *d)
{
	if (d->stage == STOP_NOT || d->workers_flushing || d->broadcasts)
		return;
	d->drained = true;
	loop_stop(d->loop);
}

/* On the worker's loop, once. */
static void worker_idle(struct worker *w)
{
	struct daemon_worker *dw = w->platform;
	struct worker_end *e = alloc_zeroed(sizeof(*e));

	if (!e)
		return; /* the stop's time-out ends it */
	e->message.deliver = worker_ended;
	e->daemon = dw->daemon;
	worker_close_channels(w);
	loop_post(dw->daemon->loop, &e->message);
}

static void flush_then_idle(struct worker *w)
{
	w->idle = NULL;
	if (worker_flush_channels(w, worker_idle) < 0)
		worker_idle(w);
}

static void watch(struct broadcast_part *p, void *arg)
{
	(void)arg;
	p->worker->worker->idle = flush_then_idle;
	worker_settle(p->worker->worker);
}

/* ---- the stages ---- */

static void enter_closing(struct daemon *d)
{
	d->stage = STOP_CLOSING;
	broadcast_run(d, close_sessions, NULL, d);
	loop_timer_arm(d->loop, &d->stop_timer, d->config->drain_timeout_ns);
}

static void enter_aborting(struct daemon *d)
{
	d->stage = STOP_ABORTING;
	broadcast_run(d, abort_sessions, NULL, d);
	loop_timer_arm(d->loop, &d->stop_timer, FLUSH_NS);
}

static void stop_expired(struct loop_timer *t)
{
	struct daemon *d = container_of(t, struct daemon, stop_timer);

	if (d->stage == STOP_ASKED) {
		enter_closing(d);
	} else if (d->stage == STOP_CLOSING) {
		log_warning("stop", "commands are still under way after drain_timeout: aborted");
		enter_aborting(d);
	} else {
		log_error("stop", "a backend does not give its requests back: the end without it");
		loop_stop(d->loop);
	}
}

static void stop_listening(struct daemon *d)
{
	for (size_t i = 0; i < d->portal_count; i++)
		portal_free(d->portals[i]);
	d->portal_count = 0;
	rdma_portals_free(d);
}

static void begin(struct daemon *d)
{
	log_info("stop", "no more logins; waiting for commands to end");
	atomic_store(&d->targets->draining, true);
	stop_listening(d);
	d->stage = STOP_ASKED;
	d->workers_flushing = d->worker_count;
	d->stop_timer.expired = stop_expired;
	if (broadcast_run(d, watch, NULL, d) < 0 || broadcast_run(d, ask, NULL, d) < 0 ||
		loop_timer_arm(
			d->loop, &d->stop_timer, min_u64(ASK_NS, d->config->drain_timeout_ns)) < 0)
		loop_stop(d->loop);
}

void daemon_stop(struct daemon *d)
{
	if (d->stage == STOP_NOT)
		begin(d);
	else if (d->stage != STOP_ABORTING)
		enter_aborting(d);
}

/* The end of a worker's connections when the daemon stops. Called by the daemon, by message, on the
 * worker's loop. */
#include "target/drain.h"

#include "target/session_state.h"

/* New commands are dropped from here on; those under way run to their end. */
static void close_at_rest(struct tgt_session *s)
{
	s->draining = true;
	tgt_session_settle(s);
}

static bool may_be_asked(const struct tgt_conn *c)
{
	return !c->dm->rdma && !c->session->entry.discovery && conn_fsm_carries_commands(&c->fsm);
}

static void ask_one(struct tgt_conn *c, uint16_t seconds)
{
	if (c->login)
		tgt_conn_fail(c, CONN_EVENT_DROP, "the target is stopping");
	else if (c->terminated || !c->session)
		return;
	else if (may_be_asked(c))
		tgt_logout_ask(c, seconds);
	else
		close_at_rest(c->session);
}

void drain_ask(struct worker *w, uint16_t seconds)
{
	struct tgt_conn *c, *next;

	list_for_each_safe(c, next, &w->conns, worker_link)
		ask_one(c, seconds);
	worker_settle(w);
}

void drain_close(struct worker *w)
{
	struct tgt_conn *c, *next;

	list_for_each_safe(c, next, &w->conns, worker_link)
		if (c->session && !c->terminated)
			close_at_rest(c->session);
}

void drain_abort(struct worker *w)
{
	struct tgt_conn *c, *next;

	list_for_each_safe(c, next, &w->conns, worker_link)
		tgt_conn_fail(c, CONN_EVENT_SESSION_CLOSED, "the target stops and waits no longer");
}

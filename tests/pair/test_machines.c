/* Every state of a session, and of a connection at either end, meets every event, in live sessions:
 * a pair that is not defined ends that connection alone, and says so with its trail; whatever the
 * pair, the session ends once, tasks are told once, nothing is left, and another session of the
 * same process goes on. The rows themselves are tested in unit/common/iscsi/test_conn_fsm.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "initiator/session_private.h"
#include "target/drain.h"
#include "target/session_state.h"
#include "tests/kit/stories.h"
#include "tests/kit/two_faults.h"

/* ---- the world ---- */

struct world {
	struct two_ends *ends;
	struct two_session witness, session;
	struct two_task task; /* a slow read that is under way */
	uint8_t data[1024];
	bool submitted;
	unsigned strangers; /* lines about a pair that is not defined, with a trail */
	unsigned tmf_asked, tmf_told;
	unsigned long live;
};

static void line_look(void *arg, enum log_level level, const char *line)
{
	struct world *w = arg;

	if (getenv("STORIES_LOG"))
		fprintf(stderr, "# %s\n", line);
	if (level <= LOG_LEVEL_DEBUG && strstr(line, "does not belong to state S") &&
		strstr(line, "; S"))
		w->strangers++;
}

static void witness_works(struct world *w)
{
	struct two_task t;

	two_task_ready(&t, 0);
	two_task_run(&w->witness, &t);
	assert_int_equal(w->witness.lost, 0);
}

static void world_open(struct world *w, const struct two_ends_config *config)
{
	struct two_ends_config c = *config;
	struct ini_session_config s;

	c.shallow = true;
	memset(w, 0, sizeof(*w));
	w->ends = two_ends_new(&c);
	s = two_session_config(w->ends, TWO_ENDS_CHAP_IQN);
	s.auth = (struct login_auth){.name = TWO_ENDS_NAME, .secret = TWO_ENDS_SECRET};
	two_session_login(&w->witness, w->ends, &s);
	assert_int_equal(w->witness.logged_in, 1);
	witness_works(w);
	log_set_level(LOG_LEVEL_DEBUG);
	log_set_sink(line_look, w);
}

static void world_close(struct world *w)
{
	two_session_end(&w->witness);
	two_ends_free(w->ends);
	log_set_sink(NULL, NULL);
	log_set_level(LOG_LEVEL_INFO);
}

static struct ini_session_config configuration(struct world *w)
{
	struct ini_session_config c = two_session_config(w->ends, TWO_ENDS_IQN);

	c.isid.bytes[5] = 9;
	c.login_attempts = 1000;
	c.replacement_timeout_ns = 2 * LOOP_NS_PER_S;
	return c;
}

static void session_new(struct world *w)
{
	static const struct ini_session_events *const events = &two_session_events;
	struct ini_session_config c = configuration(w);

	w->session = (struct two_session){.ends = w->ends};
	w->submitted = false;
	w->strangers = w->tmf_asked = w->tmf_told = 0;
	assert_int_equal(ini_session_new(&c, events, &w->session, &w->session.session), 0);
}

static bool is_logged_in(void *arg)
{
	return ((struct world *)arg)->session.logged_in > 0;
}

static void session_login(struct world *w)
{
	session_new(w);
	ini_session_start(w->session.session);
	two_ends_until(w->ends, is_logged_in, w);
}

static void slow_read_submit(struct world *w)
{
	two_task_read(&w->task, 1, 0, 2, w->data, NULL);
	two_task_submit(&w->session, &w->task);
	w->submitted = true;
}

/* Lets happen what needs no time. */
static void settle(struct world *w)
{
	for (unsigned i = 0; i < 100000 && loop_turn(two_ends_loop(w->ends), 0); i++)
		;
}

static bool is_ended(void *arg)
{
	return ((struct world *)arg)->session.ended > 0;
}

/* Whatever has happened: the session ends, once, and so do its tasks. */
static void session_finish(struct world *w)
{
	two_ends_refuse(w->ends, false);
	two_ends_turn_for(w->ends, 300 * LOOP_NS_PER_MS);
	ini_session_close(w->session.session);
	two_ends_until(w->ends, is_ended, w);
	two_ends_turn_for(w->ends, 0);
	assert_int_equal(w->session.ended, 1);
	assert_int_equal(w->session.unexplained, 0);
	if (w->submitted)
		assert_int_equal(w->task.done, 1);
	assert_int_equal(w->tmf_told, w->tmf_asked);
	ini_session_free(w->session.session);
	witness_works(w);
	w->live = two_ends_rest(w->ends, 1);
}

/* ---- sessions: states ---- */

static void reach_free(struct world *w)
{
	session_new(w);
}

static void reach_connecting(struct world *w)
{
	session_new(w);
	two_ends_refuse(w->ends, true);
	ini_session_start(w->session.session);
	settle(w);
}

static void reach_logged_in(struct world *w)
{
	session_login(w);
	slow_read_submit(w);
	settle(w);
}

static void reach_recovering(struct world *w)
{
	reach_logged_in(w);
	two_ends_refuse(w->ends, true);
	two_ends_cut(w->ends);
	settle(w);
}

static void reach_failed(struct world *w)
{
	reach_recovering(w);
	two_ends_turn_for(w->ends, 3 * LOOP_NS_PER_S);
}

static void reach_logging_out(struct world *w)
{
	reach_logged_in(w);
	ini_session_logout(w->session.session);
}

static void reach_closing(struct world *w)
{
	reach_logged_in(w);
	ini_session_close(w->session.session);
}

static void reach_closed(struct world *w)
{
	reach_closing(w);
	two_ends_until(w->ends, is_ended, w);
}

static void (*const reach_session[])(struct world *w) = {
	[INI_SESSION_FREE] = reach_free,
	[INI_SESSION_CONNECTING] = reach_connecting,
	[INI_SESSION_LOGGED_IN] = reach_logged_in,
	[INI_SESSION_RECOVERING] = reach_recovering,
	[INI_SESSION_FAILED] = reach_failed,
	[INI_SESSION_LOGGING_OUT] = reach_logging_out,
	[INI_SESSION_CLOSING] = reach_closing,
	[INI_SESSION_CLOSED] = reach_closed,
};

/* ---- sessions: events ---- */

static void event_start(struct world *w)
{
	ini_session_start(w->session.session);
}

static void event_logout(struct world *w)
{
	ini_session_logout(w->session.session);
}

static void event_close(struct world *w)
{
	ini_session_close(w->session.session);
}

static void event_recover(struct world *w)
{
	ini_session_recover(w->session.session, "the test");
}

static void event_submit(struct world *w)
{
	if (!w->submitted)
		slow_read_submit(w);
}

static void event_abort(struct world *w)
{
	if (w->submitted && !w->task.done)
		ini_session_abort(w->session.session, &w->task.task);
}

static void event_fail_lun(struct world *w)
{
	ini_session_fail_lun(w->session.session, 1, -ENODEV);
}

static void tmf_told(void *arg, int response)
{
	(void)response;
	((struct world *)arg)->tmf_told++;
}

static void event_reset(struct world *w)
{
	w->tmf_asked += ini_session_reset_lun(w->session.session, 1, tmf_told, w) == 0;
}

static void event_luns_changed(struct world *w)
{
	ini_session_luns_changed(w->session.session);
}

/* Both ends' connections of this session are killed by the target. */
static void event_killed(struct world *w)
{
	struct tgt_conn *c;

	list_for_each(c, &two_ends_worker(w->ends)->conns, worker_link) {
		if (c->session && c->session->target &&
			!strcmp(c->session->target->name, TWO_ENDS_IQN))
			tgt_conn_fail(c, CONN_EVENT_DROP, "killed by the test");
	}
}

static void event_asked_to_log_out(struct world *w)
{
	struct tgt_conn *c;

	list_for_each(c, &two_ends_worker(w->ends)->conns, worker_link) {
		if (c->session && c->session->target && !c->terminated &&
			conn_fsm_carries_commands(&c->fsm) &&
			!strcmp(c->session->target->name, TWO_ENDS_IQN))
			tgt_logout_ask(c, 1);
	}
}

static void event_time(struct world *w)
{
	two_ends_turn_for(w->ends, LOOP_NS_PER_S);
}

/* What a state becomes at once, where the event decides it. */
static bool becomes(
	enum ini_session_state from, void (*event)(struct world *w), enum ini_session_state to)
{
	if (event == event_start && from == INI_SESSION_FREE)
		return to == INI_SESSION_CONNECTING;
	if (event == event_logout && from == INI_SESSION_LOGGED_IN)
		return to == INI_SESSION_LOGGING_OUT;
	if ((event == event_logout && from < INI_SESSION_LOGGING_OUT) ||
		(event == event_close && from < INI_SESSION_CLOSING))
		return to >= INI_SESSION_CLOSING;
	return event == event_time || to == from;
}

static void every_state_of_a_session_meets_every_event(const struct two_ends_config *config)
{
	static void (*const events[])(struct world * w) = {event_start, event_logout, event_close,
		event_recover, event_submit, event_abort, event_fail_lun, event_reset,
		event_luns_changed, event_killed, event_asked_to_log_out, event_time};
	const struct ini_session *s;
	unsigned long live = 0;
	struct world w;

	world_open(&w, config);
	for (unsigned state = 0; state < ARRAY_SIZE(reach_session); state++) {
		for (unsigned e = 0; e < ARRAY_SIZE(events); e++) {
			reach_session[state](&w);
			s = w.session.session;
			assert_int_equal(s->state, state);
			events[e](&w);
			if (!becomes(state, events[e], s->state))
				fail_msg("state %s, event %u: %s", ini_session_state_name(state), e,
					ini_session_state_name(s->state));
			session_finish(&w);
			if (live && w.live != live)
				fail_msg("state %s, event %u: memory is left",
					ini_session_state_name(state), e);
			if (state == INI_SESSION_LOGGED_IN)
				live = w.live; /* the channels of its LUNs are open by now */
		}
	}
	world_close(&w);
}

/* ---- connections ---- */

/* A login that stands still: once the target has the connection, or has answered once. */
static void login_stalled(struct world *w, unsigned way)
{
	const struct pipe_plan plan = {.stall_way = way, .stall_messages = 1};
	struct ini_session_config c = configuration(w);

	c.target_name = TWO_ENDS_CHAP_IQN;
	c.auth = (struct login_auth){
		.chap_required = true, .name = TWO_ENDS_NAME, .secret = TWO_ENDS_SECRET};
	two_ends_plan(w->ends, &plan);
	w->session = (struct two_session){.ends = w->ends};
	w->submitted = false;
	w->strangers = w->tmf_asked = w->tmf_told = 0;
	assert_int_equal(
		ini_session_new(&c, &two_session_events, &w->session, &w->session.session), 0);
	ini_session_start(w->session.session);
}

/* The target's connection of the session, the newest. */
static struct tgt_conn *target_conn(struct world *w)
{
	struct worker *worker = two_ends_worker(w->ends);
	struct tgt_conn *c = list_entry(worker->conns.prev, struct tgt_conn, worker_link);

	return worker->conns.prev == worker->conns.next ? NULL : c; /* the witness alone */
}

static void turn_until_state(struct world *w, bool target, enum conn_state state)
{
	for (unsigned i = 0; i < 100000; i++) {
		struct tgt_conn *t = target_conn(w);
		struct ini_conn *c = w->session.session->conn;

		if (target ? t && t->fsm.state == state : c && c->fsm.state == state)
			return;
		loop_turn(two_ends_loop(w->ends), 0);
	}
	fail_msg("S%d was not reached", state);
}

static void reach_conn(struct world *w, bool target, enum conn_state state)
{
	if (state <= CONN_XPT_UP) {
		login_stalled(w, 0);
	}
	if (state == CONN_XPT_WAIT) { /* within a turn it would be passed */
		loop_call_cancel(&w->session.session->connect_call);
		session_connect_call(&w->session.session->connect_call);
	} else if (state == CONN_XPT_UP) {
		turn_until_state(w, target, state);
	} else if (state == CONN_IN_LOGIN) {
		login_stalled(w, 1);
	} else {
		reach_logged_in(w);
		turn_until_state(w, true, CONN_LOGGED_IN);
		if (state == CONN_IN_LOGOUT)
			ini_session_logout(w->session.session);
		if (state == CONN_LOGOUT_REQUESTED && target)
			tgt_logout_ask(target_conn(w), 1);
		if (state == CONN_LOGOUT_REQUESTED && !target)
			ini_conn_step(w->session.session->conn, CONN_EVENT_LOGOUT_REQUESTED);
	}
	turn_until_state(w, target, state);
}

/* True if the pair is defined. */
static bool meet(struct world *w, bool target, enum conn_event event)
{
	if (target)
		return tgt_conn_step(target_conn(w), event) == 0;
	return ini_conn_step(w->session.session->conn, event) == 0;
}

/* After a step that only the table has made: the connection goes, as after any failure. */
static void drop(struct world *w, bool target)
{
	if (target)
		tgt_conn_fail(target_conn(w), CONN_EVENT_DROP, "dropped by the test");
	else
		ini_conn_fail(
			w->session.session->conn, CONN_EVENT_DROP, -EPROTO, "dropped by the test");
}

static void pair_meets(struct world *w, bool target, enum conn_state state, enum conn_event event)
{
	enum conn_role role = target ? CONN_TARGET : CONN_INITIATOR;
	struct conn_fsm f;
	bool defined;

	reach_conn(w, target, state);
	conn_fsm_init(&f, role);
	f.state = state;
	defined = meet(w, target, event);
	assert_int_equal(defined, conn_fsm_step(&f, event, 0) == 0);
	if (defined)
		drop(w, target);
	settle(w);
	assert_int_equal(w->strangers, defined ? 0 : 1);
	if (!defined && !target && w->session.lost)
		assert_non_null(strstr(w->session.why, "does not belong to state S"));
	session_finish(w);
}

static void every_state_of_a_connection_meets_every_event(
	const struct two_ends_config *config, bool target, const uint8_t *states, size_t count)
{
	unsigned long live = 0;
	struct world w;

	world_open(&w, config);
	reach_logged_in(&w);
	session_finish(&w);
	live = w.live;
	for (size_t s = 0; s < count; s++) {
		for (unsigned e = 0; e < CONN_EVENTS; e++) {
			pair_meets(&w, target, states[s], e);
			assert_int_equal(w.live, live);
		}
	}
	world_close(&w);
}

static void every_state_of_a_targets_connection_meets_every_event(
	const struct two_ends_config *config)
{
	static const uint8_t states[] = {
		CONN_XPT_UP, CONN_IN_LOGIN, CONN_LOGGED_IN, CONN_IN_LOGOUT, CONN_LOGOUT_REQUESTED};

	every_state_of_a_connection_meets_every_event(config, true, states, sizeof(states));
}

static void every_state_of_an_initiators_connection_meets_every_event(
	const struct two_ends_config *config)
{
	static const uint8_t states[] = {CONN_XPT_WAIT, CONN_IN_LOGIN, CONN_LOGGED_IN,
		CONN_IN_LOGOUT, CONN_LOGOUT_REQUESTED};

	every_state_of_a_connection_meets_every_event(config, false, states, sizeof(states));
}

int main(void)
{
	static const struct story stories[] = {
		STORY(every_state_of_a_session_meets_every_event),
		STORY(every_state_of_a_targets_connection_meets_every_event),
		STORY(every_state_of_an_initiators_connection_meets_every_event),
	};

	return stories_run(stories, sizeof(stories) / sizeof(stories[0]));
}

/* Aborts, resets, lost connections and ends in the middle of I/O: nothing hangs, nothing is told
 * twice, nothing is left, and what was held is issued again. LUN 1 is slow, so that there is a
 * middle. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/iscsi/pdu.h"
#include "tests/kit/stories.h"

#define BLOCK 512u
#define BLOCKS 256u
#define TASKS 8u

struct world {
	struct two_ends *ends;
	struct two_session session;
	uint8_t *out, *in; /* TASKS * BLOCKS * BLOCK bytes each */
	struct two_task tasks[TASKS];
	unsigned tmf_done;
	int tmf_response;
};

static void world_open(struct world *w, const struct two_ends_config *config)
{
	struct ini_session_config c;
	struct two_task ready;
	size_t length = TASKS * BLOCKS * BLOCK;

	*w = (struct world){.ends = two_ends_new(config)};
	c = two_session_config(w->ends, TWO_ENDS_IQN);
	two_session_login(&w->session, w->ends, &c);
	assert_int_equal(w->session.logged_in, 1);
	w->out = malloc(length);
	w->in = calloc(1, length);
	for (size_t i = 0; i < length; i++)
		w->out[i] = (uint8_t)(i * 7 + i / BLOCK);
	two_task_ready(&ready, 0);
	two_task_run(&w->session, &ready);
	two_task_ready(&ready, 1);
	two_task_run(&w->session, &ready);
}

static void world_close(struct world *w)
{
	two_session_end(&w->session);
	two_ends_free(w->ends);
	free(w->out);
	free(w->in);
}

static void slow_writes_submit(struct world *w)
{
	for (unsigned i = 0; i < TASKS; i++) {
		two_task_write(
			&w->tasks[i], 1, i * BLOCKS, BLOCKS, w->out + i * BLOCKS * BLOCK, NULL);
		two_task_submit(&w->session, &w->tasks[i]);
	}
	two_ends_turn_for(w->ends, 20 * LOOP_NS_PER_MS);
}

static bool tasks_are_done(void *arg)
{
	struct world *w = arg;

	for (unsigned i = 0; i < TASKS; i++) {
		if (!w->tasks[i].done)
			return false;
	}
	return true;
}

static void tasks_expect(struct world *w, int error)
{
	two_ends_until(w->ends, tasks_are_done, w);
	for (unsigned i = 0; i < TASKS; i++) {
		assert_int_equal(w->tasks[i].done, 1);
		assert_int_equal(w->tasks[i].error, error);
		if (!error)
			assert_int_equal(w->tasks[i].task.status, 0);
	}
}

static void content_verify(struct world *w)
{
	struct two_task t;

	two_task_read(&t, 1, 0, TASKS * BLOCKS, w->in, NULL);
	two_task_run(&w->session, &t);
	assert_memory_equal(w->in, w->out, TASKS * BLOCKS * BLOCK);
}

static void fast_lun_still_works(struct world *w)
{
	struct two_task t;

	two_task_write(&t, 0, 0, BLOCKS, w->out, NULL);
	two_task_run(&w->session, &t);
	two_task_read(&t, 0, 0, BLOCKS, w->in, NULL);
	two_task_run(&w->session, &t);
	assert_memory_equal(w->in, w->out, BLOCKS * BLOCK);
}

/* ---- stories ---- */

static void aborted_task_ends_and_the_session_goes_on(const struct two_ends_config *config)
{
	struct two_task *t;
	struct world w;

	world_open(&w, config);
	t = &w.tasks[0];
	two_task_read(t, 1, 0, BLOCKS, w.in, NULL);
	two_task_submit(&w.session, t);
	two_ends_turn_for(w.ends, 20 * LOOP_NS_PER_MS);
	ini_session_abort(w.session.session, &t->task);
	two_task_wait(&w.session, t);
	assert_true(t->error == -ECANCELED || t->error == 0);
	fast_lun_still_works(&w);
	assert_int_equal(w.session.lost, 0);
	world_close(&w);
}

static void abort_of_a_task_that_has_not_left(const struct two_ends_config *config)
{
	struct two_task *t;
	struct world w;

	world_open(&w, config);
	t = &w.tasks[0];
	two_task_read(t, 1, 0, BLOCKS, w.in, NULL);
	two_task_submit(&w.session, t);
	ini_session_abort(w.session.session, &t->task);
	two_task_wait(&w.session, t);
	fast_lun_still_works(&w);
	world_close(&w);
}

static void tmf_done(void *arg, int response)
{
	struct world *w = arg;

	w->tmf_done++;
	w->tmf_response = response;
}

static bool tmf_is_done(void *arg)
{
	return ((struct world *)arg)->tmf_done > 0;
}

static void lun_reset_under_writes_loses_none(const struct two_ends_config *config)
{
	struct world w;

	world_open(&w, config);
	slow_writes_submit(&w);
	assert_int_equal(ini_session_reset_lun(w.session.session, 1, tmf_done, &w), 0);
	two_ends_until(w.ends, tmf_is_done, &w);
	assert_int_equal(w.tmf_response, ISCSI_TMF_COMPLETE);
	tasks_expect(&w, 0); /* issued again */
	content_verify(&w);
	assert_int_equal(w.tmf_done, 1);
	world_close(&w);
}

static void lost_connection_under_writes_loses_none(const struct two_ends_config *config)
{
	struct world w;

	world_open(&w, config);
	slow_writes_submit(&w);
	two_ends_cut(w.ends);
	tasks_expect(&w, 0);
	assert_int_equal(w.session.logged_in, 2);
	content_verify(&w);
	world_close(&w);
}

static void connection_lost_again_and_again(const struct two_ends_config *config)
{
	struct world w;

	world_open(&w, config);
	for (unsigned i = 0; i < 3; i++) {
		slow_writes_submit(&w);
		two_ends_cut(w.ends);
		tasks_expect(&w, 0);
	}
	content_verify(&w);
	world_close(&w);
}

static bool is_lost(void *arg)
{
	return ((struct two_session *)arg)->lost > 1;
}

static void target_away_for_a_while(const struct two_ends_config *config)
{
	struct world w;

	world_open(&w, config);
	slow_writes_submit(&w);
	two_ends_refuse(w.ends, true);
	two_ends_cut(w.ends);
	two_ends_until(w.ends, is_lost, &w.session); /* the loss, and an attempt in vain */
	two_ends_refuse(w.ends, false);
	tasks_expect(&w, 0);
	content_verify(&w);
	world_close(&w);
}

static void target_away_for_too_long(const struct two_ends_config *config)
{
	struct ini_session_config c;
	struct two_task t;
	struct world w = {.ends = two_ends_new(config)};

	c = two_session_config(w.ends, TWO_ENDS_IQN);
	c.replacement_timeout_ns = 300 * LOOP_NS_PER_MS;
	two_session_login(&w.session, w.ends, &c);
	w.in = calloc(BLOCKS, BLOCK);
	two_task_ready(&t, 1);
	two_task_run(&w.session, &t);
	two_task_read(&t, 1, 0, BLOCKS, w.in, NULL);
	two_task_submit(&w.session, &t);
	two_ends_refuse(w.ends, true);
	two_ends_cut(w.ends);
	two_task_wait(&w.session, &t);
	assert_int_equal(t.error, -ETIMEDOUT);
	ini_session_close(w.session.session);
	world_close(&w);
}

static void logout_under_writes_ends_them(const struct two_ends_config *config)
{
	struct world w;

	world_open(&w, config);
	slow_writes_submit(&w);
	ini_session_logout(w.session.session);
	tasks_expect(&w, -ESHUTDOWN);
	assert_int_equal(w.session.error, 0);
	world_close(&w);
}

static void close_under_writes_ends_them(const struct two_ends_config *config)
{
	struct world w;

	world_open(&w, config);
	slow_writes_submit(&w);
	ini_session_close(w.session.session);
	tasks_expect(&w, -ESHUTDOWN);
	world_close(&w);
}

static void target_that_is_ended_under_reads_leaves_nothing(const struct two_ends_config *config)
{
	struct world w;

	world_open(&w, config);
	for (unsigned i = 0; i < TASKS; i++) {
		two_task_read(&w.tasks[i], 1, i * BLOCKS, BLOCKS, w.in + i * BLOCKS * BLOCK, NULL);
		two_task_submit(&w.session, &w.tasks[i]);
	}
	/* In the middle of the slow reads, and again while they are put. */
	two_ends_turn_for(w.ends, TWO_ENDS_SLOW_NS - 5 * LOOP_NS_PER_MS);
	two_ends_cut(w.ends);
	ini_session_close(w.session.session);
	tasks_expect(&w, -ESHUTDOWN);
	world_close(&w);
}

int main(void)
{
	static const struct story stories[] = {
		STORY(aborted_task_ends_and_the_session_goes_on),
		STORY(abort_of_a_task_that_has_not_left),
		STORY(lun_reset_under_writes_loses_none),
		STORY(lost_connection_under_writes_loses_none),
		STORY(connection_lost_again_and_again),
		STORY(target_away_for_a_while),
		STORY(target_away_for_too_long),
		STORY(logout_under_writes_ends_them),
		STORY(close_under_writes_ends_them),
		STORY(target_that_is_ended_under_reads_leaves_nothing),
	};

	return stories_run(stories, sizeof(stories) / sizeof(stories[0]));
}

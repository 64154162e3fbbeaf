/* Several loops of the target and of the initiator, each a thread, connected by TCP on loopback:
 * the hand-over of connections, reservations and resets across sessions on different loops,
 * sessions that take their predecessors' place, connections killed at either end. Sixteen sessions
 * log in and out, in plain iSCSI and in iSER, for 2 seconds, or 60 with STRESS=1. Meant for
 * ThreadSanitizer (VARIANT=tsan), useful in every variant. SEED=n chooses what is random. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/datamover/iser.h"
#include "common/datamover/tcp.h"
#include "common/rdma/softiwarp.h"
#include "common/scsi/cdb.h"
#include "common/scsi/reservation.h"
#include "initiator/session.h"
#include "tests/kit/threads_target.h"

#define INITIATORS 2u
#define ACTORS 8u /* per initiator thread */
#define TASKS 4u  /* under way per actor */
#define BLOCK 512u
#define BLOCKS_MAX 64u
#define KILLS_MAX 240u				       /* a quarter of a second apart */
#define OWN_BLOCKS (8u * 2048 / (INITIATORS * ACTORS)) /* of each LUN: an actor's own */

static uint32_t seed_chosen(void)
{
	const char *text = getenv("SEED");

	return text ? (uint32_t)strtoul(text, NULL, 0) : 1;
}

/* ---- the initiator: actors that log in, do this and that, and go ---- */

struct actor;

struct actor_task {
	struct ini_task task;
	struct actor *actor;
	bool active;
	uint8_t data[BLOCKS_MAX * BLOCK];
};

struct actor {
	struct initiator *initiator;
	unsigned index;
	struct ini_session *session;
	struct loop_timer again; /* the next session */
	struct actor_task tasks[TASKS];
	uint32_t random;
	unsigned left; /* tasks until it does something else */
	bool over;
};

struct initiator {
	struct loop *loop;
	struct dm_mover *tcp, *iser;
	struct rdma_provider *softiwarp;
	pthread_t thread;
	struct address portal;
	struct actor actors[ACTORS];
	unsigned index, over;
	bool stopping;
	struct loop_message stop;
	atomic_ulong logins;
	unsigned long lost, refused, tasks, good, failed, resets; /* read once joined */
};

static uint32_t random_next(struct actor *a)
{
	a->random = a->random * 1664525u + 1013904223u;
	return a->random >> 8;
}

static void actor_submit(struct actor_task *t);

static void reset_told(void *arg, int response)
{
	(void)arg;
	(void)response;
}

/* Something else than I/O. True: the session goes on. */
static bool actor_act(struct actor *a)
{
	switch (random_next(a) % 6) {
	case 0:
		ini_session_logout(a->session);
		return false;
	case 1:
		ini_session_close(a->session);
		return false;
	case 2:
		ini_session_recover(a->session, "killed by the test");
		return true;
	case 3:
		ini_session_abort(a->session, &a->tasks[random_next(a) % TASKS].task);
		return true;
	default:
		if (ini_session_reset_lun(
			    a->session, (uint16_t)(random_next(a) % 2), reset_told, a) == 0)
			a->initiator->resets++;
		return true;
	}
}

static void task_told(struct ini_task *task, int error)
{
	struct actor_task *t = container_of(task, struct actor_task, task);
	struct actor *a = t->actor;
	struct ini_session_info info;

	t->active = false;
	a->initiator->tasks++;
	a->initiator->good += error == 0 && task->status == 0;
	a->initiator->failed += error < 0;
	ini_session_get_info(a->session, &info);
	if (info.state >= INI_SESSION_LOGGING_OUT)
		return;
	if (a->initiator->stopping)
		ini_session_logout(a->session);
	else if (a->left > 0)
		a->left--;
	else {
		a->left = 5 + random_next(a) % 40;
		if (!actor_act(a))
			return;
	}
	if (!a->initiator->stopping)
		actor_submit(t);
}

static void task_reserve(struct actor_task *t)
{
	static const uint8_t actions[] = {RESERVATION_REGISTER_AND_IGNORE, RESERVATION_RESERVE,
		RESERVATION_RELEASE, RESERVATION_CLEAR, RESERVATION_PREEMPT,
		RESERVATION_PREEMPT_AND_ABORT};
	struct actor *a = t->actor;
	const uint64_t key = a->initiator->index * ACTORS + a->index + 1;
	uint8_t action = actions[random_next(a) % sizeof(actions)];
	const struct reservation_out out = {
		.key = action == RESERVATION_REGISTER_AND_IGNORE ? 0 : key,
		.service_action_key = action == RESERVATION_REGISTER_AND_IGNORE
					      ? key
					      : 1 + random_next(a) % (INITIATORS * ACTORS),
	};

	cdb_persistent_reserve_out(t->task.cdb, action, RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS,
		RESERVATION_OUT_LENGTH);
	reservation_out_encode(&out, t->data);
	t->task.write = (struct dm_buffer){t->data, RESERVATION_OUT_LENGTH, NULL};
}

static void task_move(struct actor_task *t, bool writes)
{
	struct actor *a = t->actor;
	uint32_t blocks = 1 + random_next(a) % BLOCKS_MAX;
	/* Two that write one block have no order, but one that comes back has: its old session is
	 * fenced. */
	uint32_t first = (a->initiator->index * ACTORS + a->index) * OWN_BLOCKS;
	struct dm_buffer buffer = {t->data, blocks * BLOCK, NULL};
	unsigned length;

	cdb_read_write(t->task.cdb, writes ? SCSI_DATA_OUT : SCSI_DATA_IN,
		first + random_next(a) % (OWN_BLOCKS - BLOCKS_MAX), blocks, false, &length);
	if (writes)
		t->task.write = buffer;
	else
		t->task.read = buffer;
}

static void actor_submit(struct actor_task *t)
{
	struct actor *a = t->actor;
	uint32_t what = random_next(a) % 16;

	t->task = (struct ini_task){.lun = (uint16_t)(random_next(a) % 2), .done = task_told};
	t->task.repeatable = what > 0;
	t->active = true;
	if (what == 0)
		task_reserve(t);
	else
		task_move(t, what & 1);
	ini_session_submit(a->session, &t->task);
}

static void actor_logged_in(void *owner)
{
	struct actor *a = owner;

	a->initiator->logins++;
	for (unsigned i = 0; i < TASKS; i++)
		if (!a->tasks[i].active)
			actor_submit(&a->tasks[i]);
}

static void actor_lost(void *owner, int error, unsigned login_status, const char *why)
{
	struct actor *a = owner;

	(void)error;
	(void)why;
	a->initiator->lost++;
	a->initiator->refused += login_status != 0;
	if (a->initiator->stopping)
		ini_session_close(a->session);
}

static void actor_over(struct actor *a)
{
	a->over = true;
	if (++a->initiator->over == ACTORS)
		loop_stop(a->initiator->loop);
}

static void actor_ended(void *owner, int error, unsigned login_status, const char *why)
{
	struct actor *a = owner;

	(void)error;
	(void)why;
	a->initiator->refused += login_status != 0;
	ini_session_free(a->session);
	a->session = NULL;
	if (a->initiator->stopping)
		actor_over(a);
	else
		loop_timer_arm(a->initiator->loop, &a->again, random_next(a) % LOOP_NS_PER_MS);
}

static void actor_begin(struct loop_timer *timer)
{
	static const struct ini_session_events events = {
		.logged_in = actor_logged_in, .lost = actor_lost, .ended = actor_ended};
	struct actor *a = container_of(timer, struct actor, again);
	struct initiator *ini = a->initiator;
	char name[64];
	struct ini_session_config c = {
		.loop = ini->loop,
		.mover = random_next(a) % 2 ? ini->tcp : ini->iser,
		.portal = ini->portal,
		.initiator_name = name,
		.target_name = THREADS_IQN,
		.isid = {{0x80, 0, 0, 0, 0, (uint8_t)a->index}},
		.login_attempts = 100,
		.replacement_timeout_ns = 20 * LOOP_NS_PER_S,
	};

	snprintf(name, sizeof(name), "iqn.2026-11.org.iseran:initiator%u", ini->index);
	iscsi_params_default(&c.offer);
	c.offer.default_time2wait = 0;
	a->left = random_next(a) % 40;
	assert_int_equal(ini_session_new(&c, &events, a, &a->session), 0);
	ini_session_start(a->session);
}

static void initiator_stop(struct loop_message *m)
{
	struct initiator *ini = container_of(m, struct initiator, stop);

	ini->stopping = true;
	for (unsigned i = 0; i < ACTORS; i++) {
		struct actor *a = &ini->actors[i];

		loop_timer_cancel(&a->again);
		if (a->session)
			ini_session_logout(a->session);
		else if (!a->over)
			actor_over(a);
	}
}

static void *initiator_run(void *arg)
{
	loop_run(((struct initiator *)arg)->loop);
	return NULL;
}

static void initiator_open(struct initiator *ini, unsigned index, const struct address *portal)
{
	const struct tcp_mover_config tcp = {0};
	const struct softiwarp_config softiwarp = {0};
	const struct iser_mover_config iser = {.allow_remote_invalidate = true};

	ini->loop = loop_new(NULL);
	ini->index = index;
	ini->portal = *portal;
	ini->stop.deliver = initiator_stop;
	ini->tcp = tcp_mover_new(ini->loop, &tcp);
	ini->softiwarp = softiwarp_new(ini->loop, &softiwarp);
	ini->iser = iser_mover_new(ini->loop, ini->softiwarp, &iser);
	assert_non_null(ini->tcp);
	assert_non_null(ini->iser);
	for (unsigned i = 0; i < ACTORS; i++) {
		struct actor *a = &ini->actors[i];

		a->initiator = ini;
		a->index = i;
		a->random = seed_chosen() + index * 100 + i;
		a->again.expired = actor_begin;
		for (unsigned t = 0; t < TASKS; t++)
			a->tasks[t].actor = a;
		loop_timer_arm(ini->loop, &a->again, i * LOOP_NS_PER_MS);
	}
	pthread_create(&ini->thread, NULL, initiator_run, ini);
}

static void initiator_close(struct initiator *ini)
{
	loop_post(ini->loop, &ini->stop);
	pthread_join(ini->thread, NULL);
	dm_mover_free(ini->tcp);
	dm_mover_free(ini->iser);
	rdma_provider_free(ini->softiwarp);
	loop_free(ini->loop);
}

/* A slow or busy machine takes its time. */
static bool all_have_been_in(struct initiator *ini)
{
	bool all = true;

	for (unsigned i = 0; i < INITIATORS; i++)
		all &= atomic_load(&ini[i].logins) >= ACTORS;
	return all;
}

static void sixteen_sessions_come_and_go_on_five_loops(void **state)
{
	const unsigned kills = getenv("STRESS") ? KILLS_MAX : 8;
	struct initiator *ini = calloc(INITIATORS, sizeof(*ini));
	unsigned long live = alloc_live();
	struct threads_target *t = threads_target_new();

	(void)state;
	assert_non_null(ini);
	for (unsigned i = 0; i < INITIATORS; i++)
		initiator_open(&ini[i], i, threads_target_address(t));
	for (unsigned i = 0; i < kills || (i < KILLS_MAX && !all_have_been_in(ini)); i++) {
		usleep(250 * 1000);
		threads_target_kill(t, i);
	}
	for (unsigned i = 0; i < INITIATORS; i++)
		initiator_close(&ini[i]);
	threads_target_free(t);
	for (unsigned i = 0; i < INITIATORS; i++) {
		const struct initiator *n = &ini[i];

		print_message("# %lu logins, %lu refused, %lu losses, %lu resets, %lu tasks, "
			      "%lu good, %lu failed\n",
			atomic_load(&n->logins), n->refused, n->lost, n->resets, n->tasks, n->good,
			n->failed);
		assert_true(atomic_load(&n->logins) >= ACTORS);
		assert_true(n->good > 0);
		assert_int_equal(n->refused, 0);
	}
	assert_int_equal(alloc_live(), live);
	free(ini);
}

static void hush(void *arg, enum log_level level, const char *line)
{
	(void)arg;
	(void)level;
	if (getenv("STORIES_LOG"))
		fprintf(stderr, "%s\n", line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sixteen_sessions_come_and_go_on_five_loops),
	};

	log_set_sink(hush, NULL);
	printf("# SEED=%u\n", seed_chosen());
	return cmocka_run_group_tests(tests, NULL, NULL);
}

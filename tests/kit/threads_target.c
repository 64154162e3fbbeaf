/* See threads_target.h. */
#include "tests/kit/threads_target.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/datamover/iser.h"
#include "common/datamover/tcp.h"
#include "common/rdma/softiwarp.h"
#include "target/backend/stores.h"
#include "target/drain.h"
#include "target/portal.h"
#include "target/target_set.h"

#define WORKERS 3u

struct end_worker {
	struct worker *worker;
	pthread_t thread;
	struct dm_mover *tcp;
	struct rdma_provider *softiwarp;
	struct rdma_acceptor *iser;
	struct tgt_acceptor tcp_acceptor, iser_acceptor;
	struct loop_message message;
	atomic_bool message_done;
};

struct threads_target {
	struct target_set *set;
	struct end_worker ends[WORKERS];
	struct worker *workers[WORKERS];
	struct portal_spread spread;
	struct portal *portal;
};

static enum listener_verdict match_tcp(const uint8_t *bytes, size_t length)
{
	return (enum listener_verdict)tcp_mover_match(bytes, length);
}

static int adopt_tcp(struct worker *w, int fd)
{
	struct end_worker *e = w->platform;

	return tcp_mover_adopt(e->tcp, fd, &e->tcp_acceptor.base);
}

static int adopt_iser(struct worker *w, int fd)
{
	struct end_worker *e = w->platform;

	return softiwarp_adopt(e->softiwarp, fd, e->iser);
}

static const struct portal_protocol protocols[] = {
	{"iSCSI", match_tcp, adopt_tcp},
	{"iSER", softiwarp_match, adopt_iser},
};

static int open_backend(
	const struct config_lun *row, struct backend **ret, char *why, size_t why_size)
{
	struct memory_config memory = {.size = row->size};
	struct delay_config delay;
	int r = memory_backend_new(&memory, ret, why, why_size);

	if (r < 0 || !row->delay)
		return r;
	delay = (struct delay_config){row->delay->read, row->delay->write, row->delay->flush};
	return delay_backend_new(*ret, &delay, ret, why, why_size);
}

static void platform_free(struct worker *w)
{
	rdma_provider_free(((struct end_worker *)w->platform)->softiwarp);
}

static void worker_make(struct threads_target *t, unsigned i)
{
	const struct worker_config config = {.commands = 256, .arena_size = 16 << 20};
	const struct tcp_mover_config tcp = {0};
	const struct softiwarp_config softiwarp = {0};
	const struct iser_mover_config iser = {.allow_remote_invalidate = true};
	struct end_worker *e = &t->ends[i];
	struct worker_mover *m;

	e->worker = t->workers[i] = worker_new(i, &config, t->set);
	assert_non_null(e->worker);
	e->worker->platform = e;
	e->worker->platform_free = platform_free;
	e->tcp = tcp_mover_new(e->worker->loop, &tcp);
	assert_int_equal(worker_add_mover(e->worker, e->tcp, &m), 0);
	tgt_acceptor_init(&e->tcp_acceptor, m);
	e->softiwarp = softiwarp_new(e->worker->loop, &softiwarp);
	assert_int_equal(worker_add_mover(e->worker,
				 iser_mover_new(e->worker->loop, e->softiwarp, &iser), &m),
		0);
	tgt_acceptor_init(&e->iser_acceptor, m);
	e->iser = iser_mover_acceptor(m->mover, &e->iser_acceptor.base);
	assert_non_null(e->iser);
}

static void *worker_run(void *arg)
{
	loop_run(((struct end_worker *)arg)->worker->loop);
	return NULL;
}

struct threads_target *threads_target_new(void)
{
	struct threads_target *t = calloc(1, sizeof(*t));
	static const char yaml[] = "targets:\n"
				   "  - name: " THREADS_IQN "\n"
				   "    luns:\n"
				   "      - {lun: 0, backend: memory, size: 8M}\n"
				   "      - {lun: 1, backend: memory, size: 8M,\n"
				   "         delay: {read: 1ms, write: 1ms, flush: 1ms}}\n";
	const struct listener_config listener = {0};
	struct config_report report = {0};
	struct config *config;
	struct address a;
	const char *why;

	assert_non_null(t);
	t->spread = (struct portal_spread){.workers = t->workers, .count = WORKERS};
	assert_int_equal(config_parse("threads", NULL, yaml, strlen(yaml), &report, &config), 0);
	assert_int_equal(target_set_new(config, WORKERS, open_backend, &report, &t->set), 0);
	config_release(config);
	config_report_free(&report);
	for (unsigned i = 0; i < WORKERS; i++)
		worker_make(t, i);
	assert_int_equal(address_parse("127.0.0.1:0", 0, &a, &why), 0);
	assert_int_equal(portal_new(t->workers[0]->loop, &a, &listener, protocols, 2, &t->spread,
				 &t->portal),
		0);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_create(&t->ends[i].thread, NULL, worker_run, &t->ends[i]);
	return t;
}

const struct address *threads_target_address(const struct threads_target *t)
{
	return portal_address(t->portal);
}

static void kill_deliver(struct loop_message *m)
{
	struct end_worker *e = container_of(m, struct end_worker, message);

	drain_abort(e->worker);
	atomic_store(&e->message_done, true);
}

void threads_target_kill(struct threads_target *t, unsigned i)
{
	struct end_worker *e = &t->ends[i % WORKERS];

	e->message.deliver = kill_deliver;
	atomic_store(&e->message_done, false);
	loop_post(e->worker->loop, &e->message);
	while (!atomic_load(&e->message_done))
		usleep(1000);
}

static void worker_idle(struct worker *w)
{
	worker_close_channels(w);
	loop_stop(w->loop);
}

static void end_deliver(struct loop_message *m)
{
	struct end_worker *e = container_of(m, struct end_worker, message);

	e->worker->idle = worker_idle;
	drain_abort(e->worker);
	worker_settle(e->worker);
}

void threads_target_free(struct threads_target *t)
{
	for (unsigned i = WORKERS; i-- > 0;) {
		t->ends[i].message.deliver = end_deliver;
		loop_post(t->workers[i]->loop, &t->ends[i].message);
		pthread_join(t->ends[i].thread, NULL);
	}
	portal_free(t->portal);
	for (unsigned i = 0; i < WORKERS; i++)
		worker_free(t->workers[i]);
	target_set_free(t->set);
	free(t);
}

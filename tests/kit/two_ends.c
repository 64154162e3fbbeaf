/* See two_ends.h: the movers and the target's end. two_session.c has the initiator's. */
#include "tests/kit/two_ends.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/datamover/iser.h"
#include "common/datamover/tcp.h"
#include "common/loop/loop_private.h"
#include "common/rdma/softiwarp.h"
#include "target/backend/stores.h"
#include "target/drain.h"
#include "target/target_set.h"
#include "tests/kit/memory_rdma.h"
#include "tests/kit/two_ends_internal.h"

static const char yaml[] =
	"immediate_data: %s\n"
	"targets:\n"
	"  - name: " TWO_ENDS_IQN "\n"
	"    luns:\n"
	"      - {lun: 0, backend: memory, size: 64M}\n"
	"      - {lun: 1, backend: memory, size: 16M,\n"
	"         delay: {read: 60ms, write: 60ms, flush: 60ms}}\n"
	"  - name: " TWO_ENDS_CHAP_IQN "\n"
	"    chap:\n"
	"      name: " TWO_ENDS_NAME "\n"
	"      secret: \"" TWO_ENDS_SECRET "\"\n"
	"      mutual: {name: " TWO_ENDS_MUTUAL_NAME ", secret: \"" TWO_ENDS_MUTUAL_SECRET "\"}\n"
	"    luns:\n"
	"      - {lun: 0, backend: memory, size: 1M}\n";

const char *two_ends_mover_name(enum two_ends_mover mover)
{
	static const char *const names[] = {
		[TWO_ENDS_TCP] = "tcp",
		[TWO_ENDS_TCP_DIGESTS] = "tcp with digests",
		[TWO_ENDS_ISER_MEMORY] = "iser by memcpy",
		[TWO_ENDS_ISER_SOFTIWARP] = "iser on software iWARP",
		[TWO_ENDS_ISER_SOFTIWARP_CRC] = "iser on software iWARP with CRC",
	};

	return names[mover];
}

/* ---- connecting through pipes ---- */

static int tcp_hook_connect(struct dm_mover *m, const struct address *to, uint64_t timeout_ns,
	const struct dm_upcalls *up, void *owner, struct dm_conn **ret)
{
	struct two_ends *e = container_of(m->ops, struct two_ends_hook, dm)->ends;
	int ends[2];
	int r = two_ends_pipe(e, ends);

	(void)to;
	(void)timeout_ns;
	if (r < 0)
		return r;
	r = tcp_mover_adopt(e->target, ends[1], &e->acceptor.base);
	if (r < 0) {
		close(ends[0]);
		return r;
	}
	return tcp_mover_adopt_active(e->initiator, ends[0], up, owner, ret);
}

static int softiwarp_hook_connect(struct rdma_provider *p, const struct address *to,
	uint64_t timeout_ns, const struct rdma_conn_limits *limits,
	const struct rdma_private_data *pd, const struct rdma_conn_upcalls *up, void *owner,
	struct rdma_conn **ret)
{
	struct two_ends *e = container_of(p->ops, struct two_ends_hook, rdma)->ends;
	int ends[2];
	int r = two_ends_pipe(e, ends);

	(void)to;
	if (r < 0)
		return r;
	r = softiwarp_adopt(e->target_provider, ends[1], &e->hooked_acceptor);
	if (r < 0) {
		close(ends[0]);
		return r;
	}
	r = softiwarp_connect_fd(p, ends[0], timeout_ns, limits, pd, up, owner, ret);
	if (r == 0)
		two_ends_cover_conn(e, *ret);
	return r;
}

/* ---- the movers ---- */

static void tcp_make(struct two_ends *e)
{
	bool digests = e->config.mover == TWO_ENDS_TCP_DIGESTS;
	unsigned set = digests ? ISCSI_DIGEST_CRC32C : ISCSI_DIGEST_NONE;
	struct tcp_mover_config config = {.header_digest = set, .data_digest = set};

	e->target = tcp_mover_new(e->worker->loop, &config);
	e->initiator = tcp_mover_new(e->worker->loop, &config);
	assert_non_null(e->target);
	assert_non_null(e->initiator);
	e->hook.dm = *e->initiator->ops;
	e->hook.dm.connect = tcp_hook_connect;
	e->initiator->ops = &e->hook.dm;
}

static void memory_make(struct two_ends *e)
{
	e->target_provider = e->initiator_provider = memory_rdma_new(e->worker->loop);
	assert_non_null(e->target_provider);
	e->hook.rdma = *e->initiator_provider->ops;
}

static void softiwarp_make(struct two_ends *e)
{
	struct softiwarp_config config = {
		.crc = e->config.mover == TWO_ENDS_ISER_SOFTIWARP_CRC ? SOFTIWARP_CRC_ON
								      : SOFTIWARP_CRC_OFF,
	};

	e->target_provider = softiwarp_new(e->worker->loop, &config);
	e->initiator_provider = softiwarp_new(e->worker->loop, &config);
	assert_non_null(e->target_provider);
	assert_non_null(e->initiator_provider);
	e->hook.rdma = *e->initiator_provider->ops;
	e->hook.rdma.connect = softiwarp_hook_connect;
}

static void iser_make(struct two_ends *e)
{
	struct iser_mover_config config = {
		.allow_remote_invalidate = true,
		.queue_depth = e->config.shallow ? 16 : 0,
	};

	if (e->config.mover == TWO_ENDS_ISER_MEMORY)
		memory_make(e);
	else
		softiwarp_make(e);
	two_ends_cover_provider(e);
	e->target = iser_mover_new(e->worker->loop, e->target_provider, &config);
	e->initiator = iser_mover_new(e->worker->loop, e->initiator_provider, &config);
	assert_non_null(e->target);
	assert_non_null(e->initiator);
}

static void movers_make(struct two_ends *e)
{
	struct worker_mover *mover;
	bool tcp = e->config.mover <= TWO_ENDS_TCP_DIGESTS;

	e->hook.ends = e;
	if (tcp)
		tcp_make(e);
	else
		iser_make(e);
	assert_int_equal(worker_add_mover(e->worker, e->target, &mover), 0);
	tgt_acceptor_init(&e->acceptor, mover);
	if (tcp)
		return;
	e->rdma_acceptor = iser_mover_acceptor(e->target, &e->acceptor.base);
	assert_non_null(e->rdma_acceptor);
	if (e->config.mover == TWO_ENDS_ISER_MEMORY)
		memory_rdma_listen(e->target_provider, &e->hooked_acceptor);
}

/* ---- the target ---- */

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

static void target_make(struct two_ends *e)
{
	const struct worker_config worker = {.commands = TWO_ENDS_COMMANDS, .arena_size = 32 << 20};
	struct config_report report = {0};
	struct config *config;
	char text[sizeof(yaml) + 8];

	snprintf(text, sizeof(text), yaml, e->config.immediate_data ? "true" : "false");
	if (config_parse("pair", NULL, text, strlen(text), &report, &config) < 0)
		fail_msg("%s", report.count ? report.lines[0] : "no memory");
	if (target_set_new(config, 1, open_backend, &report, &e->set) < 0)
		fail_msg("%s", report.count ? report.lines[0] : "no memory");
	config_report_free(&report);
	config_release(config);
	e->worker = worker_new(0, &worker, e->set);
	assert_non_null(e->worker);
	e->worker->loop->config.virtual_clock = true;
}

struct two_ends *two_ends_new(const struct two_ends_config *config)
{
	unsigned long live = alloc_live();
	struct two_ends *e = calloc(1, sizeof(*e));

	assert_non_null(e);
	e->config = *config;
	e->live = live;
	target_make(e);
	movers_make(e);
	return e;
}

/* ---- the end ---- */

static bool target_is_idle(void *arg)
{
	struct two_ends *e = arg;

	return list_empty(&e->worker->conns) && list_empty(&e->worker->sessions);
}

static void memory_check(const struct two_ends *e)
{
	struct memory_rdma_counts counts = memory_rdma_counts(e->target_provider);

	assert_int_equal(counts.conns, 0);
	assert_int_equal(counts.regions, 0);
	assert_int_equal(counts.tags, 0);
}

/* The providers outlive the movers, the loop (which the worker frees) outlives the providers. */
static void movers_free(struct two_ends *e)
{
	struct worker *w = e->worker;

	dm_mover_free(e->initiator);
	for (unsigned i = 0; i < w->mover_count; i++) {
		dm_unregister_region(w->movers[i].mover, w->movers[i].arena);
		dm_mover_free(w->movers[i].mover);
	}
	w->mover_count = 0;
	if (e->config.mover == TWO_ENDS_ISER_MEMORY)
		memory_check(e);
	if (e->initiator_provider != e->target_provider)
		rdma_provider_free(e->initiator_provider);
	rdma_provider_free(e->target_provider);
}

void two_ends_free(struct two_ends *e)
{
	unsigned long live = e->live;

	drain_abort(e->worker);
	two_ends_until(e, target_is_idle, e);
	worker_close_channels(e->worker);
	two_ends_turn_for(e, 0);
	for (unsigned i = 0; i < e->pipe_count; i++)
		pipe_free(e->pipes[i]);
	movers_free(e);
	worker_free(e->worker);
	target_set_free(e->set);
	free(e);
	assert_int_equal(alloc_live(), live);
}

/* ---- turning ---- */

struct loop *two_ends_loop(struct two_ends *e)
{
	return e->worker->loop;
}

struct worker *two_ends_worker(struct two_ends *e)
{
	return e->worker;
}

struct dm_mover *two_ends_initiator_mover(struct two_ends *e)
{
	return e->initiator;
}

void two_ends_until(struct two_ends *e, bool (*condition)(void *arg), void *arg)
{
	struct loop *l = e->worker->loop;
	uint64_t until = loop_now(l) + PATIENCE_NS, turns = 0;

	while (!condition(arg)) {
		if (loop_now(l) > until || turns++ > TURNS_MAX)
			fail_msg("nothing came in 20 seconds, over %s",
				two_ends_mover_name(e->config.mover));
		if (!loop_turn(l, 0) && !two_ends_wait_virtually(e, until))
			fail_msg("nothing comes any more, over %s",
				two_ends_mover_name(e->config.mover));
	}
}

void two_ends_turn_for(struct two_ends *e, uint64_t ns)
{
	struct loop *l = e->worker->loop;
	uint64_t until = loop_now(l) + ns;

	while (loop_turn(l, 0) || loop_now(l) < until) {
		if (loop_turn(l, 0))
			continue;
		if (!two_ends_wait_virtually(e, until))
			loop_advance(l, until - loop_now(l));
	}
}

/* ---- trouble ---- */

void two_ends_cut(struct two_ends *e)
{
	if (e->config.mover == TWO_ENDS_ISER_MEMORY) {
		struct rdma_conn *c = memory_rdma_newest(e->target_provider, true);

		assert_non_null(c);
		memory_rdma_break(c);
		return;
	}
	assert_true(e->pipe_count > 0);
	pipe_cut(e->pipes[e->pipe_count - 1]);
}

void two_ends_refuse(struct two_ends *e, bool refused)
{
	e->refused = refused;
	if (e->config.mover == TWO_ENDS_ISER_MEMORY)
		memory_rdma_listen(e->target_provider, refused ? NULL : &e->hooked_acceptor);
}

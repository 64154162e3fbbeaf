/* A worker: one loop of the target and what it owns, and its channels to the backends. Made by the
 * daemon's main before the threads start; the channels are used on the worker's own loop. */
#include "target/worker.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "target/command.h"
#include "target/target_set.h"

#define COMMANDS_DEFAULT 1024
#define ARENA_DEFAULT ((size_t)64 << 20)
/* The part of this host's memory that a LUN's own may be, to be pinned for an RDMA device: pinning
 * touches all of it, also what nobody has written yet. */
#define PINNED_SHARE 2

struct worker_channel {
	struct list link;    /* worker->channels */
	struct tgt_lun *lun; /* held */
	struct backend_channel *channel;
	unsigned users;
	struct dm_region *regions[WORKER_MOVERS_MAX]; /* of the backend's memory, by mover */
};

static void settle(struct loop_call *call)
{
	struct worker *w = container_of(call, struct worker, settle);

	if (w->idle && list_empty(&w->conns) && list_empty(&w->sessions))
		w->idle(w);
}

void worker_settle(struct worker *w)
{
	loop_defer(w->loop, &w->settle);
}

struct worker *worker_new(
	unsigned index, const struct worker_config *config, struct target_set *targets)
{
	const struct loop_config loop = {.spin_ns = config->spin_ns};
	struct worker *w = alloc_zeroed(sizeof(*w));

	if (!w)
		return NULL;
	w->index = index;
	w->targets = targets;
	w->settle.call = settle;
	list_init(&w->starved);
	list_init(&w->sessions);
	list_init(&w->conns);
	list_init(&w->channels);
	w->loop = loop_new(&loop);
	if (w->loop)
		w->arena = arena_new(config->arena_size ? config->arena_size : ARENA_DEFAULT);
	if (w->arena)
		w->commands = pool_new(config->commands ? config->commands : COMMANDS_DEFAULT,
			sizeof(struct command));
	if (w->commands)
		return w;
	worker_free(w);
	return NULL;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	loop_call_cancel(&w->settle);
	for (unsigned i = 0; i < w->mover_count; i++) {
		dm_unregister_region(w->movers[i].mover, w->movers[i].arena);
		dm_mover_free(w->movers[i].mover);
	}
	if (w->platform_free)
		w->platform_free(w);
	pool_free(w->commands);
	arena_free(w->arena);
	loop_free(w->loop);
	alloc_free(w);
}

int worker_add_mover(struct worker *w, struct dm_mover *mover, struct worker_mover **ret)
{
	struct worker_mover *m = &w->movers[w->mover_count];
	size_t length;
	void *memory = arena_memory(w->arena, &length);
	int err;

	if (!mover)
		return -ENOMEM;
	if (w->mover_count == WORKER_MOVERS_MAX) {
		dm_mover_free(mover);
		return -ENOSPC;
	}
	err = dm_register_region(mover, memory, length, &m->arena);
	if (err < 0) {
		dm_mover_free(mover);
		return err;
	}
	m->worker = w;
	m->mover = mover;
	w->mover_count++;
	*ret = m;
	return 0;
}

/* ---- channels ---- */

static void channel_close(struct worker *w, struct worker_channel *c)
{
	for (unsigned i = 0; i < w->mover_count; i++)
		dm_unregister_region(w->movers[i].mover, c->regions[i]);
	list_remove(&c->link);
	c->lun->channels[w->index] = NULL;
	backend_close_channel(c->channel);
	tgt_lun_release(c->lun);
	alloc_free(c);
}

/* Worth having, but the channel works without it. */
static void register_arena(struct worker *w, struct backend_channel *channel)
{
	const struct backend_ops *ops = channel->backend->ops;
	size_t length;
	void *memory = arena_memory(w->arena, &length);
	int err = ops->register_arena ? ops->register_arena(channel, memory, length) : 0;

	if (err < 0)
		log_debug("worker", "backend %s: buffers are not registered: error %d", ops->name,
			-err);
}

static bool may_be_pinned(size_t length)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 && length <= (size_t)pages * (size_t)size / PINNED_SHARE;
}

/* Whether `m` should know the memory now. */
static bool pin_memory(struct dm_mover *m, struct backend *b, size_t length)
{
	enum dm_pinning pinning = dm_pinning(m);

	if (pinning == DM_PINS_NOT)
		return true;
	if (pinning == DM_PINS_LATER || !may_be_pinned(length))
		return false;
	if (b->ops->pin)
		b->ops->pin(b);
	return true;
}

/* With the movers that do not know it yet: an RDMA device may have come since. What cannot be
 * registered is copied. */
static void register_memory(struct worker *w, struct worker_channel *c, struct backend *b)
{
	size_t length;
	void *memory = b->ops->memory ? b->ops->memory(b, &length) : NULL;

	for (unsigned i = 0; memory && i < w->mover_count; i++) {
		struct dm_mover *m = w->movers[i].mover;

		if (c->regions[i] || !pin_memory(m, b, length))
			continue;
		if (dm_register_region(m, memory, length, &c->regions[i]) < 0)
			log_warning("worker", "the memory of a LUN cannot be registered: "
					      "its data is copied");
	}
}

struct dm_region *worker_channel_region(struct worker_mover *m, struct tgt_lun *lun)
{
	return lun->channels[m->worker->index]->regions[m - m->worker->movers];
}

static int channel_open(struct worker *w, struct tgt_lun *lun, struct worker_channel **ret)
{
	struct worker_channel *c = alloc_zeroed(sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = backend_open_channel(lun->device->backend, w->loop, &c->channel);
	if (err < 0) {
		alloc_free(c);
		return err;
	}
	register_arena(w, c->channel);
	c->lun = tgt_lun_hold(lun);
	lun->channels[w->index] = c;
	list_append(&w->channels, &c->link);
	*ret = c;
	return 0;
}

int worker_channel_get(struct worker *w, struct tgt_lun *lun, struct backend_channel **ret)
{
	struct worker_channel *c = lun->channels[w->index];
	int err = c ? 0 : channel_open(w, lun, &c);

	if (err < 0)
		return err;
	register_memory(w, c, lun->device->backend);
	c->users++;
	*ret = c->channel;
	return 0;
}

static void lun_open_memory(struct worker *w, struct tgt_lun *lun)
{
	struct backend_channel *channel;

	if (lun->device->backend->ops->memory && worker_channel_get(w, lun, &channel) == 0)
		worker_channel_put(w, lun);
}

void worker_open_memory(struct worker *w)
{
	struct tgt_target *t;

	pthread_mutex_lock(&w->targets->lock);
	list_for_each(t, &w->targets->targets, link) {
		for (size_t i = 0; i < t->lun_count; i++)
			lun_open_memory(w, t->luns[i]);
	}
	pthread_mutex_unlock(&w->targets->lock);
}

void worker_channel_put(struct worker *w, struct tgt_lun *lun)
{
	struct worker_channel *c = lun->channels[w->index];

	if (--c->users == 0 && atomic_load(&lun->removed))
		channel_close(w, c);
}

void worker_sweep_channels(struct worker *w)
{
	struct worker_channel *c, *next;

	list_for_each_safe(c, next, &w->channels, link)
		if (!c->users && atomic_load(&c->lun->removed))
			channel_close(w, c);
}

void worker_close_channels(struct worker *w)
{
	struct worker_channel *c, *next;

	list_for_each_safe(c, next, &w->channels, link)
		channel_close(w, c);
}

/* ---- the last flush ---- */

struct flush {
	struct worker *worker;
	void (*done)(struct worker *w);
	struct loop_call ended;
	size_t left;
	struct flush_one {
		struct backend_request request;
		struct flush *all;
		const struct tgt_lun *lun;
	} one[];
};

static void flush_ended(struct loop_call *c)
{
	struct flush *f = container_of(c, struct flush, ended);

	f->done(f->worker);
	alloc_free(f);
}

/* done() closes the channels: not from inside one that is still completing. */
static void flush_done(struct backend_request *r, int status)
{
	struct flush_one *one = container_of(r, struct flush_one, request);
	struct flush *f = one->all;

	if (status < 0)
		log_error("worker", "the last flush of LUN %u failed: %s", one->lun->number,
			strerror(-status));
	if (--f->left)
		return;
	f->ended.call = flush_ended;
	loop_defer(f->worker->loop, &f->ended);
}

static size_t channel_count(const struct worker *w)
{
	const struct worker_channel *c;
	size_t count = 0;

	list_for_each(c, &w->channels, link)
		count++;
	return count;
}

int worker_flush_channels(struct worker *w, void (*done)(struct worker *w))
{
	size_t count = channel_count(w);
	struct flush *f = alloc_zeroed(sizeof(*f) + count * sizeof(struct flush_one));
	struct worker_channel *c;

	if (!f)
		return -ENOMEM;
	f->worker = w;
	f->done = done;
	list_for_each(c, &w->channels, link) {
		struct flush_one *one = &f->one[f->left++];

		one->all = f;
		one->lun = c->lun;
		one->request.operation = BACKEND_FLUSH;
		one->request.done = flush_done;
		backend_submit(c->channel, &one->request);
	}
	if (!count) {
		done(w);
		alloc_free(f);
	}
	return 0;
}

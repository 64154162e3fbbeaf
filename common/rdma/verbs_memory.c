/* Memory of the verbs provider: a region is registered with every device that the provider uses,
 * also with those that come later; what a peer may touch is a memory window of type 2, bound to one
 * buffer of one task and to one queue pair (IBTA volume 1, section 10.6.7.2.3), or where a device
 * has none, or they are turned off, the region's own key. */
#include "common/rdma/verbs_internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "common/base/alloc.h"
#include "common/base/log.h"

/* A local invalidation takes microseconds; on emulated processors milliseconds. */
#define REVOKE_NS (LOOP_NS_PER_S / 2)

/* ---- regions ---- */

static unsigned region_access(const struct verbs_device *d)
{
	unsigned access = IBV_ACCESS_LOCAL_WRITE;

	/* The sink of an RDMA Read is written by the peer's message on iWARP (RFC 5040 section
	 * 5.2). */
	if (d->caps.iwarp)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if (!d->provider->config.exposes)
		return access;
	if (d->caps.windows && !d->provider->config.no_windows)
		return access | IBV_ACCESS_MW_BIND;
	return access | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
}

/* Every connection comes here again, on every loop: the line is told once, and again when the need
 * has grown. */
static void memlock_tell(const struct verbs_region *r, const char *device, uint64_t limit)
{
	static _Atomic uint64_t told;
	uint64_t before = atomic_load(&told);
	char text[256];

	if (r->base.length <= before ||
		!atomic_compare_exchange_strong(&told, &before, r->base.length))
		return;
	verbs_memlock_explain(r->base.length, limit, device, text, sizeof(text));
	log_error("verbs", "%s", text);
}

static int register_failed(const struct verbs_device *d, const struct verbs_region *r, int err)
{
	const char *name = ibv_get_device_name(d->context->device);
	struct rlimit limit;

	if (err == ENOMEM && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
		limit.rlim_cur != RLIM_INFINITY) {
		memlock_tell(r, name, limit.rlim_cur);
		return -EAGAIN;
	}
	log_error("verbs", "%s: %zu bytes of memory could not be registered: %s", name,
		r->base.length, strerror(err));
	return err ? -err : -ENOMEM;
}

static int region_add(struct verbs_region *r, struct verbs_device *d)
{
	r->mr[d->slot] = ibv_reg_mr(d->pd, r->base.address, r->base.length, (int)region_access(d));
	return r->mr[d->slot] ? 0 : register_failed(d, r, errno);
}

static void region_drop(struct verbs_region *r, uint32_t slot)
{
	if (r->mr[slot] && ibv_dereg_mr(r->mr[slot]))
		log_warning("verbs", "memory could not be given back: %s", strerror(errno));
	r->mr[slot] = NULL;
}

int verbs_region_register(
	struct rdma_provider *base, void *address, size_t length, struct rdma_region **ret)
{
	struct verbs *p = verbs_of(base);
	struct verbs_region *r = alloc_zeroed(sizeof(*r));
	struct verbs_device *d;
	int err = 0;

	if (!r)
		return -ENOMEM;
	r->base = (struct rdma_region){.address = address, .length = length};
	list_append(&p->regions, &r->link);
	list_for_each(d, &p->devices, link) {
		err = region_add(r, d);
		if (err < 0)
			break;
	}
	if (err < 0) {
		verbs_region_unregister(base, &r->base);
		return err;
	}
	*ret = &r->base;
	return 0;
}

void verbs_region_unregister(struct rdma_provider *p, struct rdma_region *base)
{
	struct verbs_region *r = container_of(base, struct verbs_region, base);

	(void)p;
	for (uint32_t i = 0; i < VERBS_DEVICES_MAX; i++)
		region_drop(r, i);
	list_remove(&r->link);
	alloc_free(r);
}

int verbs_regions_register(struct verbs_device *d)
{
	struct verbs_region *r;
	int err;

	list_for_each(r, &d->provider->regions, link) {
		err = region_add(r, d);
		if (err < 0)
			return err;
	}
	return 0;
}

void verbs_regions_unregister(struct verbs_device *d)
{
	struct verbs_region *r;

	list_for_each(r, &d->provider->regions, link)
		region_drop(r, d->slot);
}

struct ibv_mr *verbs_region_find(const struct verbs_device *d, const struct rdma_region *base,
	const void *data, size_t length)
{
	const struct verbs_region *r;
	size_t at;

	if (!base)
		return NULL;
	r = container_of(base, const struct verbs_region, base);
	at = (size_t)((uintptr_t)data - (uintptr_t)base->address);
	return at <= base->length && length <= base->length - at ? r->mr[d->slot] : NULL;
}

/* ---- windows: made with the connection, free or bound ---- */

static struct verbs_window **bucket_of(const struct verbs_conn *c, uint32_t rkey)
{
	/* The low eight bits count the bindings. */
	return &c->window_buckets[rkey >> 8 & c->window_mask];
}

static int window_make(struct verbs_conn *c, struct verbs_window *w)
{
	struct verbs_window **bucket;

	w->conn = c;
	list_init(&w->link);
	w->mw = ibv_alloc_mw(c->device->pd, IBV_MW_TYPE_2);
	if (!w->mw)
		return errno ? -errno : -ENOMEM;
	w->rkey = ibv_inc_rkey(w->mw->rkey);
	bucket = bucket_of(c, w->rkey);
	w->next = *bucket;
	*bucket = w;
	list_append(&c->windows_free, &w->link);
	return 0;
}

int verbs_windows_make(struct verbs_conn *c)
{
	uint32_t buckets = 1;
	int err = 0;

	if (!c->shape.windows)
		return 0;
	while (buckets < c->shape.windows)
		buckets *= 2;
	c->window_mask = buckets - 1;
	c->windows = alloc_array(c->shape.windows, sizeof(*c->windows));
	c->window_buckets = alloc_array(buckets, sizeof(struct verbs_window *));
	if (!c->windows || !c->window_buckets)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->shape.windows && err == 0; i++)
		err = window_make(c, &c->windows[i]);
	return err;
}

void verbs_windows_close(struct verbs_conn *c)
{
	for (uint32_t i = 0; c->windows && i < c->shape.windows; i++)
		if (c->windows[i].mw)
			ibv_dealloc_mw(c->windows[i].mw);
}

struct verbs_window *verbs_window_find(const struct verbs_conn *c, uint32_t rkey)
{
	struct verbs_window *w = c->window_buckets ? *bucket_of(c, rkey) : NULL;

	while (w && w->rkey != rkey)
		w = w->next;
	return w && w->bound ? w : NULL;
}

void verbs_window_release(struct verbs_window *w)
{
	w->bound = false;
	/* The next binding says both keys, the one that was and the one that will be. */
	w->mw->rkey = w->rkey;
	w->rkey = ibv_inc_rkey(w->rkey);
	list_append(&w->conn->windows_free, &w->link);
}

/* ---- what a peer may touch ---- */

static int window_bind(struct verbs_conn *c, struct ibv_mr *mr, void *data, uint32_t length,
	unsigned access, uint32_t *ret_stag)
{
	struct list *node = list_pop(&c->windows_free);
	struct verbs_window *w;

	if (!node)
		return -ENOSPC;
	w = list_entry(node, struct verbs_window, link);
	w->bound = true;
	w->bind = (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = (uintptr_t)data,
		.length = length,
		.mw_access_flags = (access & RDMA_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0u) |
				   (access & RDMA_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0u),
	};
	*ret_stag = w->rkey;
	verbs_work_queue(c, &w->work, VERBS_BIND);
	return 0;
}

int verbs_expose(struct rdma_conn *base, struct rdma_region *region, void *data, uint32_t length,
	unsigned access, uint32_t *ret_stag, uint64_t *ret_address)
{
	struct verbs_conn *c = verbs_conn_of(base);
	struct ibv_mr *mr;
	int err;

	if (c->state != VERBS_UP && c->state != VERBS_ACCEPTED)
		return -ENOTCONN;
	mr = verbs_region_find(c->device, region, data, length);
	if (!mr)
		return -EINVAL;
	if (c->shape.windows) {
		err = window_bind(c, mr, data, length, access, ret_stag);
		if (err < 0)
			return err;
	} else {
		*ret_stag = mr->rkey;
	}
	*ret_address = (uintptr_t)data;
	return 0;
}

static uint64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * LOOP_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* After this the peer can reach nothing: so it waits for the device. It is the rare way: a peer
 * that takes Send with Invalidate has done it already. What else completes meanwhile is told
 * later. */
void verbs_revoke(struct rdma_conn *base, uint32_t stag)
{
	struct verbs_conn *c = verbs_conn_of(base);
	struct verbs_window *w = verbs_window_find(c, stag);
	uint64_t end;

	/* A window of type 2 ends with its queue pair, which is in error by then. */
	if (!w || c->state == VERBS_LOST || c->state == VERBS_OVER)
		return;
	/* Its binding has not left: the device knows nothing of it, nor of its key. */
	if (verbs_kind_of(&w->work) == VERBS_BIND && !list_empty(&w->work.link)) {
		list_remove(&w->work.link);
		w->bound = false;
		list_append(&c->windows_free, &w->link);
		return;
	}
	verbs_work_queue(c, &w->work, VERBS_INVALIDATE);
	end = clock_now() + REVOKE_NS;
	while (c->state != VERBS_OVER && w->bound && w->rkey == stag) {
		verbs_sends_post(c); /* there may have been no room before */
		if (!verbs_collect(c->provider) && clock_now() > end)
			verbs_conn_over(c, -ETIMEDOUT, "the device does not take a key back");
	}
}

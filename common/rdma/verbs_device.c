/* A device as one provider (one loop) uses it: its own protection domain, one completion channel,
 * and a pair of completion queues for all connections (one more where that is full). Called by
 * verbs_cm.c, verbs_conn.c and verbs.c. */
#include "common/rdma/verbs_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"

/* Fifteen connections of the default depth and more; further queues follow. */
#define CQ_ENTRIES 8192u
/* Acknowledging takes a lock: so many at a time. */
#define EVENTS_UNACKNOWLEDGED 256u

/* ---- what it can do ---- */

static uint8_t clip_u8(int n)
{
	return (uint8_t)(n < 0 ? 0 : min_u32((uint32_t)n, UINT8_MAX));
}

static uint32_t clip_u32(int n)
{
	return n < 0 ? 0 : (uint32_t)n;
}

static uint32_t message_limit(struct ibv_context *context, uint8_t ports)
{
	uint32_t least = UINT32_MAX;

	for (uint8_t i = 1; i <= ports; i++) {
		struct ibv_port_attr port;

		if (ibv_query_port(context, i, &port) == 0 && port.max_msg_sz)
			least = min_u32(least, port.max_msg_sz);
	}
	return least;
}

/* Linux siw sends a user's pages by reference, after it has computed MPA's CRC over them. Adapters
 * and rxe sum the packet that they have fetched. */
#define SIW_VENDOR 0x626d74u

int verbs_device_query(struct ibv_context *context, struct verbs_caps *ret)
{
	const unsigned window_types = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	struct ibv_device_attr a;

	if (ibv_query_device(context, &a))
		return -ENODEV;
	*ret = (struct verbs_caps){
		.max_work = clip_u32(a.max_qp_wr),
		.max_sge = clip_u32(a.max_sge),
		.max_completions = clip_u32(a.max_cqe),
		.max_message = message_limit(context, a.phys_port_cnt),
		.max_windows = clip_u32(a.max_mw),
		.reads_in = clip_u8(a.max_qp_rd_atom),
		.reads_out = clip_u8(a.max_qp_init_rd_atom),
		.iwarp = context->device->transport_type == IBV_TRANSPORT_IWARP,
		.sums_in_place = a.vendor_id == SIW_VENDOR,
		.windows = a.device_cap_flags & window_types,
		.send_invalidate = a.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS,
	};
	return 0;
}

/* ---- its events ---- */

static void completion_ready(struct loop_watch *w, unsigned events)
{
	struct verbs_device *d = container_of(w, struct verbs_device, watch);
	struct verbs_queue *q;
	struct ibv_cq *cq;
	void *context;

	(void)events;
	/* The poller looks into the queue next. Most often there is one event, and for a second
	 * one this is called again: to find out would cost a system call each time. */
	if (ibv_get_cq_event(d->channel, &cq, &context))
		return;
	q = context;
	q->armed = false;
	if (++q->unacknowledged < EVENTS_UNACKNOWLEDGED)
		return;
	ibv_ack_cq_events(q->cq, q->unacknowledged);
	q->unacknowledged = 0;
}

static void async_handle(struct verbs_device *d, const struct ibv_async_event *e)
{
	const char *name = ibv_get_device_name(d->context->device);

	if (e->event_type == IBV_EVENT_PORT_ERR || e->event_type == IBV_EVENT_PORT_ACTIVE)
		log_info("verbs", "%s: port %d is %s", name, e->element.port_num,
			e->event_type == IBV_EVENT_PORT_ACTIVE ? "up" : "down");
	else
		log_debug("verbs", "%s: %s", name, ibv_event_type_str(e->event_type));
}

/* The descriptor is the process's, watched by every loop that uses the device: one of them gets the
 * event. What matters to a connection, its completions and RDMA_CM tell as well. */
static void async_ready(struct loop_watch *w, unsigned events)
{
	struct verbs_device *d = container_of(w, struct verbs_device, async);
	struct ibv_async_event e;
	bool fatal = false;

	(void)events;
	while (ibv_get_async_event(d->context, &e) == 0) {
		async_handle(d, &e);
		fatal |= e.event_type == IBV_EVENT_DEVICE_FATAL;
		ibv_ack_async_event(&e);
	}
	if (fatal)
		verbs_device_lost(d);
}

static int watch_descriptor(struct verbs_device *d, struct loop_watch *w, int fd,
	void (*ready)(struct loop_watch *w, unsigned events))
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	w->fd = fd;
	w->ready = ready;
	return loop_watch_add(d->provider->loop, w, LOOP_READABLE);
}

/* ---- completion queues ---- */

static int queue_open(struct verbs_device *d, uint32_t size, struct verbs_queue *q)
{
	q->cq = ibv_create_cq(d->context, (int)size, q, d->channel, 0);
	if (q->cq)
		return 0;
	return errno ? -errno : -ENOMEM;
}

static void queue_close(struct verbs_queue *q)
{
	if (!q->cq)
		return;
	ibv_ack_cq_events(q->cq, q->unacknowledged);
	ibv_destroy_cq(q->cq);
}

static void cq_free(struct verbs_cq *q)
{
	queue_close(&q->sends);
	queue_close(&q->receives);
	alloc_free(q);
}

static int cq_new(struct verbs_device *d, uint32_t entries, struct verbs_cq **ret)
{
	uint32_t size = min_u32(entries > CQ_ENTRIES ? entries : CQ_ENTRIES, //
		d->caps.max_completions);
	struct verbs_cq *q;
	int err;

	if (size < entries)
		return -ENOSPC;
	q = alloc_zeroed(sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->device = d;
	err = queue_open(d, size, &q->sends);
	if (err == 0)
		err = queue_open(d, size, &q->receives);
	if (err < 0) {
		cq_free(q);
		return err;
	}
	q->size = size;
	list_append(&d->cqs, &q->link);
	*ret = q;
	return 0;
}

int verbs_cq_get(struct verbs_device *d, uint32_t entries, struct verbs_cq **ret)
{
	struct verbs_cq *q;
	int err;

	list_for_each(q, &d->cqs, link) {
		if (q->size - q->used >= entries) {
			q->used += entries;
			*ret = q;
			return 0;
		}
	}
	err = cq_new(d, entries, &q);
	if (err < 0)
		return err;
	q->used = entries;
	*ret = q;
	return 0;
}

static void cqs_free(struct verbs_device *d)
{
	struct verbs_cq *q, *next;

	list_for_each_safe(q, next, &d->cqs, link)
		cq_free(q);
}

/* ---- life ---- */

static int slot_find(const struct verbs *p)
{
	unsigned taken = 0;
	const struct verbs_device *d;

	list_for_each(d, &p->devices, link)
		taken |= 1u << d->slot;
	for (int i = 0; i < VERBS_DEVICES_MAX; i++)
		if (!(taken & 1u << i))
			return i;
	return -ENOSPC;
}

static int device_open(struct verbs_device *d)
{
	int err = verbs_device_query(d->context, &d->caps);

	if (err < 0)
		return err;
	d->pd = ibv_alloc_pd(d->context);
	d->channel = d->pd ? ibv_create_comp_channel(d->context) : NULL;
	if (!d->channel)
		return errno ? -errno : -ENOMEM;
	err = watch_descriptor(d, &d->watch, d->channel->fd, completion_ready);
	if (err == 0)
		err = watch_descriptor(d, &d->async, d->context->async_fd, async_ready);
	return err < 0 ? err : verbs_regions_register(d);
}

static int device_new(struct verbs *p, struct ibv_context *context, struct verbs_device **ret)
{
	int slot = slot_find(p);
	struct verbs_device *d;
	int err;

	if (slot < 0)
		return slot;
	d = alloc_zeroed(sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->provider = p;
	d->context = context;
	d->slot = (uint32_t)slot;
	list_init(&d->cqs);
	list_append(&p->devices, &d->link);
	verbs_context_hold(context);
	err = device_open(d);
	if (err < 0) {
		verbs_device_free(d);
		return err;
	}
	verbs_watchdog_arm(p);
	*ret = d;
	return 0;
}

int verbs_device_get(struct verbs *p, struct ibv_context *context, struct verbs_device **ret)
{
	struct verbs_device *d;

	list_for_each(d, &p->devices, link) {
		if (d->context == context) {
			*ret = d;
			return 0;
		}
	}
	return device_new(p, context, ret);
}

const char *verbs_device_trouble(int err)
{
	return err == -EAGAIN ? "too little memory may be locked" : strerrordesc_np(-err);
}

void verbs_device_free(struct verbs_device *d)
{
	loop_watch_remove(&d->watch);
	loop_watch_remove(&d->async);
	cqs_free(d);
	verbs_regions_unregister(d);
	if (d->channel)
		ibv_destroy_comp_channel(d->channel);
	if (d->pd)
		ibv_dealloc_pd(d->pd);
	list_remove(&d->link);
	verbs_context_put(d->context);
	alloc_free(d);
}

void verbs_device_lost(struct verbs_device *d)
{
	const char *name = ibv_get_device_name(d->context->device);
	struct verbs_conn *c, *next;

	log_warning("verbs", "%s was removed: its connections end", name);
	verbs_context_lost(d->context);
	list_for_each_safe(c, next, &d->provider->conns, link) {
		if (c->device == d)
			verbs_conn_over(c, -ENODEV, "the RDMA device %s was removed", name);
	}
	verbs_device_free(d);
	verbs_contexts_sweep();
}

/* ---- the watchdog ---- */

void verbs_watchdog_arm(struct verbs *p)
{
	if (!loop_timer_armed(&p->watchdog))
		loop_timer_arm(p->loop, &p->watchdog, VERBS_WATCHDOG_NS);
}

void verbs_watchdog(struct loop_timer *t)
{
	struct verbs *p = container_of(t, struct verbs, watchdog);
	struct verbs_device *d, *next;

	list_for_each_safe(d, next, &p->devices, link) {
		if (verbs_context_is_gone(d->context))
			verbs_device_lost(d);
	}
	verbs_contexts_sweep();
	/* For as long as the provider lives: librdmacm keeps a device open that we do not use. */
	verbs_watchdog_arm(p);
}

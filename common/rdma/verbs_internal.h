/* What the files of the verbs provider share; for them alone.
 *
 * verbs.c           the provider: configuration, table of operations, what a person wants to know
 * verbs_limits.c    everything that is computed without a device
 * verbs_context.c   the process's opened devices, and how one that is removed is let go
 * verbs_device.c    a device as one provider uses it: protection domain, completion queues
 * verbs_memory.c    regions and memory windows
 * verbs_post.c      requests into the queues
 * verbs_complete.c  completions out of them
 * verbs_conn.c      a connection's queue pair, and its end
 * verbs_cm.c        connection setup: events of RDMA_CM
 * verbs_listener.c  listening
 * verbs_request.c   requests on their way to a worker */
#pragma once

#include <pthread.h>

/* librdmacm has functions of the same names: in these files they are meant, and rdma.h's, which are
 * for the users of a provider, step aside. So this header comes first. */
#define rdma_connect provider_connect
#define rdma_accept provider_accept
#define rdma_reject provider_reject
#define rdma_disconnect provider_disconnect
#include "common/rdma/rdma.h"
#undef rdma_connect
#undef rdma_accept
#undef rdma_reject
#undef rdma_disconnect
#include <rdma/rdma_cma.h>

#include "common/base/bytes.h"
#include "common/base/list.h"
#include "common/loop/address.h"
#include "common/loop/loop.h"
#include "common/rdma/verbs.h"
#include "common/rdma/verbs_limits.h"

#define VERBS_DEVICES_MAX 8 /* of one provider at a time */
#define VERBS_BATCH 32	    /* requests per post, completions per poll */
/* A device that goes away does not always say so (verbs_context.c): it is looked for. */
#define VERBS_WATCHDOG_NS LOOP_NS_PER_S

/* ---- events of RDMA_CM (verbs_cm.c) ---- */

/* A copy: the event is acknowledged before anybody acts on it, as rdma_destroy_id() waits for
 * that. */
struct verbs_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;	  /* of a connection request: the new one */
	struct verbs_reads reads; /* RDMA_CM's, turned round */
	struct rdma_private_data pd;
};

/* What an rdma_cm_id's context points to. */
struct verbs_id {
	void (*event)(struct verbs_id *to, const struct verbs_event *e);
};

struct verbs_channel {
	struct rdma_event_channel *cm; /* NULL: not open */
	struct loop_watch watch;
};

/* 0; -ENODEV where there is no RDMA device, or no RDMA_CM in the kernel. Idempotent. */
int verbs_channel_open(struct verbs_channel *c);
int verbs_channel_watch(struct verbs_channel *c, struct loop *loop); /* idempotent */
void verbs_channel_close(struct verbs_channel *c);

/* ---- the process's devices (verbs_context.c) ---- */

void verbs_context_hold(struct ibv_context *context);
void verbs_context_put(struct ibv_context *context);
/* RDMA_CM, or the device itself, has said that it is leaving. */
void verbs_context_lost(struct ibv_context *context);
/* Its entry in sysfs is gone. */
bool verbs_context_is_gone(const struct ibv_context *context);
/* Lets go of the devices that are gone and that nobody holds. */
void verbs_contexts_sweep(void);

/* ---- provider and device ---- */

struct verbs_conn;

struct verbs_place {
	struct verbs_conn *conn; /* NULL: free */
	uint32_t generation;
};

struct verbs {
	struct rdma_provider base;
	struct loop *loop;
	struct verbs_config config;
	pthread_mutex_t lock; /* of the channel's opening: a listener's loop may be the first */
	struct verbs_channel channel;
	struct list devices, regions, conns;
	struct verbs_place *places; /* of connections, by verbs_cookie.place */
	uint32_t place_count;
	struct list done; /* completed works, to be delivered */
	struct loop_poller poller;
	struct loop_timer watchdog, linger;
};

/* One completion queue. */
struct verbs_queue {
	struct ibv_cq *cq;
	bool armed;		 /* an event will come, or is there to be read */
	unsigned unacknowledged; /* events */
};

/* The two completion queues of many connections. A receive is always waited for; that a Send has
 * left, hardly ever: it is seen when the loop turns for another reason (verbs_complete.c). */
struct verbs_cq {
	struct list link;
	struct verbs_device *device;
	struct verbs_queue sends, receives;
	uint32_t size, used;  /* entries of each */
	uint32_t outstanding; /* places of send queues that have not come back */
	bool awaited;	      /* something depends on one of them */
};

struct verbs_device {
	struct verbs *provider;
	struct list link;
	struct ibv_context *context;
	uint32_t slot; /* in verbs_region.mr */
	struct verbs_caps caps;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct loop_watch watch, async;
	struct list cqs;
};

/* Finds, or takes up, the device of an id. 0; -ENOMEM, -ENOSPC; -EAGAIN: memlock, logged. */
int verbs_device_get(struct verbs *p, struct ibv_context *context, struct verbs_device **ret);
/* That result, negative, for a person. */
const char *verbs_device_trouble(int err);
/* Connections on it are over before. */
void verbs_device_free(struct verbs_device *d);
/* It was removed: its connections end, and everything is given back. */
void verbs_device_lost(struct verbs_device *d);
int verbs_device_query(struct ibv_context *context, struct verbs_caps *ret);
/* Completion queues with room for `entries` more each. */
int verbs_cq_get(struct verbs_device *d, uint32_t entries, struct verbs_cq **ret);
void verbs_watchdog_arm(struct verbs *p);
void verbs_watchdog(struct loop_timer *t);

/* ---- memory ---- */

struct verbs_region {
	struct rdma_region base;
	struct list link;
	struct ibv_mr *mr[VERBS_DEVICES_MAX]; /* by verbs_device.slot */
};

int verbs_region_register(
	struct rdma_provider *p, void *address, size_t length, struct rdma_region **ret);
void verbs_region_unregister(struct rdma_provider *p, struct rdma_region *r);
/* All regions of the provider, with a device that has just come. */
int verbs_regions_register(struct verbs_device *d);
void verbs_regions_unregister(struct verbs_device *d);
/* NULL: `data` does not lie in it, or it is not registered with that device. */
struct ibv_mr *verbs_region_find(
	const struct verbs_device *d, const struct rdma_region *r, const void *data, size_t length);

/* A memory window of type 2: one buffer of one task, for as long as the task runs. */
struct verbs_window {
	struct rdma_work work;	   /* of its binding, or its local invalidation */
	struct list link;	   /* in conn->windows_free */
	struct verbs_window *next; /* in its bucket */
	struct verbs_conn *conn;
	struct ibv_mw *mw;
	uint32_t rkey; /* of the present, or the next, binding */
	bool bound;
	struct ibv_mw_bind_info bind;
};

int verbs_windows_make(struct verbs_conn *c);
/* Gives the device's part back; the rest is the connection's until its last upcall. */
void verbs_windows_close(struct verbs_conn *c);
int verbs_expose(struct rdma_conn *base, struct rdma_region *region, void *data, uint32_t length,
	unsigned access, uint32_t *ret_stag, uint64_t *ret_address);
void verbs_revoke(struct rdma_conn *base, uint32_t stag);
/* The peer has invalidated it, or it was invalidated here. */
void verbs_window_release(struct verbs_window *w);
struct verbs_window *verbs_window_find(const struct verbs_conn *c, uint32_t rkey);

/* ---- connections ---- */

enum verbs_state {
	VERBS_RESOLVING,  /* active: address, then route */
	VERBS_CONNECTING, /* active: the request has left */
	VERBS_REQUESTED,  /* passive: the owner has to accept or reject */
	VERBS_ACCEPTED,	  /* passive: the reply has left */
	VERBS_UP,
	VERBS_DRAINING,	     /* closing in order: what was posted is leaving */
	VERBS_DISCONNECTING, /* this end has said so, the peer's answer is awaited */
	VERBS_LOST,	     /* requests are flushed: the reason will be told, or not */
	VERBS_OVER,	     /* nothing of the device is left, completions are to be delivered */
};

enum verbs_kind { /* of a work, in provider_private[0] */
	VERBS_SEND,
	VERBS_WRITE,
	VERBS_READ,
	VERBS_BIND,
	VERBS_INVALIDATE,
	VERBS_RECEIVE,
};

/* A place of the send queue. */
struct verbs_slot {
	struct rdma_work *work; /* NULL: of a binding, whose window may serve again before */
	bool last;		/* of the work's parts */
};

struct verbs_conn {
	struct rdma_conn base;
	struct verbs *provider;
	struct list link;
	struct verbs_id cm;
	struct rdma_cm_id *id;
	struct verbs_device *device;
	struct verbs_cq *cq;
	enum verbs_state state;
	bool active, owned, undecided; /* as in softiwarp_internal.h */
	bool established;

	struct rdma_conn_upcalls up;
	struct rdma_conn_limits limits;
	struct rdma_private_data own_pd, peer_pd;
	struct verbs_reads asked, reads; /* passive: of the request; agreed */
	struct loop_timer timer;
	struct loop_call flush, finish;
	int error;
	char reason[160];

	struct verbs_shape shape;
	uint32_t max_inline;
	uint32_t place;
	struct verbs_slot *slots; /* a ring of shape.sends */
	uint32_t slot_head, slot_count;
	struct list waiting, posted; /* works to be sent, in order */
	uint32_t send_count;	     /* of the owner's among them */
	struct list receives_waiting, receives_posted;
	uint32_t receive_count, receives_in_queue;

	struct verbs_window *windows, **window_buckets;
	uint32_t window_mask; /* of buckets, a power of two less one */
	struct list windows_free;

	char local[ADDRESS_TEXT_SIZE], peer[ADDRESS_TEXT_SIZE];
	uint32_t mtu;
	uint64_t bytes_sent, bytes_received;
};

static inline struct verbs *verbs_of(struct rdma_provider *p)
{
	return container_of(p, struct verbs, base);
}

static inline struct verbs_conn *verbs_conn_of(struct rdma_conn *c)
{
	return container_of(c, struct verbs_conn, base);
}

static inline enum verbs_kind verbs_kind_of(const struct rdma_work *w)
{
	return (enum verbs_kind)(uintptr_t)w->provider_private[0];
}

/* verbs.c */
extern const struct rdma_ops verbs_ops;

/* verbs_conn.c */
/* Owns `id` (which may be NULL) from here on, on success. */
int verbs_conn_new(struct verbs *p, struct rdma_cm_id *id, struct verbs_conn **ret);
/* Queue pair, rings, windows; posts the receives that wait. `limits` and `device` are set. */
int verbs_conn_open(struct verbs_conn *c);
/* The queue pair can send: timers, names, what a person wants to know. */
void verbs_conn_settle(struct verbs_conn *c);
/* The one way to fail, and to end: destroys queue pair and id, so that the device touches no memory
 * any more; defers completions and the last upcall. The first caller's reason stands. */
void verbs_conn_over(struct verbs_conn *c, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Cancels what is outstanding, makes the last upcall, frees the connection. */
void verbs_conn_finish(struct verbs_conn *c);
void verbs_disconnect(struct rdma_conn *base, bool graceful);
/* Nothing is left to be sent: goes on with an end in order. */
void verbs_conn_drained(struct verbs_conn *c);
/* Requests came back undone: the peer, or the device, has ended the connection. */
void verbs_conn_flushed(struct verbs_conn *c);
void verbs_conn_expired(struct loop_timer *t);

/* verbs_post.c */
int verbs_post_receive(struct rdma_conn *base, struct rdma_receive *r);
int verbs_post_send(struct rdma_conn *base, struct rdma_send *s);
int verbs_post_write(struct rdma_conn *base, struct rdma_transfer *t);
int verbs_post_read(struct rdma_conn *base, struct rdma_transfer *t);
void verbs_flush(struct rdma_conn *base);
void verbs_flush_call(struct loop_call *call);
/* Queues a work of the provider's own. */
void verbs_work_queue(struct verbs_conn *c, struct rdma_work *w, enum verbs_kind kind);
void verbs_receives_post(struct verbs_conn *c);
void verbs_sends_post(struct verbs_conn *c);

/* verbs_complete.c */
bool verbs_poll(struct loop_poller *poller, bool will_sleep);
void verbs_linger_expired(struct loop_timer *t);
/* What is in the queues by now, delivered. Not from within a done(). */
void verbs_poll_now(struct verbs *p);
/* The same without delivery: from within a done(). */
bool verbs_collect(struct verbs *p);
void verbs_deliver(struct verbs *p);
/* Hands a work back with `status`, soon. */
void verbs_work_done(struct verbs_conn *c, struct rdma_work *w, int status);

/* verbs_cm.c */
int verbs_connect(struct rdma_provider *p, const struct address *to, uint64_t timeout_ns,
	const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
	const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret);
int verbs_accept(struct rdma_conn *base, const struct rdma_conn_limits *limits,
	const struct rdma_private_data *pd, const struct rdma_conn_upcalls *up, void *owner);
void verbs_reject(struct rdma_conn *base, const struct rdma_private_data *pd);
void verbs_conn_event(struct verbs_id *to, const struct verbs_event *e);
/* A receive came before the peer's last message of the setup. */
void verbs_conn_notice(struct verbs_conn *c);

/* verbs_request.c */
/* A peer asks a listener for a connection: `e` is the request, its id is owned from here on. */
void verbs_request_begin(struct verbs_acceptor *acceptor, const struct verbs_event *e);

/* One interface to RDMA, with several providers behind it: software iWARP on TCP sockets
 * (softiwarp.c), libibverbs and librdmacm (verbs.c, a later work), memory (tests/kit). Our own
 * verbs: no type of a library and no system header is here. Used by datamover/iser.c.
 *
 * A provider, and all that comes from it, belongs to one loop. Posting queues; rdma_flush() (or the
 * end of the loop's turn) lets all that was posted leave at once. Every work request completes
 * through its own `done`, always from the loop, in the order of posting per direction: receives
 * among themselves, and sends, writes and reads among themselves (what was posted behind a read is
 * told after it, though it may have left before it). When the connection fails or is closed, every
 * outstanding one completes with -ECANCELED before `closed`, unsignalled ones that have not left
 * included. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"

struct address;
struct rdma_provider;
struct rdma_conn;

/* What InfiniBand's CM leaves to a user of RDMA_PS_TCP in a REQ. */
#define RDMA_PRIVATE_DATA_MAX 56
#define RDMA_MAX_SGE 2 /* a header, and data that follows it */

/* ---- memory ---- */

enum rdma_access {
	RDMA_LOCAL = 0,	       /* as source and sink of this end's own requests */
	RDMA_REMOTE_READ = 1,  /* the peer may read it (RDMA Read) */
	RDMA_REMOTE_WRITE = 2, /* the peer may write it (RDMA Write) */
};

/* Memory known to the device, registered once. */
struct rdma_region {
	void *address;
	size_t length;
	void *provider_handle;
};

struct rdma_sge {
	void *data;
	uint32_t length;
	struct rdma_region *region; /* that `data` lies in */
};

/* ---- work requests: caller-owned, the provider's until `done` ---- */

struct rdma_work {
	/* 0, or negative errno: -ECANCELED (connection gone), -EMSGSIZE (message longer than the
	 * receive), -EACCES (the peer refused the access). */
	void (*done)(struct rdma_work *w, int status);
	struct list link; /* the provider's own, as all below */
	void *provider_private[4];
};

struct rdma_receive {
	struct rdma_work work;
	struct rdma_sge sge; /* where one Send is put */
	uint32_t length;     /* set before done(): bytes received */
	bool invalidated;    /* set before done(): the Send also invalidated `invalidated_stag` */
	uint32_t invalidated_stag;
};

struct rdma_send {
	struct rdma_work work;
	struct rdma_sge sge[RDMA_MAX_SGE];
	unsigned sge_count;
	bool signalled; /* else done() is called only with an error, or never: the sender reuses the
			   memory after a later signalled request of the same connection is done */
	bool invalidate;
	uint32_t invalidate_stag; /* the peer's */
	bool solicited;
};

struct rdma_transfer { /* RDMA Write or RDMA Read */
	struct rdma_work work;
	struct rdma_sge local;
	uint32_t remote_stag;
	uint64_t remote_address;
	bool signalled; /* writes only; reads always are */
};

/* ---- connections ---- */

enum rdma_conn_event {
	RDMA_ESTABLISHED, /* active: the peer accepted; private data is the peer's.
			     passive: the peer's end is up. A receive may be done before this. */
	RDMA_REJECTED,	  /* active; private data may be there. `closed` follows */
};

struct rdma_private_data {
	uint8_t bytes[RDMA_PRIVATE_DATA_MAX];
	size_t length; /* 0: none came (InfiniBand pads with zeros and says 56) */
};

struct rdma_conn_upcalls {
	void (*event)(void *owner, enum rdma_conn_event event, const struct rdma_private_data *pd);
	/* The last call: the connection is over, every request has been completed, the conn is gone
	 * once this returns. 0: closed by us, or by the peer between messages (a peer that was
	 * killed looks the same: whether that was expected, the layer above knows); negative errno
	 * otherwise. `reason` is for a log, and valid during the call. */
	void (*closed)(void *owner, int error, const char *reason);
};

struct rdma_conn_limits {
	uint32_t send_depth, receive_depth; /* requests that may be posted at a time */
	uint32_t reads_out; /* ORD: RDMA Reads we want to have outstanding; more are queued */
	uint32_t reads_in;  /* IRD: those we serve for the peer */
};

struct rdma_acceptor {
	/* A peer wants to connect: the receiver calls rdma_accept() or rdma_reject(), now or later.
	 * `pd` is valid during the call. */
	void (*requested)(struct rdma_acceptor *a, struct rdma_conn *c, const struct address *peer,
		const struct rdma_private_data *pd);
};

struct rdma_conn_info {
	const char *provider; /* "softiwarp", "memory", "verbs" */
	char local[64], peer[64];
	bool crc; /* checksums what is sent */
	char detail[64];
	uint64_t bytes_sent, bytes_received;
};

/* What registering a range of memory does to its pages. */
enum rdma_pinning {
	RDMA_PINS_NOT,	 /* nothing */
	RDMA_PINS,	 /* the device keeps those it has seen: none may be given back */
	RDMA_PINS_LATER, /* there is no device yet that would use them */
};

struct rdma_ops {
	const char *name;
	int (*register_region)(
		struct rdma_provider *p, void *address, size_t length, struct rdma_region **ret);
	void (*unregister_region)(struct rdma_provider *p, struct rdma_region *r);
	int (*connect)(struct rdma_provider *p, const struct address *to, uint64_t timeout_ns,
		const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
		const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret);
	int (*accept)(struct rdma_conn *c, const struct rdma_conn_limits *limits,
		const struct rdma_private_data *pd, const struct rdma_conn_upcalls *up,
		void *owner);
	void (*reject)(struct rdma_conn *c, const struct rdma_private_data *pd);
	void (*disconnect)(struct rdma_conn *c, bool graceful);
	int (*post_receive)(struct rdma_conn *c, struct rdma_receive *r);
	int (*post_send)(struct rdma_conn *c, struct rdma_send *s);
	int (*post_write)(struct rdma_conn *c, struct rdma_transfer *t);
	int (*post_read)(struct rdma_conn *c, struct rdma_transfer *t);
	void (*flush)(struct rdma_conn *c);
	int (*expose)(struct rdma_conn *c, struct rdma_region *region, void *data, uint32_t length,
		unsigned access, uint32_t *ret_stag, uint64_t *ret_address);
	void (*revoke)(struct rdma_conn *c, uint32_t stag);
	bool (*takes_invalidate)(struct rdma_provider *p, const struct address *to); /* NULL: yes */
	enum rdma_pinning (*pinning)(struct rdma_provider *p);			     /* NULL: not */
	void (*get_info)(const struct rdma_conn *c, struct rdma_conn_info *ret);
	void (*free_provider)(struct rdma_provider *p);
};

struct rdma_provider { /* first member of each provider's own */
	const struct rdma_ops *ops;
};

struct rdma_conn { /* likewise */
	const struct rdma_ops *ops;
	void *owner;
	bool checksums_data; /* as in struct dm_conn; valid once established */
};

/* -ENOMEM; -EAGAIN when the memlock limit is too small (the provider has logged need and limit). */
static inline int rdma_register(
	struct rdma_provider *p, void *address, size_t length, struct rdma_region **ret)
{
	return p->ops->register_region(p, address, length, ret);
}

static inline void rdma_unregister(struct rdma_provider *p, struct rdma_region *r)
{
	if (r)
		p->ops->unregister_region(p, r);
}

static inline enum rdma_pinning rdma_pinning(struct rdma_provider *p)
{
	return p->ops->pinning ? p->ops->pinning(p) : RDMA_PINS_NOT;
}

/* Whether a peer at `to` can take tags of rdma_expose() away by Send with Invalidate: what a
 * connection's private data has to say before there is a connection. */
static inline bool rdma_takes_invalidate(struct rdma_provider *p, const struct address *to)
{
	return !p->ops->takes_invalidate || p->ops->takes_invalidate(p, to);
}

/* Begins a connection; `event` or `closed` follows (-ETIMEDOUT after timeout_ns). Receives may be
 * posted at once. Immediate error: negative errno, and nothing follows. */
static inline int rdma_connect(struct rdma_provider *p, const struct address *to,
	uint64_t timeout_ns, const struct rdma_conn_limits *limits,
	const struct rdma_private_data *pd, const struct rdma_conn_upcalls *up, void *owner,
	struct rdma_conn **ret)
{
	return p->ops->connect(p, to, timeout_ns, limits, pd, up, owner, ret);
}

/* Receives may be posted before this. 0: `event` or `closed` follows, also when the connection was
 * lost meanwhile. On failure (-ENOMEM, -EINVAL) the connection is still to be rejected. */
static inline int rdma_accept(struct rdma_conn *c, const struct rdma_conn_limits *limits,
	const struct rdma_private_data *pd, const struct rdma_conn_upcalls *up, void *owner)
{
	return c->ops->accept(c, limits, pd, up, owner);
}

/* Refuses a requested connection, which is gone afterwards; also after rdma_accept() has failed.
 * Receives that were posted are forgotten, not completed: their owner may free them at once. */
static inline void rdma_reject(struct rdma_conn *c, const struct rdma_private_data *pd)
{
	c->ops->reject(c, pd);
}

/* Graceful: what was posted leaves first (bounded in time); nothing can be posted any more.
 * `closed` follows, never from within. Idempotent; abrupt after graceful ends it at once. */
static inline void rdma_disconnect(struct rdma_conn *c, bool graceful)
{
	c->ops->disconnect(c, graceful);
}

/* The four posts: 0, -ENOTCONN, -ENOBUFS (deeper than the limits). Receives may be posted at any
 * time; the other three from RDMA_ESTABLISHED (active) or rdma_accept() (passive) on: a passive
 * iWARP end holds them back until the peer has sent its first message. */
static inline int rdma_post_receive(struct rdma_conn *c, struct rdma_receive *r)
{
	return c->ops->post_receive(c, r);
}

static inline int rdma_post_send(struct rdma_conn *c, struct rdma_send *s)
{
	return c->ops->post_send(c, s);
}

static inline int rdma_post_write(struct rdma_conn *c, struct rdma_transfer *t)
{
	return c->ops->post_write(c, t);
}

/* Also -EOPNOTSUPP: the peer serves no reads at all. */
static inline int rdma_post_read(struct rdma_conn *c, struct rdma_transfer *t)
{
	return c->ops->post_read(c, t);
}

static inline void rdma_flush(struct rdma_conn *c)
{
	c->ops->flush(c);
}

/* Lets the peer of this connection, and nobody else, reach `length` bytes at `data` (inside
 * `region`) with `access`, through *ret_stag and *ret_address, until rdma_revoke() or until the
 * peer's Send with Invalidate. -ENOSPC when the table is full, -EINVAL when they are not inside. */
static inline int rdma_expose(struct rdma_conn *c, struct rdma_region *region, void *data,
	uint32_t length, unsigned access, uint32_t *ret_stag, uint64_t *ret_address)
{
	return c->ops->expose(c, region, data, length, access, ret_stag, ret_address);
}

/* Harmless for a tag that was invalidated already. After it returns the peer can reach nothing.
 * Where data of the peer's are just passing through the tag (software iWARP is sending an answer to
 * its read, or receiving a write), nothing else can be done than to fail the connection. */
static inline void rdma_revoke(struct rdma_conn *c, uint32_t stag)
{
	c->ops->revoke(c, stag);
}

static inline void rdma_conn_get_info(const struct rdma_conn *c, struct rdma_conn_info *ret)
{
	c->ops->get_info(c, ret);
}

/* Connections that are left are ended first, with their last upcalls. */
static inline void rdma_provider_free(struct rdma_provider *p)
{
	if (p)
		p->ops->free_provider(p);
}

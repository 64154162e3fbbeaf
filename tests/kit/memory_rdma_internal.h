/* What memory_rdma.c (connections) and memory_rdma_work.c (memory and work requests) share. */
#pragma once

#include "common/loop/loop.h"
#include "common/rdma/rdma.h"
#include "tests/kit/memory_rdma.h"

#define TAGS 8192

enum work_kind {
	WORK_SEND,
	WORK_WRITE,
	WORK_READ,
};

struct memory_tag {
	struct memory_conn *conn; /* whose peer may use it; NULL: free */
	uint8_t *data;
	uint32_t length;
	unsigned access;
	uint8_t generation;
};

struct memory_provider {
	struct rdma_provider base;
	struct loop *loop;
	struct rdma_acceptor *acceptor;
	bool keeps_tags;
	struct list conns;
	struct memory_tag tags[TAGS];
	uint32_t next_tag;
	struct memory_rdma_counts counts;
	uint64_t messages[2], cut, stall; /* memory_rdma_plan() */
	unsigned stall_way;
};

enum memory_state {
	STATE_REQUESTED, /* passive: waits for accept or reject */
	STATE_WAITING,	 /* active: the same, seen from the other side */
	STATE_OPEN,
	STATE_DRAINING, /* disconnect(graceful): closes once its queue is empty */
	STATE_CLOSED,	/* `closed` is due */
};

struct memory_conn {
	struct rdma_conn base;
	struct memory_provider *provider;
	struct memory_conn *peer; /* NULL when that is gone */
	const struct rdma_conn_upcalls *up;
	struct rdma_conn_limits limits;
	enum memory_state state;
	bool active, established, rejected, held, stalled, asked;
	struct rdma_private_data private_data; /* the peer's, for the event */
	int error;
	const char *reason;
	struct list link;
	struct list receives, work; /* struct rdma_work.link */
	uint32_t receive_count, work_count;
	struct loop_call call;
	struct loop_timer timeout;
	uint64_t bytes_sent, bytes_received;
};

static inline struct memory_conn *conn_of(struct rdma_conn *c)
{
	return container_of(c, struct memory_conn, base);
}

static inline struct memory_provider *provider_of(struct rdma_provider *p)
{
	return container_of(p, struct memory_provider, base);
}

/* memory_rdma.c */
void memory_conn_message(struct memory_conn *c);
void memory_conn_schedule(struct memory_conn *c);
void memory_conn_close(struct memory_conn *c, int error, const char *reason);

/* memory_rdma_work.c */
int memory_register(
	struct rdma_provider *p, void *address, size_t length, struct rdma_region **ret);
void memory_unregister(struct rdma_provider *p, struct rdma_region *r);
int memory_expose(struct rdma_conn *base, struct rdma_region *region, void *data, uint32_t length,
	unsigned access, uint32_t *ret_stag, uint64_t *ret_address);
void memory_revoke(struct rdma_conn *base, uint32_t stag);
void memory_tags_free(struct memory_conn *c);
int memory_post_receive(struct rdma_conn *base, struct rdma_receive *r);
int memory_post_send(struct rdma_conn *c, struct rdma_send *s);
int memory_post_write(struct rdma_conn *c, struct rdma_transfer *t);
int memory_post_read(struct rdma_conn *c, struct rdma_transfer *t);
/* Carries out what is queued. */
void memory_work_run(struct memory_conn *c);
void memory_work_cancel(struct list *all);

/* An RDMA provider by memcpy: both ends in one process, on one loop. What was posted is carried
 * out, and completed, in deferred calls, in the order of posting. It checks what hardware checks:
 * tags, bounds, rights, revocation, the length of receives, the depth of queues; a Send that finds
 * no receive fails the connection, as on iWARP. Everything that was registered, exposed or
 * connected is counted, so that a test can prove that nothing is left. */
#pragma once

#include "common/loop/loop.h"
#include "common/rdma/rdma.h"

/* NULL when there is no memory. */
struct rdma_provider *memory_rdma_new(struct loop *loop);
/* Whom rdma_connect() on this provider reaches, whatever address it names; NULL: it is refused. */
void memory_rdma_listen(struct rdma_provider *p, struct rdma_acceptor *acceptor);
/* Breaks the connection under both ends: `closed` with -ECONNRESET. */
void memory_rdma_break(struct rdma_conn *c);
/* While held, what this end posts is neither carried out nor completed. */
void memory_rdma_hold(struct rdma_conn *c, bool held);
/* From here on messages (connections that are up, and requests carried out) are counted: behind the
 * `cut`-th the connection that it was of breaks; behind the `stall`-th of the active (`way` 0) or
 * passive (1) ends that end is held, until memory_rdma_release(). 0: never. */
void memory_rdma_plan(struct rdma_provider *p, uint64_t cut, unsigned way, uint64_t stall);
uint64_t memory_rdma_messages(const struct rdma_provider *p, unsigned way);
/* True if anything waited. */
bool memory_rdma_release(struct rdma_provider *p);
/* From here on tags cannot be invalidated by a peer, as a device's plain keys cannot. */
void memory_rdma_keep_tags(struct rdma_provider *p);
/* The newest connection's active or passive end; NULL when it is gone. */
struct rdma_conn *memory_rdma_newest(struct rdma_provider *p, bool active);

/* What is left: connections, registered regions, exposed tags. */
struct memory_rdma_counts {
	unsigned conns, regions, tags;
	uint64_t sends, writes, reads; /* carried out so far */
	uint64_t unsignalled;	       /* writes among them */
	uint64_t invalidations;	       /* Sends with Invalidate */
	uint64_t flushes;
};
struct memory_rdma_counts memory_rdma_counts(const struct rdma_provider *p);

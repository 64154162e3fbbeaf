/* The verbs provider: libibverbs and librdmacm, for RoCE, InfiniBand and iWARP adapters (and rxe
 * and siw). Named only by the daemons' main and by tests. Where the libraries were not there at
 * build time, the functions are there all the same (verbs_absent.c): nothing is routed by verbs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/rdma/rdma.h"

struct address;
struct loop;
struct verbs_listener;
struct verbs_request;

struct verbs_config {
	/* This end tells its memory to peers (an initiator). */
	bool exposes;
	/* Keys of whole regions are told, although the device has memory windows. */
	bool no_windows;
	uint8_t retry_count;	   /* 0: 7 */
	uint32_t rnr_timer_us;	   /* what a peer waits when we have no receive; 0: 30 ms */
	uint64_t ack_timeout_us;   /* 0: the device's */
	uint64_t setup_timeout_ns; /* passive: from the reply to the connection; 0: 15 s */
};

/* Whether verbs were there at build time. */
bool verbs_built_in(void);
/* NULL when there is no memory. Devices are looked for when connections want them. */
struct rdma_provider *verbs_new(struct loop *loop, const struct verbs_config *config);
/* Takes up every device that is there by now, so that the first connection need not wait for
 * memory to be registered. On the provider's loop, or before it runs. */
void verbs_prepare(struct rdma_provider *p);
/* Whether an RDMA device of this host routes to `to`: one that holds the address this host would
 * send from. Loopback is routed by none. Its name goes into `device`, which may be NULL. */
bool verbs_routes_to(const struct address *to, char device[64]);

/* ---- listening ---- */

struct verbs_acceptor {
	/* A peer wants to connect. The receiver hands the request over, or drops it, from within.
	 */
	void (*requested)(struct verbs_acceptor *a, struct verbs_request *r);
};

/* Listens on `a` for as long as it lives: on every RDMA device that holds the address, also those
 * that come, or come back, later. 0 or -ENOMEM; that there is no device is no error. On `loop`. */
int verbs_listener_new(struct loop *loop, const struct address *a, struct verbs_acceptor *acceptor,
	struct verbs_listener **ret);
void verbs_listener_free(struct verbs_listener *l); /* NULL is allowed */
/* Gives the request to a provider of any loop, and its connection to `acceptor` there. */
void verbs_request_hand_over(
	struct verbs_request *r, struct rdma_provider *p, struct rdma_acceptor *acceptor);
void verbs_request_drop(struct verbs_request *r);

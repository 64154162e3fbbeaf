/* Portals: an address on which connections come in (RFC 7143 section 4.1), how they are spread over
 * the workers, and what a worker does with each. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/datamover/datamover.h"
#include "common/loop/address.h"
#include "common/loop/listener.h"
#include "target/worker.h"

/* ---- conn.c ---- */

/* A mover's new connection, on the worker's loop. */
void tgt_conn_accept(struct worker_mover *mover, struct dm_conn *dm, const struct address *peer);

/* ---- portal.c ---- */

/* What a mover is given: passes its connections on to tgt_conn_accept(). */
struct tgt_acceptor {
	struct dm_acceptor base;
	struct worker_mover *mover;
};

void tgt_acceptor_init(struct tgt_acceptor *a, struct worker_mover *mover);

/* One protocol that a portal's port speaks; the daemon names them. */
struct portal_protocol {
	const char *name;
	enum listener_verdict (*match)(const uint8_t *bytes, size_t length);
	/* Takes a socket over, on the worker's loop. Owns `fd`. */
	int (*adopt)(struct worker *w, int fd);
};

#define PORTAL_PROTOCOLS_MAX 4

struct portal_spread { /* round robin over the workers, shared by all portals */
	struct worker *const *workers;
	size_t count;
	_Atomic size_t next;
};

struct portal;

/* Listens on `a`, on loop `l`. 0 or negative errno as listener_new(). */
int portal_new(struct loop *l, const struct address *a, const struct listener_config *config,
	const struct portal_protocol *protocols, size_t protocol_count,
	struct portal_spread *spread, struct portal **ret);
void portal_free(struct portal *p); /* NULL is allowed */
const struct address *portal_address(const struct portal *p);

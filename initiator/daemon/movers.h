/* The movers of one loop thread, and what they are made from: the one place of the initiator that
 * names concrete ones. Used by iserd for its sessions, and by each job for its own loop. */
#pragma once

#include "common/datamover/datamover.h"
#include "initiator/records.h"

struct address;
struct daemon_config;
struct daemon_movers;
struct loop;

/* All movers that are built in, on `loop`. 0 or -ENOMEM. */
int daemon_movers_new(
	struct loop *loop, const struct daemon_config *config, struct daemon_movers **ret);
/* The one for a record's transport and provider, and for where the portal is: iSER goes by verbs
 * where an RDMA device routes there, by software iWARP otherwise. NULL: verbs are wanted, and were
 * not built in. */
struct dm_mover *daemon_movers_find(const struct daemon_movers *m, enum node_transport transport,
	enum node_provider provider, const struct address *portal);
/* After the last connection is gone. NULL is allowed. */
void daemon_movers_free(struct daemon_movers *m);

/* The iSER mover (RFC 7145), on any RDMA provider. Named only by the daemons' main and by tests. */
#pragma once

#include "common/datamover/datamover.h"

struct loop;
struct rdma_provider;
struct rdma_acceptor;

struct iser_mover_config {
	/* bytes; 0: 8192. Immediate data is at most this */
	uint32_t target_recv_data_segment_length;
	uint32_t initiator_recv_data_segment_length; /* bytes; 0: 8192 */
	uint32_t queue_depth;			     /* commands in flight per connection; 0: 128 */
	bool allow_remote_invalidate;
};

/* The mover does not own `provider`. NULL when there is no memory. */
struct dm_mover *iser_mover_new(
	struct loop *loop, struct rdma_provider *provider, const struct iser_mover_config *config);
/* Target: what a provider's listener gives connection requests to; every accepted connection goes
 * to `acceptor`. Owned by the mover, freed with it. NULL when there is no memory. */
struct rdma_acceptor *iser_mover_acceptor(struct dm_mover *m, struct dm_acceptor *acceptor);

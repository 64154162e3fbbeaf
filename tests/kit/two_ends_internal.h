/* The inside of two_ends.h, for two_ends.c and two_faults.c. */
#pragma once

#include "common/datamover/datamover.h"
#include "common/rdma/rdma.h"
#include "target/portal.h"
#include "tests/kit/two_ends.h"

#define PIPES_MAX 256 /* connections between two times of rest */
#define PATIENCE_NS (20 * LOOP_NS_PER_S)
#define TWO_ENDS_COMMANDS 256
#define TURNS_MAX 20000000 /* of the loop, for one thing to come */

/* A mover's, or a provider's, operations with some in place of its own. */
struct two_ends_hook {
	struct two_ends *ends;
	struct dm_ops dm;
	struct rdma_ops rdma;
};

struct two_ends {
	struct two_ends_config config;
	struct target_set *set;
	struct worker *worker;
	struct tgt_acceptor acceptor;
	struct rdma_acceptor *rdma_acceptor;
	struct rdma_acceptor hooked_acceptor; /* before it: see two_faults.c */
	struct dm_mover *target, *initiator;
	struct rdma_provider *target_provider, *initiator_provider; /* may be the same */
	struct two_ends_hook hook;
	const struct rdma_ops *provider_ops; /* that the hook covers */
	__typeof__(((struct rdma_ops *)0)->connect) connect;
	struct pipe *pipes[PIPES_MAX];
	unsigned pipe_count;
	bool refused;
	unsigned long live;
	struct pipe_plan plan;		/* of the next connection */
	unsigned long provider_fail_in; /* provider operations until one fails; 0: none does */
	unsigned long provider_asked;
};

/* ---- two_faults.c ---- */

/* Two connected descriptors, through a pipe unless config.direct. */
int two_ends_pipe(struct two_ends *e, int ret_ends[2]);
/* Covers the operations of both providers, and the acceptor, so that the n-th can fail. */
void two_ends_cover_provider(struct two_ends *e);
void two_ends_cover_conn(struct two_ends *e, struct rdma_conn *c);
/* Nothing happens any more but by time: lets stalled messages go, else moves the virtual clock to
 * the next timer, not beyond `until`. False: there is nothing, or it is later. */
bool two_ends_wait_virtually(struct two_ends *e, uint64_t until);

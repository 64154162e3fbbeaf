/* Portals of RDMA devices: beside the TCP listener of every portal a listener of RDMA_CM on the
 * same address and port, for as long as isertd accepts connections. Where no RDMA device holds the
 * address, it waits for one. Called by start.c and stop.c. */
#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/rdma/verbs.h"
#include "target/daemon/daemon.h"

struct rdma_portal {
	struct verbs_acceptor base;
	struct daemon *daemon;
	struct verbs_listener *listener;
};

/* The workers take turns, over all portals and protocols. */
static void requested(struct verbs_acceptor *a, struct verbs_request *r)
{
	struct daemon *d = container_of(a, struct rdma_portal, base)->daemon;
	size_t turn = atomic_fetch_add(&d->spread.next, 1) % d->spread.count;
	struct daemon_worker *w = &d->workers[turn];

	verbs_request_hand_over(r, w->verbs, w->iser_verbs);
}

static int portal_open(struct daemon *d, struct rdma_portal *p, const struct address *address)
{
	p->base.requested = requested;
	p->daemon = d;
	return verbs_listener_new(d->loop, address, &p->base, &p->listener);
}

/* Before the threads run. */
static void workers_prepare(struct daemon *d)
{
	for (size_t i = 0; i < d->worker_count; i++) {
		struct daemon_worker *w = &d->workers[i];

		verbs_prepare(w->verbs);
		if (rdma_pinning(w->verbs) == RDMA_PINS)
			worker_open_memory(w->worker);
	}
}

int rdma_portals_new(struct daemon *d)
{
	int err = 0;

	if (!verbs_built_in() || !d->config->rdma)
		return 0;
	d->rdma_portals = alloc_array(d->portal_count, sizeof(*d->rdma_portals));
	if (!d->rdma_portals)
		return -ENOMEM;
	workers_prepare(d);
	for (size_t i = 0; i < d->portal_count && err == 0; i++) {
		err = portal_open(d, &d->rdma_portals[i], portal_address(d->portals[i]));
		if (err == 0)
			d->rdma_portal_count++;
	}
	return err;
}

void rdma_portals_free(struct daemon *d)
{
	for (size_t i = 0; i < d->rdma_portal_count; i++)
		verbs_listener_free(d->rdma_portals[i].listener);
	d->rdma_portal_count = 0;
	alloc_free(d->rdma_portals);
	d->rdma_portals = NULL;
}

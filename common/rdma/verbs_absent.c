/* What verbs.h offers where libibverbs and librdmacm were not there at build time: nothing is
 * routed by verbs. Called by the daemons. */
#include <errno.h>

#include "common/rdma/verbs.h"

bool verbs_built_in(void)
{
	return false;
}

struct rdma_provider *verbs_new(struct loop *loop, const struct verbs_config *config)
{
	(void)loop;
	(void)config;
	return NULL;
}

void verbs_prepare(struct rdma_provider *p)
{
	(void)p;
}

bool verbs_routes_to(const struct address *to, char device[64])
{
	(void)to;
	(void)device;
	return false;
}

int verbs_listener_new(struct loop *loop, const struct address *a, struct verbs_acceptor *acceptor,
	struct verbs_listener **ret)
{
	(void)loop;
	(void)a;
	(void)acceptor;
	(void)ret;
	return -EOPNOTSUPP;
}

void verbs_listener_free(struct verbs_listener *l)
{
	(void)l;
}

void verbs_request_hand_over(
	struct verbs_request *r, struct rdma_provider *p, struct rdma_acceptor *acceptor)
{
	(void)r;
	(void)p;
	(void)acceptor;
}

void verbs_request_drop(struct verbs_request *r)
{
	(void)r;
}

/* The movers of one loop, see movers.h. Called by start.c and by jobs. */
#include "initiator/daemon/movers.h"

#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/datamover/iser.h"
#include "common/datamover/tcp.h"
#include "common/iscsi/keys.h"
#include "common/loop/address.h"
#include "common/rdma/rdma.h"
#include "common/rdma/softiwarp.h"
#include "common/rdma/verbs.h"
#include "initiator/daemon/daemon.h"

struct daemon_movers {
	struct dm_mover *tcp, *iser, *iser_verbs; /* the last: NULL where there are no verbs */
	struct rdma_provider *softiwarp, *verbs;
};

static struct dm_mover *iser_new(struct loop *loop, struct rdma_provider *provider)
{
	const struct iser_mover_config config = {.allow_remote_invalidate = true};

	return provider ? iser_mover_new(loop, provider, &config) : NULL;
}

static int iser_make(struct daemon_movers *m, struct loop *loop, const struct daemon_config *config)
{
	const struct softiwarp_config softiwarp = {.crc = (enum softiwarp_crc)config->crc};
	const struct verbs_config verbs = {.exposes = true, .no_windows = config->no_windows};

	m->softiwarp = softiwarp_new(loop, &softiwarp);
	m->iser = iser_new(loop, m->softiwarp);
	if (!m->iser)
		return -ENOMEM;
	if (!verbs_built_in())
		return 0;
	m->verbs = verbs_new(loop, &verbs);
	m->iser_verbs = iser_new(loop, m->verbs);
	return m->iser_verbs ? 0 : -ENOMEM;
}

int daemon_movers_new(
	struct loop *loop, const struct daemon_config *config, struct daemon_movers **ret)
{
	/* a session narrows this by its record */
	const struct tcp_mover_config tcp = {
		.header_digest = ISCSI_DIGEST_NONE | ISCSI_DIGEST_CRC32C,
		.data_digest = ISCSI_DIGEST_NONE | ISCSI_DIGEST_CRC32C,
	};
	struct daemon_movers *m = alloc_zeroed(sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->tcp = tcp_mover_new(loop, &tcp);
	if (!m->tcp || iser_make(m, loop, config) < 0) {
		daemon_movers_free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

static struct dm_mover *iser_find(
	const struct daemon_movers *m, enum node_provider provider, const struct address *portal)
{
	char device[64], text[ADDRESS_TEXT_SIZE];

	if (provider == NODE_PROVIDER_SOFTIWARP || !m->iser_verbs)
		return provider == NODE_PROVIDER_VERBS ? NULL : m->iser;
	if (provider == NODE_PROVIDER_VERBS)
		return m->iser_verbs;
	if (!verbs_routes_to(portal, device))
		return m->iser;
	log_debug("movers", "%s is reached by %s", address_print(portal, text), device);
	return m->iser_verbs;
}

struct dm_mover *daemon_movers_find(const struct daemon_movers *m, enum node_transport transport,
	enum node_provider provider, const struct address *portal)
{
	return transport == NODE_TRANSPORT_ISER ? iser_find(m, provider, portal) : m->tcp;
}

void daemon_movers_free(struct daemon_movers *m)
{
	if (!m)
		return;
	dm_mover_free(m->iser_verbs);
	dm_mover_free(m->iser);
	dm_mover_free(m->tcp);
	rdma_provider_free(m->verbs);
	rdma_provider_free(m->softiwarp);
	alloc_free(m);
}

/* The movers of one loop, see movers.h. Called by start.c and by jobs. */
#include "initiator/daemon/movers.h"

#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/datamover/iser.h"
#include "common/datamover/tcp.h"
#include "common/iscsi/keys.h"
#include "common/rdma/rdma.h"
#include "common/rdma/softiwarp.h"
#include "initiator/daemon/daemon.h"

struct daemon_movers {
	struct dm_mover *tcp, *iser;
	struct rdma_provider *softiwarp;
};

static int iser_new(struct daemon_movers *m, struct loop *loop, const struct daemon_config *config)
{
	const struct softiwarp_config provider = {.crc = (enum softiwarp_crc)config->crc};
	const struct iser_mover_config mover = {.allow_remote_invalidate = true};

	m->softiwarp = softiwarp_new(loop, &provider);
	if (!m->softiwarp)
		return -ENOMEM;
	m->iser = iser_mover_new(loop, m->softiwarp, &mover);
	return m->iser ? 0 : -ENOMEM;
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
	if (!m->tcp || iser_new(m, loop, config) < 0) {
		daemon_movers_free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

struct dm_mover *daemon_movers_find(const struct daemon_movers *m, const char *transport)
{
	struct dm_mover *const all[] = {m->iser, m->tcp};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strcmp(all[i]->ops->name, transport) == 0)
			return all[i];
	return NULL;
}

void daemon_movers_free(struct daemon_movers *m)
{
	if (!m)
		return;
	dm_mover_free(m->iser);
	dm_mover_free(m->tcp);
	rdma_provider_free(m->softiwarp);
	alloc_free(m);
}

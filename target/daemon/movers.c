/* The movers and providers of a worker, and how the bytes of a new connection choose between them:
 * the one place that names them. Called by start.c; the adopt functions by portal.c on the worker's
 * loop. */
#include <errno.h>

#include "common/datamover/iser.h"
#include "common/datamover/tcp.h"
#include "common/iscsi/keys.h"
#include "common/rdma/softiwarp.h"
#include "common/rdma/verbs.h"
#include "target/daemon/daemon.h"

static enum listener_verdict match_tcp(const uint8_t *bytes, size_t length)
{
	return (enum listener_verdict)tcp_mover_match(bytes, length);
}

static enum listener_verdict match_softiwarp(const uint8_t *bytes, size_t length)
{
	return (enum listener_verdict)softiwarp_match(bytes, length);
}

static int adopt_tcp(struct worker *w, int fd)
{
	struct daemon_worker *d = w->platform;

	return tcp_mover_adopt(d->tcp, fd, &d->tcp_acceptor.base);
}

static int adopt_softiwarp(struct worker *w, int fd)
{
	struct daemon_worker *d = w->platform;

	return softiwarp_adopt(d->softiwarp, fd, d->iser);
}

const struct portal_protocol daemon_protocols[DAEMON_PROTOCOLS] = {
	{"iSCSI over TCP", match_tcp, adopt_tcp},
	{"iSER over software iWARP", match_softiwarp, adopt_softiwarp},
};

static const unsigned digests[] = {
	[CONFIG_DIGEST_OPTIONAL] = ISCSI_DIGEST_NONE | ISCSI_DIGEST_CRC32C,
	[CONFIG_DIGEST_NONE] = ISCSI_DIGEST_NONE,
	[CONFIG_DIGEST_CRC32C] = ISCSI_DIGEST_CRC32C,
};

static int tcp_new(struct daemon_worker *w, const struct config *c)
{
	const struct tcp_mover_config config = {
		.header_digest = digests[c->header_digest],
		.data_digest = digests[c->data_digest],
		.max_recv_data_segment_length = (uint32_t)c->max_receive,
		.congestion_control = c->congestion_control,
	};
	struct worker_mover *m;
	int err;

	w->tcp = tcp_mover_new(w->worker->loop, &config);
	err = worker_add_mover(w->worker, w->tcp, &m);
	if (err == 0)
		tgt_acceptor_init(&w->tcp_acceptor, m);
	return err;
}

static struct rdma_provider *softiwarp_provider(struct daemon_worker *w, const struct config *c)
{
	const struct softiwarp_config config = {
		.crc = (enum softiwarp_crc)c->crc,
		.max_ulpdu = (uint32_t)c->max_fpdu,
		.mpa_timeout_ns = c->login_timeout_ns,
		.congestion_control = c->congestion_control,
	};

	return softiwarp_new(w->worker->loop, &config);
}

static struct rdma_provider *verbs_provider(struct daemon_worker *w, const struct config *c)
{
	const struct verbs_config config = {
		.retry_count = (uint8_t)c->rdma_retry_count,
		.ack_timeout_us = c->rdma_ack_timeout_ns / 1000,
		.rnr_timer_us = (uint32_t)(c->rdma_rnr_timer_ns / 1000),
		.setup_timeout_ns = c->login_timeout_ns,
	};

	return verbs_new(w->worker->loop, &config);
}

/* The iSER mover on `provider`, and what that provider gives its connections to. */
static int iser_new(struct daemon_worker *w, const struct config *c, struct rdma_provider *provider,
	struct tgt_acceptor *upper, struct rdma_acceptor **ret)
{
	const struct iser_mover_config config = {
		.target_recv_data_segment_length = (uint32_t)c->iser_receive,
		.queue_depth = (uint32_t)c->queue_depth,
		.allow_remote_invalidate = c->remote_invalidate,
	};
	struct worker_mover *m;
	int err;

	if (!provider)
		return -ENOMEM;
	err = worker_add_mover(w->worker, iser_mover_new(w->worker->loop, provider, &config), &m);
	if (err < 0)
		return err;
	tgt_acceptor_init(upper, m);
	*ret = iser_mover_acceptor(m->mover, &upper->base);
	return *ret ? 0 : -ENOMEM;
}

static void provider_free(struct worker *w)
{
	struct daemon_worker *d = w->platform;

	rdma_provider_free(d->softiwarp);
	rdma_provider_free(d->verbs);
}

int movers_new(struct daemon_worker *w, const struct config *c)
{
	int err;

	w->worker->platform = w;
	w->worker->platform_free = provider_free;
	err = tcp_new(w, c);
	if (err < 0)
		return err;
	w->softiwarp = softiwarp_provider(w, c);
	err = iser_new(w, c, w->softiwarp, &w->iser_acceptor, &w->iser);
	if (err < 0 || !verbs_built_in() || !c->rdma)
		return err;
	w->verbs = verbs_provider(w, c);
	return iser_new(w, c, w->verbs, &w->verbs_acceptor, &w->iser_verbs);
}

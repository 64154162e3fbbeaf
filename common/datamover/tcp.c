/* The iSCSI/TCP mover (RFC 5047 over RFC 7143): its making, its connections in and out, and the
 * table of its operations. tcp_internal.h tells which file does what. */
#include "common/datamover/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/datamover/tcp_internal.h"
#include "common/loop/listener.h"

#define MAX_RECV_DEFAULT (256u * 1024)
#define MAX_RECV_MIN 512u /* RFC 7143 section 13.12 */
#define MAX_RECV_MAX 16777215u
#define IMMEDIATE_DEFAULT (16u * 1024)
#define LOGIN_FIRST_BYTE 0x43 /* Login Request (03h) with the I bit, which it always has */
/* One generation bit less than tags allow for the capacity; a stale TTT comes back after 4,096
 * uses. */
#define TTT_GENERATION_BITS 12

static struct tcp_mover *mover_of(struct dm_mover *m)
{
	return container_of(m, struct tcp_mover, dm);
}

/* ---- regions: any memory is fit for a socket ---- */

static int tcp_register_region(
	struct dm_mover *m, void *address, size_t length, struct dm_region **ret)
{
	struct dm_region *r = alloc_zeroed(sizeof(*r));

	(void)m;
	if (!r)
		return -ENOMEM;
	*r = (struct dm_region){.address = address, .length = length};
	*ret = r;
	return 0;
}

static void tcp_unregister_region(struct dm_mover *m, struct dm_region *r)
{
	(void)m;
	alloc_free(r);
}

/* ---- keys and the full-feature phase ---- */

static void tcp_declare_keys(struct dm_conn *dm, struct iscsi_params *offer)
{
	const struct tcp_mover_config *config = &tcp_conn_of(dm)->mover->config;

	offer->header_digest = config->header_digest;
	offer->data_digest = config->data_digest;
	offer->max_recv_data_segment_length = config->max_recv_data_segment_length;
}

static int tcp_allocate_connection_resources(struct dm_conn *dm, const struct iscsi_params *p)
{
	struct tcp_conn *c = tcp_conn_of(dm);
	int error = tcp_rx_reserve(c, p->max_recv_data_segment_length);

	if (error || !c->target || c->tags)
		return error;
	c->tags = tags_new(TCP_TASKS_MAX * TCP_R2TS_PER_TASK, TTT_GENERATION_BITS);
	return c->tags ? 0 : -ENOMEM;
}

/* A length that the negotiation cannot have given would divide by 0, or never end. */
static bool params_usable(const struct iscsi_params *p)
{
	return p->max_recv_data_segment_length && p->peer_max_recv_data_segment_length &&
	       p->max_burst_length && p->max_outstanding_r2t;
}

static int tcp_enable(struct dm_conn *dm, const struct iscsi_params *p)
{
	struct tcp_conn *c = tcp_conn_of(dm);
	int error;

	if (!tcp_conn_open(c))
		return -ENOTCONN;
	if (!params_usable(p))
		return -EINVAL;
	error = tcp_allocate_connection_resources(dm, p);
	if (error)
		return error;
	/* What was handed over before, the last Login Response, leaves without digests. */
	tcp_tx_fill(c);
	if (!list_empty(&c->out))
		return -ENOBUFS;
	c->params = *p;
	c->max_send = p->peer_max_recv_data_segment_length;
	c->rx.max_data_length = p->max_recv_data_segment_length;
	c->rx.header_digest = c->tx.header_digest = p->header_digest == ISCSI_DIGEST_CRC32C;
	c->rx.data_digest = c->tx.data_digest = p->data_digest == ISCSI_DIGEST_CRC32C;
	c->dm.checksums_data = c->tx.data_digest;
	return 0;
}

static void tcp_deallocate_task_resources(struct dm_conn *dm, struct dm_task *task)
{
	struct tcp_conn *c = tcp_conn_of(dm);

	if (c->target)
		tcp_target_deallocate(c, task);
	else
		tcp_initiator_deallocate(c, task);
}

static void address_text(const struct address *a, char out[64])
{
	if (a->sa.ss_family == AF_INET || a->sa.ss_family == AF_INET6)
		address_print(a, out);
	else
		snprintf(out, 64, "local");
}

static void tcp_get_info(const struct dm_conn *dm, struct dm_conn_info *ret)
{
	const struct tcp_conn *c = container_of(dm, struct tcp_conn, dm);

	*ret = (struct dm_conn_info){
		.mover = "tcp",
		.provider = "socket",
		.header_digest = c->tx.header_digest,
		.data_digest = c->tx.data_digest,
		.pdus_sent = c->pdus_sent,
		.pdus_received = c->pdus_received,
		.bytes_sent = c->bytes_sent,
		.bytes_received = c->bytes_received,
	};
	address_text(&c->local, ret->local);
	address_text(&c->peer, ret->peer);
}

/* ---- connections ---- */

/* What cannot be set is not set: a socketpair has no TCP, a kernel may lack the algorithm. */
static void socket_tune(const struct tcp_mover *m, int fd)
{
	int on = 1;

	(void)sys_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (m->congestion[0])
		(void)sys_setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, m->congestion,
			(socklen_t)strlen(m->congestion));
}

static void addresses_find(struct tcp_conn *c)
{
	c->local.length = c->peer.length = sizeof(struct sockaddr_storage);
	if (getsockname(c->watch.fd, (struct sockaddr *)&c->local.sa, &c->local.length) < 0)
		c->local = (struct address){0};
	if (getpeername(c->watch.fd, (struct sockaddr *)&c->peer.sa, &c->peer.length) < 0)
		c->peer = (struct address){0};
}

static int conn_adopt(struct tcp_mover *m, int fd, bool target, struct tcp_conn **ret)
{
	int error = tcp_conn_new(m, fd, target, ret);

	if (error) {
		close(fd);
		return error;
	}
	socket_tune(m, fd);
	addresses_find(*ret);
	loop_defer(m->loop, &(*ret)->start);
	return 0;
}

int tcp_mover_adopt(struct dm_mover *m, int fd, struct dm_acceptor *acceptor)
{
	struct tcp_conn *c;
	int error = conn_adopt(mover_of(m), fd, true, &c);

	if (!error)
		c->acceptor = acceptor;
	return error;
}

int tcp_mover_adopt_active(
	struct dm_mover *m, int fd, const struct dm_upcalls *up, void *owner, struct dm_conn **ret)
{
	struct tcp_conn *c;
	int error = conn_adopt(mover_of(m), fd, false, &c);

	if (error)
		return error;
	dm_conn_set_owner(&c->dm, up, owner);
	*ret = &c->dm;
	return 0;
}

static int tcp_connect(struct dm_mover *dm, const struct address *to, uint64_t timeout_ns,
	const struct dm_upcalls *up, void *owner, struct dm_conn **ret)
{
	struct tcp_mover *m = mover_of(dm);
	int fd = address_connect(to), error;
	struct tcp_conn *c;

	if (fd < 0)
		return fd;
	error = tcp_conn_new(m, fd, false, &c);
	if (error) {
		close(fd);
		return error;
	}
	socket_tune(m, fd);
	c->peer = *to;
	dm_conn_set_owner(&c->dm, up, owner);
	error = loop_watch_add(m->loop, &c->watch, LOOP_WRITABLE);
	if (!error)
		error = loop_timer_arm(m->loop, &c->timer, timeout_ns);
	if (error) {
		tcp_conn_free(c);
		return error;
	}
	*ret = &c->dm;
	return 0;
}

int tcp_mover_match(const uint8_t *bytes, size_t length)
{
	return length && bytes[0] == LOGIN_FIRST_BYTE ? LISTENER_YES : LISTENER_NO;
}

/* ---- the mover ---- */

static void tcp_free_mover(struct dm_mover *dm)
{
	struct tcp_mover *m = mover_of(dm);

	tcp_slab_release(&m->items);
	tcp_slab_release(&m->pdus);
	tcp_slab_release(&m->tasks);
	tcp_slab_release(&m->r2ts);
	tcp_slab_release(&m->payload_small);
	tcp_slab_release(&m->payload_large);
	alloc_free(m->staging);
	alloc_free(m);
}

static const struct dm_ops tcp_ops = {
	.name = "tcp",
	.connect = tcp_connect,
	.register_region = tcp_register_region,
	.unregister_region = tcp_unregister_region,
	.free_mover = tcp_free_mover,
	.declare_keys = tcp_declare_keys,
	.allocate_connection_resources = tcp_allocate_connection_resources,
	.enable = tcp_enable,
	.terminate = tcp_conn_terminate,
	.send_control = tcp_send_control,
	.put_data = tcp_put_data,
	.get_data = tcp_get_data,
	.deallocate_task_resources = tcp_deallocate_task_resources,
	.get_info = tcp_get_info,
};

static void config_complete(struct tcp_mover_config *config)
{
	uint32_t *max = &config->max_recv_data_segment_length;

	if (!*max)
		*max = MAX_RECV_DEFAULT;
	if (*max < MAX_RECV_MIN)
		*max = MAX_RECV_MIN;
	*max = min_u32(*max, MAX_RECV_MAX);
	if (!config->immediate_limit)
		config->immediate_limit = IMMEDIATE_DEFAULT;
	if (!config->header_digest)
		config->header_digest = ISCSI_DIGEST_NONE;
	if (!config->data_digest)
		config->data_digest = ISCSI_DIGEST_NONE;
}

/* Objects per chunk: what a few connections at a usual depth use. */
static void slabs_init(struct tcp_mover *m)
{
	tcp_slab_init(&m->items, sizeof(struct tcp_item), 256);
	tcp_slab_init(&m->pdus, sizeof(struct tcp_pdu), 256);
	tcp_slab_init(&m->tasks, sizeof(struct tcp_task), 128);
	tcp_slab_init(&m->r2ts, sizeof(struct tcp_r2t), 128);
	tcp_slab_init(&m->payload_small, TCP_PAYLOAD_SMALL, 128);
	tcp_slab_init(&m->payload_large, TCP_PAYLOAD_LARGE, 4);
}

struct dm_mover *tcp_mover_new(struct loop *loop, const struct tcp_mover_config *config)
{
	struct tcp_mover *m = alloc_zeroed(sizeof(*m));

	if (!m)
		return NULL;
	m->dm.ops = &tcp_ops;
	m->loop = loop;
	m->config = *config;
	config_complete(&m->config);
	if (config->congestion_control)
		snprintf(m->congestion, sizeof(m->congestion), "%s", config->congestion_control);
	m->config.congestion_control = NULL; /* the caller's string */
	list_init(&m->conns);
	slabs_init(m);
	m->staging = alloc_aligned(4096, TCP_STAGING_SIZE);
	if (!m->staging) {
		alloc_free(m);
		return NULL;
	}
	return &m->dm;
}

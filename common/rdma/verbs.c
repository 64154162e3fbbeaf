/* The verbs provider of rdma.h: libibverbs and librdmacm. Its connections, devices and memory are
 * in the files named in verbs_internal.h. Used by datamover/iser.c through rdma.h. */
#include "common/rdma/verbs_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/sys.h"

#define RETRIES 7 /* the most that InfiniBand has */
#define RNR_TIMER_US 30000
#define SETUP_TIMEOUT_NS (15 * LOOP_NS_PER_S)

bool verbs_built_in(void)
{
	return true;
}

static void provider_free(struct rdma_provider *base)
{
	struct verbs *p = verbs_of(base);
	struct verbs_conn *c, *next;
	struct verbs_device *d, *after;

	list_for_each_safe(c, next, &p->conns, link) {
		verbs_conn_over(c, -ECANCELED, "the provider was closed");
		verbs_conn_finish(c);
	}
	loop_poller_remove(&p->poller);
	loop_timer_cancel(&p->watchdog);
	loop_timer_cancel(&p->linger);
	list_for_each_safe(d, after, &p->devices, link)
		verbs_device_free(d);
	verbs_channel_close(&p->channel);
	pthread_mutex_destroy(&p->lock);
	alloc_free(p->places);
	alloc_free(p);
}

static void config_complete(struct verbs_config *c)
{
	if (!c->retry_count || c->retry_count > RETRIES)
		c->retry_count = RETRIES;
	if (!c->rnr_timer_us)
		c->rnr_timer_us = RNR_TIMER_US;
	if (!c->setup_timeout_ns)
		c->setup_timeout_ns = SETUP_TIMEOUT_NS;
}

struct rdma_provider *verbs_new(struct loop *loop, const struct verbs_config *config)
{
	struct verbs *p = alloc_zeroed(sizeof(*p));

	if (!p)
		return NULL;
	p->base.ops = &verbs_ops;
	p->loop = loop;
	if (config)
		p->config = *config;
	config_complete(&p->config);
	pthread_mutex_init(&p->lock, NULL);
	list_init(&p->devices);
	list_init(&p->regions);
	list_init(&p->conns);
	list_init(&p->done);
	p->poller.poll = verbs_poll;
	p->watchdog.expired = verbs_watchdog;
	p->linger.expired = verbs_linger_expired;
	loop_poller_add(loop, &p->poller);
	return &p->base;
}

void verbs_prepare(struct rdma_provider *p)
{
	struct ibv_context **all = rdma_get_devices(NULL);
	struct verbs_device *d;

	for (size_t i = 0; all && all[i]; i++)
		if (verbs_device_get(verbs_of(p), all[i], &d) < 0)
			log_debug(
				"verbs", "%s cannot be used", ibv_get_device_name(all[i]->device));
	if (all)
		rdma_free_devices(all);
}

/* ---- which device routes to an address ---- */

static bool is_loopback(const struct address *a)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)&a->sa;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)&a->sa;

	return a->sa.ss_family == AF_INET ? ntohl(sin->sin_addr.s_addr) >> 24 == 127
					  : IN6_IS_ADDR_LOOPBACK(&sin6->sin6_addr);
}

/* The address that this host would send from; nothing is sent. */
static int source_find(const struct address *to, struct address *ret)
{
	int fd = sys_socket(to->sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = 0;

	if (fd < 0)
		return -errno;
	ret->length = sizeof(ret->sa);
	if (sys_connect(fd, (const struct sockaddr *)&to->sa, to->length) < 0 ||
		sys_getsockname(fd, (struct sockaddr *)&ret->sa, &ret->length) < 0)
		err = -errno;
	close(fd);
	/* The port has the same place in both families. */
	((struct sockaddr_in *)&ret->sa)->sin_port = 0;
	return err;
}

/* An id bound to the device that holds `source`, or NULL. */
static struct rdma_cm_id *id_bind(struct verbs_channel *channel, struct address *source)
{
	static struct verbs_id nobody;
	struct rdma_cm_id *id;

	if (verbs_channel_open(channel) < 0 ||
		rdma_create_id(channel->cm, &id, &nobody, RDMA_PS_TCP))
		return NULL;
	if (rdma_bind_addr(id, (struct sockaddr *)&source->sa) == 0 && id->verbs)
		return id;
	rdma_destroy_id(id);
	return NULL;
}

/* Asks `question` of the device that routes to `to`. False where there is none. */
static bool route_ask(const struct address *to,
	void (*question)(struct ibv_context *context, void *answer), void *answer)
{
	struct verbs_channel channel = {.cm = NULL};
	struct address source = {.length = 0};
	struct rdma_cm_id *id = NULL;

	if (!is_loopback(to) && source_find(to, &source) == 0 && !is_loopback(&source))
		id = id_bind(&channel, &source);
	if (id) {
		/* It is open from here on, and has to be looked after. */
		verbs_context_hold(id->verbs);
		question(id->verbs, answer);
		verbs_context_put(id->verbs);
		rdma_destroy_id(id);
	}
	verbs_channel_close(&channel);
	return id;
}

static void device_name(struct ibv_context *context, void *answer)
{
	snprintf(answer, 64, "%s", ibv_get_device_name(context->device));
}

bool verbs_routes_to(const struct address *to, char device[64])
{
	char name[64];

	return route_ask(to, device_name, device ? device : name);
}

static void device_caps(struct ibv_context *context, void *answer)
{
	verbs_device_query(context, answer);
}

/* Keys of whole regions cannot be invalidated by a peer: only windows can. */
static bool takes_invalidate(struct rdma_provider *base, const struct address *to)
{
	struct verbs_caps caps = {.windows = false};

	return !verbs_of(base)->config.no_windows && route_ask(to, device_caps, &caps) &&
	       caps.windows;
}

static enum rdma_pinning pinning(struct rdma_provider *base)
{
	return list_empty(&verbs_of(base)->devices) ? RDMA_PINS_LATER : RDMA_PINS;
}

/* ---- what a person wants to know ---- */

static void get_info(const struct rdma_conn *base, struct rdma_conn_info *ret)
{
	const struct verbs_conn *c = container_of(base, const struct verbs_conn, base);
	const char *keys = !c->provider->config.exposes ? ""
			   : c->shape.windows		? ", keys by window"
							: ", plain keys";

	*ret = (struct rdma_conn_info){
		.provider = verbs_ops.name,
		/* InfiniBand and RoCE have their invariant CRC in every packet. */
		.crc = c->device && !c->device->caps.iwarp,
		.bytes_sent = c->bytes_sent,
		.bytes_received = c->bytes_received,
	};
	snprintf(ret->local, sizeof(ret->local), "%s", c->local);
	snprintf(ret->peer, sizeof(ret->peer), "%s", c->peer);
	if (c->id && c->id->verbs)
		snprintf(ret->detail, sizeof(ret->detail), "%s, MTU %u, depth %u/%u, reads %u/%u%s",
			ibv_get_device_name(c->id->verbs->device), c->mtu, c->shape.sends,
			c->shape.receives, c->reads.responder_resources, c->reads.initiator_depth,
			keys);
}

const struct rdma_ops verbs_ops = {
	.name = "verbs",
	.register_region = verbs_region_register,
	.unregister_region = verbs_region_unregister,
	.connect = verbs_connect,
	.accept = verbs_accept,
	.reject = verbs_reject,
	.disconnect = verbs_disconnect,
	.post_receive = verbs_post_receive,
	.post_send = verbs_post_send,
	.post_write = verbs_post_write,
	.post_read = verbs_post_read,
	.flush = verbs_flush,
	.expose = verbs_expose,
	.revoke = verbs_revoke,
	.takes_invalidate = takes_invalidate,
	.pinning = pinning,
	.get_info = get_info,
	.free_provider = provider_free,
};

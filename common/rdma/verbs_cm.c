/* Connection setup by librdmacm: IBTA volume 1 chapter 12 on InfiniBand and RoCE, MPA on iWARP.
 * Active: address, route, request, reply. Passive: request, reply, and a last message that the
 * first Send may overtake. Called by the loop with RDMA_CM's events, and through rdma.h. */
#include "common/rdma/verbs_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/sys.h"

/* Times that this end's Sends are repeated for want of a receive. */
#define RNR_RETRIES 6
#define EVENTS_PER_TURN 64
/* Reasons of InfiniBand's CM for a REJ, IBTA volume 1 section 12.6.7.2. */
#define REJ_INVALID_SERVICE 8
#define REJ_CONSUMER 28

/* ---- event channels ---- */

static void event_copy(const struct rdma_cm_event *from, struct verbs_event *to)
{
	const struct rdma_conn_param *p = &from->param.conn;

	*to = (struct verbs_event){.type = from->event,
		.status = from->status,
		.id = from->id,
		.reads = {p->responder_resources, p->initiator_depth}};
	verbs_private_data_take(p->private_data, p->private_data_len, &to->pd);
}

static void channel_ready(struct loop_watch *w, unsigned events)
{
	struct verbs_channel *c = container_of(w, struct verbs_channel, watch);
	struct rdma_cm_event *event;

	(void)events;
	for (unsigned i = 0; i < EVENTS_PER_TURN; i++) {
		struct verbs_event copy;
		struct verbs_id *to;

		/* A handler may close the channel. */
		if (!c->cm || rdma_get_cm_event(c->cm, &event))
			return;
		to = event->listen_id ? event->listen_id->context : event->id->context;
		event_copy(event, &copy);
		rdma_ack_cm_event(event);
		to->event(to, &copy);
	}
}

int verbs_channel_open(struct verbs_channel *c)
{
	int flags;

	if (c->cm)
		return 0;
	c->cm = rdma_create_event_channel();
	if (!c->cm)
		return -ENODEV;
	c->watch.fd = c->cm->fd;
	c->watch.ready = channel_ready;
	flags = fcntl(c->cm->fd, F_GETFL);
	if (flags < 0 || fcntl(c->cm->fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
		fcntl(c->cm->fd, F_SETFD, FD_CLOEXEC) < 0) {
		verbs_channel_close(c);
		return -EMFILE;
	}
	return 0;
}

int verbs_channel_watch(struct verbs_channel *c, struct loop *loop)
{
	return c->watch.loop ? 0 : loop_watch_add(loop, &c->watch, LOOP_READABLE);
}

void verbs_channel_close(struct verbs_channel *c)
{
	loop_watch_remove(&c->watch);
	if (c->cm)
		rdma_destroy_event_channel(c->cm);
	*c = (struct verbs_channel){.cm = NULL};
}

/* ---- what both ends do ---- */

static void conn_param_fill(const struct verbs_conn *c, struct rdma_conn_param *p)
{
	*p = (struct rdma_conn_param){
		.responder_resources = c->reads.responder_resources,
		.initiator_depth = c->reads.initiator_depth,
		.private_data = c->own_pd.bytes,
		.private_data_len = (uint8_t)c->own_pd.length,
		.retry_count = c->provider->config.retry_count,
		.rnr_retry_count = RNR_RETRIES,
		.flow_control = 1,
	};
}

static void ack_timeout_set(struct verbs_conn *c)
{
	uint8_t code = verbs_ack_timeout_code(c->provider->config.ack_timeout_us);

	if (code && rdma_set_option(
			    c->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &code, sizeof(code)))
		log_debug("verbs", "the ACK timeout stays as the device has it: %s",
			strerrordesc_np(errno));
}

/* ---- active ---- */

static void request_send(struct verbs_conn *c)
{
	struct rdma_conn_param param;
	int err;

	c->reads = verbs_reads_ask(&c->limits, &c->device->caps);
	err = verbs_conn_open(c);
	if (err < 0) {
		verbs_conn_over(c, err, "no queues for the connection: %s", strerrordesc_np(-err));
		return;
	}
	conn_param_fill(c, &param);
	c->state = VERBS_CONNECTING;
	if (rdma_connect(c->id, &param))
		verbs_conn_over(c, -errno, "cannot connect: %s", strerrordesc_np(errno));
}

static void on_address(struct verbs_conn *c, const struct verbs_event *e)
{
	int err = verbs_device_get(c->provider, c->id->verbs, &c->device);

	(void)e;
	if (err < 0) {
		verbs_conn_over(
			c, err, "the RDMA device cannot be used: %s", verbs_device_trouble(err));
		return;
	}
	ack_timeout_set(c);
	if (rdma_resolve_route(c->id, 2000))
		verbs_conn_over(c, -errno, "no route: %s", strerrordesc_np(errno));
}

static void on_route(struct verbs_conn *c, const struct verbs_event *e)
{
	(void)e;
	request_send(c);
}

/* librdmacm's own failures come as -1, which is no errno. */
static int status_errno(int status, int otherwise)
{
	return status < -1 ? status : otherwise;
}

static void on_no_address(struct verbs_conn *c, const struct verbs_event *e)
{
	int err = status_errno(e->status, -EHOSTUNREACH);

	verbs_conn_over(c, err, "no RDMA device reaches the peer: %s", strerrordesc_np(-err));
}

static void on_no_route(struct verbs_conn *c, const struct verbs_event *e)
{
	int err = status_errno(e->status, -EHOSTUNREACH);

	verbs_conn_over(c, err, "no route to the peer: %s", strerrordesc_np(-err));
}

static void on_no_connection(struct verbs_conn *c, const struct verbs_event *e)
{
	int err = status_errno(e->status, -ETIMEDOUT);

	verbs_conn_over(c, err, "the connection was not made: %s", strerrordesc_np(-err));
}

static void on_rejected(struct verbs_conn *c, const struct verbs_event *e)
{
	bool consumer = e->status == REJ_CONSUMER || e->status == -ECONNREFUSED;

	if (c->owned && c->active && consumer) {
		c->peer_pd = e->pd;
		c->up.event(c->base.owner, RDMA_REJECTED, &c->peer_pd);
	}
	if (e->status == REJ_INVALID_SERVICE)
		verbs_conn_over(c, -ECONNREFUSED, "nobody listens for RDMA there");
	else if (consumer)
		verbs_conn_over(c, -ECONNREFUSED, "rejected by the peer");
	else
		verbs_conn_over(c, -ECONNREFUSED, "rejected, reason %d", e->status);
}

static void on_established(struct verbs_conn *c, const struct verbs_event *e)
{
	if (c->established || (c->state != VERBS_CONNECTING && c->state != VERBS_ACCEPTED))
		return;
	loop_timer_cancel(&c->timer);
	c->established = true;
	c->state = VERBS_UP;
	if (c->active) {
		c->peer_pd = e->pd;
		/* What the peer serves may be less than was asked for. */
		c->reads.initiator_depth =
			(uint8_t)min_u32(c->reads.initiator_depth, e->reads.initiator_depth);
		verbs_conn_settle(c);
	}
	c->up.event(c->base.owner, RDMA_ESTABLISHED, &c->peer_pd);
}

static void on_disconnected(struct verbs_conn *c, const struct verbs_event *e)
{
	bool ours = c->state == VERBS_DISCONNECTING;

	(void)e;
	/* What arrived before the end counts. */
	verbs_poll_now(c->provider);
	verbs_conn_over(c, 0, ours ? "closed by this end" : "closed by the peer");
}

static void on_removal(struct verbs_conn *c, const struct verbs_event *e)
{
	(void)e;
	if (c->device)
		verbs_device_lost(c->device);
	verbs_conn_over(c, -ENODEV, "the RDMA device was removed");
}

static void on_address_change(struct verbs_conn *c, const struct verbs_event *e)
{
	(void)e;
	verbs_conn_over(c, -ENETDOWN, "the address has moved to another device");
}

void verbs_conn_event(struct verbs_id *to, const struct verbs_event *e)
{
	static void (*const handlers[])(struct verbs_conn * c, const struct verbs_event *e) = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = on_address,
		[RDMA_CM_EVENT_ADDR_ERROR] = on_no_address,
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = on_route,
		[RDMA_CM_EVENT_ROUTE_ERROR] = on_no_route,
		[RDMA_CM_EVENT_CONNECT_ERROR] = on_no_connection,
		[RDMA_CM_EVENT_UNREACHABLE] = on_no_connection,
		[RDMA_CM_EVENT_REJECTED] = on_rejected,
		[RDMA_CM_EVENT_ESTABLISHED] = on_established,
		[RDMA_CM_EVENT_DISCONNECTED] = on_disconnected,
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = on_removal,
		[RDMA_CM_EVENT_ADDR_CHANGE] = on_address_change,
	};
	struct verbs_conn *c = container_of(to, struct verbs_conn, cm);

	if (c->state != VERBS_OVER && (size_t)e->type < ARRAY_SIZE(handlers) && handlers[e->type])
		handlers[e->type](c, e);
}

static int connect_begin(struct verbs_conn *c, const struct address *to, uint64_t timeout_ns)
{
	struct verbs *p = c->provider;
	int err;

	if (rdma_create_id(p->channel.cm, &c->id, &c->cm, RDMA_PS_TCP))
		return errno ? -errno : -ENOMEM;
	err = loop_timer_arm(p->loop, &c->timer, timeout_ns);
	if (err < 0)
		return err;
	/* The loop's timer bounds all steps together. */
	if (rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&to->sa,
		    (int)min_u64(timeout_ns / LOOP_NS_PER_MS + 1, 60000)))
		return errno ? -errno : -EHOSTUNREACH;
	return 0;
}

/* The beginning has failed: nobody is told by an upcall. */
static void conn_discard(struct verbs_conn *c)
{
	c->owned = false;
	verbs_conn_over(c, -ECANCELED, "not begun");
	verbs_conn_finish(c);
}

int verbs_connect(struct rdma_provider *base, const struct address *to, uint64_t timeout_ns,
	const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
	const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret)
{
	struct verbs *p = verbs_of(base);
	struct verbs_conn *c;
	int err = pd && pd->length > RDMA_PRIVATE_DATA_MAX ? -EINVAL
							   : verbs_channel_open(&p->channel);

	if (err == 0)
		err = verbs_channel_watch(&p->channel, p->loop);
	if (err == 0)
		err = verbs_conn_new(p, NULL, &c);
	if (err)
		return err;
	c->active = true;
	c->limits = *limits;
	if (pd)
		c->own_pd = *pd;
	err = connect_begin(c, to, timeout_ns ? timeout_ns : p->config.setup_timeout_ns);
	if (err < 0) {
		conn_discard(c);
		return err;
	}
	c->owned = true;
	c->up = *up;
	c->base.owner = owner;
	*ret = &c->base;
	return 0;
}

/* ---- passive ---- */

static int reply_send(struct verbs_conn *c)
{
	struct rdma_conn_param param;
	int err;

	c->reads = verbs_reads_answer(&c->limits, &c->device->caps, &c->asked);
	/* The data of a write could not be fetched: better no connection than one that fails then.
	 */
	if (c->limits.reads_out && !c->reads.initiator_depth)
		return -EOPNOTSUPP;
	err = verbs_conn_open(c);
	if (err < 0)
		return err;
	err = loop_timer_arm(c->provider->loop, &c->timer, c->provider->config.setup_timeout_ns);
	if (err < 0)
		return err;
	ack_timeout_set(c);
	conn_param_fill(c, &param);
	if (rdma_accept(c->id, &param))
		return errno ? -errno : -ECONNABORTED;
	c->state = VERBS_ACCEPTED;
	verbs_conn_settle(c);
	return 0;
}

static const char *accept_trouble(int err)
{
	return err == -EOPNOTSUPP ? "it serves no RDMA Reads (its request's responder_resources is "
				    "0), by which the data of writes are fetched"
				  : strerrordesc_np(-err);
}

int verbs_accept(struct rdma_conn *base, const struct rdma_conn_limits *limits,
	const struct rdma_private_data *pd, const struct rdma_conn_upcalls *up, void *owner)
{
	struct verbs_conn *c = verbs_conn_of(base);
	int err = 0;

	c->limits = *limits;
	if (pd)
		c->own_pd = *pd;
	if (c->state != VERBS_OVER)
		err = reply_send(c);
	if (err < 0) {
		log_warning("verbs", "%s is rejected: %s", c->peer, accept_trouble(err));
		return err;
	}
	c->undecided = false;
	c->owned = true;
	c->up = *up;
	c->base.owner = owner;
	if (c->state == VERBS_OVER) /* it was lost before the owner decided */
		loop_defer(c->provider->loop, &c->finish);
	return 0;
}

void verbs_reject(struct rdma_conn *base, const struct rdma_private_data *pd)
{
	struct verbs_conn *c = verbs_conn_of(base);

	c->undecided = false;
	/* rdma.h: forgotten, not completed */
	list_init(&c->receives_waiting);
	list_init(&c->receives_posted);
	if (c->state == VERBS_OVER) {
		loop_defer(c->provider->loop, &c->finish);
		return;
	}
	rdma_reject(c->id, pd ? pd->bytes : NULL, pd ? (uint8_t)pd->length : 0);
	verbs_conn_over(c, -ECONNREFUSED, "rejected");
}

void verbs_conn_notice(struct verbs_conn *c)
{
	static const struct verbs_event established = {.type = RDMA_CM_EVENT_ESTABLISHED};

	if (c->state != VERBS_ACCEPTED)
		return;
	/* Lets the kernel's CM know what the lost or late message would have said. */
	rdma_notify(c->id, IBV_EVENT_COMM_EST);
	on_established(c, &established);
}

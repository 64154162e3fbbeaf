/* Listening for RDMA connections: one id per portal, bound to its address (the device that holds
 * it), or to the wildcard (every device, present and future). Where there is no such device, or it
 * has gone, it is tried again: TCP and software iWARP go on meanwhile. Requests come in on the
 * listener's loop, and move to the worker's channel before anybody else knows them. Called by
 * isertd's main. */
#include "common/rdma/verbs_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"

#define BACKLOG 128
#define RETRY_NS LOOP_NS_PER_S

struct verbs_listener {
	struct verbs_id cm;
	struct loop *loop;
	struct address address;
	struct verbs_acceptor *acceptor;
	struct verbs_channel channel;
	struct rdma_cm_id *id;	     /* NULL: not listening */
	struct ibv_context *context; /* held, where it is bound to one device */
	struct loop_timer timer;
	int told; /* what the last failure was, so that it is told once */
};

/* A connection request on its way to a provider of another loop. */
struct verbs_request {
	struct verbs_id cm;
	struct loop_message message;
	struct rdma_cm_id *id;
	struct verbs_reads asked;
	struct rdma_private_data pd;
	struct verbs *provider;
	struct rdma_acceptor *acceptor;
	bool lost; /* before the provider had it */
};

/* ---- requests ---- */

/* Until it is a connection: on the loop of the channel that it is on. */
static void request_event(struct verbs_id *to, const struct verbs_event *e)
{
	struct verbs_request *r = container_of(to, struct verbs_request, cm);

	(void)e;
	r->lost = true;
}

void verbs_request_drop(struct verbs_request *r)
{
	rdma_destroy_id(r->id);
	alloc_free(r);
}

static void request_refuse(struct verbs_request *r, const char *why)
{
	log_warning("verbs", "a connection is rejected: %s", why);
	rdma_reject(r->id, NULL, 0);
	verbs_request_drop(r);
}

static void peer_address(const struct rdma_cm_id *id, struct address *ret)
{
	const struct sockaddr *sa = rdma_get_peer_addr((struct rdma_cm_id *)id);

	*ret = (struct address){.length = sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								    : sizeof(struct sockaddr_in)};
	memcpy(&ret->sa, sa, ret->length);
}

/* On the provider's loop. */
static void request_take(struct verbs_request *r)
{
	struct verbs_conn *c;
	struct address peer;
	int err = verbs_channel_watch(&r->provider->channel, r->provider->loop);

	if (err == 0)
		err = verbs_conn_new(r->provider, r->id, &c);
	if (err) {
		request_refuse(r, strerrordesc_np(-err));
		return;
	}
	c->state = VERBS_REQUESTED;
	c->undecided = true;
	c->asked = r->asked;
	c->peer_pd = r->pd;
	c->id->context = &c->cm;
	peer_address(c->id, &peer);
	address_print(&peer, c->peer);
	err = verbs_device_get(r->provider, c->id->verbs, &c->device);
	if (err < 0) {
		log_warning("verbs", "%s is rejected: the device cannot be used: %s", c->peer,
			verbs_device_trouble(err));
		verbs_reject(&c->base, NULL);
	} else {
		r->acceptor->requested(r->acceptor, &c->base, &peer, &c->peer_pd);
	}
	alloc_free(r);
}

static void request_deliver(struct loop_message *m)
{
	struct verbs_request *r = container_of(m, struct verbs_request, message);

	if (r->lost)
		verbs_request_drop(r);
	else
		request_take(r);
}

void verbs_request_hand_over(
	struct verbs_request *r, struct rdma_provider *base, struct rdma_acceptor *acceptor)
{
	struct verbs *p = verbs_of(base);
	int err;

	r->provider = p;
	r->acceptor = acceptor;
	r->message.deliver = request_deliver;
	pthread_mutex_lock(&p->lock);
	err = verbs_channel_open(&p->channel);
	pthread_mutex_unlock(&p->lock);
	if (err == 0 && rdma_migrate_id(r->id, p->channel.cm))
		err = errno ? -errno : -EIO;
	if (err < 0)
		request_refuse(r, strerrordesc_np(-err));
	else
		loop_post(p->loop, &r->message);
}

static void requested(struct verbs_listener *l, const struct verbs_event *e)
{
	struct verbs_request *r = alloc_zeroed(sizeof(*r));

	if (!r) {
		log_error("verbs", "a connection is dropped: no memory");
		rdma_destroy_id(e->id);
		return;
	}
	r->cm.event = request_event;
	r->id = e->id;
	r->id->context = &r->cm;
	r->asked = e->reads;
	r->pd = e->pd;
	l->acceptor->requested(l->acceptor, r);
}

/* ---- listening ---- */

static void listener_close(struct verbs_listener *l)
{
	if (l->id)
		rdma_destroy_id(l->id);
	l->id = NULL;
	if (l->context)
		verbs_context_put(l->context);
	l->context = NULL;
}

static void retry_later(struct verbs_listener *l)
{
	loop_timer_arm(l->loop, &l->timer, RETRY_NS);
}

static void listener_event(struct verbs_id *to, const struct verbs_event *e)
{
	struct verbs_listener *l = container_of(to, struct verbs_listener, cm);

	if (e->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		requested(l, e);
	if (e->type == RDMA_CM_EVENT_DEVICE_REMOVAL && l->context)
		verbs_context_lost(l->context);
	/* The timer opens it again. */
	if (e->type == RDMA_CM_EVENT_DEVICE_REMOVAL || e->type == RDMA_CM_EVENT_ADDR_CHANGE)
		listener_close(l);
}

static int id_listen(struct verbs_listener *l)
{
	bool wildcard = address_is_wildcard(&l->address);
	int only = l->address.sa.ss_family == AF_INET6 && !wildcard;

	if (rdma_create_id(l->channel.cm, &l->id, &l->cm, RDMA_PS_TCP))
		return errno ? -errno : -ENOMEM;
	if (only)
		rdma_set_option(l->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only));
	if (rdma_bind_addr(l->id, (struct sockaddr *)&l->address.sa) || rdma_listen(l->id, BACKLOG))
		return errno ? -errno : -EIO;
	l->context = l->id->verbs;
	if (l->context)
		verbs_context_hold(l->context);
	return 0;
}

static void tell_listening(struct verbs_listener *l)
{
	char text[ADDRESS_TEXT_SIZE];

	l->told = 0;
	log_info("portal", "listening on %s for RDMA, %s", address_print(&l->address, text),
		l->context ? ibv_get_device_name(l->context->device) : "on every device");
}

/* No device is the usual case, and nobody's fault. A port that is taken is siw's, whose connections
 * come to the TCP listener: software iWARP serves them. */
static void tell_failure(struct verbs_listener *l, int err)
{
	char text[ADDRESS_TEXT_SIZE];

	if (err == l->told)
		return;
	l->told = err;
	address_print(&l->address, text);
	if (err == -EADDRINUSE)
		log_info("portal",
			"%s: the port is TCP's on an iWARP device: iSER is served there "
			"by software iWARP",
			text);
	else if (err == -ENODEV || err == -EADDRNOTAVAIL)
		log_debug("portal", "%s: no RDMA device has that address", text);
	else
		log_warning("portal", "%s: no listening for RDMA: %s", text, strerrordesc_np(-err));
}

static void listener_try(struct verbs_listener *l)
{
	int err = verbs_channel_open(&l->channel);

	if (err == 0)
		err = verbs_channel_watch(&l->channel, l->loop);
	if (err == 0)
		err = id_listen(l);
	if (err == 0) {
		tell_listening(l);
		return;
	}
	listener_close(l);
	tell_failure(l, err);
}

static void listener_expired(struct loop_timer *t)
{
	struct verbs_listener *l = container_of(t, struct verbs_listener, timer);

	if (l->context && verbs_context_is_gone(l->context))
		listener_close(l);
	verbs_contexts_sweep();
	if (!l->id)
		listener_try(l);
	retry_later(l);
}

int verbs_listener_new(struct loop *loop, const struct address *a, struct verbs_acceptor *acceptor,
	struct verbs_listener **ret)
{
	struct verbs_listener *l = alloc_zeroed(sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->cm.event = listener_event;
	l->loop = loop;
	l->address = *a;
	l->acceptor = acceptor;
	l->timer.expired = listener_expired;
	if (loop_timer_arm(loop, &l->timer, RETRY_NS) < 0) {
		alloc_free(l);
		return -ENOMEM;
	}
	listener_try(l);
	*ret = l;
	return 0;
}

void verbs_listener_free(struct verbs_listener *l)
{
	if (!l)
		return;
	loop_timer_cancel(&l->timer);
	listener_close(l);
	verbs_channel_close(&l->channel);
	alloc_free(l);
}

/* Connection requests on their way from the listener's loop to a worker's: each moves to the
 * worker's channel before anybody else knows it, and is a connection from then on. Called by
 * verbs_listener.c and by isertd's main. */
#include "common/rdma/verbs_internal.h"

#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"

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

void verbs_request_begin(struct verbs_acceptor *acceptor, const struct verbs_event *e)
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
	acceptor->requested(acceptor, r);
}

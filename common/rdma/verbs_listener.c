/* Listening for RDMA connections: one id per address of the portal that an RDMA device holds; of a
 * wildcard portal, all addresses of this host. RDMA_CM's own wildcard is not used: one device that
 * cannot listen (siw, whose port is the TCP listener's) would fail all, and one that comes later
 * could not be used by anybody. Devices and addresses come and go: they are looked for once a
 * second, and TCP and software iWARP go on meanwhile. Called by isertd's main. */
#include "common/rdma/verbs_internal.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"

#define BACKLOG 128
#define RETRY_NS LOOP_NS_PER_S

struct verbs_listener {
	struct loop *loop;
	struct address address;
	struct verbs_acceptor *acceptor;
	struct verbs_channel channel;
	struct list ends;
	struct loop_timer timer;
};

/* One address. */
struct listen_end {
	struct verbs_id cm;
	struct list link; /* in listener->ends */
	struct verbs_listener *listener;
	struct address address;
	struct rdma_cm_id *id;	     /* NULL: not listening */
	struct ibv_context *context; /* held, while it listens */
	bool there;		     /* the host still has the address */
	int told;		     /* what the last failure was, so that it is told once */
};

/* ---- one address ---- */

static void end_close(struct listen_end *e)
{
	if (e->id)
		rdma_destroy_id(e->id);
	e->id = NULL;
	if (e->context)
		verbs_context_put(e->context);
	e->context = NULL;
}

static void end_free(struct listen_end *e)
{
	end_close(e);
	list_remove(&e->link);
	alloc_free(e);
}

static void end_event(struct verbs_id *to, const struct verbs_event *event)
{
	struct listen_end *e = container_of(to, struct listen_end, cm);

	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		verbs_request_begin(e->listener->acceptor, event);
	if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL && e->context)
		verbs_context_lost(e->context);
	/* The timer opens it again. */
	if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL || event->type == RDMA_CM_EVENT_ADDR_CHANGE)
		end_close(e);
}

/* -EADDRNOTAVAIL and -ENODEV: no RDMA device has the address. */
static int id_bind(struct listen_end *e)
{
	int only = e->address.sa.ss_family == AF_INET6;

	if (rdma_create_id(e->listener->channel.cm, &e->id, &e->cm, RDMA_PS_TCP))
		return errno ? -errno : -ENOMEM;
	if (only)
		rdma_set_option(e->id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only));
	if (rdma_bind_addr(e->id, (struct sockaddr *)&e->address.sa))
		return errno ? -errno : -EIO;
	if (!e->id->verbs)
		return -ENODEV;
	e->context = e->id->verbs;
	verbs_context_hold(e->context);
	return 0;
}

/* An iWARP device that shares its ports with the host's TCP (siw) finds the port taken by the TCP
 * listener, to which its connections come. */
static bool port_is_tcp(const struct listen_end *e, int err)
{
	return err == -EADDRINUSE && e->context &&
	       e->context->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* No device is the usual case, and nobody's fault. */
static void failure_tell(struct listen_end *e, int err)
{
	bool shared = port_is_tcp(e, err);
	char text[ADDRESS_TEXT_SIZE];

	if (err == e->told)
		return;
	e->told = err;
	address_print(&e->address, text);
	if (shared)
		log_info("portal",
			"%s: the port is TCP's on the iWARP device %s: iSER is served there "
			"by software iWARP",
			text, ibv_get_device_name(e->context->device));
	else if (err == -ENODEV || err == -EADDRNOTAVAIL)
		log_debug("portal", "%s: no RDMA device has that address", text);
	else
		log_warning("portal", "%s: no listening for RDMA: %s", text, strerrordesc_np(-err));
}

static void end_try(struct listen_end *e)
{
	char text[ADDRESS_TEXT_SIZE];
	int err = id_bind(e);

	if (err == 0 && rdma_listen(e->id, BACKLOG))
		err = errno ? -errno : -EIO;
	if (err < 0) {
		failure_tell(e, err);
		end_close(e);
		return;
	}
	e->told = 0;
	log_info("portal", "listening on %s for RDMA, %s", address_print(&e->address, text),
		ibv_get_device_name(e->context->device));
}

/* ---- the addresses of a portal ---- */

static struct listen_end *end_find(const struct verbs_listener *l, const struct address *a)
{
	struct listen_end *e;

	list_for_each(e, &l->ends, link) {
		if (address_equal(&e->address, a))
			return e;
	}
	return NULL;
}

/* Without memory it is looked for again, like everything here. */
static void address_seen(struct verbs_listener *l, const struct address *a)
{
	struct listen_end *e = end_find(l, a);

	if (!e) {
		e = alloc_zeroed(sizeof(*e));
		if (!e)
			return;
		e->cm.event = end_event;
		e->listener = l;
		e->address = *a;
		list_append(&l->ends, &e->link);
	}
	e->there = true;
}

/* An address of an interface, with the portal's port. False where the portal does not mean it: an
 * IPv6 wildcard means both families, as it does for TCP. */
static bool address_take(
	const struct verbs_listener *l, const struct ifaddrs *i, struct address *ret)
{
	int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;
	bool v4 = family == AF_INET;

	if ((!v4 && family != AF_INET6) || !(i->ifa_flags & IFF_UP) || i->ifa_flags & IFF_LOOPBACK)
		return false;
	if (!v4 && l->address.sa.ss_family == AF_INET)
		return false;
	*ret = (struct address){
		.length = v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)};
	memcpy(&ret->sa, i->ifa_addr, ret->length);
	/* The port has the same place in both families. */
	((struct sockaddr_in *)&ret->sa)->sin_port = htons(address_port(&l->address));
	return true;
}

static int wildcard_look(struct verbs_listener *l)
{
	struct ifaddrs *all;
	struct address a;

	if (getifaddrs(&all))
		return -errno;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next)
		if (address_take(l, i, &a))
			address_seen(l, &a);
	freeifaddrs(all);
	return 0;
}

static void addresses_look(struct verbs_listener *l)
{
	struct listen_end *e, *next;
	bool wildcard = address_is_wildcard(&l->address);

	list_for_each(e, &l->ends, link)
		e->there = false;
	if (!wildcard)
		address_seen(l, &l->address);
	else if (wildcard_look(l) < 0)
		return;
	list_for_each_safe(e, next, &l->ends, link) {
		if (!e->there)
			end_free(e);
	}
}

static void listener_look(struct verbs_listener *l)
{
	struct listen_end *e;

	list_for_each(e, &l->ends, link) {
		if (e->context && verbs_context_is_gone(e->context))
			end_close(e);
	}
	verbs_contexts_sweep();
	/* Without RDMA_CM in the kernel there is nothing to look for. */
	if (verbs_channel_open(&l->channel) < 0 || verbs_channel_watch(&l->channel, l->loop) < 0)
		return;
	addresses_look(l);
	list_for_each(e, &l->ends, link) {
		if (!e->id)
			end_try(e);
	}
}

/* ---- life ---- */

static void listener_expired(struct loop_timer *t)
{
	struct verbs_listener *l = container_of(t, struct verbs_listener, timer);

	listener_look(l);
	loop_timer_arm(l->loop, &l->timer, RETRY_NS);
}

int verbs_listener_new(struct loop *loop, const struct address *a, struct verbs_acceptor *acceptor,
	struct verbs_listener **ret)
{
	struct verbs_listener *l = alloc_zeroed(sizeof(*l));

	if (!l)
		return -ENOMEM;
	list_init(&l->ends);
	l->loop = loop;
	l->address = *a;
	l->acceptor = acceptor;
	l->timer.expired = listener_expired;
	if (loop_timer_arm(loop, &l->timer, RETRY_NS) < 0) {
		alloc_free(l);
		return -ENOMEM;
	}
	listener_look(l);
	*ret = l;
	return 0;
}

void verbs_listener_free(struct verbs_listener *l)
{
	struct listen_end *e, *next;

	if (!l)
		return;
	loop_timer_cancel(&l->timer);
	list_for_each_safe(e, next, &l->ends, link)
		end_free(e);
	verbs_channel_close(&l->channel);
	alloc_free(l);
}

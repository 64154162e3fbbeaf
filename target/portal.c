/* Portals and acceptors: sockets come in on the daemon's first loop and are handed to the workers
 * in turn; from there on a connection stays with its worker. Called by the daemon's main. */
#include "target/portal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"

static void accepted(struct dm_acceptor *base, struct dm_conn *conn, const struct address *peer)
{
	struct tgt_acceptor *a = container_of(base, struct tgt_acceptor, base);

	tgt_conn_accept(a->mover, conn, peer);
}

void tgt_acceptor_init(struct tgt_acceptor *a, struct worker_mover *mover)
{
	a->base.accepted = accepted;
	a->mover = mover;
}

struct portal_entry { /* one protocol of one portal */
	struct listener_protocol base;
	const struct portal_protocol *protocol;
	struct portal_spread *spread;
};

struct portal {
	struct listener *listener;
	struct portal_entry entries[PORTAL_PROTOCOLS_MAX];
};

/* A socket on its way to its worker. */
struct handover {
	struct loop_message message;
	const struct portal_protocol *protocol;
	struct worker *worker;
	int fd;
};

static void handover_deliver(struct loop_message *m)
{
	struct handover *h = container_of(m, struct handover, message);
	int err = h->protocol->adopt(h->worker, h->fd);

	if (err < 0)
		log_error("portal", "a connection (%s) is dropped: %s", h->protocol->name,
			strerror(-err));
	alloc_free(h);
}

static void socket_accepted(struct listener_protocol *p, int fd, const struct address *peer)
{
	struct portal_entry *e = container_of(p, struct portal_entry, base);
	size_t turn = atomic_fetch_add(&e->spread->next, 1) % e->spread->count;
	struct handover *h = alloc_zeroed(sizeof(*h));
	char text[ADDRESS_TEXT_SIZE];

	if (!h) {
		log_error("portal", "%s is dropped: no memory", address_print(peer, text));
		close(fd);
		return;
	}
	h->message.deliver = handover_deliver;
	h->protocol = e->protocol;
	h->worker = e->spread->workers[turn];
	h->fd = fd;
	loop_post(h->worker->loop, &h->message);
}

static void add_protocol(struct portal *p, size_t i, const struct portal_protocol *protocol,
	struct portal_spread *spread)
{
	struct portal_entry *e = &p->entries[i];

	e->base.name = protocol->name;
	e->base.match = protocol->match;
	e->base.accepted = socket_accepted;
	e->protocol = protocol;
	e->spread = spread;
	listener_add_protocol(p->listener, &e->base);
}

int portal_new(struct loop *l, const struct address *a, const struct listener_config *config,
	const struct portal_protocol *protocols, size_t protocol_count,
	struct portal_spread *spread, struct portal **ret)
{
	struct portal *p = alloc_zeroed(sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	err = protocol_count > PORTAL_PROTOCOLS_MAX ? -ENOSPC
						    : listener_new(l, a, config, &p->listener);
	if (err < 0) {
		alloc_free(p);
		return err;
	}
	for (size_t i = 0; i < protocol_count; i++)
		add_protocol(p, i, &protocols[i], spread);
	*ret = p;
	return 0;
}

void portal_free(struct portal *p)
{
	if (!p)
		return;
	listener_free(p->listener);
	alloc_free(p);
}

const struct address *portal_address(const struct portal *p)
{
	return listener_address(p->listener);
}

/* Looking up the addresses of portals, see resolve.h. */
#include "initiator/daemon/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "initiator/daemon/daemon.h"

struct resolve {
	struct daemon *daemon;
	struct loop_message message;
	pthread_t thread;
	bool threaded;
	char portal[RECORDS_ADDRESS_SIZE + 16];
	struct address address;
	int error;
	const char *why;
	void (*done)(void *owner, const struct address *address, const char *why);
	void *owner;
};

static void delivered(struct loop_message *m)
{
	struct resolve *r = container_of(m, struct resolve, message);
	struct daemon *d = r->daemon;
	char line[RECORDS_WHY_SIZE];

	if (r->threaded)
		pthread_join(r->thread, NULL);
	d->busy--;
	snprintf(line, sizeof(line), "%s: %s", r->portal, r->why ? r->why : "");
	r->done(r->owner, r->error < 0 ? NULL : &r->address, r->error < 0 ? line : NULL);
	alloc_free(r);
	daemon_settle(d);
}

static void *look_up(void *arg)
{
	struct resolve *r = arg;

	r->error = address_parse(r->portal, ADDRESS_DEFAULT_PORT, &r->address, &r->why);
	loop_post(r->daemon->loop, &r->message);
	return NULL;
}

static bool is_numeric(const char *host)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, address) == 1 || strchr(host, ':');
}

int resolve_start(struct daemon *d, const char *host, unsigned port,
	void (*done)(void *owner, const struct address *address, const char *why), void *owner)
{
	struct resolve *r = alloc_zeroed(sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->daemon = d;
	r->message.deliver = delivered;
	r->done = done;
	r->owner = owner;
	address_print_named(host, port, r->portal, sizeof(r->portal));
	d->busy++;
	if (is_numeric(host)) {
		look_up(r);
		return 0;
	}
	r->threaded = true;
	if (pthread_create(&r->thread, NULL, look_up, r) == 0)
		return 0;
	d->busy--;
	alloc_free(r);
	return -EAGAIN;
}

/* Something to be done on every worker's loop, and then something on the main loop with what came
 * of it. Called by reload.c, stop.c and control.c. */
#include <errno.h>

#include "common/base/alloc.h"
#include "target/daemon/daemon.h"

struct broadcast {
	struct daemon *daemon;
	void (*each)(struct broadcast_part *p, void *arg);
	void (*done)(struct daemon *d, struct broadcast_part *parts, size_t count, void *arg);
	void *arg;
	size_t left;
	struct broadcast_part parts[];
};

static void part_back(struct loop_message *m)
{
	struct broadcast_part *p = container_of(m, struct broadcast_part, message);
	struct broadcast *b = p->broadcast;
	struct daemon *d = b->daemon;

	if (--b->left)
		return;
	if (b->done)
		b->done(d, b->parts, d->worker_count, b->arg);
	alloc_free(b);
	d->broadcasts--;
	daemon_stop_settle(d);
}

static void part_deliver(struct loop_message *m)
{
	struct broadcast_part *p = container_of(m, struct broadcast_part, message);
	struct broadcast *b = p->broadcast;

	b->each(p, b->arg);
	p->message.deliver = part_back;
	loop_post(b->daemon->loop, &p->message);
}

int broadcast_run(struct daemon *d, void (*each)(struct broadcast_part *p, void *arg),
	void (*done)(struct daemon *d, struct broadcast_part *parts, size_t count, void *arg),
	void *arg)
{
	struct broadcast *b =
		alloc_zeroed(sizeof(*b) + d->worker_count * sizeof(struct broadcast_part));

	if (!b)
		return -ENOMEM;
	b->daemon = d;
	b->each = each;
	b->done = done;
	b->arg = arg;
	b->left = d->worker_count;
	d->broadcasts++;
	for (size_t i = 0; i < d->worker_count; i++) {
		struct broadcast_part *p = &b->parts[i];

		p->broadcast = b;
		p->worker = &d->workers[i];
		p->message.deliver = part_deliver;
		loop_post(p->worker->worker->loop, &p->message);
	}
	return 0;
}

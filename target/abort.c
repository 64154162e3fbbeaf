/* Aborts that reach several loops: see abort.h. A round has one part per nexus. Each part travels
 * to its nexus's loop as a message, aborts there, waits in the nexus until the aborted commands are
 * at rest, and travels home; the last one to come home ends the round. A nexus is named by its id,
 * since it may be gone when the message arrives, and the part holds the device. */
#include "target/abort.h"

#include <errno.h>

#include "common/base/alloc.h"
#include "target/command.h"

struct abort_part {
	struct list link; /* in the round, then also in the nexus: */
	struct list nexus_link;
	struct abort_round *round;
	struct device *device;
	struct loop *loop;
	uint64_t nexus_id;
	uint64_t from, to; /* serials of commands, inclusive */
	struct loop_message message;
};

struct abort_round {
	struct abort_config config;
	const struct device *home_device;
	uint64_t home_id, spare_serial;
	struct list parts;
	unsigned away; /* parts that are not home; counted on the home loop */
	/* its message begins the round, so that done() comes from the loop */
	struct abort_part start;
};

int abort_round_new(const struct abort_config *config, struct abort_round **ret)
{
	struct abort_round *r = alloc_zeroed(sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->config = *config;
	r->home_device = config->home ? config->home->device : NULL;
	r->home_id = config->home ? config->home->id : 0;
	r->spare_serial = config->spare ? config->spare->serial : UINT64_MAX;
	list_init(&r->parts);
	*ret = r;
	return 0;
}

void abort_round_free(struct abort_round *r)
{
	struct abort_part *p, *tmp;

	if (!r)
		return;
	list_for_each_safe(p, tmp, &r->parts, link) {
		device_release(p->device);
		alloc_free(p);
	}
	alloc_free(r);
}

int abort_round_add(struct abort_round *r, struct device *d, const struct nexus *n)
{
	struct abort_part *p = alloc_zeroed(sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->round = r;
	p->device = d;
	p->loop = n->loop;
	p->nexus_id = n->id;
	/* What arrives from here on is not ours; on another loop, from when the part gets there. */
	p->to = n->loop == r->config.loop ? n->next_serial : UINT64_MAX;
	list_init(&p->nexus_link);
	list_append(&r->parts, &p->link);
	device_hold(d);
	return 0;
}

void abort_round_only(struct abort_round *r, uint64_t serial)
{
	struct abort_part *p = list_entry(r->parts.prev, struct abort_part, link);

	p->from = p->to = serial;
}

/* A nexus is freed on its own loop alone: what is found here stays until we return. */
static struct nexus *find_nexus(struct device *d, uint64_t id)
{
	struct nexus *n, *found = NULL;

	pthread_mutex_lock(&d->lock);
	list_for_each(n, &d->nexuses, device_link)
		if (n->id == id)
			found = n;
	pthread_mutex_unlock(&d->lock);
	return found;
}

static void end_round(struct abort_round *r)
{
	struct abort_config config = r->config;

	abort_round_free(r);
	config.done(config.argument);
}

static void part_came_home(struct loop_message *m)
{
	struct abort_part *p = container_of(m, struct abort_part, message);
	struct abort_round *r = p->round;

	if (--r->away == 0)
		end_round(r);
}

static void part_done(struct abort_part *p)
{
	p->message.deliver = part_came_home;
	loop_post(p->round->config.loop, &p->message);
}

/* ---- on the nexus's loop ---- */

static bool part_is_home(const struct abort_part *p)
{
	return p->device == p->round->home_device && p->nexus_id == p->round->home_id;
}

static bool part_concerns(const struct abort_part *p, const struct command *cmd)
{
	const struct abort_round *r = p->round;

	if (cmd->serial < p->from || cmd->serial > p->to)
		return false;
	return !(part_is_home(p) && cmd->serial == r->spare_serial);
}

static bool part_at_rest(const struct abort_part *p, const struct nexus *n)
{
	const struct command *cmd;

	list_for_each(cmd, &n->commands, nexus_link)
		if (cmd->aborted && part_concerns(p, cmd))
			return false;
	return true;
}

/* A command whose response is queued has been completed: it is not aborted any more. */
static bool abort_commands(struct abort_part *p, struct nexus *n)
{
	struct command *cmd, *tmp;
	bool any = false;

	list_for_each_safe(cmd, tmp, &n->commands, nexus_link)
		if (!cmd->responded && part_concerns(p, cmd)) {
			any = true;
			command_abort(cmd);
		}
	return any;
}

static void part_arrived(struct loop_message *m)
{
	struct abort_part *p = container_of(m, struct abort_part, message);
	struct nexus *n = find_nexus(p->device, p->nexus_id);

	if (!n) {
		part_done(p);
		return;
	}
	p->to = p->to == UINT64_MAX ? n->next_serial : p->to;
	if (abort_commands(p, n) && !part_is_home(p) && p->round->config.attention)
		nexus_attention(n, ASC_COMMANDS_CLEARED_BY_ANOTHER_INITIATOR);
	list_append(&n->abort_parts, &p->nexus_link);
	abort_parts_check(n);
}

void abort_parts_check(struct nexus *n)
{
	struct abort_part *p, *tmp;

	list_for_each_safe(p, tmp, &n->abort_parts, nexus_link)
		if (part_at_rest(p, n)) {
			list_remove(&p->nexus_link);
			part_done(p);
		}
}

void abort_parts_nexus_gone(struct nexus *n)
{
	struct abort_part *p, *tmp;

	list_for_each_safe(p, tmp, &n->abort_parts, nexus_link) {
		list_remove(&p->nexus_link);
		part_done(p);
	}
}

/* ---- at home ---- */

void abort_round_start(struct abort_round *r)
{
	struct abort_part *p, *tmp;

	/* The round itself counts as one part, which comes home by a message of its own: done() is
	 * called from the loop, and not before all parts have left. */
	list_for_each(p, &r->parts, link)
		r->away++;
	r->away++;
	list_for_each_safe(p, tmp, &r->parts, link) {
		p->message.deliver = part_arrived;
		loop_post(p->loop, &p->message);
	}
	r->start.round = r;
	part_done(&r->start);
}

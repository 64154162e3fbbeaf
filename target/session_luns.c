/* Which LUNs a session sees, and its nexus with each (SAM-5 section 4.7): a sorted table, taken
 * from the target set at login and after each reload of the configuration. A nexus and its channel
 * are made at the LUN's first command. */
#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/scsi/sense.h"
#include "target/command.h"
#include "target/session_state.h"

/* ---- one path ---- */

static int path_connect(struct tgt_session *s, struct tgt_lun *lun, struct nexus **ret)
{
	struct backend_channel *channel;
	struct nexus *n;
	int err = worker_channel_get(s->worker, lun, &channel);

	if (err < 0)
		return err;
	err = nexus_new(lun->device, s->worker->loop, channel, s, s->port, &n);
	if (err < 0) {
		worker_channel_put(s->worker, lun);
		return err;
	}
	n->map_region = worker_channel_region(s->mover, lun);
	n->advised_transfer = s->advised_transfer;
	atomic_store(&n->fence, s->predecessors);
	*ret = n;
	return 0;
}

static struct tgt_path *path_new(struct tgt_session *s, struct tgt_lun *lun)
{
	struct tgt_path *p = alloc_zeroed(sizeof(*p));
	int err = p ? path_connect(s, lun, &p->nexus) : -ENOMEM;

	if (err < 0) {
		log_error("session", "%s: LUN %u cannot be opened: %s", s->port, lun->number,
			strerror(-err));
		alloc_free(p);
		return NULL;
	}
	list_init(&p->link);
	p->lun = tgt_lun_hold(lun);
	return p;
}

static void path_free(struct tgt_session *s, struct tgt_path *p)
{
	list_remove(&p->link);
	nexus_free(p->nexus);
	worker_channel_put(s->worker, p->lun);
	tgt_lun_release(p->lun);
	alloc_free(p);
}

/* ---- the table ---- */

static struct tgt_slot *slot_search(const struct tgt_session *s, uint16_t lun)
{
	size_t low = 0, high = s->slot_count;

	/* LUNs are mostly numbered from 0 without holes. */
	if (lun < s->slot_count && s->slots[lun].number == lun)
		return &s->slots[lun];
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->slots[middle].number == lun)
			return &s->slots[middle];
		if (s->slots[middle].number < lun)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

struct nexus *tgt_session_nexus(struct tgt_session *s, uint16_t lun)
{
	struct tgt_slot *slot = slot_search(s, lun);

	if (!slot)
		return NULL;
	if (!slot->path)
		slot->path = path_new(s, slot->lun);
	return slot->path ? slot->path->nexus : NULL;
}

size_t tgt_session_luns(const struct tgt_session *s, uint16_t *luns, size_t max)
{
	for (size_t i = 0; i < s->slot_count && i < max; i++)
		luns[i] = s->slots[i].number;
	return s->slot_count;
}

struct table {
	struct tgt_slot *slots;
	size_t count;
};

/* Under the set's lock. 0 also where the target or the right to see it is gone: no LUN is left. */
static int table_take(const struct tgt_session *s, struct table *ret)
{
	const struct tgt_target *t = s->target;
	const struct config_initiator *entry;
	bool open;

	*ret = (struct table){0};
	if (!t->row || !t->lun_count)
		return 0;
	entry = access_find(t->row, s->initiator_name, &open);
	if (!entry && !open)
		return 0;
	ret->slots = alloc_array(t->lun_count, sizeof(*ret->slots));
	if (!ret->slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->lun_count; i++)
		if (access_shows(entry, t->luns[i]->number))
			ret->slots[ret->count++] = (struct tgt_slot){
				.number = t->luns[i]->number,
				.lun = tgt_lun_hold(t->luns[i]),
			};
	return 0;
}

/* What stays keeps its nexus; what has gone is aborted, and freed once it is at rest. */
static void slot_carry(struct tgt_session *s, struct tgt_slot *old, const struct table *table)
{
	struct command *cmd;

	if (!old->path)
		return;
	for (size_t i = 0; i < table->count; i++)
		if (table->slots[i].lun == old->lun) {
			table->slots[i].path = old->path;
			return;
		}
	list_append(&s->retired, &old->path->link);
	list_for_each(cmd, &old->path->nexus->commands, nexus_link)
		command_abort(cmd);
}

static void table_free(struct tgt_slot *slots, size_t count)
{
	for (size_t i = 0; i < count; i++)
		tgt_lun_release(slots[i].lun);
	alloc_free(slots);
}

int tgt_session_load_luns(struct tgt_session *s)
{
	struct target_set *set = s->worker->targets;
	struct table table;
	int err;

	pthread_mutex_lock(&set->lock);
	err = table_take(s, &table);
	pthread_mutex_unlock(&set->lock);
	if (err < 0)
		return err;
	for (size_t i = 0; i < s->slot_count; i++)
		slot_carry(s, &s->slots[i], &table);
	table_free(s->slots, s->slot_count);
	s->slots = table.slots;
	s->slot_count = table.count;
	return 0;
}

void tgt_session_sweep_luns(struct tgt_session *s)
{
	struct tgt_path *p, *next;

	list_for_each_safe(p, next, &s->retired, link)
		if (list_empty(&p->nexus->commands) && list_empty(&p->nexus->abort_parts))
			path_free(s, p);
}

void tgt_session_free_luns(struct tgt_session *s)
{
	struct tgt_path *p, *next;

	list_for_each_safe(p, next, &s->retired, link)
		path_free(s, p);
	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i].path)
			path_free(s, s->slots[i].path);
	table_free(s->slots, s->slot_count);
	s->slots = NULL;
	s->slot_count = 0;
}

/* ---- what other loops change ---- */

void tgt_session_lower_fence(struct tgt_session *s, unsigned count)
{
	s->predecessors -= count;
	for (size_t i = 0; i < s->slot_count; i++) {
		struct tgt_path *p = s->slots[i].path;

		if (!p)
			continue;
		atomic_fetch_sub(&p->nexus->fence, count);
		if (!s->predecessors)
			command_resume_fenced(p->nexus);
	}
}

static bool luns_differ(const struct tgt_slot *a, size_t a_count, const struct tgt_session *s)
{
	if (a_count != s->slot_count)
		return true;
	for (size_t i = 0; i < a_count; i++)
		if (a[i].lun != s->slots[i].lun)
			return true;
	return false;
}

/* SPC-4: REPORTED LUNS DATA HAS CHANGED (3Fh/0Eh) on every LUN that is still there. */
static void announce(struct tgt_session *s)
{
	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i].path)
			nexus_attention(
				s->slots[i].path->nexus, ASC_REPORTED_LUNS_DATA_HAS_CHANGED);
}

void tgt_session_luns_told(struct tgt_session *s)
{
	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i].path)
			nexus_attention_drop(
				s->slots[i].path->nexus, ASC_REPORTED_LUNS_DATA_HAS_CHANGED);
}

/* Whether the target is still there, and the initiator still admitted to it. */
static bool admitted(struct tgt_session *s)
{
	struct target_set *set = s->worker->targets;
	bool open = false, ok;

	pthread_mutex_lock(&set->lock);
	ok = s->target->row && (access_find(s->target->row, s->initiator_name, &open) || open);
	pthread_mutex_unlock(&set->lock);
	return ok;
}

void tgt_session_reload(struct tgt_session *s)
{
	struct tgt_slot *before;
	size_t count = s->slot_count;
	bool differ;

	if (!s->conn || !s->target || s->closing)
		return;
	if (!admitted(s)) {
		tgt_conn_fail(s->conn, CONN_EVENT_SESSION_CLOSED,
			"%s is no longer exported to this initiator", s->target->name);
		return;
	}
	before = alloc_array(count + 1, sizeof(*before));
	if (!before ||
		(memcpy(before, s->slots, count * sizeof(*before)), tgt_session_load_luns(s) < 0)) {
		alloc_free(before);
		tgt_conn_fail(s->conn, CONN_EVENT_SESSION_CLOSED, "reload: no memory");
		return;
	}
	differ = luns_differ(before, count, s);
	alloc_free(before);
	if (differ)
		announce(s);
	tgt_session_settle(s);
}

/* The set of targets: built from a configuration, changed by a reload. Called by the daemon's main
 * loop, and by logins of any loop. */
#include "target/target_set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/alloc.h"
#include "common/scsi/sense.h"

struct tgt_lun *tgt_lun_hold(struct tgt_lun *l)
{
	atomic_fetch_add(&l->holders, 1);
	return l;
}

void tgt_lun_release(struct tgt_lun *l)
{
	if (!l || atomic_fetch_sub(&l->holders, 1) > 1)
		return;
	device_free(l->device);
	alloc_free(l);
}

struct tgt_target *tgt_target_hold(struct tgt_target *t)
{
	atomic_fetch_add(&t->holders, 1);
	return t;
}

static void release_luns(struct tgt_lun **luns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		tgt_lun_release(luns[i]);
	alloc_free(luns);
}

void tgt_target_release(struct tgt_target *t)
{
	if (!t || atomic_fetch_sub(&t->holders, 1) > 1)
		return;
	release_luns(t->luns, t->lun_count);
	alloc_free(t);
}

static struct tgt_target *find_target(const struct list *targets, const char *name)
{
	struct tgt_target *t;

	list_for_each(t, targets, link)
		if (!strcasecmp(t->name, name))
			return t;
	return NULL;
}

/* ---- making one logical unit ---- */

static struct device_config device_config(const struct config_lun *row)
{
	return (struct device_config){
		.lun = (uint16_t)row->lun,
		.vendor = row->vendor,
		.product = row->product,
		.revision = row->revision,
		.serial = row->serial,
		.block_size = (uint32_t)row->block_size,
		.readonly = row->readonly,
		.write_cache = row->write_cache,
		.thin = row->thin,
		.rotational = row->rotational,
	};
}

static int make_device(struct target_set *s, const struct config_target *t,
	const struct config_lun *row, struct device **ret, char *why, size_t why_size)
{
	const struct device_config config = device_config(row);
	struct backend *backend;
	int err = s->open_backend(row, &backend, why, why_size);

	if (err < 0)
		return err;
	err = device_new(&config, t->name, backend, ret);
	if (err < 0)
		snprintf(why, why_size, "cannot export it: %s", strerror(-err));
	return err;
}

/* The same file by the same number: what is new are its other keys. */
static bool is_exported(
	const struct target_set *s, const struct config_target *t, const struct config_lun *row)
{
	const struct tgt_target *old = find_target(&s->targets, t->name);

	for (size_t i = 0; old && row->path && i < old->lun_count; i++) {
		const struct config_lun *was = old->luns[i]->row;

		if (was->lun == row->lun && was->path && !strcmp(was->path, row->path))
			return true;
	}
	return false;
}

static int make_lun(struct target_set *s, const struct config *c, const struct config_target *t,
	const struct config_lun *row, struct config_report *report, struct tgt_lun **ret)
{
	char why[400] = "";
	struct tgt_lun *l =
		alloc_zeroed(sizeof(*l) + s->worker_count * sizeof(struct worker_channel *));
	int err;

	if (!l)
		return -ENOMEM;
	l->holders = 1;
	l->number = (uint16_t)row->lun;
	l->row = row;
	l->channel_count = s->worker_count;
	err = make_device(s, t, row, &l->device, why, sizeof(why));
	if (err == -EBUSY && is_exported(s, t, row))
		snprintf(why, sizeof(why),
			"its keys cannot change while it is exported: take it out, reload, and put "
			"it in again");
	if (err < 0) {
		config_report_add(report, false, c->file, row->line, "%s, LUN %u: %s", t->name,
			(unsigned)row->lun, why[0] ? why : strerror(-err));
		tgt_lun_release(l);
		return err;
	}
	*ret = l;
	return 0;
}

/* ---- making a set of targets, of which unchanged LUNs are the old ones ---- */

static struct tgt_lun *find_same(const struct tgt_target *old, const struct config_lun *row)
{
	for (size_t i = 0; old && i < old->lun_count; i++)
		if (config_lun_equal(old->luns[i]->row, row))
			return old->luns[i];
	return NULL;
}

/* Every LUN is tried, so that all that is wrong is reported; the first error is returned. */
static int make_luns(struct target_set *s, const struct config *c, struct tgt_target *t,
	const struct tgt_target *old, struct config_report *report)
{
	int err, first = 0;

	t->luns = alloc_array(t->row->luns.count, sizeof(struct tgt_lun *));
	if (!t->luns)
		return -ENOMEM;
	for (size_t i = 0; i < t->row->luns.count; i++) {
		const struct config_lun *row = &config_item(t->row->luns, struct config_lun, i);
		struct tgt_lun *same = find_same(old, row), *made = NULL;

		err = same ? 0 : make_lun(s, c, t->row, row, report, &made);
		if (err == 0)
			t->luns[t->lun_count++] = same ? tgt_lun_hold(same) : made;
		else if (!first)
			first = err;
	}
	return first;
}

static int make_target(struct target_set *s, const struct config *c,
	const struct config_target *row, struct list *into, struct config_report *report)
{
	struct tgt_target *t = alloc_zeroed(sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->holders = 1;
	t->row = row;
	snprintf(t->name, sizeof(t->name), "%s", row->name);
	list_append(into, &t->link);
	if (!row->luns.count)
		return 0;
	return make_luns(s, c, t, find_target(&s->targets, row->name), report);
}

static void drop_targets(struct list *targets)
{
	struct list *node;

	while ((node = list_pop(targets)))
		tgt_target_release(list_entry(node, struct tgt_target, link));
}

static int make_targets(struct target_set *s, const struct config *c, struct list *into,
	struct config_report *report)
{
	int err, first = 0;

	list_init(into);
	for (size_t i = 0; i < c->targets.count; i++) {
		err = make_target(
			s, c, &config_item(c->targets, struct config_target, i), into, report);
		if (err < 0 && !first)
			first = err;
	}
	if (first < 0)
		drop_targets(into);
	return first;
}

/* ---- swapping it in, under the lock ---- */

static bool holds(const struct tgt_target *t, const struct tgt_lun *l)
{
	for (size_t i = 0; i < t->lun_count; i++)
		if (t->luns[i] == l)
			return true;
	return false;
}

/* The old target object goes on, since sessions point to it; it gets the new one's content, and the
 * new object leaves with the old content. */
static void swap_content(struct tgt_target *old, struct tgt_target *new)
{
	struct tgt_target content = *old;

	for (size_t i = 0; i < old->lun_count; i++)
		if (!holds(new, old->luns[i]))
			atomic_store(&old->luns[i]->removed, true);
	old->row = new->row;
	old->luns = new->luns;
	old->lun_count = new->lun_count;
	new->luns = content.luns;
	new->lun_count = content.lun_count;
	for (size_t i = 0; i < old->lun_count; i++)
		old->luns[i]->row = &config_item(old->row->luns, struct config_lun, i);
}

static void mark_removed(struct tgt_target *t)
{
	atomic_store(&t->removed, true);
	t->row = NULL; /* its configuration is about to go */
	for (size_t i = 0; i < t->lun_count; i++)
		atomic_store(&t->luns[i]->removed, true);
}

/* `made` becomes the set; `gone` gets what is left over, to be released outside the lock. */
static void swap_targets(struct target_set *s, struct list *made, struct list *gone)
{
	struct tgt_target *new, *next, *old;
	struct list kept;

	list_init(&kept);
	list_init(gone);
	list_for_each_safe(new, next, made, link) {
		old = find_target(&s->targets, new->name);
		list_remove(&new->link);
		if (old) {
			swap_content(old, new);
			list_remove(&old->link);
			list_append(gone, &new->link);
		}
		list_append(&kept, old ? &old->link : &new->link);
	}
	list_for_each(old, &s->targets, link)
		mark_removed(old);
	list_splice(gone, &s->targets);
	list_splice(&s->targets, &kept);
}

/* A file that has grown is a larger disk from now on; initiators are told (SPC-4: CAPACITY DATA HAS
 * CHANGED). One that has shrunk stays what it was: its end reads as an error. */
static void refresh_lun(struct tgt_lun *l)
{
	struct backend *b = l->device->backend;
	uint64_t count;

	if (!b->ops->refresh || b->ops->refresh(b) < 0)
		return;
	count = b->info.size / l->device->block_size;
	if (count <= atomic_load(&l->device->block_count))
		return;
	atomic_store(&l->device->block_count, count);
	device_attention(l->device, NULL, ASC_CAPACITY_DATA_HAS_CHANGED);
}

/* By the main loop, which alone changes the set: no lock is needed to walk it. */
static void refresh_luns(struct target_set *s)
{
	struct tgt_target *t;

	list_for_each(t, &s->targets, link)
		for (size_t i = 0; i < t->lun_count; i++)
			refresh_lun(t->luns[i]);
}

int target_set_reload(struct target_set *s, struct config *c, struct config_report *report)
{
	struct config *old = s->config;
	struct list made, gone;
	int err = make_targets(s, c, &made, report);

	if (err < 0)
		return err == -ENOMEM ? -ENOMEM : -EINVAL;
	pthread_mutex_lock(&s->lock);
	swap_targets(s, &made, &gone);
	s->config = config_hold(c);
	pthread_mutex_unlock(&s->lock);
	drop_targets(&gone);
	config_release(old);
	if (old)
		refresh_luns(s);
	return 0;
}

int target_set_new(struct config *c, size_t worker_count, target_open_backend *open_backend,
	struct config_report *report, struct target_set **ret)
{
	struct target_set *s = alloc_zeroed(sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	registry_init(&s->registry);
	list_init(&s->targets);
	s->worker_count = worker_count;
	s->open_backend = open_backend;
	err = target_set_reload(s, c, report);
	if (err < 0)
		target_set_free(s);
	else
		*ret = s;
	return err;
}

void target_set_free(struct target_set *s)
{
	if (!s)
		return;
	drop_targets(&s->targets);
	config_release(s->config);
	registry_destroy(&s->registry);
	pthread_mutex_destroy(&s->lock);
	alloc_free(s->portals);
	alloc_free(s);
}

struct tgt_target *target_set_find(struct target_set *s, const char *name)
{
	struct tgt_target *t;

	pthread_mutex_lock(&s->lock);
	t = find_target(&s->targets, name);
	if (t)
		tgt_target_hold(t);
	pthread_mutex_unlock(&s->lock);
	return t;
}

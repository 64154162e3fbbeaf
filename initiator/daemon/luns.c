/* The LUNs of a session as disks and block devices, see sessions.h. Called by sessions.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "initiator/daemon/links.h"
#include "initiator/daemon/sessions.h"

#define ROOM "device"

/* An export that is at work (taking over a new size) is asked again to go, so long after. */
#define STOP_AGAIN_NS (100 * LOOP_NS_PER_MS)

static const char *runtime_of(const struct daemon_lun *l)
{
	return l->session->daemon->config.runtime_directory;
}

/* ---- one device ---- */

static void lun_ready(void *owner, int status, const char *why)
{
	struct daemon_lun *l = owner;
	const char *device;
	int r = 0;

	l->state = LUN_READY;
	device = status == 0 ? l->export->ops->device(l->export) : NULL;
	l->failed = !device;
	if (device) {
		r = links_make(runtime_of(l), l->name, device);
		log_info(ROOM, "session %u: LUN %u is %s", l->session->number, l->number, device);
	} else {
		snprintf(l->why, sizeof(l->why), "%s", why ? why : strerror(-status));
		log_warning(ROOM, "session %u: LUN %u has no device: %s", l->session->number,
			l->number, l->why);
	}
	if (r < 0)
		log_warning(ROOM, "cannot make the link %s: %s", l->name, strerror(-r));
	session_proceed(l->session);
}

static const struct export_ops *exporter(const struct daemon_lun *l, const char **ret_why)
{
	*ret_why = "iserd runs with --no-devices";
	if (l->session->daemon->config.no_devices)
		return NULL;
#ifdef HAVE_FUSE
	return &export_fuse;
#else
	*ret_why = "block devices are not built in; build with libfuse3";
	return NULL;
#endif
}

static void lun_start(struct daemon_lun *l)
{
	const struct export_config config = {
		.runtime_directory = runtime_of(l),
		.name = l->name,
	};
	const char *why;
	const struct export_ops *ops = exporter(l, &why);

	l->tried = true;
	l->why[0] = '\0';
	if (!ops) {
		snprintf(l->why, sizeof(l->why), "%s", why);
		return;
	}
	if (links_name(l->session->portal, l->session->record.target_name, l->number,
		    l->session->suffix, l->name, sizeof(l->name)) < 0) {
		snprintf(l->why, sizeof(l->why),
			"the target's name is too long for the name of a file");
	} else if (ops->start(l->disk, &config, lun_ready, l, &l->export, l->why, sizeof(l->why)) ==
		   0) {
		l->state = LUN_STARTING;
		return;
	}
	l->export = NULL;
	log_warning(ROOM, "session %u: LUN %u has no device: %s", l->session->number, l->number,
		l->why);
}

static void lun_restore(struct daemon_lun *l)
{
	const char *device = l->export->ops->device(l->export);

	l->state = LUN_READY;
	if (device)
		links_make(runtime_of(l), l->name, device);
}

/* An export that would not go, in words. */
static void refuse(struct daemon_lun *l, int status)
{
	struct daemon_session *s = l->session;
	const char *device = l->export->ops->device(l->export);

	s->refused = true;
	snprintf(s->end_why, sizeof(s->end_why),
		"%s (session %u, LUN %u) cannot be taken away: %s; --force does it all the same",
		device ? device : l->name, s->number, l->number,
		status == -EBUSY ? "it is in use" : strerror(-status));
}

static void lun_stopped(void *owner, int status)
{
	struct daemon_lun *l = owner;
	struct daemon_session *s = l->session;

	if (status == 0) {
		l->export = NULL;
		l->state = LUN_IDLE;
		l->failed = false;
	} else {
		lun_restore(l);
		if (s->force || l->failed)
			loop_timer_arm(s->daemon->loop, &s->retry, STOP_AGAIN_NS);
		else if (s->phase == SESSION_ENDING)
			refuse(l, status);
		else
			l->leaving = false;
	}
	session_proceed(s);
}

static void lun_stop(struct daemon_lun *l, bool force)
{
	l->state = LUN_STOPPING;
	links_remove(runtime_of(l), l->name);
	l->export->ops->stop(l->export, force, lun_stopped, l);
}

/* ---- the disk's events ---- */

static void lun_resized(void *owner)
{
	struct daemon_lun *l = owner;

	log_info(ROOM, "session %u: LUN %u now has %llu bytes", l->session->number, l->number,
		(unsigned long long)disk_info(l->disk)->size);
	if (l->state == LUN_READY && !l->failed)
		l->export->ops->resized(l->export);
}

static void lun_gone(void *owner, const char *why)
{
	struct daemon_lun *l = owner;

	l->gone = true;
	snprintf(l->why, sizeof(l->why), "%s", why);
	log_error(ROOM, "session %u: LUN %u is gone, its I/O fails: %s", l->session->number,
		l->number, why);
}

static const struct disk_events events = {.resized = lun_resized, .gone = lun_gone};

/* ---- scans ---- */

static struct daemon_lun *lun_find(struct daemon_session *s, unsigned number)
{
	struct daemon_lun *l;

	list_for_each(l, &s->luns, link)
		if (l->number == number)
			return l;
	return NULL;
}

static void lun_insert(struct daemon_session *s, struct daemon_lun *new)
{
	struct daemon_lun *l;

	list_for_each(l, &s->luns, link)
		if (l->number > new->number)
			break;
	list_insert_before(&l->link, &new->link);
}

static void lun_add(struct daemon_session *s, const struct disk_info *info)
{
	struct daemon_lun *l = alloc_zeroed(sizeof(*l));
	int r = l ? disk_new(s->ini, info, &events, l, &l->disk) : -ENOMEM;

	if (r < 0) {
		log_warning(ROOM, "session %u: LUN %u cannot be used: %s", s->number, info->lun,
			strerror(-r));
		alloc_free(l);
		return;
	}
	l->session = s;
	l->number = info->lun;
	l->seen = true;
	lun_insert(s, l);
}

/* A device that somebody has taken off the disk is made anew. */
static void lun_check_device(struct daemon_lun *l)
{
	const struct export_ops *ops = l->state == LUN_READY ? l->export->ops : NULL;
	const char *device = ops ? ops->device(l->export) : NULL;

	if (!device || l->failed || ops->attached(l->export))
		return;
	log_warning(ROOM, "session %u: %s was taken off LUN %u by somebody; it gets a device anew",
		l->session->number, device, l->number);
	l->failed = true;
	l->tried = false;
}

static void lun_update(struct daemon_lun *l, const struct disk_info *info)
{
	struct daemon_session *s = l->session;

	l->seen = true;
	l->tried = l->tried && l->export;
	if (l->leaving)
		return;
	if (disk_update(l->disk, info) == 0) {
		lun_check_device(l);
		return;
	}
	log_warning(ROOM, "session %u: LUN %u is another device now", s->number, l->number);
	l->leaving = true;
	s->deferred = true;
}

void luns_take_scan(struct daemon_session *s, const struct disk_info *found, size_t count)
{
	struct daemon_lun *l;

	list_for_each(l, &s->luns, link)
		l->seen = false;
	for (size_t i = 0; i < count; i++) {
		l = lun_find(s, found[i].lun);
		if (l)
			lun_update(l, &found[i]);
		else
			lun_add(s, &found[i]);
	}
	list_for_each(l, &s->luns, link) {
		if (l->seen || l->leaving)
			continue;
		log_warning(ROOM, "session %u: the target has no LUN %u any more", s->number,
			l->number);
		l->leaving = true;
	}
}

void luns_start(struct daemon_session *s)
{
	struct daemon_lun *l;

	list_for_each(l, &s->luns, link)
		if (l->state == LUN_IDLE && !l->tried && !l->leaving && !l->gone)
			lun_start(l);
}

/* ---- leaving ---- */

static void lun_freed(void *owner)
{
	struct daemon_lun *l = owner;
	struct daemon_session *s = l->session;

	list_remove(&l->link);
	alloc_free(l);
	session_proceed(s);
}

static void lun_free(struct daemon_lun *l)
{
	l->state = LUN_FREEING;
	disk_free(l->disk, lun_freed, l);
}

static bool lun_in_use(const struct daemon_lun *l, char why[SESSION_WHY_SIZE])
{
	const char *device;
	char who[SESSION_WHY_SIZE - 128];

	if (l->state != LUN_READY || l->failed)
		return false;
	device = l->export->ops->device(l->export);
	if (!device || !usage_find(device, who, sizeof(who)))
		return false;
	snprintf(why, SESSION_WHY_SIZE, "%s (session %u, LUN %u) is in use: %s", device,
		l->session->number, l->number, who);
	return true;
}

static void lun_leave(struct daemon_lun *l)
{
	char why[SESSION_WHY_SIZE];

	if (l->state == LUN_IDLE) {
		lun_free(l);
	} else if (l->state == LUN_READY && lun_in_use(l, why)) {
		log_warning(ROOM, "%s; it stays until that ends, and a rescan", why);
		l->leaving = false;
	} else if (l->state == LUN_READY) {
		lun_stop(l, false);
	}
}

void luns_leave_step(struct daemon_session *s)
{
	struct daemon_lun *l, *next;

	list_for_each_safe(l, next, &s->luns, link) {
		if (l->state == LUN_READY && l->failed && !loop_timer_armed(&s->retry))
			lun_stop(l, true);
		else if (l->leaving)
			lun_leave(l);
	}
}

bool luns_busy(const struct daemon_session *s)
{
	const struct daemon_lun *l;

	list_for_each(l, &s->luns, link)
		if (l->leaving || l->failed || l->state == LUN_STARTING || l->state == LUN_STOPPING)
			return true;
	return false;
}

bool luns_have_devices(const struct daemon_session *s)
{
	const struct daemon_lun *l;

	list_for_each(l, &s->luns, link)
		if (l->export)
			return true;
	return false;
}

bool luns_in_use(const struct daemon_session *s, char why[SESSION_WHY_SIZE])
{
	const struct daemon_lun *l;

	list_for_each(l, &s->luns, link)
		if (lun_in_use(l, why))
			return true;
	return false;
}

/* ---- the end of all ---- */

bool luns_stop(struct daemon_session *s)
{
	struct daemon_lun *l;

	list_for_each(l, &s->luns, link)
		if (l->state == LUN_READY && !s->refused && !loop_timer_armed(&s->retry))
			lun_stop(l, s->force || l->failed);
	return !luns_have_devices(s);
}

static void lun_flushed(struct disk_io *io, int status)
{
	struct daemon_lun *l = container_of(io, struct daemon_lun, flush);
	struct daemon_session *s = l->session;

	l->state = LUN_IDLE;
	l->flushed = status == 0 || l->gone;
	if (!l->flushed) {
		log_error(ROOM, "session %u: LUN %u: its cache cannot be written: %s", s->number,
			l->number, strerror(-status));
		s->refused = !s->force;
		s->daemon->lost = s->daemon->lost || s->daemon->stopping;
		snprintf(s->end_why, sizeof(s->end_why),
			"session %u, LUN %u: its cache cannot be written: %s; --force logs out all "
			"the same",
			s->number, l->number, strerror(-status));
	}
	session_proceed(s);
}

bool luns_flush(struct daemon_session *s)
{
	struct daemon_lun *l;
	bool done = true;

	list_for_each(l, &s->luns, link) {
		if (l->state == LUN_IDLE && !l->flushed && !s->force) {
			l->state = LUN_FLUSHING;
			l->flush = (struct disk_io){.operation = DISK_FLUSH, .done = lun_flushed};
			disk_submit(l->disk, &l->flush);
		}
		done = done && l->state == LUN_IDLE;
	}
	return done;
}

bool luns_free(struct daemon_session *s)
{
	struct daemon_lun *l, *next;

	list_for_each_safe(l, next, &s->luns, link)
		if (l->state == LUN_IDLE)
			lun_free(l);
	return list_empty(&s->luns);
}

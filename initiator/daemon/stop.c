/* SIGTERM, SIGINT and `iseradm -m daemon -o stop`: every session is logged out, its devices first.
 * Devices in use are told, one line each; their dirty pages are written as far as time allows, and
 * then they are taken away. All within STOP_NS and STOP_FORCED_NS. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "initiator/daemon/sessions.h"

/* Time for dirty pages and caches to reach the targets. systemd waits 90 s before it kills. */
#define STOP_NS (20 * LOOP_NS_PER_S)
/* Then nothing waits for a target any more, but for the kernel to let go of its devices. */
#define STOP_FORCED_NS (10 * LOOP_NS_PER_S)

void daemon_settle(struct daemon *d)
{
	if (d->stopping && list_empty(&d->sessions) && !d->busy)
		loop_stop(d->loop);
}

static void take_away(struct daemon_session *s)
{
	char why[SESSION_WHY_SIZE];

	if (luns_have_devices(s)) {
		log_error("stop", "session %u: its devices are taken away all the same", s->number);
		s->daemon->lost = true;
	}
	session_logout(s, true, NULL, why);
}

/* Those that were refused; and with `all`, those whose logout takes too long. */
static void force(struct daemon *d, bool all)
{
	struct daemon_session *s, *next;

	d->forced = all;
	list_for_each_safe(s, next, &d->sessions, link)
		if (all || s->phase != SESSION_ENDING)
			take_away(s);
	if (all)
		loop_timer_arm(d->loop, &d->stop_timer, STOP_FORCED_NS);
}

static void stop_expired(struct loop_timer *t)
{
	struct daemon *d = container_of(t, struct daemon, stop_timer);

	if (!d->forced) {
		force(d, true);
		return;
	}
	log_error("stop", "a session does not end: the end without it");
	loop_stop(d->loop);
}

/* ---- writing what devices in use hold ---- */

struct stop_sync {
	struct daemon *daemon;
	struct loop_message message;
	pthread_t thread;
};

static void synced(struct loop_message *m)
{
	struct stop_sync *sync_job = container_of(m, struct stop_sync, message);
	struct daemon *d = sync_job->daemon;

	pthread_join(sync_job->thread, NULL);
	alloc_free(sync_job);
	d->busy--;
	if (!d->forced)
		force(d, false);
	daemon_settle(d);
}

static void *run_sync(void *arg)
{
	struct stop_sync *sync_job = arg;

	/* file systems on our devices, and whatever else there is */
	sync();
	loop_post(sync_job->daemon->loop, &sync_job->message);
	return NULL;
}

static void start_sync(struct daemon *d)
{
	struct stop_sync *sync_job = alloc_zeroed(sizeof(*sync_job));

	if (!sync_job)
		return; /* the time-out comes all the same */
	sync_job->daemon = d;
	sync_job->message.deliver = synced;
	if (pthread_create(&sync_job->thread, NULL, run_sync, sync_job) == 0)
		d->busy++;
	else
		alloc_free(sync_job);
}

/* ---- the beginning ---- */

static void begin(struct daemon *d)
{
	struct daemon_session *s, *next;
	char why[SESSION_WHY_SIZE];
	bool in_use = false;

	log_info("stop", "logging out all sessions");
	d->stopping = true;
	autologin_stop(d);
	discover_stop(d);
	jobs_stop(d);
	list_for_each_safe(s, next, &d->sessions, link) {
		if (session_logout(s, false, NULL, why) == STATUS_OK)
			continue;
		in_use = true;
		log_warning("stop", "%s", why);
	}
	d->stop_timer.expired = stop_expired;
	if (loop_timer_arm(d->loop, &d->stop_timer, STOP_NS) < 0)
		force(d, true);
	else if (in_use)
		start_sync(d);
	daemon_settle(d);
}

void daemon_stop(struct daemon *d)
{
	if (!d->stopping)
		begin(d);
	else if (!d->forced)
		force(d, true);
}

/* Whether a LUN is still the same device after a reconnect: before anything that was held is issued
 * again, the disk asks who is there. A LUN that was given to another volume fails; it never becomes
 * the wrong disk. Called by the session, through struct ini_session_check. */
#include "initiator/disk_private.h"

#include <errno.h>
#include <stdio.h>

#include "common/base/alloc.h"
#include "common/base/log.h"

static void disk_gone(struct disk *d, const char *why)
{
	d->gone = true;
	log_error("disk", "%s: LUN %u: %s", ini_session_config(d->session)->target_name,
		d->info.lun, why);
	disk_fail_pending(d, -ENODEV);
	ini_session_fail_lun(d->session, d->info.lun, -ENODEV);
	if (d->events.gone)
		d->events.gone(d->owner, why);
}

static void check_other_device(struct disk *d, const struct disk_info *now)
{
	char why[256];

	snprintf(why, sizeof(why), "another device is there: \"%.100s\" in place of \"%.100s\"",
		*now->wwid ? now->wwid : now->serial,
		*d->info.wwid ? d->info.wwid : d->info.serial);
	disk_gone(d, why);
}

/* What the answers mean. False: the check goes on, by the timer, or by the next login. */
static bool check_judge(struct disk *d, int error)
{
	/* A page that could not be read is no other identity; most likely the target still begins.
	 */
	if (error == 0 && *d->info.wwid && !*d->probe->info.wwid)
		error = -EAGAIN;
	if (error == 0) {
		if (disk_update(d, &d->probe->info) < 0)
			check_other_device(d, &d->probe->info);
		return true;
	}
	if ((error == -ENODEV || error == -EAGAIN) && ++d->absent < DISK_ABSENT_PROBES &&
		loop_timer_arm(disk_loop(d), &d->absent_timer, DISK_ABSENT_DELAY_NS) == 0)
		return false;
	if (error == -ENODEV) {
		disk_gone(d, "no disk is there any more");
		return true;
	}
	if (error != -ENOTCONN && error != -ESHUTDOWN && error != -ECANCELED)
		ini_session_recover(d->session,
			error == -EAGAIN ? "a disk does not say which it is" : d->probe->why);
	return false;
}

static void check_begin(struct ini_session_check *c)
{
	struct disk *d = container_of(c, struct disk, check);

	if (d->gone) {
		ini_session_check_done(d->session, c);
		return;
	}
	loop_timer_cancel(&d->absent_timer);
	d->absent = 0;
	d->again = d->probing; /* the failure of the last one's command is on its way */
	if (d->probing)
		return;
	d->probing = true;
	probe_start(d->probe);
}

static void check_absent_again(struct loop_timer *t)
{
	struct disk *d = container_of(t, struct disk, absent_timer);

	d->probing = true;
	probe_start(d->probe);
}

static void check_probed(struct probe *p, int error)
{
	struct disk *d = p->owner;

	d->probing = false;
	if (d->freeing)
		disk_free_if_idle(d);
	else if (d->again)
		check_begin(&d->check);
	else if (check_judge(d, error))
		ini_session_check_done(d->session, &d->check);
}

int disk_check_init(struct disk *d)
{
	d->probe = alloc_zeroed(sizeof(*d->probe));
	if (!d->probe)
		return -ENOMEM;
	d->probe->session = d->session;
	d->probe->lun = d->info.lun;
	d->probe->urgent = true;
	d->probe->owner = d;
	d->probe->done = check_probed;
	d->check.begin = check_begin;
	d->absent_timer.expired = check_absent_again;
	ini_session_add_check(d->session, &d->check);
	return 0;
}

void disk_check_free(struct disk *d)
{
	loop_timer_cancel(&d->absent_timer);
	alloc_free(d->probe);
}

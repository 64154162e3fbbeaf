/* A job's thread: movers and a session of its own, a scan for its LUN, the operation, logout. What
 * comes next is decided in job_step(), which the thread's loop calls. */
#include "initiator/daemon/job.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "initiator/daemon/movers.h"

/* ---- the outcome ---- */

static void job_over(struct job *j)
{
	j->over = true;
	loop_defer(j->loop, &j->step);
}

void job_finish(struct job *j, struct json_object *result)
{
	if (j->over) {
		json_object_put(result);
		return;
	}
	j->result = result;
	job_over(j);
}

void job_fail(struct job *j, enum ini_status status, const char *format, ...)
{
	va_list args;

	if (j->over)
		return;
	j->status = (int)status;
	va_start(args, format);
	vsnprintf(j->line, sizeof(j->line), format, args);
	va_end(args);
	job_over(j);
}

void job_fail_io(struct job *j, const struct disk_io *io, int error)
{
	static const char *const names[] = {
		[DISK_READ] = "reading",
		[DISK_WRITE] = "writing",
		[DISK_FLUSH] = "flushing its cache",
		[DISK_DISCARD] = "discarding",
		[DISK_WRITE_ZEROES] = "writing zeroes",
	};
	static const struct {
		int error;
		enum ini_status status;
		const char *line;
	} rows[] = {
		{-ENOSPC, STATUS_FAILED, "no space is left at the target"},
		{-EROFS, STATUS_ACCESS, "it is write protected"},
		{-EBADE, STATUS_ACCESS, "somebody else holds a reservation on it"},
		{-ENODATA, STATUS_FAILED, "the medium cannot be read there"},
		{-ETIMEDOUT, STATUS_NO_ANSWER, "the target has been away for too long"},
		{-ENODEV, STATUS_NOT_FOUND, "it is not there any more"},
	};
	const char *line = strerror(-error);
	enum ini_status status = STATUS_FAILED;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].error == error) {
			status = rows[i].status;
			line = rows[i].line;
		}
	job_fail(j, status, "LUN %u: %s, %llu bytes at byte %llu: %s", (unsigned)j->options.lun,
		names[io->operation], (unsigned long long)io->length,
		(unsigned long long)io->offset, line);
}

bool job_check_range(struct job *j)
{
	const struct disk_info *info = disk_info(j->disk);
	struct job_options *o = &j->options;

	if (o->offset > info->size ||
		(o->length != UINT64_MAX && o->length > info->size - o->offset)) {
		job_fail(j, STATUS_USAGE, "LUN %u has %llu bytes; the range goes beyond its end",
			info->lun, (unsigned long long)info->size);
		return false;
	}
	if (o->length == UINT64_MAX)
		o->length = info->size - o->offset;
	if (o->offset % info->block_size || o->length % info->block_size) {
		job_fail(j, STATUS_USAGE,
			"LUN %u has blocks of %u bytes; offset and length must be multiples of "
			"that",
			info->lun, info->block_size);
		return false;
	}
	return true;
}

/* ---- the scan ---- */

static void fail_without_lun(struct job *j, const struct disk_info *luns, size_t count)
{
	char list[128] = "none at all";
	size_t used = 0;

	for (size_t i = 0; i < count && used + 8 < sizeof(list); i++)
		used += (size_t)snprintf(
			list + used, sizeof(list) - used, "%s%u", i ? ", " : "", luns[i].lun);
	job_fail(j, STATUS_NOT_FOUND, "%s has no disk at LUN %u; it has %s", j->record.target_name,
		(unsigned)j->options.lun, list);
}

static void begin_operation(struct job *j, const struct disk_info *luns, size_t count)
{
	const struct disk_info *info = NULL;
	int rc;

	if (!j->operation->disk) {
		job_finish(j, job_list_luns(luns, count));
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (luns[i].lun == j->options.lun)
			info = &luns[i];
	if (!info) {
		fail_without_lun(j, luns, count);
		return;
	}
	rc = disk_new(j->session, info, NULL, NULL, &j->disk);
	if (rc < 0) {
		job_fail(j, STATUS_FAILED, "LUN %u: %s", info->lun, strerror(-rc));
		return;
	}
	j->found = true;
	j->operation->start(j);
}

static void scanned(void *owner, int error, const struct disk_info *luns, size_t count)
{
	struct job *j = owner;

	j->scan = NULL;
	if (error < 0)
		job_fail(j, STATUS_FAILED, "%s: its LUNs cannot be asked for: %s", j->portal,
			strerror(-error));
	else if (!j->over)
		begin_operation(j, luns, count);
	loop_defer(j->loop, &j->step);
}

/* ---- the session ---- */

static void logged_in(void *owner)
{
	struct job *j = owner;
	int rc;

	if (j->found || j->scan || j->over)
		return;
	rc = ini_scan_start(j->session, scanned, j, &j->scan);
	if (rc < 0)
		scanned(j, rc, NULL, 0);
}

static void ended(void *owner, int error, unsigned login_status, const char *why)
{
	struct job *j = owner;
	char line[JOB_LINE_SIZE];

	j->ended = true;
	failure_line(j->portal, error ? error : -ECONNRESET, login_status, why, line, sizeof(line));
	job_fail(j, failure_status(error ? error : -ECONNRESET, login_status), "%s", line);
	loop_defer(j->loop, &j->step);
}

static const struct ini_session_events events = {.logged_in = logged_in, .ended = ended};

/* As many commands at a time as a measurement asks for. */
static void session_widen(const struct job *j, struct ini_session_config *c)
{
	if (j->options.depth > c->queue_depth)
		c->queue_depth = (uint32_t)j->options.depth;
	if (c->queue_depth > c->cmds_max)
		c->cmds_max = c->queue_depth;
}

static int session_start(struct job *j)
{
	struct ini_session_config c;
	int rc = ini_session_config_from_record(&j->record, &c);

	if (rc < 0)
		return rc;
	c.loop = j->loop;
	c.mover = daemon_movers_find(j->movers, (enum node_transport)j->record.transport,
		(enum node_provider)j->record.provider, &j->address);
	if (!c.mover)
		return -EOPNOTSUPP;
	c.portal = j->address;
	if (!c.initiator_name)
		c.initiator_name = j->initiator_name;
	ini_isid_make(
		c.initiator_name, c.target_name, j->portal, DAEMON_ISID_JOBS + j->place, &c.isid);
	session_widen(j, &c);
	rc = ini_session_new(&c, &events, j, &j->session);
	if (rc == 0)
		ini_session_start(j->session);
	return rc;
}

/* ---- the end ---- */

static void freed(void *owner)
{
	struct job *j = owner;

	j->disk = NULL;
	loop_defer(j->loop, &j->step);
}

/* In order: the scan ends, the session, the disk with what I/O it still has, and then what the
 * operation had taken. */
static void job_step(struct loop_call *c)
{
	struct job *j = container_of(c, struct job, step);

	if (!j->over)
		return;
	if (j->scan) {
		ini_scan_cancel(j->scan);
	} else if (!j->ended && !j->leaving) {
		j->leaving = true;
		if (j->cancelled)
			ini_session_close(j->session);
		else
			ini_session_logout(j->session);
	} else if (j->ended && j->disk && !j->freeing) {
		j->freeing = true;
		disk_free(j->disk, freed, j);
	} else if (j->ended && !j->disk) {
		loop_stop(j->loop);
	}
}

void job_cancelled(struct loop_message *m)
{
	struct job *j = container_of(m, struct job, cancel);

	job_fail(j, STATUS_FAILED, "given up, since it was told to");
	j->cancelled = true;
	/* a logout that waits for a target need not be waited for */
	if (j->leaving && !j->ended)
		ini_session_close(j->session);
}

static void job_take_down(struct job *j)
{
	if (j->found && j->operation->release)
		j->operation->release(j);
	ini_session_free(j->session);
	j->session = NULL;
	loop_call_cancel(&j->step);
	daemon_movers_free(j->movers);
}

void *job_run(void *arg)
{
	struct job *j = arg;
	int rc;

	j->step.call = job_step;
	rc = daemon_movers_new(j->loop, &j->daemon->config, &j->movers);
	if (rc == 0)
		rc = session_start(j);
	if (rc == 0)
		loop_run(j->loop);
	else
		job_fail(j, STATUS_FAILED, "%s: no session can be made: %s", j->portal,
			strerror(-rc));
	job_take_down(j);
	loop_post(j->daemon->loop, &j->ended_message);
	return NULL;
}

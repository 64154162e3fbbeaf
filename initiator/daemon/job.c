/* Jobs as the daemon's loop sees them, see job.h: a request becomes a job, its thread is started
 * once the address is known, progress is told several times a second, and the answer is given when
 * the thread has ended. A client that goes away, and the end of the daemon, cancel it. */
#include "initiator/daemon/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "initiator/daemon/resolve.h"

#define PROGRESS_NS (250 * LOOP_NS_PER_MS)

/* ---- the end of a job ---- */

static void job_free(struct job *j)
{
	loop_timer_cancel(&j->progress);
	loop_free(j->loop);
	if (j->file >= 0)
		close(j->file);
	json_object_put(j->result);
	explicit_bzero(&j->record, sizeof(j->record)); /* its secrets */
	alloc_free(j);
}

static void job_answer(struct job *j)
{
	struct json_object *result = j->result;

	j->result = NULL;
	if (j->status == STATUS_OK)
		control_reply(j->request, result);
	else
		control_fail(j->request, j->status, "%s", j->line);
}

static void job_end(struct job *j)
{
	struct daemon *d = j->daemon;

	job_answer(j);
	d->jobs[j->place] = NULL;
	d->busy--;
	job_free(j);
	daemon_settle(d);
}

static void job_ended(struct loop_message *m)
{
	struct job *j = container_of(m, struct job, ended_message);

	pthread_join(j->thread, NULL);
	job_end(j);
}

static void job_cancel(struct job *j)
{
	if (j->cancel_sent)
		return;
	j->cancel_sent = true;
	if (j->threaded)
		loop_post(j->loop, &j->cancel);
}

static void client_gone(void *arg)
{
	job_cancel(arg);
}

void jobs_stop(struct daemon *d)
{
	for (size_t i = 0; i < DAEMON_JOBS_MAX; i++)
		if (d->jobs[i])
			job_cancel(d->jobs[i]);
}

/* ---- its beginning ---- */

static void tell_progress(struct loop_timer *t)
{
	struct job *j = container_of(t, struct job, progress);
	struct json_object *json = json_object_new_object();

	put_number(json, "done", atomic_load_explicit(&j->done, memory_order_relaxed));
	put_number(json, "total", atomic_load_explicit(&j->total, memory_order_relaxed));
	control_progress(j->request, json);
	loop_timer_arm(j->daemon->loop, &j->progress, PROGRESS_NS);
}

static void job_refuse(struct job *j, enum ini_status status, const char *line)
{
	j->status = (int)status;
	snprintf(j->line, sizeof(j->line), "%s", line);
	job_end(j);
}

static void job_resolved(void *owner, const struct address *address, const char *why)
{
	struct job *j = owner;

	if (!address) {
		job_refuse(j, STATUS_UNREACHABLE, why);
	} else if (j->cancel_sent || j->daemon->stopping) {
		job_refuse(j, STATUS_FAILED, "given up, since it was told to");
	} else {
		j->address = *address;
		j->threaded = pthread_create(&j->thread, NULL, job_run, j) == 0;
		if (!j->threaded)
			job_refuse(j, STATUS_FAILED, "no thread can be started for this");
		else
			loop_timer_arm(j->daemon->loop, &j->progress, PROGRESS_NS);
	}
}

static struct job *job_new(struct daemon *d)
{
	struct job *j = alloc_zeroed(sizeof(*j));

	if (!j)
		return NULL;
	j->daemon = d;
	j->file = -1;
	j->progress.expired = tell_progress;
	j->ended_message.deliver = job_ended;
	j->cancel.deliver = job_cancelled;
	snprintf(j->initiator_name, sizeof(j->initiator_name), "%s",
		records_initiator_name(d->records));
	return j;
}

static bool find_place(const struct daemon *d, unsigned *ret)
{
	for (unsigned i = 0; i < DAEMON_JOBS_MAX; i++)
		if (!d->jobs[i]) {
			*ret = i;
			return true;
		}
	return false;
}

static void job_begin(struct job *j, struct control_request *r)
{
	struct daemon *d = j->daemon;
	int rc;

	j->request = r;
	d->jobs[j->place] = j;
	d->busy++;
	control_request_on_close(r, client_gone, j);
	rc = resolve_start(d, j->record.address, j->record.port, job_resolved, j);
	if (rc < 0)
		job_refuse(j, STATUS_FAILED, strerror(-rc));
}

static bool job_prepare(struct job *j, struct control_request *r, struct json_object *json)
{
	struct loop_config config;

	if (!find_place(j->daemon, &j->place)) {
		control_fail(r, STATUS_AGAIN,
			"%d such jobs are under way already; wait for one to end", DAEMON_JOBS_MAX);
		return false;
	}
	if (!job_request_read(j, r, json))
		return false;
	config = (struct loop_config){.spin_ns = j->options.busy_poll_us * 1000};
	j->loop = loop_new(&config);
	if (!j->loop)
		control_fail(r, STATUS_NO_MEMORY, "no memory or descriptor for this");
	return j->loop;
}

void job_handle_lun(struct daemon *d, struct control_request *r, struct json_object *json)
{
	struct job *j = job_new(d);

	if (!j)
		control_fail(r, STATUS_NO_MEMORY, "no memory for this");
	else if (job_prepare(j, r, json))
		job_begin(j, r);
	else
		job_free(j);
}

/* Threads that execute requests of a file store by blocking calls, where io_uring is not allowed
 * (containers) or no better. Called by file.c and file_uring.c; completes
 * by a message to the loop. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "common/base/alloc.h"
#include "common/loop/loop.h"
#include "target/backend/file.h"

/* What a request needs while it is here, in its backend_private. */
struct file_job {
	struct loop_message message;
	int status;
};

_Static_assert(sizeof(struct file_job) <= sizeof(((struct backend_request *)0)->backend_private),
	"a job fits into a request");

struct file_thread {
	struct file_threads *pool;
	pthread_t thread;
	struct file_scratch scratch;
	bool running;
};

struct file_threads {
	struct file_backend *file;
	struct loop *loop;
	pthread_mutex_t lock; /* of the fields below */
	pthread_cond_t wake;
	struct list queue; /* struct backend_request */
	bool stopping;
	unsigned count;
	struct file_thread threads[];
};

static struct file_job *job_of(struct backend_request *r)
{
	return (struct file_job *)r->backend_private;
}

static void job_deliver(struct loop_message *m)
{
	struct file_job *job = container_of(m, struct file_job, message);
	struct backend_request *r =
		container_of((void *)job, struct backend_request, backend_private);

	r->done(r, job->status);
}

/* The next request, or NULL when the pool stops. */
static struct backend_request *threads_take(struct file_threads *t)
{
	struct list *node = NULL;

	pthread_mutex_lock(&t->lock);
	while (!t->stopping && !(node = list_pop(&t->queue)))
		pthread_cond_wait(&t->wake, &t->lock);
	pthread_mutex_unlock(&t->lock);
	return node ? list_entry(node, struct backend_request, link) : NULL;
}

static void *thread_run(void *arg)
{
	struct file_thread *thread = arg;
	struct file_threads *t = thread->pool;
	struct backend_request *r;

	while ((r = threads_take(t))) {
		struct file_job *job = job_of(r);

		job->status = file_execute(t->file, r, &thread->scratch);
		job->message.deliver = job_deliver;
		loop_post(t->loop, &job->message);
	}
	return NULL;
}

static int thread_start(struct file_threads *t, struct file_thread *thread)
{
	sigset_t all, before;
	int rc = file_scratch_make(&thread->scratch);

	if (rc < 0)
		return rc;
	thread->pool = t;
	/* Signals are the main loop's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&thread->thread, NULL, thread_run, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	thread->running = rc == 0;
	return rc;
}

int file_threads_new(
	struct file_backend *f, struct loop *l, unsigned count, struct file_threads **ret)
{
	struct file_threads *t = alloc_zeroed(sizeof(*t) + count * sizeof(t->threads[0]));
	int rc;

	if (!t)
		return -ENOMEM;
	t->file = f;
	t->loop = l;
	t->count = count;
	list_init(&t->queue);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->wake, NULL);
	for (unsigned i = 0; i < count; i++) {
		rc = thread_start(t, &t->threads[i]);
		if (rc < 0)
			goto fail;
	}
	*ret = t;
	return 0;
fail:
	file_threads_free(t);
	return rc;
}

void file_threads_free(struct file_threads *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
	for (unsigned i = 0; i < t->count; i++) {
		if (t->threads[i].running)
			pthread_join(t->threads[i].thread, NULL);
		file_scratch_free(&t->threads[i].scratch);
	}
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
	alloc_free(t);
}

void file_threads_submit(struct file_threads *t, struct backend_request *r)
{
	pthread_mutex_lock(&t->lock);
	list_append(&t->queue, &r->link);
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

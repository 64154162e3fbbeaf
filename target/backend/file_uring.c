/* io_uring for a file store: one ring per channel, one submit per turn of the loop, completions
 * taken from the shared ring without a system call. Called by file.c. */
#include <errno.h>
#include <liburing.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/loop/loop.h"
#include "target/backend/file.h"

/* Requests in the kernel at a time; more wait here. Disks are saturated by fewer, and the
 * completion ring, twice as large, cannot overflow. */
#define RING_ENTRIES 256
/* The kernel registers at most 1 GiB per buffer, and reads or writes at most 2 GiB at a time. */
#define PIECE_MAX (1ull << 30)
#define BUFFERS_MAX 64
/* When the kernel takes no submission (EAGAIN: out of memory), it is
 * asked again after this time. */
#define RETRY_NS LOOP_NS_PER_MS

struct file_uring {
	struct file_backend *file;
	struct loop *loop;
	struct file_threads *helpers;
	struct io_uring ring;
	bool ring_open, fixed_file;
	struct loop_watch watch; /* the ring's descriptor: readable while there are completions */
	struct loop_poller poller;
	struct loop_call flush;
	struct loop_timer retry;
	struct list waiting; /* struct backend_request */
	unsigned in_kernel;
	uint8_t *arena; /* registered, in buffers of PIECE_MAX */
	size_t arena_length;
};

/* What a request needs while it is here, in its backend_private. */
struct uring_job {
	uint64_t done; /* bytes */
};

static struct uring_job *job_of(struct backend_request *r)
{
	return (struct uring_job *)r->backend_private;
}

static void uring_queue(struct file_uring *u, struct backend_request *r)
{
	list_append(&u->waiting, &r->link);
	loop_defer_flush(u->loop, &u->flush);
}

/* ---- submission ---- */

/* The registered buffer that holds all of [data, data + length), or -1. */
static int uring_buffer(const struct file_uring *u, const uint8_t *data, size_t length)
{
	size_t at = (size_t)(data - u->arena);

	if (!u->arena || data < u->arena || length > u->arena_length ||
		at > u->arena_length - length || at / PIECE_MAX != (at + length - 1) / PIECE_MAX)
		return -1;
	return (int)(at / PIECE_MAX);
}

static void uring_prepare_move(
	struct file_uring *u, struct io_uring_sqe *sqe, struct backend_request *r, int fd)
{
	uint64_t done = job_of(r)->done;
	uint8_t *data = (uint8_t *)r->data + done;
	unsigned length = (unsigned)min_u64(r->length - done, PIECE_MAX);
	int buffer = uring_buffer(u, data, length);
	bool read = r->operation == BACKEND_READ;

	io_uring_prep_rw(
		read ? IORING_OP_READ : IORING_OP_WRITE, sqe, fd, data, length, r->offset + done);
	if (buffer >= 0) {
		sqe->opcode = read ? IORING_OP_READ_FIXED : IORING_OP_WRITE_FIXED;
		sqe->buf_index = (uint16_t)buffer;
	}
	if (!read)
		sqe->rw_flags = file_write_flags(u->file, r);
}

/* False when the submission ring is full. */
static bool uring_prepare(struct file_uring *u, struct backend_request *r)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
	int fd = u->fixed_file ? 0 : u->file->fd; /* fixed files are numbered */

	if (!sqe)
		return false;
	if (r->operation == BACKEND_FLUSH)
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
	else
		uring_prepare_move(u, sqe, r, fd);
	if (u->fixed_file)
		sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(sqe, r);
	return true;
}

static void uring_fill(struct file_uring *u)
{
	while (!list_empty(&u->waiting) && u->in_kernel < RING_ENTRIES) {
		struct backend_request *r = list_first(&u->waiting, struct backend_request, link);

		if (!uring_prepare(u, r))
			return;
		list_remove(&r->link);
		u->in_kernel++;
	}
}

/* What the kernel did not take stays in the submission ring. */
static void uring_enter(struct file_uring *u)
{
	if (!sys_fails())
		io_uring_submit(&u->ring);
}

/* ---- completion ---- */

static void uring_end(struct file_uring *u, struct backend_request *r, int status)
{
	r->done(r, file_sync_result(u->file, r, status));
}

static void uring_complete(struct file_uring *u, struct backend_request *r, int result)
{
	struct uring_job *job = job_of(r);

	if (result == -EAGAIN || result == -EINTR) {
		uring_queue(u, r);
		return;
	}
	if (result < 0 || r->operation == BACKEND_FLUSH) {
		uring_end(u, r, result < 0 ? result : 0);
		return;
	}
	job->done += (uint64_t)result;
	if (job->done < r->length && result > 0)
		uring_queue(u, r);
	else
		/* Nothing moved: the file has become shorter than it was exported. */
		uring_end(u, r, job->done < r->length ? -EIO : 0);
}

/* Takes what is in the completion ring now; true if there was anything. What done() submits
 * meanwhile waits for the flush. */
static bool uring_reap(struct file_uring *u)
{
	struct io_uring_cqe *cqe;
	unsigned left = io_uring_cq_ready(&u->ring);
	bool any = false;

	for (; left > 0 && io_uring_peek_cqe(&u->ring, &cqe) == 0; left--) {
		struct backend_request *r = io_uring_cqe_get_data(cqe);
		int result = sys_result(cqe->res);

		io_uring_cqe_seen(&u->ring, cqe);
		u->in_kernel--;
		any = true;
		uring_complete(u, r, result);
	}
	/* There is room now. A full ring is waited for asleep. */
	if (any && !list_empty(&u->waiting))
		loop_defer_flush(u->loop, &u->flush);
	return any;
}

static void uring_flush(struct loop_call *c)
{
	struct file_uring *u = container_of(c, struct file_uring, flush);

	uring_fill(u);
	if (io_uring_sq_ready(&u->ring))
		uring_enter(u);
	if (io_uring_sq_ready(&u->ring) && loop_timer_arm(u->loop, &u->retry, RETRY_NS) < 0)
		loop_defer_flush(u->loop, c);
	/* Reads from the page cache are complete by now. */
	uring_reap(u);
}

static void uring_retry(struct loop_timer *t)
{
	struct file_uring *u = container_of(t, struct file_uring, retry);

	loop_defer_flush(u->loop, &u->flush);
}

static bool uring_poll(struct loop_poller *p, bool will_sleep)
{
	(void)will_sleep; /* the ring's descriptor is always watched */
	return uring_reap(container_of(p, struct file_uring, poller));
}

static void uring_ready(struct loop_watch *w, unsigned events)
{
	(void)events;
	uring_reap(container_of(w, struct file_uring, watch));
}

/* ---- the ring ---- */

static int uring_open(struct file_uring *u)
{
	/* Completions need not interrupt this thread: it comes into the kernel often enough. */
	struct io_uring_params cooperative = {
		.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG};
	struct io_uring_params plain = {0};
	int rc;

	if (sys_fails())
		return -errno;
	rc = io_uring_queue_init_params(RING_ENTRIES, &u->ring, &cooperative);
	if (rc == -EINVAL) /* before Linux 5.19 */
		rc = io_uring_queue_init_params(RING_ENTRIES, &u->ring, &plain);
	if (rc < 0)
		return rc;
	u->ring_open = true;
	u->fixed_file = io_uring_register_files(&u->ring, &u->file->fd, 1) == 0;
	u->watch.fd = u->ring.ring_fd;
	u->watch.ready = uring_ready;
	return loop_watch_add(u->loop, &u->watch, LOOP_READABLE);
}

int file_uring_new(struct file_backend *f, struct loop *l, struct file_threads *helpers,
	struct file_uring **ret)
{
	struct file_uring *u = alloc_zeroed(sizeof(*u));
	int rc;

	if (!u)
		return -ENOMEM;
	u->file = f;
	u->loop = l;
	u->helpers = helpers;
	u->flush.call = uring_flush;
	u->retry.expired = uring_retry;
	u->poller.poll = uring_poll;
	list_init(&u->waiting);
	rc = uring_open(u);
	if (rc < 0)
		goto fail;
	loop_poller_add(l, &u->poller);
	*ret = u;
	return 0;
fail:
	file_uring_free(u);
	return rc;
}

void file_uring_free(struct file_uring *u)
{
	if (!u)
		return;
	loop_poller_remove(&u->poller);
	loop_call_cancel(&u->flush);
	loop_timer_cancel(&u->retry);
	loop_watch_remove(&u->watch);
	if (u->ring_open && u->fixed_file)
		io_uring_unregister_files(&u->ring);
	if (u->ring_open)
		io_uring_queue_exit(&u->ring);
	alloc_free(u);
}

/* Whether the ring can take it: what would only be handed to a kernel thread, or needs a bounce
 * buffer or a second way, is executed by ours. */
static bool uring_suits(const struct file_uring *u, const struct backend_request *r)
{
	if (r->operation == BACKEND_FLUSH)
		return true;
	return (r->operation == BACKEND_READ || r->operation == BACKEND_WRITE) &&
	       file_aligned(u->file, r->data);
}

void file_uring_submit(struct file_uring *u, struct backend_request *r)
{
	if (!uring_suits(u, r)) {
		file_threads_submit(u->helpers, r);
		return;
	}
	*job_of(r) = (struct uring_job){0};
	uring_queue(u, r);
}

int file_uring_register_arena(struct file_uring *u, void *address, size_t length)
{
	struct iovec v[BUFFERS_MAX];
	unsigned count = 0;
	int rc;

	if (u->arena || length > BUFFERS_MAX * PIECE_MAX)
		return -EINVAL;
	for (size_t at = 0; at < length; at += PIECE_MAX)
		v[count++] = (struct iovec){.iov_base = (uint8_t *)address + at,
			.iov_len = min_size(length - at, PIECE_MAX)};
	rc = sys_fails() ? -errno : io_uring_register_buffers(&u->ring, v, count);
	if (rc < 0)
		return rc;
	u->arena = address;
	u->arena_length = length;
	return 0;
}

/* One request of a file store by blocking calls, gone on with until it is whole. Called on the file
 * store's threads, for both engines. */
#include <errno.h>
#include <linux/falloc.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "target/backend/file.h"

/* Larger requests are cut, so that lengths stay far from ssize_t's and the kernel's own limit. */
#define PIECE_MAX (1ull << 30)
/* Of one call that is interrupted each time: then it is not a signal's doing. */
#define TRIES_MAX 1000
/* The strictest alignment that direct I/O asks for. */
#define SCRATCH_ALIGNMENT 4096

int file_scratch_make(struct file_scratch *s)
{
	s->bounce = alloc_aligned(SCRATCH_ALIGNMENT, FILE_SCRATCH_SIZE);
	s->zeros = alloc_aligned(SCRATCH_ALIGNMENT, FILE_SCRATCH_SIZE);
	if (s->bounce && s->zeros)
		return 0;
	file_scratch_free(s);
	return -ENOMEM;
}

void file_scratch_free(struct file_scratch *s)
{
	alloc_free(s->bounce);
	alloc_free(s->zeros);
	*s = (struct file_scratch){0};
}

/* The result of one call: bytes moved, 0 to try again, or negative errno. Nothing moved without an
 * error means that the file has become shorter than it was exported. */
static ssize_t piece_result(ssize_t n)
{
	if (n > 0)
		return n;
	if (n == 0)
		return -EIO;
	return errno == EINTR || errno == EAGAIN ? 0 : -errno;
}

static ssize_t piece_read(struct file_backend *f, const struct backend_request *r, uint64_t done,
	const struct file_scratch *s)
{
	uint8_t *to = (uint8_t *)r->data + done;
	bool bounce = !file_aligned(f, to);
	struct iovec v = {.iov_base = bounce ? s->bounce : to,
		.iov_len = min_u64(r->length - done, bounce ? FILE_SCRATCH_SIZE : PIECE_MAX)};
	ssize_t n = piece_result(sys_preadv2(f->fd, &v, 1, (off_t)(r->offset + done), 0));

	if (bounce && n > 0)
		memcpy(to, s->bounce, (size_t)n);
	return n;
}

static ssize_t piece_write(struct file_backend *f, const struct backend_request *r, uint64_t done,
	const struct file_scratch *s)
{
	uint8_t *from = (uint8_t *)r->data + done;
	bool bounce = !file_aligned(f, from);
	struct iovec v = {.iov_base = bounce ? s->bounce : from,
		.iov_len = min_u64(r->length - done, bounce ? FILE_SCRATCH_SIZE : PIECE_MAX)};

	if (bounce)
		memcpy(s->bounce, from, v.iov_len);
	return piece_result(
		sys_pwritev2(f->fd, &v, 1, (off_t)(r->offset + done), file_write_flags(f, r)));
}

static ssize_t piece_zero(struct file_backend *f, const struct backend_request *r, uint64_t done,
	const struct file_scratch *s)
{
	struct iovec v = {
		.iov_base = s->zeros, .iov_len = min_u64(r->length - done, FILE_SCRATCH_SIZE)};

	return piece_result(sys_pwritev2(f->fd, &v, 1, (off_t)(r->offset + done), 0));
}

typedef ssize_t piece_mover(struct file_backend *f, const struct backend_request *r, uint64_t done,
	const struct file_scratch *s);

static int execute_pieces(struct file_backend *f, const struct backend_request *r,
	const struct file_scratch *s, piece_mover *move)
{
	uint64_t done = 0;
	unsigned tries = 0;

	while (done < r->length) {
		ssize_t n = move(f, r, done, s);

		if (n < 0)
			return (int)n;
		tries = n ? 0 : tries + 1;
		if (tries == TRIES_MAX)
			return -EIO;
		done += (uint64_t)n;
	}
	return 0;
}

static int execute_flush(struct file_backend *f)
{
	return sys_fdatasync(f->fd) < 0 ? -errno : 0;
}

static int execute_fallocate(struct file_backend *f, const struct backend_request *r, int mode)
{
	unsigned tries = 0;
	int rc;

	do {
		rc = sys_fallocate(
			f->fd, mode | FALLOC_FL_KEEP_SIZE, (off_t)r->offset, (off_t)r->length);
	} while (rc < 0 && errno == EINTR && ++tries < TRIES_MAX);
	return rc < 0 ? -errno : 0;
}

static bool cannot(int rc)
{
	return rc == -EOPNOTSUPP || rc == -ENOSYS || rc == -EINVAL;
}

/* Zeros by the file system or the device where it can, first in the way asked for; else written.
 * fallocate() on a block device is the kernel's write-zeroes, which promises zeros; the device's
 * own discard (BLKDISCARD) does not. */
static int execute_zero(struct file_backend *f, const struct backend_request *r,
	const struct file_scratch *s, int mode)
{
	int rc = r->length ? execute_fallocate(f, r, mode) : 0;

	if (cannot(rc) && mode != FALLOC_FL_PUNCH_HOLE)
		rc = execute_fallocate(f, r, FALLOC_FL_PUNCH_HOLE);
	if (cannot(rc))
		rc = execute_pieces(f, r, s, piece_zero);
	if (rc == 0 && file_write_flags(f, r))
		rc = execute_flush(f);
	return rc;
}

static int execute(
	struct file_backend *f, const struct backend_request *r, const struct file_scratch *s)
{
	switch (r->operation) {
	case BACKEND_READ:
		return execute_pieces(f, r, s, piece_read);
	case BACKEND_WRITE:
		return execute_pieces(f, r, s, piece_write);
	case BACKEND_FLUSH:
		return execute_flush(f);
	case BACKEND_DISCARD:
		return execute_zero(f, r, s, FALLOC_FL_PUNCH_HOLE);
	case BACKEND_WRITE_ZEROES:
		return execute_zero(f, r, s, FALLOC_FL_ZERO_RANGE);
	}
	return -EINVAL;
}

int file_execute(
	struct file_backend *f, const struct backend_request *r, const struct file_scratch *s)
{
	return file_sync_result(f, r, execute(f, r, s));
}

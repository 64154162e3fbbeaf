/* What a failed write-back means for a file store. The kernel tells of it once, to whichever
 * fsync() or durable write of the descriptor comes next, marks the pages clean and forgets it: the
 * next one would succeed although data with GOOD status is gone, and of two that are under way the
 * wrong one may be told. So the store remembers. Called by both engines for every request that
 * ends. */
#include <errno.h>
#include <string.h>

#include "common/base/log.h"
#include "target/backend/file.h"

static bool must_be_durable(const struct file_backend *f, const struct backend_request *r)
{
	return r->operation == BACKEND_FLUSH ||
	       (r->operation != BACKEND_READ && file_write_flags(f, r));
}

/* A write may fail by itself, for want of space; its own EIO is not told from another's. A flush
 * for which there is no memory has not begun. */
static bool may_have_lost_others(const struct backend_request *r, int status)
{
	return status == -EIO || (r->operation == BACKEND_FLUSH && status != -ENOMEM);
}

static void lose(struct file_backend *f, int status)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&f->lost, &none, status))
		log_error("file",
			"%s: what was written may not have reached the disk (%s): nothing is "
			"called durable any more until it is exported anew",
			f->path, strerror(-status));
}

int file_sync_result(struct file_backend *f, const struct backend_request *r, int status)
{
	/* Past the page cache the device says of each request what became of it. */
	if (f->direct || !must_be_durable(f, r))
		return status;
	if (status < 0 && may_have_lost_others(r, status))
		lose(f, status);
	return status < 0 ? status : atomic_load(&f->lost);
}

/* The file store: a regular file or a block device, through io_uring or threads. Made by the
 * daemon's main(); its requests come from the SCSI device server. */
#include "target/backend/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/sys.h"
#include "target/backend/completion.h"

#define THREADS_DEFAULT 4
/* Beside a ring: for discards and what direct I/O cannot take as it is. */
#define HELPERS 1
/* Without a ring, a read up to this size is first tried from the page cache on the spot: that takes
 * 2 microseconds where a thread takes 20. A larger one is mostly copying, which threads do side by
 * side. A ring does the same by itself, for all requests of a turn in one system call. */
#define CACHE_READ_MAX (64u * 1024)

struct file_channel {
	struct backend_channel channel;
	struct completions completions;
	struct file_threads *threads;
	struct file_uring *uring; /* NULL: threads do it all */
};

static struct file_channel *channel_of(struct backend_channel *c)
{
	return container_of(c, struct file_channel, channel);
}

/* ---- channels ---- */

static void file_close_channel(struct backend_channel *channel)
{
	struct file_channel *c = channel_of(channel);

	file_uring_free(c->uring);
	file_threads_free(c->threads);
	loop_call_cancel(&c->completions.call);
	alloc_free(c);
}

/* Threads are the answer to a ring that is refused, unless the configuration insists. */
static int channel_open_uring(struct file_channel *c, struct file_backend *f, struct loop *l)
{
	int rc = file_threads_new(f, l, HELPERS, &c->threads);

	if (rc == 0)
		rc = file_uring_new(f, l, c->threads, &c->uring);
	if (rc < 0) {
		file_threads_free(c->threads);
		c->threads = NULL;
	}
	return rc;
}

static int channel_open_engine(struct file_channel *c, struct file_backend *f, struct loop *l)
{
	int rc;

	if (f->engine != FILE_ENGINE_THREADS) {
		rc = channel_open_uring(c, f, l);
		if (rc == 0 || f->engine == FILE_ENGINE_URING)
			return rc;
		log_info("file", "%s: io_uring is refused (%s); threads are used", f->path,
			strerror(-rc));
	}
	return file_threads_new(f, l, f->threads, &c->threads);
}

static int file_open_channel(struct backend *b, struct loop *l, struct backend_channel **ret)
{
	struct file_channel *c = alloc_zeroed(sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->channel.backend = b;
	c->channel.loop = l;
	completions_init(&c->completions, l);
	rc = channel_open_engine(c, file_of(b), l);
	if (rc < 0)
		goto fail;
	*ret = &c->channel;
	return 0;
fail:
	file_close_channel(&c->channel);
	return rc;
}

/* ---- requests ---- */

/* One call, and it is there; or it is not in the page cache. */
static bool file_read_cached(struct file_backend *f, struct backend_request *r)
{
	struct iovec v = {.iov_base = r->data, .iov_len = r->length};
	ssize_t n;

	if (r->operation != BACKEND_READ || r->length > CACHE_READ_MAX ||
		!atomic_load_explicit(&f->try_cache, memory_order_relaxed))
		return false;
	n = sys_preadv2(f->fd, &v, 1, (off_t)r->offset, RWF_NOWAIT);
	if (n < 0 && errno == EOPNOTSUPP)
		atomic_store_explicit(&f->try_cache, false, memory_order_relaxed);
	return n >= 0 && (uint64_t)n == r->length;
}

static void file_submit(struct backend_channel *channel, struct backend_request *r)
{
	struct file_channel *c = channel_of(channel);
	struct file_backend *f = file_of(channel->backend);
	bool changes = r->operation != BACKEND_READ && r->operation != BACKEND_FLUSH;

	if (changes && f->backend.info.readonly)
		completions_add(&c->completions, r, -EROFS);
	else if (c->uring)
		file_uring_submit(c->uring, r);
	else if (file_read_cached(f, r))
		completions_add(&c->completions, r, 0);
	else
		file_threads_submit(c->threads, r);
}

static int file_register_arena(struct backend_channel *channel, void *address, size_t length)
{
	struct file_channel *c = channel_of(channel);

	return c->uring ? file_uring_register_arena(c->uring, address, length) : 0;
}

/* ---- the store ---- */

static int file_refresh(struct backend *b)
{
	struct file_backend *f = file_of(b);
	uint64_t size;
	int rc = file_measure(f, &size);

	if (rc < 0 || f->wanted_size)
		return rc;
	b->info.size = size - size % b->info.block_size;
	return 0;
}

static void file_free(struct backend *b)
{
	struct file_backend *f = file_of(b);

	if (f->fd >= 0) {
		/* A closed ring keeps its file for a while: the lock must not wait for that. */
		flock(f->fd, LOCK_UN);
		close(f->fd);
	}
	alloc_free(f->path);
	alloc_free(f);
}

static const struct backend_ops file_ops = {
	.name = "file",
	.free = file_free,
	.open_channel = file_open_channel,
	.close_channel = file_close_channel,
	.submit = file_submit,
	.register_arena = file_register_arena,
	.refresh = file_refresh,
};

static struct file_backend *file_alloc(const struct file_config *config)
{
	struct file_backend *f = alloc_zeroed(sizeof(*f));

	if (!f)
		return NULL;
	f->fd = -1;
	f->backend.ops = &file_ops;
	f->wanted_size = config->size;
	f->engine = config->engine;
	f->threads = config->threads ? config->threads : THREADS_DEFAULT;
	f->direct = config->direct;
	f->write_cache = config->write_cache;
	atomic_init(&f->try_cache, !config->direct);
	f->path = alloc_string(config->path);
	if (!f->path)
		goto fail;
	return f;
fail:
	file_free(&f->backend);
	return NULL;
}

int file_backend_new(
	const struct file_config *config, struct backend **ret, char *why, size_t why_size)
{
	struct file_backend *f = file_alloc(config);
	int rc;

	if (!f) {
		snprintf(why, why_size, "%s: no memory", config->path);
		return -ENOMEM;
	}
	rc = file_probe(f, config, why, why_size);
	if (rc < 0)
		goto fail;
	*ret = &f->backend;
	return 0;
fail:
	file_free(&f->backend);
	return rc;
}

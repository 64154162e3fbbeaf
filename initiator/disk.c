/* A disk: I/Os cut into SCSI commands, several of them at a time, and put together again. Called by
 * exporters and iserd. An I/O's commands are made one by one as commands become free, and I/Os take
 * turns, so that a long one does not hold up short ones. */
#include "initiator/disk_private.h"

#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"

/* ---- the end of an I/O ---- */

static void count_done(struct disk_statistics *s, const struct disk_io *io)
{
	uint64_t *counters[] = {
		[DISK_READ] = &s->reads,
		[DISK_WRITE] = &s->writes,
		[DISK_FLUSH] = &s->flushes,
		[DISK_DISCARD] = &s->discards,
		[DISK_WRITE_ZEROES] = &s->write_zeroes,
	};

	(*counters[io->operation])++;
	if (io->operation == DISK_READ)
		s->bytes_read += io->length;
	else if (io->operation == DISK_WRITE)
		s->bytes_written += io->length;
}

static void io_finish(struct disk *d, struct disk_io *io, int error)
{
	if (error < 0)
		d->statistics.errors++;
	else
		count_done(&d->statistics, io);
	io->done(io, error);
}

static void fail_called(struct loop_call *c)
{
	struct disk *d = container_of(c, struct disk, fail_call);
	struct list *node;

	while ((node = list_pop(&d->failed))) {
		struct disk_io *io = list_entry(node, struct disk_io, link);

		io_finish(d, io, io_progress(io)->error);
	}
	disk_free_if_idle(d);
}

/* Over without a command; `done` comes from the loop. */
static void io_end_later(struct disk *d, struct disk_io *io, int error)
{
	io_progress(io)->error = error;
	list_append(&d->failed, &io->link);
	loop_defer(disk_loop(d), &d->fail_call);
}

/* ---- turns ---- */

static struct disk_command *command_take(struct disk *d)
{
	struct list *node = list_pop(&d->idle);

	if (!node)
		return NULL;
	list_append(&d->busy, node);
	return list_entry(node, struct disk_command, link);
}

static void io_dequeue(struct disk_io *io)
{
	if (io_progress(io)->queued)
		list_remove(&io->link);
	io_progress(io)->queued = false;
}

static void io_enqueue(struct disk *d, struct disk_io *io)
{
	io_progress(io)->queued = true;
	list_append(&d->pending, &io->link);
}

static void disk_pump(struct disk *d)
{
	while (!list_empty(&d->pending) && !list_empty(&d->idle)) {
		struct disk_io *io = list_first(&d->pending, struct disk_io, link);
		struct disk_command *c = command_take(d);

		io_dequeue(io);
		io_progress(io)->outstanding++;
		d->statistics.commands++;
		d->statistics.in_flight++;
		if (disk_io_left(d, io))
			disk_command_issue(c, io);
		else
			disk_command_flush(c, io);
		if (disk_io_left(d, io))
			io_enqueue(d, io); /* behind the others */
	}
}

/* All its commands are over, and none is left to make. */
static void io_settle(struct disk *d, struct disk_io *io)
{
	struct io_progress *p = io_progress(io);

	if (p->error == 0 && p->flush) {
		p->flush = false;
		io_enqueue(d, io);
		return;
	}
	io_finish(d, io, p->error);
}

void disk_command_done(struct disk_command *c, int error)
{
	struct disk *d = c->disk;
	struct disk_io *io = c->io;
	struct io_progress *p = io_progress(io);

	list_remove(&c->link);
	list_append(&d->idle, &c->link);
	d->statistics.in_flight--;
	p->outstanding--;
	if (error < 0 && p->error == 0)
		p->error = error;
	if (p->error < 0)
		io_dequeue(io); /* what is not begun need not be */
	if (p->outstanding == 0 && !p->queued)
		io_settle(d, io);
	disk_pump(d);
	disk_free_if_idle(d);
}

void disk_fail_pending(struct disk *d, int error)
{
	struct disk_io *io, *next;

	list_for_each_safe(io, next, &d->pending, link) {
		struct io_progress *p = io_progress(io);

		io_dequeue(io);
		if (p->outstanding)
			p->error = p->error ? p->error : error; /* its commands tell its end */
		else
			io_end_later(d, io, error);
	}
}

/* ---- submission ---- */

static int check_range(const struct disk *d, const struct disk_io *io)
{
	if (io->offset % d->info.block_size || io->length % d->info.block_size)
		return -EINVAL;
	if (io->offset > d->info.size || io->length > d->info.size - io->offset)
		return -ENOSPC;
	return 0;
}

static int check_io(const struct disk *d, const struct disk_io *io)
{
	bool transfers = io->operation == DISK_READ || io->operation == DISK_WRITE;

	if (d->freeing)
		return -ESHUTDOWN;
	if (d->gone)
		return -ENODEV;
	if (io->operation > DISK_WRITE_ZEROES || (transfers && io->length && !io->data))
		return -EINVAL;
	if (io->operation == DISK_FLUSH)
		return 0;
	if (io->operation != DISK_READ && d->info.readonly)
		return -EROFS;
	if (io->operation == DISK_DISCARD && d->info.max_discard == 0)
		return -EOPNOTSUPP;
	return check_range(d, io);
}

/* WRITE takes FUA where the device has it; all else is followed by a flush. */
static bool needs_flush(const struct disk *d, const struct disk_io *io)
{
	if (io->operation == DISK_FLUSH)
		return true;
	if (!io->fua || io->length == 0)
		return false;
	return io->operation == DISK_WRITE_ZEROES || (io->operation == DISK_WRITE && !d->info.fua);
}

void disk_submit(struct disk *d, struct disk_io *io)
{
	struct io_progress *p = io_progress(io);
	int error = check_io(d, io);

	*p = (struct io_progress){.disk = d, .flush = needs_flush(d, io)};
	list_init(&io->link);
	if (error < 0 || (io->length == 0 && !p->flush)) {
		io_end_later(d, io, error);
		return;
	}
	if (!disk_io_left(d, io))
		p->flush = false; /* a flush alone: the first command is it */
	io_enqueue(d, io);
	disk_pump(d);
}

/* ---- properties ---- */

const struct disk_info *disk_info(const struct disk *d)
{
	return &d->info;
}

int disk_update(struct disk *d, const struct disk_info *info)
{
	bool resized = info->size != d->info.size;

	if (d->gone || !probe_same_device(&d->info, info) || info->block_size != d->info.block_size)
		return -ENODEV;
	d->info = *info;
	if (resized && d->events.resized)
		d->events.resized(d->owner);
	return 0;
}

int disk_register(struct disk *d, void *address, size_t length, struct dm_region **ret)
{
	return ini_session_register(d->session, address, length, ret);
}

void disk_unregister(struct disk *d, struct dm_region *r)
{
	ini_session_unregister(d->session, r);
}

struct loop *disk_loop(const struct disk *d)
{
	return ini_session_loop(d->session);
}

struct ini_session *disk_session(const struct disk *d)
{
	return d->session;
}

void disk_get_statistics(const struct disk *d, struct disk_statistics *ret)
{
	*ret = d->statistics;
}

/* ---- life ---- */

static void disk_destroy(struct disk *d)
{
	loop_call_cancel(&d->fail_call);
	loop_call_cancel(&d->free_call);
	disk_check_free(d);
	alloc_free(d->commands);
	alloc_free(d);
}

static void free_called(struct loop_call *c)
{
	struct disk *d = container_of(c, struct disk, free_call);
	void (*freed)(void *owner) = d->freed;
	void *owner = d->freed_owner;

	disk_destroy(d);
	if (freed)
		freed(owner);
}

void disk_free_if_idle(struct disk *d)
{
	if (d->freeing && !d->probing && list_empty(&d->busy) && list_empty(&d->failed) &&
		list_empty(&d->pending))
		loop_defer(disk_loop(d), &d->free_call);
}

void disk_free(struct disk *d, void (*freed)(void *owner), void *owner)
{
	struct disk_command *c, *next;

	if (!d || d->freeing)
		return;
	d->freeing = true;
	d->freed = freed;
	d->freed_owner = owner;
	ini_session_remove_check(d->session, &d->check);
	disk_fail_pending(d, -ESHUTDOWN);
	list_for_each_safe(c, next, &d->busy, link)
		ini_session_abort(d->session, &c->task);
	loop_timer_cancel(&d->absent_timer);
	if (d->probing)
		probe_cancel(d->probe);
	disk_free_if_idle(d);
}

static int commands_new(struct disk *d)
{
	uint32_t count = ini_session_config(d->session)->queue_depth;

	d->commands = alloc_array(count, sizeof(*d->commands));
	if (!d->commands)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		d->commands[i].disk = d;
		list_append(&d->idle, &d->commands[i].link);
	}
	return 0;
}

int disk_new(struct ini_session *s, const struct disk_info *info, const struct disk_events *events,
	void *owner, struct disk **ret)
{
	struct disk *d;
	int r = -ENOMEM;

	if (!info->block_size || !info->size || info->max_transfer < info->block_size)
		return -EINVAL;
	d = alloc_zeroed(sizeof(*d));
	if (!d)
		return r;
	d->session = s;
	d->info = *info;
	d->events = events ? *events : (struct disk_events){0};
	d->owner = owner;
	list_init(&d->idle);
	list_init(&d->busy);
	list_init(&d->pending);
	list_init(&d->failed);
	d->fail_call.call = fail_called;
	d->free_call.call = free_called;
	r = commands_new(d);
	if (r == 0)
		r = disk_check_init(d);
	if (r < 0)
		goto fail;
	*ret = d;
	return 0;
fail:
	disk_destroy(d);
	return r;
}

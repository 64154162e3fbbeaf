/* The kernel's FUSE requests as disk I/O. The file system has one node, the root, which is a
 * regular file: the disk. Requests are read from /dev/fuse on the disk's loop and answered from its
 * completions, so that as many as there are slots are under way; no thread is involved. */
#include "initiator/export/fuse_internal.h"

#include <errno.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/log.h"

#define ROOM "export"
/* Attributes change only with the disk's size, and then the kernel is told. */
#define ATTRIBUTE_SECONDS 3600.0
/* A reply that is lost leaves its request, and who made it, waiting for ever. */
#define REPLY_TRIES 16
/* Until the device is looked at again after a failure. */
#define RETRY_NS (100 * LOOP_NS_PER_MS)

static struct fuse_export *export_of(fuse_req_t request)
{
	return fuse_req_userdata(request);
}

static void fill_attributes(const struct fuse_export *e, struct stat *st)
{
	const struct disk_info *info = disk_info(e->disk);

	*st = (struct stat){
		.st_ino = FUSE_ROOT_ID,
		.st_mode = S_IFREG | (info->readonly ? 0400 : 0600),
		.st_nlink = 1,
		.st_uid = geteuid(),
		.st_gid = getegid(),
		.st_size = (off_t)info->size,
		.st_blksize = (blksize_t)info->physical_block_size,
		.st_blocks = (blkcnt_t)(info->size / 512),
	};
}

static void request_init(void *owner, struct fuse_conn_info *c)
{
	(void)owner;
	/* Splicing would put a pipe between the socket and the slots' registered memory. */
	c->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
	c->want |= c->capable & (FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO);
	c->max_write = FUSE_MAX_IO;
	c->max_background = FUSE_SLOTS;
	c->congestion_threshold = FUSE_SLOTS;
}

static void request_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *fi)
{
	struct stat st;

	(void)node;
	(void)fi;
	fill_attributes(export_of(request), &st);
	fuse_reply_attr(request, &st, ATTRIBUTE_SECONDS);
}

/* Times may be set (the kernel does so after writes); the size is the target's. */
static void request_setattr(fuse_req_t request, fuse_ino_t node, struct stat *attr, int valid,
	struct fuse_file_info *fi)
{
	(void)attr;
	if (valid & FUSE_SET_ATTR_SIZE)
		fuse_reply_err(request, EPERM);
	else
		request_getattr(request, node, fi);
}

static void request_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *fi)
{
	(void)node;
	fi->keep_cache = 0;
	fuse_reply_open(request, fi);
}

/* The loop driver takes f_bsize as the granularity of discards. */
static void request_statfs(fuse_req_t request, fuse_ino_t node)
{
	const struct disk_info *info = disk_info(export_of(request)->disk);
	struct statvfs st = {
		.f_bsize = info->physical_block_size,
		.f_frsize = info->physical_block_size,
		.f_blocks = info->size / info->physical_block_size,
		.f_namemax = 255,
	};

	(void)node;
	fuse_reply_statfs(request, &st);
}

/* ---- the device ---- */

static ssize_t device_read(int fd, void *data, size_t size, void *owner)
{
	(void)owner;
	return read(fd, data, size);
}

static ssize_t device_write(int fd, struct iovec *iov, int count, void *owner)
{
	ssize_t n = -1;

	(void)owner;
	for (int tries = 0; n < 0 && tries < REPLY_TRIES; tries++) {
		n = writev(fd, iov, count);
		/* Nobody waits any more: interrupted, or unmounted. */
		if (n < 0 && (errno == ENOENT || errno == ENODEV))
			return n;
	}
	if (n < 0)
		log_error(ROOM, "a reply to the kernel is lost: %s", strerror(errno));
	return n;
}

const struct fuse_custom_io fuse_requests_io = {.writev = device_write, .read = device_read};

/* The device cannot be read or watched now. Once we have unmounted it, it never will. */
static void device_failed(struct fuse_export *e, int error)
{
	loop_watch_remove(&e->watch);
	if (e->stopping || (e->stopped && error == -ENODEV))
		return;
	if (!e->failing)
		log_error(ROOM, "%s: requests of the kernel cannot be read: %s; it is tried again",
			e->device, strerror(-error));
	e->failing = true;
	if (loop_timer_arm(e->loop, &e->retry, RETRY_NS) < 0)
		log_error(ROOM, "%s: no memory to try again: its I/O stands still", e->device);
}

void fuse_requests_retry(struct loop_timer *t)
{
	struct fuse_export *e = container_of(t, struct fuse_export, retry);
	int r = loop_watch_add(e->loop, &e->watch, list_empty(&e->idle) ? 0 : LOOP_READABLE);

	if (r < 0)
		device_failed(e, r);
}

static void device_watch(struct fuse_export *e, unsigned events)
{
	int r = e->watch.loop ? loop_watch_change(&e->watch, events) : 0;

	if (r < 0)
		device_failed(e, r);
}

/* ---- requests ---- */

static void slot_release(struct fuse_slot *s)
{
	struct fuse_export *e = s->export;

	list_append(&e->idle, &s->link);
	e->busy--;
	if (e->stopping && !e->busy)
		fuse_export_idle(e);
	else if (!e->stopping && e->busy == FUSE_SLOTS - 1)
		device_watch(e, LOOP_READABLE);
}

static void io_done(struct disk_io *io, int status)
{
	struct fuse_slot *s = container_of(io, struct fuse_slot, io);

	if (status < 0)
		fuse_reply_err(s->request, -status);
	else if (io->operation == DISK_READ)
		fuse_reply_buf(s->request, io->data, io->length);
	else if (io->operation == DISK_WRITE)
		fuse_reply_write(s->request, io->length);
	else
		fuse_reply_err(s->request, 0);
	slot_release(s);
}

/* Hands the request that is being received, with its slot, to the disk. */
static void submit(fuse_req_t request, const struct disk_io *io)
{
	struct fuse_export *e = export_of(request);
	struct fuse_slot *s = e->current;

	e->current = NULL;
	e->busy++;
	s->request = request;
	s->io = *io;
	s->io.region = io->data ? e->region : NULL;
	s->io.done = io_done;
	disk_submit(e->disk, &s->io);
}

static void request_read(
	fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct fuse_export *e = export_of(request);
	uint64_t end = disk_info(e->disk)->size;

	(void)node;
	(void)fi;
	if (offset < 0 || (uint64_t)offset >= end) {
		fuse_reply_buf(request, NULL, 0);
		return;
	}
	size = min_size(size, FUSE_MAX_IO);
	submit(request, &(struct disk_io){
				.operation = DISK_READ,
				.offset = (uint64_t)offset,
				.length = min_u64(size, end - (uint64_t)offset),
				.data = e->current->memory,
			});
}

/* `data` lies in the slot that the request was received into. */
static void request_write(fuse_req_t request, fuse_ino_t node, const char *data, size_t size,
	off_t offset, struct fuse_file_info *fi)
{
	(void)node;
	(void)fi;
	submit(request, &(struct disk_io){
				.operation = DISK_WRITE,
				.offset = (uint64_t)offset,
				.length = size,
				.data = (void *)(uintptr_t)data,
			});
}

static void request_fsync(
	fuse_req_t request, fuse_ino_t node, int data_only, struct fuse_file_info *fi)
{
	(void)node;
	(void)data_only;
	(void)fi;
	submit(request, &(struct disk_io){.operation = DISK_FLUSH});
}

/* A hole reads as zeros, and the loop driver asks for one to zero blocks, too: UNMAP, which may
 * leave some as they are, will not do. */
static void request_fallocate(fuse_req_t request, fuse_ino_t node, int mode, off_t offset,
	off_t length, struct fuse_file_info *fi)
{
	struct fuse_export *e = export_of(request);
	const struct disk_info *info = disk_info(e->disk);
	bool hole = mode & FALLOC_FL_PUNCH_HOLE;

	(void)node;
	(void)fi;
	if ((!hole && !(mode & FALLOC_FL_ZERO_RANGE)) ||
		(hole && info->max_discard && !info->same_unmaps)) {
		fuse_reply_err(request, EOPNOTSUPP);
		return;
	}
	submit(request, &(struct disk_io){
				.operation = DISK_WRITE_ZEROES,
				.may_unmap = hole,
				.offset = (uint64_t)offset,
				.length = (uint64_t)length,
			});
}

const struct fuse_lowlevel_ops fuse_requests = {
	.init = request_init,
	.getattr = request_getattr,
	.setattr = request_setattr,
	.open = request_open,
	.statfs = request_statfs,
	.read = request_read,
	.write = request_write,
	.fsync = request_fsync,
	.fallocate = request_fallocate,
};

void fuse_requests_receive(struct fuse_export *e)
{
	/* One turn takes at most as many as there are slots, so that
	 * other watches get their turn. */
	for (unsigned i = 0; i < FUSE_SLOTS; i++) {
		struct list *node = list_pop(&e->idle);
		struct fuse_buf buffer;
		int n;

		if (!node) {
			device_watch(e, 0);
			return;
		}
		e->current = list_entry(node, struct fuse_slot, link);
		buffer = (struct fuse_buf){.mem = e->current->memory};
		n = fuse_session_receive_buf(e->session, &buffer);
		if (n > 0)
			fuse_session_process_buf(e->session, &buffer);
		if (e->current) {
			list_prepend(&e->idle, &e->current->link);
			e->current = NULL;
		}
		if (n == -EINTR)
			continue;
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			device_failed(e, n ? n : -ENODEV);
			return;
		}
		e->failing = false;
	}
}

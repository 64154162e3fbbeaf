/* A disk as a block device without a kernel module of ours: FUSE is mounted over one regular file,
 * whose content is the disk, and a loop device with direct I/O is set on that file. Called by the
 * daemon through export.h. */
#include "initiator/export/fuse_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"

#define ROOM "export"

static struct fuse_export *fuse_of(const struct export *x)
{
	return container_of((struct export *)(uintptr_t)x, struct fuse_export, base);
}

static void slots_free(struct fuse_export *e)
{
	if (e->region)
		disk_unregister(e->disk, e->region);
	if (e->memory)
		munmap(e->memory, (size_t)FUSE_SLOTS * FUSE_SLOT_SIZE);
}

/* Address space for all slots; pages come as requests use them. */
static int slots_make(struct fuse_export *e)
{
	size_t size = (size_t)FUSE_SLOTS * FUSE_SLOT_SIZE;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -ENOMEM;
	e->memory = memory;
	list_init(&e->idle);
	for (size_t i = 0; i < FUSE_SLOTS; i++) {
		e->slots[i].export = e;
		e->slots[i].memory = e->memory + i * FUSE_SLOT_SIZE;
		list_append(&e->idle, &e->slots[i].link);
	}
	return disk_register(e->disk, memory, size, &e->region);
}

static void fuse_free(struct fuse_export *e)
{
	if (!e)
		return;
	loop_watch_remove(&e->watch);
	loop_timer_cancel(&e->retry);
	if (e->session) {
		if (e->mounted)
			fuse_session_unmount(e->session);
		fuse_session_destroy(e->session);
	}
	if (e->file)
		unlink(e->file);
	slots_free(e);
	alloc_free(e->file);
	alloc_free(e);
}

static void readable(struct loop_watch *w, unsigned events)
{
	(void)events;
	fuse_requests_receive(container_of(w, struct fuse_export, watch));
}

/* The file that FUSE is mounted over: empty, and private. */
static int file_make(struct fuse_export *e, const struct export_config *config)
{
	int fd;

	e->file = alloc_printf("%s/devices/%s", config->runtime_directory, config->name);
	if (!e->file)
		return -ENOMEM;
	fd = open(e->file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int session_mount(struct fuse_export *e)
{
	char *argv[] = {"iserd", "-o", "fsname=iseran", NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	int fd, r;

	e->session = fuse_session_new(&args, &fuse_requests, sizeof(fuse_requests), e);
	fuse_opt_free_args(&args);
	if (!e->session)
		return -ENOMEM;
	if (fuse_session_mount(e->session, e->file) != 0)
		return -ENODEV;
	e->mounted = true;
	fd = fuse_session_fd(e->session);
	r = fuse_session_custom_io(e->session, &fuse_requests_io, fd);
	if (r < 0)
		return r;
	r = fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	if (r < 0)
		return -errno;
	e->watch = (struct loop_watch){.fd = fd, .ready = readable};
	return loop_watch_add(e->loop, &e->watch, LOOP_READABLE);
}

static void attached(struct loop_device_job *j)
{
	struct fuse_export *e = j->export;

	e->ready(e->ready_owner, j->status, j->status < 0 ? j->why : NULL);
}

static int fuse_start(struct disk *d, const struct export_config *config,
	void (*ready)(void *owner, int status, const char *why), void *owner, struct export **ret,
	char *why, size_t why_size)
{
	struct fuse_export *e = alloc_zeroed(sizeof(*e));
	const char *doing = "memory for an export";
	int r = -ENOMEM;

	if (!e)
		goto fail;
	*e = (struct fuse_export){
		.base.ops = &export_fuse,
		.disk = d,
		.loop = disk_loop(d),
		.ready = ready,
		.ready_owner = owner,
		.retry.expired = fuse_requests_retry,
	};
	r = slots_make(e);
	if (r < 0)
		goto fail;
	doing = "the file under the runtime directory";
	r = file_make(e, config);
	if (r < 0)
		goto fail;
	doing = "mounting FUSE (is /dev/fuse there, and may this user mount?)";
	r = session_mount(e);
	if (r < 0)
		goto fail;
	doing = "a thread for the loop device";
	r = loop_device_attach(e, attached);
	if (r < 0)
		goto fail;
	*ret = &e->base;
	return 0;
fail:
	snprintf(why, why_size, "%s: %s: %s", config->name, doing, strerror(-r));
	fuse_free(e);
	return r;
}

/* The last of a stop: device and mount are gone, no I/O is under way. */
void fuse_export_idle(struct fuse_export *e)
{
	void (*stopped)(void *owner, int status) = e->stopped;
	void *owner = e->stopped_owner;

	if (e->job.running || !stopped)
		return;
	fuse_free(e);
	stopped(owner, 0);
}

static void detached(struct loop_device_job *j)
{
	struct fuse_export *e = j->export;
	void (*stopped)(void *owner, int status) = e->stopped;

	if (j->status < 0) {
		log_info(ROOM, "%s", j->why);
		e->stopped = NULL;
		stopped(e->stopped_owner, j->status);
		return;
	}
	e->stopping = true;
	if (!e->busy)
		fuse_export_idle(e);
}

static void fuse_stop(
	struct export *x, bool force, void (*stopped)(void *owner, int status), void *owner)
{
	struct fuse_export *e = fuse_of(x);
	int r;

	e->stopped = stopped;
	e->stopped_owner = owner;
	r = loop_device_detach(e, force, detached);
	if (r < 0) {
		e->stopped = NULL;
		stopped(owner, r);
	}
}

static void resized(struct loop_device_job *j)
{
	if (j->status < 0)
		log_warning(ROOM, "%s", j->why);
}

static void fuse_resized(struct export *x)
{
	struct fuse_export *e = fuse_of(x);

	fuse_lowlevel_notify_inval_inode(e->session, FUSE_ROOT_ID, -1, 0);
	if (loop_device_resize(e, resized) < 0)
		log_warning(ROOM, "%s keeps its old size until it is detached", e->device);
}

static const char *fuse_device(const struct export *x)
{
	const struct fuse_export *e = fuse_of(x);

	return e->device[0] ? e->device : NULL;
}

static bool fuse_attached(const struct export *x)
{
	const struct fuse_export *e = fuse_of(x);

	return !e->device[0] || loop_device_is_ours(e);
}

const struct export_ops export_fuse = {
	.name = "fuse",
	.start = fuse_start,
	.stop = fuse_stop,
	.resized = fuse_resized,
	.device = fuse_device,
	.attached = fuse_attached,
};

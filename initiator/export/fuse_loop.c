/* The loop device over the FUSE file: /dev/loopN with direct I/O. Everything here waits for FUSE
 * requests (open, the reading of a partition table, the flush at the end) that the loop's thread
 * answers, so it runs on a thread of its own and reports by message. */
/* The kernel's header has a struct loop_config too. */
#define loop_config kernel_loop_config
#include <linux/loop.h>
#undef loop_config

#include "initiator/export/fuse_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ATTACH_TRIES 16 /* another process may take the free device that we were told of */
#define DETACH_STEP_MS 20
#define DETACH_STEPS 150 /* 3 s: a program that just closed the device may still be flushing it */

static void job_failed(struct loop_device_job *j, int error, const char *what, const char *where)
{
	j->status = -error;
	snprintf(j->why, sizeof(j->why), "%s %s: %s", what, where, strerror(error));
}

static void job_deliver(struct loop_message *m)
{
	struct loop_device_job *j = container_of(m, struct loop_device_job, message);

	pthread_join(j->thread, NULL);
	j->running = false;
	j->finished(j);
}

static void *job_run(void *arg)
{
	struct loop_device_job *j = arg;

	j->work(j);
	loop_post(j->export->loop, &j->message);
	return NULL;
}

static int job_start(struct fuse_export *e, void (*work)(struct loop_device_job *j), bool force,
	void (*finished)(struct loop_device_job *j))
{
	struct loop_device_job *j = &e->job;

	if (j->running)
		return -EBUSY;
	*j = (struct loop_device_job){
		.message.deliver = job_deliver,
		.export = e,
		.work = work,
		.finished = finished,
		.running = true,
		.force = force,
	};
	if (pthread_create(&j->thread, NULL, job_run, j) != 0) {
		j->running = false;
		return -EAGAIN;
	}
	return 0;
}

/* Before 6.17 the loop driver takes the file's size from the cached inode, where FUSE has none
 * until somebody asks (and an old one after a resize): so ask, past the cache. */
static void size_refresh(int file)
{
	struct statx attributes;

	statx(file, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &attributes);
}

/* Binds the next free loop device to `file`. -EBUSY: somebody was faster. */
static int attach_free(struct loop_device_job *j, int control, int file)
{
	const struct disk_info *info = disk_info(j->export->disk);
	struct kernel_loop_config config = {
		.fd = (uint32_t)file,
		.block_size = info->block_size,
		.info.lo_flags = LO_FLAGS_DIRECT_IO | (info->readonly ? LO_FLAGS_READ_ONLY : 0u),
	};
	int number = ioctl(control, LOOP_CTL_GET_FREE), device, r = 0;

	if (number < 0) {
		job_failed(j, errno, "no free loop device from", "/dev/loop-control");
		return 0;
	}
	snprintf(j->export->device, sizeof(j->export->device), "/dev/loop%d", number);
	snprintf((char *)config.info.lo_file_name, LO_NAME_SIZE, "%s", j->export->file);
	device = open(j->export->device, (info->readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (device < 0) {
		job_failed(j, errno, "cannot open", j->export->device);
		return 0;
	}
	if (ioctl(device, LOOP_CONFIGURE, &config) < 0) {
		if (errno == EBUSY)
			r = -EBUSY;
		else
			job_failed(j, errno, "cannot set up", j->export->device);
	}
	close(device);
	return r;
}

static void attach_work(struct loop_device_job *j)
{
	bool readonly = disk_info(j->export->disk)->readonly;
	int control = -1, file, r = -EBUSY;

	file = open(j->export->file, (readonly ? O_RDONLY : O_RDWR) | O_DIRECT | O_CLOEXEC);
	if (file < 0) {
		job_failed(j, errno, "cannot open", j->export->file);
		return;
	}
	size_refresh(file);
	control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	if (control < 0) {
		job_failed(j, errno == ENOENT ? ENODEV : errno, "cannot open", "/dev/loop-control");
		goto out;
	}
	for (int i = 0; i < ATTACH_TRIES && r == -EBUSY; i++)
		r = attach_free(j, control, file);
	if (r == -EBUSY)
		job_failed(j, EBUSY, "others keep taking the free device of", "/dev/loop-control");
out:
	if (j->status < 0)
		j->export->device[0] = 0;
	if (control >= 0)
		close(control);
	close(file);
}

static void sleep_step(void)
{
	nanosleep(&(struct timespec){.tv_nsec = DETACH_STEP_MS * 1000000l}, NULL);
}

bool loop_device_is_ours(const struct fuse_export *e)
{
	const char *name = e->device + strlen("/dev/");
	char path[96], file[PATH_MAX] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/sys/block/%s", name);
		return access(path, F_OK) < 0;
	}
	n = read(fd, file, sizeof(file) - 1);
	close(fd);
	file[n > 0 ? n : 0] = 0;
	file[strcspn(file, "\n")] = 0;
	return strcmp(file, e->file) == 0;
}

/* Claims the device as a file system would: -EBUSY while it is mounted, or part of another device.
 */
static int claim(const char *device)
{
	int fd = open(device, O_RDONLY | O_EXCL | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* True once the device has let go of our file. Others who hold it open keep it (autoclear): it then
 * goes with their last close. */
static bool released(int device)
{
	struct loop_info64 info;

	return ioctl(device, LOOP_GET_STATUS64, &info) < 0 && errno == ENXIO;
}

static void detach_work(struct loop_device_job *j)
{
	const char *name = j->export->device;
	int device, r = 0;

	if (*name && loop_device_is_ours(j->export)) {
		for (int i = 0; i < 5 && (r = claim(name)) == -EBUSY; i++)
			sleep_step();
		if (r == -EBUSY && !j->force) {
			job_failed(j, EBUSY, "in use (mounted, or part of another device):", name);
			return;
		}
		device = open(name, O_RDONLY | O_CLOEXEC);
		if (device >= 0) {
			ioctl(device, LOOP_CLR_FD);
			close(device);
			for (int i = 0; i < DETACH_STEPS; i++) {
				device = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
				r = device < 0 || released(device);
				if (device >= 0)
					close(device);
				if (r || j->force)
					break;
				sleep_step();
			}
		}
	}
	j->export->device[0] = 0;
	/* one that others still use is left to fuse_session_unmount(), which does not wait for them
	 */
	umount2(j->export->file, 0);
}

static void resize_work(struct loop_device_job *j)
{
	int file = open(j->export->file, O_RDONLY | O_CLOEXEC);
	int device = open(j->export->device, O_RDONLY | O_CLOEXEC);

	if (file >= 0) {
		size_refresh(file);
		close(file);
	}
	if (device < 0 || ioctl(device, LOOP_SET_CAPACITY) < 0)
		job_failed(j, errno, "cannot take over the new size at", j->export->device);
	if (device >= 0)
		close(device);
}

int loop_device_attach(struct fuse_export *e, void (*finished)(struct loop_device_job *j))
{
	return job_start(e, attach_work, false, finished);
}

int loop_device_detach(
	struct fuse_export *e, bool force, void (*finished)(struct loop_device_job *j))
{
	return job_start(e, detach_work, force, finished);
}

int loop_device_resize(struct fuse_export *e, void (*finished)(struct loop_device_job *j))
{
	return e->device[0] ? job_start(e, resize_work, false, finished) : 0;
}

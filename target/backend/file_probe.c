/* What is at the path of a file store: a regular file or a block device, how large, how aligned,
 * who else uses it; and a clear line for whatever is wrong. Called by file.c. */
#include <errno.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "target/backend/file.h"

#define PAGE 4096u
/* The kernel lets go of a killed process's io_uring, and with it of the file, only a moment after
 * the process is gone: a daemon that is started again must not stumble over itself. */
#define BUSY_TRIES 10
#define BUSY_PAUSE_US 50000

/* ---- opening ---- */

struct file_advice {
	int error;
	const char *text;
};

static const struct file_advice open_advice[] = {
	{ENOENT, "there is no such file; make it first, as in: truncate -s 10G FILE"},
	{ENOTDIR, "there is no such file; a part of its path is not a directory"},
	{EACCES, "no permission; the daemon's user must be able to open it"},
	{EPERM, "no permission; the daemon's user must be able to open it"},
	{EISDIR, "it is a directory; give a file or a block device"},
	{EROFS, "its file system is read-only; export it read-only, or remount"},
	{EBUSY, "it is in use (mounted, or part of a volume); export it read-only, or unmount it"},
	{EINVAL, "its file system knows no direct I/O; leave out 'direct'"},
	{ENXIO, "there is no device behind it; give a file or a block device that exists"},
	{ENOMEDIUM, "there is no medium in the drive"},
	{ETXTBSY, "it is a program that runs; give another file"},
};

static const char *open_advice_find(int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(open_advice); i++)
		if (open_advice[i].error == error)
			return open_advice[i].text;
	return strerror(error);
}

static int file_fail(int error, const char *path, const char *what, char *why, size_t why_size)
{
	snprintf(why, why_size, "%s: %s", path, what);
	return -error;
}

/* O_EXCL makes the kernel refuse a block device that is mounted; for
 * files it would be undefined. */
static int file_open_flags(const struct file_config *config, bool block_device)
{
	return O_CLOEXEC | (config->readonly ? O_RDONLY : O_RDWR) |
	       (config->direct ? O_DIRECT : 0) |
	       (block_device && !config->readonly && !config->look ? O_EXCL : 0);
}

/* Looks before it opens: opening a pipe would wait for its other end. */
static int file_open(
	struct file_backend *f, const struct file_config *config, char *why, size_t why_size)
{
	struct stat st;

	if (stat(config->path, &st) < 0)
		return file_fail(errno, config->path, open_advice_find(errno), why, why_size);
	if (S_ISDIR(st.st_mode))
		return file_fail(EISDIR, config->path, open_advice_find(EISDIR), why, why_size);
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return file_fail(EINVAL, config->path,
			"it is neither a regular file nor a block device", why, why_size);
	f->block_device = S_ISBLK(st.st_mode);
	f->fd = sys_open(config->path, file_open_flags(config, f->block_device), 0);
	if (f->fd < 0)
		return file_fail(errno, config->path, open_advice_find(errno), why, why_size);
	return 0;
}

/* Readers may share; a writer is alone. */
static int file_lock(
	struct file_backend *f, const struct file_config *config, char *why, size_t why_size)
{
	if (config->look)
		return 0;
	if (sys_flock(f->fd, (config->readonly ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return file_fail(EBUSY, config->path,
			"it is already in use by another process or export; stop that first, or "
			"make "
			"both read-only",
			why, why_size);
	return file_fail(errno, config->path, strerror(errno), why, why_size);
}

/* ---- measuring ---- */

int file_measure(const struct file_backend *f, uint64_t *ret_size)
{
	struct stat st;

	if (f->block_device)
		return sys_ioctl(f->fd, BLKGETSIZE64, ret_size) < 0 ? -errno : 0;
	if (sys_fstat(f->fd, &st) < 0)
		return -errno;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

/* A number of /sys/dev/block/MAJOR:MINOR/queue; a partition's queue is its disk's. 0 if unknown. */
static unsigned long device_attribute(const struct file_backend *f, const char *name)
{
	static const char *const patterns[] = {
		"/sys/dev/block/%u:%u/queue/%s", "/sys/dev/block/%u:%u/../queue/%s"};
	char path[128], text[32] = "";
	struct stat st;
	int fd = -1;

	if (sys_fstat(f->fd, &st) < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(patterns) && fd < 0; i++) {
		snprintf(path, sizeof(path), patterns[i], major(st.st_rdev), minor(st.st_rdev),
			name);
		fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	}
	if (fd < 0)
		return 0;
	if (sys_read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strtoul(text, NULL, 10);
}

static void file_probe_device(struct file_backend *f)
{
	struct backend_info *info = &f->backend.info;
	unsigned physical = 0;
	int logical = 0;

	info->block_size = sys_ioctl(f->fd, BLKSSZGET, &logical) < 0 ? 512 : (uint32_t)logical;
	if (sys_ioctl(f->fd, BLKPBSZGET, &physical) < 0 || physical < info->block_size)
		physical = info->block_size;
	info->physical_block_size = physical;
	info->rotational = device_attribute(f, "rotational") != 0;
	if (!info->readonly)
		info->discard_granularity = (uint32_t)device_attribute(f, "discard_granularity");
}

/* Punching beyond the end changes nothing, but tells whether the file system can. */
static void file_probe_regular(struct file_backend *f, const struct file_config *config)
{
	struct backend_info *info = &f->backend.info;
	struct stat st;

	info->block_size = 512;
	info->physical_block_size = PAGE;
	if (info->readonly || config->look || sys_fstat(f->fd, &st) < 0)
		return;
	if (sys_fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		    (off_t)round_up((uint64_t)st.st_size, PAGE), PAGE) == 0)
		info->discard_granularity = PAGE;
}

/* What direct I/O must be aligned to: the first that a read of the beginning accepts. */
static int file_probe_alignment(struct file_backend *f)
{
	void *page = alloc_aligned(PAGE, PAGE);

	if (!page)
		return -ENOMEM;
	f->alignment = f->backend.info.block_size;
	while (f->alignment < PAGE &&
		sys_pread(f->fd, (uint8_t *)page, f->alignment, f->alignment) < 0 &&
		errno == EINVAL)
		f->alignment *= 2;
	alloc_free(page);
	return 0;
}

/* ---- judging ---- */

static int file_choose_block_size(
	struct file_backend *f, const struct file_config *config, char *why, size_t why_size)
{
	struct backend_info *info = &f->backend.info;
	uint32_t least =
		f->direct && f->alignment > info->block_size ? f->alignment : info->block_size;

	if (config->block_size && config->block_size != 512 && config->block_size != 4096) {
		snprintf(why, why_size, "%s: a block size of %u is not possible; 512 or 4096 is",
			config->path, config->block_size);
		return -EINVAL;
	}
	if (config->block_size && config->block_size < least) {
		snprintf(why, why_size,
			"%s: a block size of %u is too small for it; it takes pieces of %u",
			config->path, config->block_size, least);
		return -EINVAL;
	}
	/* Between the two there is no block size that initiators know. */
	info->block_size = config->block_size ? config->block_size : (least > 512 ? 4096 : 512);
	if (info->physical_block_size < info->block_size)
		info->physical_block_size = info->block_size;
	return 0;
}

static int file_choose_size(
	struct file_backend *f, const struct file_config *config, char *why, size_t why_size)
{
	uint64_t there = 0, size;
	uint32_t block = f->backend.info.block_size;
	int rc = file_measure(f, &there);

	if (rc)
		return file_fail(-rc, config->path, strerror(-rc), why, why_size);
	size = config->size ? config->size : there;
	if (there == 0) {
		snprintf(why, why_size, "%s: it is empty; %s", config->path,
			f->block_device ? "attach something to it, or name another device"
					: "make it larger, as in: truncate -s 10G FILE");
		return -EINVAL;
	}
	if (size > there) {
		snprintf(why, why_size,
			"%s: it has %llu bytes, which is too short for %llu; make it larger, as "
			"in: "
			"truncate -s 10G FILE",
			config->path, (unsigned long long)there, (unsigned long long)size);
		return -EINVAL;
	}
	if (size % block) {
		snprintf(why, why_size,
			"%s: %llu bytes are no multiple of the block size %u; export %llu bytes",
			config->path, (unsigned long long)size, block,
			(unsigned long long)size - size % block);
		return -EINVAL;
	}
	f->backend.info.size = size;
	return 0;
}

static int file_claim(
	struct file_backend *f, const struct file_config *config, char *why, size_t why_size)
{
	int rc = -EBUSY;

	for (int tries = 0; rc == -EBUSY && tries < BUSY_TRIES; tries++) {
		if (tries)
			usleep(BUSY_PAUSE_US);
		rc = file_open(f, config, why, why_size);
		if (rc == 0)
			rc = file_lock(f, config, why, why_size);
		if (rc < 0 && f->fd >= 0) {
			close(f->fd);
			f->fd = -1;
		}
	}
	return rc;
}

int file_probe(struct file_backend *f, const struct file_config *config, char *why, size_t why_size)
{
	struct backend_info *info = &f->backend.info;
	int rc = file_claim(f, config, why, why_size);

	if (rc < 0)
		return rc;
	info->readonly = config->readonly;
	info->volatile_cache = config->write_cache;
	if (f->block_device)
		file_probe_device(f);
	else
		file_probe_regular(f, config);
	if (f->direct && file_probe_alignment(f) < 0)
		return file_fail(ENOMEM, config->path, "no memory", why, why_size);
	rc = file_choose_block_size(f, config, why, why_size);
	return rc < 0 ? rc : file_choose_size(f, config, why, why_size);
}

/* What a killed daemon leaves: FUSE mounts whose server is gone, and loop devices on them. The
 * kernel fails their I/O with ENOTCONN; nothing is lost by taking them away. Called by the daemon
 * at start. */
#define loop_config kernel_loop_config /* the kernel's header has a struct of that name too */
#include <linux/loop.h>
#undef loop_config

#include "initiator/export/export.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

/* The path behind a loop device ("/sys/block/loopN/loop/backing_file"), or "". */
static void backing_file(const char *name, char *out, size_t size)
{
	char path[300];
	ssize_t n;
	int fd;

	out[0] = 0;
	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, out, size - 1);
	close(fd);
	out[n > 0 ? n : 0] = 0;
}

static void detach(const char *name)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	ioctl(fd, LOOP_CLR_FD);
	close(fd);
}

/* Calls `each` for every entry of `directory`. */
static unsigned walk(const char *directory, const char *prefix,
	unsigned (*each)(const char *prefix, const char *name))
{
	DIR *d = opendir(directory);
	struct dirent *entry;
	unsigned count = 0;

	if (!d)
		return 0;
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.')
			count += each(prefix, entry->d_name);
	closedir(d);
	return count;
}

static unsigned clean_device(const char *prefix, const char *name)
{
	char file[1024];

	if (strncmp(name, "loop", 4) != 0)
		return 0;
	backing_file(name, file, sizeof(file));
	if (strncmp(file, prefix, strlen(prefix)) != 0)
		return 0;
	detach(name);
	return 1;
}

static unsigned clean_mount(const char *prefix, const char *name)
{
	char path[1024];

	if (snprintf(path, sizeof(path), "%s%s", prefix, name) >= (int)sizeof(path))
		return 0;
	umount2(path, MNT_DETACH);
	unlink(path);
	return 0;
}

unsigned export_fuse_clean(const char *runtime_directory)
{
	char prefix[512];
	unsigned count;

	if (snprintf(prefix, sizeof(prefix), "%s/devices/", runtime_directory) >=
		(int)sizeof(prefix))
		return 0;
	count = walk("/sys/block", prefix, clean_device);
	walk(prefix, prefix, clean_mount);
	return count;
}

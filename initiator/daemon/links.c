/* Links by path, see links.h. */
#include "initiator/daemon/links.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "by-path"

int links_name(const char *portal, const char *target, unsigned lun, const char *suffix, char *out,
	size_t size)
{
	int n = snprintf(out, size, "ip-%s-iscsi-%s-lun-%u%s", portal, target, lun, suffix);

	/* room for the temporary name of links_make() */
	return n < 0 || (size_t)n >= size || n > NAME_MAX - 1 ? -ENAMETOOLONG : 0;
}

static int link_path(const char *runtime, const char *prefix, const char *name, char out[PATH_MAX])
{
	int n = snprintf(out, PATH_MAX, "%s/" DIRECTORY "/%s%s", runtime, prefix, name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int links_make(const char *runtime_directory, const char *name, const char *device)
{
	char path[PATH_MAX], temporary[PATH_MAX];

	if (link_path(runtime_directory, "", name, path) < 0 ||
		link_path(runtime_directory, ".", name, temporary) < 0)
		return -ENAMETOOLONG;
	if (unlink(temporary) < 0 && errno != ENOENT)
		return -errno;
	if (symlink(device, temporary) < 0)
		return -errno;
	if (rename(temporary, path) < 0) {
		int error = -errno;

		unlink(temporary);
		return error;
	}
	return 0;
}

void links_remove(const char *runtime_directory, const char *name)
{
	char path[PATH_MAX];

	if (link_path(runtime_directory, "", name, path) == 0)
		unlink(path);
}

void links_clean(const char *runtime_directory)
{
	char path[PATH_MAX];
	struct dirent *entry;
	struct stat st;
	DIR *d;

	if (link_path(runtime_directory, "", "", path) < 0)
		return;
	d = opendir(path);
	if (!d)
		return;
	while ((entry = readdir(d)))
		if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISLNK(st.st_mode))
			unlinkat(dirfd(d), entry->d_name, 0);
	closedir(d);
}

/* Who uses a block device. The device itself is never opened: a close can wait for dirty pages,
 * which the loop that asks would have to write. Called by luns.c and stop.c. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "initiator/daemon/sessions.h"

/* Mountinfo writes blanks and the like as three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] && from[2] && from[3]) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0');
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* Calls `match` for every line of a file until it says true. */
static bool any_line(const char *path, bool (*match)(char *line, dev_t device, char *out, size_t),
	dev_t device, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[2 * PATH_MAX]; /* what of a line is longer matches nothing */
	bool found = false;

	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = match(line, device, out, size);
	fclose(f);
	return found;
}

/* "36 35 7:3 / /mnt rw,... - ext4 /dev/loop3 rw" */
static bool is_mount(char *line, dev_t device, char *out, size_t size)
{
	unsigned major_number, minor_number;
	char where[PATH_MAX], source[64];
	const char *dash = strstr(line, " - ");
	struct stat st;

	if (sscanf(line, "%*u %*u %u:%u %*s %4095s", &major_number, &minor_number, where) != 3)
		return false;
	/* a file system of several devices has a number of its own, and names one of them */
	if (makedev(major_number, minor_number) != device &&
		(!dash || sscanf(dash, " - %*s %63s", source) != 1 ||
			strncmp(source, "/dev/", 5) != 0 || stat(source, &st) < 0 ||
			st.st_rdev != device))
		return false;
	unescape(where);
	snprintf(out, size, "mounted on %s", where);
	return true;
}

/* "/dev/loop3  partition  1048572  0  -2" */
static bool is_swap(char *line, dev_t device, char *out, size_t size)
{
	struct stat st;

	line[strcspn(line, " \t\n")] = '\0';
	if (line[0] != '/' || stat(line, &st) < 0 || st.st_rdev != device)
		return false;
	snprintf(out, size, "used as swap space");
	return true;
}

/* Device mapper, md and the like. */
static bool is_held(const char *device, char *out, size_t size)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/class/block/%s/holders", strrchr(device, '/') + 1);
	d = opendir(path);
	if (!d)
		return false;
	while (!found && (entry = readdir(d)))
		if (entry->d_name[0] != '.') {
			snprintf(out, size, "part of %s", entry->d_name);
			found = true;
		}
	closedir(d);
	return found;
}

static bool has_open(const char *pid, const char *device)
{
	char path[PATH_MAX], to[64];
	struct dirent *entry;
	bool found = false;
	ssize_t n;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	d = opendir(path);
	if (!d)
		return false;
	while (!found && (entry = readdir(d))) {
		n = readlinkat(dirfd(d), entry->d_name, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		found = strcmp(to, device) == 0;
	}
	closedir(d);
	return found;
}

/* False for udev, which looks into a device whenever somebody has written to it, and soon lets go
 * again. */
static bool name_process(const char *pid, char *out, size_t size)
{
	char path[PATH_MAX], name[64] = "?";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (f && fgets(name, sizeof(name), f))
		name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
	snprintf(out, size, "open in process %s (%s)", pid, name);
	return !strstr(name, "udev");
}

static bool is_open(const char *device, char *out, size_t size)
{
	struct dirent *entry;
	bool found = false;
	DIR *d = opendir("/proc");

	if (!d)
		return false;
	while (!found && (entry = readdir(d)))
		found = isdigit((unsigned char)entry->d_name[0]) &&
			strtol(entry->d_name, NULL, 10) != getpid() &&
			has_open(entry->d_name, device) && name_process(entry->d_name, out, size);
	closedir(d);
	return found;
}

bool usage_find(const char *device, char *out, size_t size)
{
	struct stat st;

	if (stat(device, &st) < 0 || !S_ISBLK(st.st_mode))
		return false;
	return any_line("/proc/self/mountinfo", is_mount, st.st_rdev, out, size) ||
	       any_line("/proc/swaps", is_swap, st.st_rdev, out, size) ||
	       is_held(device, out, size) || is_open(device, out, size);
}

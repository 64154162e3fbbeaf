/* Links by path, as udev makes them below /dev/disk/by-path: <runtime>/by-path/<name> leads to the
 * device. Called by luns.c and start.c. */
#pragma once

#include <stddef.h>

/* "ip-<portal>-iscsi-<target>-lun-<n>": the name of a LUN's link, of its file, and of its export. A
 * session beside another one to the same portal and target has a `suffix` of its own; else "". 0,
 * or -ENAMETOOLONG: no file may have that name. */
int links_name(const char *portal, const char *target, unsigned lun, const char *suffix, char *out,
	size_t size);
/* Makes the link, or leads it elsewhere, in one step: whoever looks finds the old or the new. 0 or
 * negative errno. */
int links_make(const char *runtime_directory, const char *name, const char *device);
void links_remove(const char *runtime_directory, const char *name);
/* At start: removes what a daemon that was killed has left. */
void links_clean(const char *runtime_directory);

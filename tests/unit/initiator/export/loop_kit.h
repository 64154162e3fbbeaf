/* What tests of loop devices share: whether there are any here, and files to set them on. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Why a test that needs these devices cannot run, or NULL. */
static inline const char *device_missing(const char *path)
{
	static char why[128];
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return NULL;
	}
	snprintf(why, sizeof(why), "%s cannot be opened here", path);
	return why;
}

#define NEEDS(path)                                                                                \
	do {                                                                                       \
		const char *missing = device_missing(path);                                        \
                                                                                                   \
		if (missing) {                                                                     \
			print_message("%s\n", missing);                                            \
			skip();                                                                    \
		}                                                                                  \
	} while (0)

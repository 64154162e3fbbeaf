/* Waiting for what the kernel or a thread does meanwhile. TCP on loopback is as good as immediate
 * on an idle machine, but on a busy one the kernel's thread for it has to wait for a CPU. */
#pragma once

#include <fcntl.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/loop/loop.h"

#define AWAIT_S 60 /* nothing takes that long; a failure is told at last */

static inline time_t await_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Turns `loop` until `condition`; fails the test when it does not come. */
#define AWAIT(loop, condition)                                                                     \
	do {                                                                                       \
		for (time_t end = await_now() + AWAIT_S; !(condition) && await_now() < end;) {     \
			if (!loop_turn((loop), 0))                                                 \
				usleep(1000);                                                      \
		}                                                                                  \
		assert_true(condition);                                                            \
	} while (0)

/* The same where no loop has to be turned. */
#define AWAIT_ONLY(condition)                                                                      \
	do {                                                                                       \
		for (time_t end = await_now() + AWAIT_S; !(condition) && await_now() < end;)       \
			usleep(1000);                                                              \
		assert_true(condition);                                                            \
	} while (0)

/* All that was written to the TCP socket `fd` is where its peer can read it. */
static inline bool await_arrived(int fd)
{
	int left = 1;

	return ioctl(fd, SIOCOUTQ, &left) == 0 && left == 0;
}

static inline unsigned await_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

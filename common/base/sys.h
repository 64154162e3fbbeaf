/* The one door to system calls that move data or make descriptors, so that a test can fail the
 * n-th. Each wrapper is the call itself, with its arguments, result and errno, behind one
 * predictable branch. Used by the loop, the movers over sockets, and the backends. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* For sys_fail_nth(): no failure, but of a call that moves data (any other is as always) only one
 * byte is moved, or one sector of 512 bytes where it addresses a file. */
#define SYS_SHORT (-1)

/* Tests: the n-th call from now on fails with `error` (1 = the next; 0 = none does). */
void sys_fail_nth(unsigned long n, int error);
/* Tests: whether the call that sys_fail_nth() asked for has come and failed. */
bool sys_fail_happened(void);

/* The wrappers' own. */
extern atomic_bool sys_fail_armed;
bool sys_fail_now(void); /* sets errno when true */
/* errno is SYS_SHORT: the vector's first `most` bytes at most. */
struct iovec sys_short_vector(const struct iovec *v, size_t count, size_t most);
ssize_t sys_short_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t sys_short_recvmsg(int fd, struct msghdr *m, int flags);

#define SYS_SECTOR 512

static inline bool sys_fails(void)
{
	return __builtin_expect(
		       atomic_load_explicit(&sys_fail_armed, memory_order_relaxed), false) &&
	       sys_fail_now();
}

#define SYS_CALL(type, name, parameters, arguments)                                                \
	static inline type sys_##name parameters                                                   \
	{                                                                                          \
		return sys_fails() && errno != SYS_SHORT ? (type)-1 : name arguments;              \
	}
/* One that moves data: `shorter` is what it does instead when it is to be short. */
#define SYS_MOVE(name, parameters, arguments, shorter)                                             \
	static inline ssize_t sys_##name parameters                                                \
	{                                                                                          \
		if (!sys_fails())                                                                  \
			return name arguments;                                                     \
		if (errno != SYS_SHORT)                                                            \
			return -1;                                                                 \
		shorter;                                                                           \
	}
#define SYS_MOVE_VECTOR(name, parameters, arguments, most)                                         \
	SYS_MOVE(name, parameters, arguments, struct iovec one = sys_short_vector(v, n, most);     \
		 v = &one; n = 1; return name arguments)
#define SYS_LESS(n, most) ((n) < (most) ? (n) : (most))

/* any descriptor */
SYS_MOVE(read, (int fd, void *p, size_t n), (fd, p, n), return read(fd, p, SYS_LESS(n, 1)))
SYS_MOVE(write, (int fd, const void *p, size_t n), (fd, p, n), return write(fd, p, SYS_LESS(n, 1)))
SYS_MOVE_VECTOR(readv, (int fd, const struct iovec *v, int n), (fd, v, n), 1)
SYS_MOVE_VECTOR(writev, (int fd, const struct iovec *v, int n), (fd, v, n), 1)

/* sockets */
SYS_CALL(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
SYS_CALL(int, bind, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
SYS_CALL(int, listen, (int fd, int backlog), (fd, backlog))
SYS_CALL(int, connect, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
SYS_CALL(int, accept4, (int fd, struct sockaddr *a, socklen_t *n, int flags), (fd, a, n, flags))
SYS_MOVE(recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags),
	return recv(fd, p, SYS_LESS(n, 1), flags))
SYS_MOVE(send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags),
	return send(fd, p, SYS_LESS(n, 1), flags))
SYS_MOVE(recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags),
	return sys_short_recvmsg(fd, m, flags))
SYS_MOVE(sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags),
	return sys_short_sendmsg(fd, m, flags))
SYS_CALL(int, getsockname, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n))
SYS_CALL(int, getsockopt, (int fd, int level, int name, void *p, socklen_t *n),
	(fd, level, name, p, n))
SYS_CALL(int, setsockopt, (int fd, int level, int name, const void *p, socklen_t n),
	(fd, level, name, p, n))

/* files */
SYS_CALL(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode))
SYS_CALL(int, fstat, (int fd, struct stat *st), (fd, st))
SYS_CALL(int, flock, (int fd, int operation), (fd, operation))
SYS_CALL(int, ftruncate, (int fd, off_t length), (fd, length))
SYS_CALL(int, ioctl, (int fd, unsigned long request, void *p), (fd, request, p))
SYS_MOVE(pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at),
	return pread(fd, p, SYS_LESS(n, SYS_SECTOR), at))
SYS_MOVE(pwrite, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at),
	return pwrite(fd, p, SYS_LESS(n, SYS_SECTOR), at))
SYS_MOVE_VECTOR(preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags),
	(fd, v, n, at, flags), SYS_SECTOR)
SYS_MOVE_VECTOR(pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags),
	(fd, v, n, at, flags), SYS_SECTOR)
SYS_CALL(int, fsync, (int fd), (fd))
SYS_CALL(int, fdatasync, (int fd), (fd))
SYS_CALL(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))

/* memory: MAP_FAILED is (void *)-1 */
SYS_CALL(void *, mmap, (void *p, size_t n, int protection, int flags, int fd, off_t at),
	(p, n, protection, flags, fd, at))

/* waiting */
SYS_CALL(int, epoll_create1, (int flags), (flags))
SYS_CALL(int, epoll_ctl, (int ep, int op, int fd, struct epoll_event *e), (ep, op, fd, e))
SYS_CALL(int, epoll_pwait2,
	(int ep, struct epoll_event *e, int n, const struct timespec *t, const sigset_t *mask),
	(ep, e, n, t, mask))
SYS_CALL(int, epoll_wait, (int ep, struct epoll_event *e, int n, int ms), (ep, e, n, ms))
SYS_CALL(int, eventfd, (unsigned value, int flags), (value, flags))

/* A result that the kernel gave by another way (io_uring): `result` as it is, or the negative errno
 * that a test wants; a short one is a sector. */
int sys_result(int result);

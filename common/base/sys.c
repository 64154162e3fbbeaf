/* The n-th failure of system calls; the wrappers themselves are inline in sys.h. */
#include "common/base/sys.h"

#include <errno.h>

atomic_bool sys_fail_armed;
static atomic_ulong fail_in;
static atomic_int fail_error;

void sys_fail_nth(unsigned long n, int error)
{
	atomic_store(&fail_in, n);
	atomic_store(&fail_error, error);
	atomic_store(&sys_fail_armed, n != 0);
}

bool sys_fail_happened(void)
{
	return atomic_load(&fail_in) == 0;
}

bool sys_fail_now(void)
{
	unsigned long left = atomic_load(&fail_in);

	/* Several threads count down one counter: only the one that takes the last step fails. */
	do {
		if (left == 0)
			return false;
	} while (!atomic_compare_exchange_weak(&fail_in, &left, left - 1));
	if (left != 1)
		return false;
	atomic_store(&sys_fail_armed, false);
	errno = atomic_load(&fail_error);
	return true;
}

int sys_result(int result)
{
	if (!sys_fails())
		return result;
	if (errno != SYS_SHORT)
		return -errno;
	return result > SYS_SECTOR ? SYS_SECTOR : result;
}

struct iovec sys_short_vector(const struct iovec *v, size_t count, size_t most)
{
	struct iovec one = {0};

	for (size_t i = 0; i < count && !one.iov_len; i++)
		one = (struct iovec){v[i].iov_base, SYS_LESS(v[i].iov_len, most)};
	return one;
}

ssize_t sys_short_sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct iovec one = sys_short_vector(m->msg_iov, m->msg_iovlen, 1);
	struct msghdr less = *m;

	less.msg_iov = &one;
	less.msg_iovlen = 1;
	return sendmsg(fd, &less, flags);
}

ssize_t sys_short_recvmsg(int fd, struct msghdr *m, int flags)
{
	struct iovec one = sys_short_vector(m->msg_iov, m->msg_iovlen, 1), *all = m->msg_iov;
	size_t count = m->msg_iovlen;
	ssize_t n;

	m->msg_iov = &one;
	m->msg_iovlen = 1;
	n = recvmsg(fd, m, flags);
	m->msg_iov = all;
	m->msg_iovlen = count;
	return n;
}

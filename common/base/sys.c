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
	return sys_fails() ? -errno : result;
}

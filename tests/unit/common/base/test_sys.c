/* The door to system calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "common/base/sys.h"

static void nth_call_fails_with_the_error_asked_for_and_no_other(void **state)
{
	char byte;
	int fd = open("/dev/zero", O_RDONLY);

	(void)state;
	for (unsigned long n = 1; n <= 3; n++) {
		sys_fail_nth(n, EIO);
		for (unsigned long i = 1; i <= 5; i++) {
			errno = 0;
			assert_int_equal(i == n ? -1 : 1, sys_read(fd, &byte, 1));
			assert_int_equal(i == n ? EIO : 0, errno);
			assert_int_equal(i >= n, sys_fail_happened());
		}
	}
	close(fd);
}

static void disarmed_hook_fails_nothing(void **state)
{
	struct stat st;

	(void)state;
	sys_fail_nth(1, EIO);
	sys_fail_nth(0, 0);
	assert_int_equal(0, sys_fstat(0, &st));
}

static void mapping_fails_as_mmap_does(void **state)
{
	(void)state;
	sys_fail_nth(1, ENOMEM);
	assert_ptr_equal(
		MAP_FAILED, sys_mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void result_of_another_way_is_replaced(void **state)
{
	(void)state;
	assert_int_equal(512, sys_result(512));
	sys_fail_nth(2, ENOSPC);
	assert_int_equal(-EIO, sys_result(-EIO));
	assert_int_equal(-ENOSPC, sys_result(512));
	assert_int_equal(512, sys_result(512));
}

static void short_call_moves_one_byte_or_one_sector(void **state)
{
	char bytes[4096];
	struct iovec v[2] = {{bytes, 0}, {bytes, sizeof(bytes)}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	struct stat st;
	int fd = open("/dev/zero", O_RDONLY), pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	sys_fail_nth(1, SYS_SHORT);
	assert_int_equal(sys_read(fd, bytes, sizeof(bytes)), 1);
	sys_fail_nth(1, SYS_SHORT);
	assert_int_equal(sys_pread(fd, bytes, sizeof(bytes), 0), 512);
	sys_fail_nth(1, SYS_SHORT);
	assert_int_equal(sys_preadv2(fd, v, 2, 0, 0), 512);
	sys_fail_nth(1, SYS_SHORT);
	assert_int_equal(sys_sendmsg(pair[0], &m, 0), 1);
	assert_int_equal(sys_sendmsg(pair[0], &m, 0), 4096);
	sys_fail_nth(1, SYS_SHORT);
	assert_int_equal(sys_recvmsg(pair[1], &m, 0), 1);
	assert_int_equal(m.msg_iovlen, 2);
	assert_int_equal(sys_recvmsg(pair[1], &m, 0), 4096);
	sys_fail_nth(1, SYS_SHORT);
	assert_int_equal(sys_result(4096), 512);
	sys_fail_nth(1, SYS_SHORT);
	assert_int_equal(sys_fstat(fd, &st), 0); /* it moves nothing: as always */
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nth_call_fails_with_the_error_asked_for_and_no_other),
		cmocka_unit_test(disarmed_hook_fails_nothing),
		cmocka_unit_test(mapping_fails_as_mmap_does),
		cmocka_unit_test(result_of_another_way_is_replaced),
		cmocka_unit_test(short_call_moves_one_byte_or_one_sector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

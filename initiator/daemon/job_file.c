/* The file of a copy, see job_file.h. */
#include "initiator/daemon/job_file.h"

#include <errno.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/sys.h"

int job_file_extent(int fd, uint64_t *ret_start, uint64_t *ret_length)
{
	off_t start = lseek(fd, 0, SEEK_CUR), end = lseek(fd, 0, SEEK_END);

	if (start < 0 || end < 0 || lseek(fd, start, SEEK_SET) < 0)
		return -errno;
	*ret_start = (uint64_t)start;
	*ret_length = end > start ? (uint64_t)(end - start) : 0;
	return 0;
}

int job_file_read(int fd, void *data, size_t length, uint64_t at)
{
	uint8_t *next = data;

	while (length > 0) {
		ssize_t n = sys_pread(fd, next, length, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		next += n;
		at += (uint64_t)n;
		length -= (size_t)n;
	}
	memset(next, 0, length);
	return 0;
}

int job_file_write(int fd, const void *data, size_t length, uint64_t at)
{
	const uint8_t *next = data;

	while (length > 0) {
		ssize_t n = sys_pwrite(fd, next, length, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		next += n;
		at += (uint64_t)n;
		length -= (size_t)n;
	}
	return 0;
}

uint64_t job_file_hole(int fd, uint64_t at, uint64_t most)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? most : 0;
	return (uint64_t)data > at ? min_u64((uint64_t)data - at, most) : 0;
}

int job_file_truncate(int fd, uint64_t at)
{
	struct stat st;

	if (sys_fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && sys_ftruncate(fd, (off_t)at) < 0 ? -errno : 0;
}

int job_file_finish(int fd, uint64_t end)
{
	struct stat st;

	if (sys_fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size >= end)
		return 0;
	return sys_ftruncate(fd, (off_t)end) < 0 ? -errno : 0;
}

bool job_file_may_skip(int fd, uint64_t at)
{
	struct stat st;

	return sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= at;
}

bool job_is_zero(const void *data, size_t length)
{
	const uint8_t *bytes = data;

	/* what equals itself one byte further on is all like its first byte */
	return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

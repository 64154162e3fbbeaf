/* What tests of a job's operations share: a job with a disk over the fake target, whose outcome is
 * kept. job_run.c's part is played here. */
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "initiator/daemon/job.h"
#include "tests/unit/initiator/fake_disk.h"

static struct {
	struct fake_disk disk;
	struct job job;
	unsigned ends;
	enum ini_status status;
	char line[JOB_LINE_SIZE];
	struct json_object *result;
} it;

void job_finish(struct job *j, struct json_object *result)
{
	it.ends++;
	j->over = true;
	it.result = result;
}

void job_fail(struct job *j, enum ini_status status, const char *format, ...)
{
	va_list args;

	if (j->over)
		return;
	it.ends++;
	j->over = true;
	it.status = status;
	va_start(args, format);
	vsnprintf(it.line, sizeof(it.line), format, args);
	va_end(args);
}

void job_fail_io(struct job *j, const struct disk_io *io, int error)
{
	job_fail(j, STATUS_FAILED, "I/O %d at %llu: %s", (int)io->operation,
		(unsigned long long)io->offset, strerror(-error));
}

bool job_check_range(struct job *j)
{
	const struct disk_info *info = disk_info(j->disk);
	struct job_options *o = &j->options;

	if (o->length == UINT64_MAX)
		o->length = info->size - o->offset;
	if (o->offset + o->length <= info->size && o->offset % info->block_size == 0 &&
		o->length % info->block_size == 0)
		return true;
	job_fail(j, STATUS_USAGE, "no range");
	return false;
}

/* The helpers of request.c. */
void put_text(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, value ? json_object_new_string(value) : NULL);
}

void put_number(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)value));
}

static inline double result(const char *key)
{
	struct json_object *value;

	assert_non_null(it.result);
	assert_true(json_object_object_get_ex(it.result, key, &value));
	return json_object_get_double(value);
}

/* Requests of the loop's and the target's kind are answered until nothing is left to do. */
static inline void job_setup(const struct job_operation *operation, int file)
{
	memset(&it, 0, sizeof(it));
	disk_setup_config(&it.disk, 1024, 8); /* 512 KiB per command */
	it.job.operation = operation;
	it.job.file = file;
	it.job.disk = it.disk.disk;
	it.job.session = it.disk.o.session;
	it.job.loop = it.disk.o.fake->loop;
	it.job.options.length = UINT64_MAX;
}

static inline void job_teardown(void)
{
	if (it.job.operation->release)
		it.job.operation->release(&it.job);
	assert_null(it.job.work);
	if (it.job.file >= 0)
		close(it.job.file);
	json_object_put(it.result);
	disk_teardown(&it.disk); /* nothing is allocated any more */
}

static inline int file_of(const void *data, size_t size)
{
	int fd = memfd_create("job", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(size, write(fd, data, size));
	assert_int_equal(0, lseek(fd, 0, SEEK_SET));
	return fd;
}

static inline void fill(uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 31 + (i >> 9) + 1);
}

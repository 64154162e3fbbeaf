/* For the tests of the file store: a file of 4 MiB, and each story told through each engine,
 * buffered and direct. */
#pragma once

#include "tests/unit/target/backend/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/sys.h"

#define SIZE (4u * 1024 * 1024)

struct fixture {
	char path[64];
	struct file_config config;
	struct loop *loop;
	struct backend *backend;
	struct backend_channel *channel;
	uint8_t *data, *back; /* page-aligned, SIZE each */
	char why[256];
};

static inline void no_line(void *arg, enum log_level level, const char *line)
{
	(void)arg;
	(void)level;
	(void)line;
}

static inline int make(void **state, const char *directory)
{
	struct fixture *f = alloc_zeroed(sizeof(*f));
	int fd;

	*state = f;
	snprintf(f->path, sizeof(f->path), "%s/store-XXXXXX", directory);
	fd = mkstemp(f->path);
	if (fd < 0 || ftruncate(fd, SIZE) < 0)
		return -1;
	close(fd);
	f->config = (struct file_config){.path = f->path, .write_cache = true};
	f->loop = loop_new(NULL);
	f->data = alloc_aligned(4096, SIZE);
	f->back = alloc_aligned(4096, SIZE);
	log_set_sink(no_line, NULL);
	return f->loop && f->data && f->back ? 0 : -1;
}

/* tests/ runs where /tmp may be a tmpfs that knows no direct I/O; /var/tmp is a disk. */
static inline int setup(void **state)
{
	return make(state, "/var/tmp");
}

static inline void close_all(struct fixture *f)
{
	backend_close_channel(f->channel);
	backend_free(f->backend);
	f->channel = NULL;
	f->backend = NULL;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	close_all(f);
	loop_free(f->loop);
	alloc_free(f->data);
	alloc_free(f->back);
	unlink(f->path);
	alloc_free(f);
	log_set_sink(NULL, NULL);
	return alloc_live() == 0 ? 0 : -1;
}

static inline int open_all(struct fixture *f)
{
	int rc = file_backend_new(&f->config, &f->backend, f->why, sizeof(f->why));

	return rc < 0 ? rc : backend_open_channel(f->backend, f->loop, &f->channel);
}

static inline void fill(uint8_t *data, size_t length, unsigned seed)
{
	for (size_t i = 0; i < length; i++)
		data[i] = (uint8_t)rand_r(&seed);
}

typedef void story(struct fixture *f);

/* Tells each story with io_uring and with threads, through the page cache and past it, and with
 * every write durable. A kernel that refuses io_uring leaves the threads. */
static inline void with_every_engine(void **state, story *tell)
{
	static const struct {
		enum file_engine engine;
		bool direct, write_cache;
	} ways[] = {
		{FILE_ENGINE_URING, false, true},
		{FILE_ENGINE_URING, true, true},
		{FILE_ENGINE_URING, false, false},
		{FILE_ENGINE_THREADS, false, true},
		{FILE_ENGINE_THREADS, true, false},
		{FILE_ENGINE_AUTO, false, true},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		int rc;

		f->config.engine = ways[i].engine;
		f->config.direct = ways[i].direct;
		f->config.write_cache = ways[i].write_cache;
		rc = open_all(f);
		if (ways[i].engine == FILE_ENGINE_URING && (rc == -EPERM || rc == -ENOSYS)) {
			close_all(f);
			continue;
		}
		assert_int_equal(0, rc);
		tell(f);
		close_all(f);
	}
}

static inline void story_write_and_read(struct fixture *f)
{
	fill(f->data, SIZE, 1);
	assert_int_equal(0, io_run(f->channel, BACKEND_WRITE, 0, f->data, SIZE));
	assert_int_equal(0, io_run(f->channel, BACKEND_FLUSH, 0, NULL, 0));
	memset(f->back, 0, SIZE);
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 0, f->back, SIZE));
	assert_memory_equal(f->data, f->back, SIZE);
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, SIZE - 4096, f->back, 4096));
	assert_memory_equal(f->data + SIZE - 4096, f->back, 4096);
	assert_int_equal(0, io_run(f->channel, BACKEND_READ, 0, f->back, 0));
	assert_int_equal(0, io_run(f->channel, BACKEND_WRITE, 0, f->back, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

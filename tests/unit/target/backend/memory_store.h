/* For the tests of the memory and null stores: a memory store of one mebibyte, with a channel. */
#pragma once

#include "tests/unit/target/backend/store.h"

#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"

#define SIZE (1024u * 1024)

struct fixture {
	struct loop *loop;
	struct backend *backend;
	struct backend_channel *channel;
};

static inline int setup(void **state)
{
	struct fixture *f = alloc_zeroed(sizeof(*f));
	char why[128];

	*state = f;
	f->loop = loop_new(NULL);
	if (memory_backend_new(
		    &(struct memory_config){.size = SIZE}, &f->backend, why, sizeof(why)) < 0)
		return -1;
	return backend_open_channel(f->backend, f->loop, &f->channel);
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	backend_close_channel(f->channel);
	backend_free(f->backend);
	loop_free(f->loop);
	alloc_free(f);
	return alloc_live() == 0 ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

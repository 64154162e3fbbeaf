/* For the tests of the stores that stack on another: memory below, a virtual clock. */
#pragma once

#include "tests/unit/target/backend/store.h"

#include <errno.h>
#include <string.h>

#include "common/base/alloc.h"

#define SIZE (64u * 1024)

static inline int setup(void **state)
{
	*state = loop_new(&(struct loop_config){.virtual_clock = true});
	return *state ? 0 : -1;
}

static inline int teardown(void **state)
{
	loop_free(*state);
	return alloc_live() == 0 ? 0 : -1;
}

static inline struct backend *memory(void)
{
	struct backend *b = NULL;
	char why[128];

	assert_int_equal(
		0, memory_backend_new(&(struct memory_config){.size = SIZE}, &b, why, sizeof(why)));
	return b;
}

static inline void stack_close(struct backend_channel *c)
{
	struct backend *b = c->backend;

	backend_close_channel(c);
	backend_free(b);
}

static inline int run(
	struct backend_channel *c, enum backend_operation op, uint64_t at, uint64_t length)
{
	static uint8_t data[SIZE];

	return io_run(c, op, at, data, length);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

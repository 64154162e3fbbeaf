/* For the tests of the stores: one request at a time, or many, on a loop of the test's own. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/loop/loop.h"
#include "target/backend/backend.h"
#include "target/backend/stores.h"
#include "tests/kit/await.h"

struct io {
	struct backend_request request;
	bool done;
	int status;
};

static inline void io_done(struct backend_request *r, int status)
{
	struct io *io = container_of(r, struct io, request);

	assert_false(io->done);
	io->done = true;
	io->status = status;
}

static inline void io_start(struct backend_channel *c, struct io *io, enum backend_operation op,
	uint64_t offset, void *data, uint64_t length)
{
	bool fua = io->request.fua;

	*io = (struct io){.request = {.operation = op,
				  .offset = offset,
				  .length = length,
				  .data = data,
				  .fua = fua,
				  .done = io_done}};
	backend_submit(c, &io->request);
	/* Never from inside. */
	assert_false(io->done);
}

static inline int io_wait(struct backend_channel *c, struct io *io)
{
	AWAIT(c->loop, io->done);
	return io->status;
}

static inline int io_run(struct backend_channel *c, enum backend_operation op, uint64_t offset,
	void *data, uint64_t length)
{
	struct io io = {0};

	io_start(c, &io, op, offset, data, length);
	return io_wait(c, &io);
}

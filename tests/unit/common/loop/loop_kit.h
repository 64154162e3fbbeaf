/* For the tests of the loop: one, and letters that are written in the order of what happens. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/loop/loop.h"

struct fixture {
	struct loop *loop;
	char trace[64];
};

static inline int setup(void **state)
{
	struct fixture *f = alloc_zeroed(sizeof(*f));

	f->loop = loop_new(&(struct loop_config){.virtual_clock = true});
	*state = f;
	return f->loop ? 0 : -1;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	loop_free(f->loop);
	alloc_free(f);
	return alloc_live() == 0 ? 0 : -1;
}

struct end {
	struct loop_watch watch;
	struct end *victim;
	unsigned calls, last_events;
	bool reopen;
};

static inline void end_ready(struct loop_watch *w, unsigned events)
{
	struct end *e = container_of(w, struct end, watch);
	char byte[16];

	e->calls++;
	e->last_events = events;
	if (events & LOOP_READABLE)
		(void)!read(w->fd, byte, sizeof(byte));
	if (e->victim) {
		struct loop *l = w->loop;

		loop_watch_remove(&e->victim->watch);
		if (e->reopen)
			assert_int_equal(0, loop_watch_add(l, &e->victim->watch, LOOP_WRITABLE));
	}
}

static inline void pair_open(struct end ends[2])
{
	int fds[2];

	memset(ends, 0, 2 * sizeof(*ends));
	assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
	for (int i = 0; i < 2; i++) {
		ends[i].watch.fd = fds[i];
		ends[i].watch.ready = end_ready;
	}
}

static inline void pair_close(struct end ends[2])
{
	for (int i = 0; i < 2; i++) {
		loop_watch_remove(&ends[i].watch);
		close(ends[i].watch.fd);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

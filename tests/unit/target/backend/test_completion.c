/* Completions that come from the loop (target/backend/completion.c), never from inside a submit. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/loop/loop.h"
#include "target/backend/completion.h"

struct fixture {
	struct loop *loop;
	struct completions *completions;
	struct backend_request requests[3];
	int order[8], statuses[8];
	unsigned done;
	int again; /* this request is added again from inside its own done() */
	int last;  /* with this one the completions are freed */
};

/* done() has no argument of its own; one fixture at a time. */
static struct fixture fixture;

static void done(struct backend_request *r, int status)
{
	int i = (int)(r - fixture.requests);

	fixture.order[fixture.done] = i;
	fixture.statuses[fixture.done++] = status;
	if (i == fixture.again) {
		fixture.again = -1;
		completions_add(fixture.completions, r, 0);
	}
	if (i == fixture.last) {
		loop_call_cancel(&fixture.completions->call);
		alloc_free(fixture.completions);
		fixture.completions = NULL;
	}
}

static int setup(void **state)
{
	(void)state;
	fixture = (struct fixture){.again = -1, .last = -1};
	fixture.loop = loop_new(&(struct loop_config){.virtual_clock = true});
	fixture.completions = alloc_zeroed(sizeof(*fixture.completions));
	completions_init(fixture.completions, fixture.loop);
	for (size_t i = 0; i < 3; i++)
		fixture.requests[i].done = done;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	alloc_free(fixture.completions);
	loop_free(fixture.loop);
	return alloc_live() == 0 ? 0 : -1;
}

static void add(int i, int status)
{
	completions_add(fixture.completions, &fixture.requests[i], status);
}

static void requests_are_done_in_order_with_their_status(void **state)
{
	(void)state;
	add(2, 0);
	add(0, -EIO);
	add(1, -EROFS);
	assert_int_equal(0, fixture.done);
	loop_turn(fixture.loop, 0);
	assert_int_equal(3, fixture.done);
	assert_int_equal(2, fixture.order[0]);
	assert_int_equal(0, fixture.statuses[0]);
	assert_int_equal(0, fixture.order[1]);
	assert_int_equal(-EIO, fixture.statuses[1]);
	assert_int_equal(1, fixture.order[2]);
	assert_int_equal(-EROFS, fixture.statuses[2]);
}

/* Submitted anew from inside done(): again from the loop, later. */
static void what_is_added_meanwhile_has_its_own_turn(void **state)
{
	(void)state;
	fixture.again = 0;
	add(0, 0);
	add(1, 0);
	loop_turn(fixture.loop, 0);
	loop_turn(fixture.loop, 0);
	assert_int_equal(3, fixture.done);
	assert_int_equal(1, fixture.order[1]);
	assert_int_equal(0, fixture.order[2]);
}

static void the_last_one_may_free_the_channel(void **state)
{
	(void)state;
	fixture.last = 1;
	add(0, 0);
	add(1, 0);
	loop_turn(fixture.loop, 0);
	assert_int_equal(2, fixture.done);
	assert_null(fixture.completions);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_are_done_in_order_with_their_status),
		TEST(what_is_added_meanwhile_has_its_own_turn),
		TEST(the_last_one_may_free_the_channel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

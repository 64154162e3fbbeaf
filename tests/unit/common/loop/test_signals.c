/* Signals as events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/loop/loop.h"

static const int wanted[] = {SIGUSR1, SIGHUP, 0};

static void count(void *arg, int signal)
{
	*(int *)arg += signal;
}

static void signal_becomes_a_call_of_the_handler(void **state)
{
	struct loop *l = loop_new(NULL);
	int sum = 0;

	(void)state;
	assert_int_equal(0, loop_signals(l, wanted, count, &sum));
	assert_int_equal(-EEXIST, loop_signals(l, wanted, count, &sum));
	kill(getpid(), SIGUSR1);
	assert_true(loop_turn(l, LOOP_NS_PER_S));
	assert_int_equal(SIGUSR1, sum);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGHUP);
	loop_turn(l, LOOP_NS_PER_S);
	loop_turn(l, 0);
	assert_int_equal(2 * SIGUSR1 + SIGHUP, sum);
	loop_free(l);
}

static void failure_leaves_the_loop_usable(void **state)
{
	struct loop *l = loop_new(NULL);
	int sum = 0;

	(void)state;
	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, loop_signals(l, wanted, count, &sum));
	sys_fail_nth(1, EMFILE);
	assert_int_equal(-EMFILE, loop_signals(l, wanted, count, &sum));
	assert_int_equal(0, loop_signals(l, wanted, count, &sum));
	loop_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signal_becomes_a_call_of_the_handler),
		cmocka_unit_test(failure_leaves_the_loop_usable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

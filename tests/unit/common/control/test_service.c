/* What both daemons begin with: descriptors, loop and signals, and what systemd is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/sys.h"
#include "common/control/service.h"

static int caught[8];
static unsigned caught_count;

static void on_signal(void *arg, int number)
{
	assert_ptr_equal(caught, arg);
	caught[caught_count++] = number;
}

static struct loop *begin(void)
{
	static const struct loop_config config = {.virtual_clock = true};
	struct loop *l = NULL;

	caught_count = 0;
	assert_int_equal(0, service_loop_new(&config, on_signal, caught, &l));
	return l;
}

static void the_signals_of_a_daemon_come_from_the_loop(void **state)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGTERM};
	struct loop *l = begin();

	(void)state;
	for (int i = 0; i < 3; i++) {
		raise(signals[i]);
		assert_int_equal(i, caught_count); /* not from inside */
		loop_turn(l, 0);
		assert_int_equal(i + 1, caught_count);
		assert_int_equal(signals[i], caught[i]);
	}
	loop_free(l);
}

static void a_peer_that_has_closed_does_not_end_the_process(void **state)
{
	struct loop *l = begin();
	int ends[2];

	(void)state;
	assert_int_equal(0, pipe(ends));
	close(ends[0]);
	assert_int_equal(-1, write(ends[1], "x", 1));
	assert_int_equal(EPIPE, errno);
	close(ends[1]);
	loop_free(l);
}

static void as_many_descriptors_as_the_hard_limit_allows(void **state)
{
	struct rlimit limit;
	struct loop *l;

	(void)state;
	assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 64;
	assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &limit));
	l = begin();
	assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &limit));
	assert_true(limit.rlim_cur == limit.rlim_max);
	loop_free(l);
}

static void what_cannot_be_made_leaves_nothing(void **state)
{
	size_t before = alloc_live();
	struct loop *l = NULL;
	unsigned n = 1;
	int rc;

	(void)state;
	do {
		alloc_fail_nth(n++);
		rc = service_loop_new(NULL, on_signal, caught, &l);
		alloc_fail_nth(0);
		if (rc < 0) {
			assert_null(l);
			assert_int_equal(before, alloc_live());
		}
	} while (rc < 0);
	assert_true(n > 2);
	loop_free(l);
	sys_fail_nth(1, EMFILE);
	assert_int_equal(-EMFILE, service_loop_new(NULL, on_signal, caught, &l));
	sys_fail_nth(0, 0);
	assert_int_equal(before, alloc_live());
}

static void systemd_is_told_where_it_listens(void **state)
{
#ifdef HAVE_SYSTEMD
	char path[] = "/tmp/iseran-notify-XXXXXX", text[32] = "";
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_non_null(mkdtemp(path));
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/socket", path);
	assert_int_equal(0, bind(fd, (struct sockaddr *)&a, sizeof(a)));
	setenv("NOTIFY_SOCKET", a.sun_path, 1);
	service_notify("READY=1");
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(7, recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT));
	assert_string_equal("READY=1", text);
	service_notify("STOPPING=1"); /* nobody listens */
	assert_int_equal(-1, recv(fd, text, sizeof(text), MSG_DONTWAIT));
	close(fd);
	unlink(a.sun_path);
	rmdir(path);
#else
	(void)state;
	service_notify("READY=1");
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_signals_of_a_daemon_come_from_the_loop),
		cmocka_unit_test(a_peer_that_has_closed_does_not_end_the_process),
		cmocka_unit_test(as_many_descriptors_as_the_hard_limit_allows),
		cmocka_unit_test(what_cannot_be_made_leaves_nothing),
		cmocka_unit_test(systemd_is_told_where_it_listens),
	};

	unsetenv("NOTIFY_SOCKET");
	return cmocka_run_group_tests(tests, NULL, NULL);
}

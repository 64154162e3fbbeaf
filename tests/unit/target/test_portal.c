/* Portals and acceptors (target/portal.c): connections go to the workers in turn, on the workers'
 * loops; what cannot be taken over is closed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "target/portal.h"
#include "tests/kit/await.h"

#define WORKERS 2

struct taken {
	struct worker *worker;
	int fd;
};

/* adopt() has no argument of its own; one fixture at a time. */
static struct {
	struct loop *loop; /* of the portal */
	struct worker workers[WORKERS], *pointers[WORKERS];
	struct portal_spread spread;
	struct portal *portal;
	struct taken taken[16];
	unsigned count, lines;
	int adopt_error;
} f;

static enum listener_verdict match_any(const uint8_t *bytes, size_t length)
{
	(void)length;
	return bytes[0] == 'x' ? LISTENER_YES : LISTENER_NO;
}

static int adopt(struct worker *w, int fd)
{
	f.taken[f.count++] = (struct taken){w, fd};
	if (f.adopt_error)
		close(fd); /* owned, also on failure */
	return f.adopt_error;
}

static const struct portal_protocol protocols[] = {{"any", match_any, adopt}};

static void count_lines(void *argument, enum log_level level, const char *line)
{
	(void)argument, (void)line;
	f.lines += level == LOG_LEVEL_ERROR;
}

static int setup(void **state)
{
	struct listener_config config = {.login_timeout_ns = LOOP_NS_PER_S};
	struct address a;
	const char *why;

	(void)state;
	memset(&f, 0, sizeof(f));
	f.loop = loop_new(NULL);
	for (unsigned i = 0; i < WORKERS; i++) {
		f.workers[i].loop = loop_new(NULL);
		f.pointers[i] = &f.workers[i];
	}
	f.spread.workers = f.pointers;
	f.spread.count = WORKERS;
	log_set_sink(count_lines, NULL);
	assert_int_equal(address_parse("127.0.0.1:0", 0, &a, &why), 0);
	return portal_new(f.loop, &a, &config, protocols, 1, &f.spread, &f.portal);
}

static int teardown(void **state)
{
	(void)state;
	log_set_sink(NULL, NULL);
	portal_free(f.portal);
	for (unsigned i = 0; i < WORKERS; i++)
		loop_free(f.workers[i].loop);
	loop_free(f.loop);
	return alloc_live() == 0 ? 0 : -1;
}

static void turn(void)
{
	for (int quiet = 0; quiet < 5; quiet++) {
		bool any = loop_turn(f.loop, 0);

		for (unsigned i = 0; i < WORKERS; i++)
			any |= loop_turn(f.workers[i].loop, 0);
		if (any)
			quiet = 0;
	}
}

static int dial(const char *first)
{
	const struct address *a = portal_address(f.portal);
	int fd = socket(a->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a->sa, a->length), 0);
	assert_int_equal(write(fd, first, 1), 1);
	AWAIT_ONLY(await_arrived(fd));
	return fd;
}

static bool closed_by_peer(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void connections_go_to_the_workers_in_turn(void **state)
{
	int fds[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		fds[i] = dial("x");
		turn();
	}
	assert_int_equal(f.count, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_ptr_equal(f.taken[i].worker, &f.workers[i % WORKERS]);
		close(f.taken[i].fd);
		close(fds[i]);
	}
}

/* The bytes that told the protocol are still there for who takes it over. */
static void a_connection_is_taken_over_whole(void **state)
{
	int fd = dial("x");
	char byte = 0;

	(void)state;
	turn();
	assert_int_equal(recv(f.taken[0].fd, &byte, 1, MSG_DONTWAIT), 1);
	assert_int_equal(byte, 'x');
	close(f.taken[0].fd);
	close(fd);
}

static void a_connection_waits_for_its_workers_loop(void **state)
{
	int fd = dial("x");

	(void)state;
	for (int i = 0; i < 20; i++)
		loop_turn(f.loop, 0);
	assert_int_equal(f.count, 0);
	turn();
	assert_int_equal(f.count, 1);
	close(f.taken[0].fd);
	close(fd);
}

/* Of the accepting and the handing over, each allocation fails once: the connection is closed, and
 * the next is taken. */
static void no_memory_costs_one_connection(void **state)
{
	(void)state;
	for (unsigned long n = 1; f.count == 0; n++) {
		int fd = dial("x");

		assert_true(n < 10);
		alloc_fail_nth(n);
		turn();
		alloc_fail_nth(0);
		AWAIT_ONLY(f.count == 1 || closed_by_peer(fd));
		close(fd);
	}
	assert_int_equal(f.lines, 1); /* the handing over; the listener's own are told to debug */
	close(f.taken[0].fd);
}

static void a_worker_that_cannot_take_it_is_told_in_the_log(void **state)
{
	int fd = dial("x");

	(void)state;
	f.adopt_error = -EMFILE;
	turn();
	assert_int_equal(f.count, 1);
	assert_int_equal(f.lines, 1);
	AWAIT_ONLY(closed_by_peer(fd));
	close(fd);
}

static void more_protocols_than_a_portal_has_room_for_are_refused(void **state)
{
	const struct portal_protocol many[PORTAL_PROTOCOLS_MAX + 1] = {{"a", match_any, adopt}};
	struct listener_config config = {0};
	struct portal *p = NULL;

	(void)state;
	assert_int_equal(portal_new(f.loop, portal_address(f.portal), &config, many,
				 PORTAL_PROTOCOLS_MAX + 1, &f.spread, &p),
		-ENOSPC);
	assert_null(p);
}

static void an_address_in_use_is_refused(void **state)
{
	struct listener_config config = {0};
	struct portal *p = NULL;

	(void)state;
	assert_int_equal(
		portal_new(f.loop, portal_address(f.portal), &config, protocols, 1, &f.spread, &p),
		-EADDRINUSE);
	assert_null(p);
	portal_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(connections_go_to_the_workers_in_turn),
		TEST(a_connection_is_taken_over_whole),
		TEST(a_connection_waits_for_its_workers_loop),
		TEST(no_memory_costs_one_connection),
		TEST(a_worker_that_cannot_take_it_is_told_in_the_log),
		TEST(more_protocols_than_a_portal_has_room_for_are_refused),
		TEST(an_address_in_use_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* One port for several protocols, and what hostile or slow connections can do to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/base/log.h"
#include "common/base/sys.h"
#include "common/loop/listener.h"
#include "tests/kit/await.h"

struct taker {
	struct listener_protocol protocol;
	const char *prefix;
	int fd;
	unsigned taken;
};

struct fixture {
	struct loop *loop;
	struct listener *listener;
	struct taker iscsi, mpa;
	unsigned lines;
};

/* As the two protocols' matchers do: MPA's key is 16 bytes, of which each prefix may be it. */
static enum listener_verdict match_prefix(const char *prefix, const uint8_t *bytes, size_t length)
{
	size_t n = min_size(length, strlen(prefix));

	if (memcmp(bytes, prefix, n) != 0)
		return LISTENER_NO;
	return n == strlen(prefix) ? LISTENER_YES : LISTENER_MORE;
}

static enum listener_verdict iscsi_match(const uint8_t *bytes, size_t length)
{
	return match_prefix("\x43", bytes, length);
}

static enum listener_verdict mpa_match(const uint8_t *bytes, size_t length)
{
	return match_prefix("MPA ID Req Frame", bytes, length);
}

static void taken(struct listener_protocol *p, int fd, const struct address *peer)
{
	struct taker *t = container_of(p, struct taker, protocol);

	assert_true(peer->length > 0);
	if (t->taken++)
		close(t->fd);
	t->fd = fd;
}

static void count_lines(void *arg, enum log_level level, const char *line)
{
	struct fixture *f = arg;

	(void)level;
	(void)line;
	f->lines++;
}

static int setup(void **state)
{
	struct fixture *f = alloc_zeroed(sizeof(*f));
	struct listener_config config = {.login_timeout_ns = LOOP_NS_PER_S, .max_waiting = 3};
	struct address a;
	const char *why;

	*state = f;
	f->loop = loop_new(&(struct loop_config){.virtual_clock = true});
	f->iscsi = (struct taker){.protocol = {"iscsi", iscsi_match, taken, {0}}, .fd = -1};
	f->mpa = (struct taker){.protocol = {"iwarp", mpa_match, taken, {0}}, .fd = -1};
	if (address_parse("127.0.0.1:0", 0, &a, &why) < 0 ||
		listener_new(f->loop, &a, &config, &f->listener) < 0)
		return -1;
	listener_add_protocol(f->listener, &f->iscsi.protocol);
	listener_add_protocol(f->listener, &f->mpa.protocol);
	log_set_sink(count_lines, f);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	log_set_sink(NULL, NULL);
	if (f->iscsi.fd >= 0)
		close(f->iscsi.fd);
	if (f->mpa.fd >= 0)
		close(f->mpa.fd);
	listener_free(f->listener);
	loop_free(f->loop);
	alloc_free(f);
	return alloc_live() == 0 ? 0 : -1;
}

static void settle(struct fixture *f)
{
	for (int quiet = 0; quiet < 5; quiet++)
		if (loop_turn(f->loop, 0))
			quiet = 0;
}

static void client_write(int fd, const char *bytes, size_t length)
{
	/* It may have been dropped by now. */
	if (send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length)
		AWAIT_ONLY(await_arrived(fd));
}

/* Connects and writes; the listener has not been turned yet. */
static int client_dial(struct fixture *f, const char *bytes, size_t length)
{
	const struct address *a = listener_address(f->listener);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(0, connect(fd, (const struct sockaddr *)&a->sa, a->length));
	client_write(fd, bytes, length);
	return fd;
}

static int client_open(struct fixture *f, const char *bytes, size_t length)
{
	int fd = client_dial(f, bytes, length);

	settle(f);
	return fd;
}

/* One that says nothing: seen once it is accepted. */
static int client_open_silent(struct fixture *f)
{
	unsigned before = await_descriptors();
	int fd = client_dial(f, "", 0);

	AWAIT(f->loop, await_descriptors() == before + 2);
	return fd;
}

static bool client_was_dropped(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void first_bytes_tell_the_protocols_apart_and_stay(void **state)
{
	struct fixture *f = *state;
	int a = client_open(f, "\x43\x87", 2), b = client_open(f, "MPA ID Req Frame....", 20);
	char bytes[32];

	assert_int_equal(1, f->iscsi.taken);
	assert_int_equal(1, f->mpa.taken);
	assert_int_equal(2, recv(f->iscsi.fd, bytes, sizeof(bytes), 0));
	assert_int_equal(20, recv(f->mpa.fd, bytes, sizeof(bytes), 0));
	close(a);
	close(b);
}

static void first_bytes_may_come_one_by_one(void **state)
{
	struct fixture *f = *state;
	static const char key[] = "MPA ID Req Frame";
	int a = client_open_silent(f);
	char bytes[32];

	for (int i = 0; i < 16; i++) {
		assert_int_equal(0, f->mpa.taken);
		client_write(a, key + i, 1);
		settle(f);
	}
	assert_int_equal(1, f->mpa.taken);
	assert_int_equal(16, recv(f->mpa.fd, bytes, sizeof(bytes), 0));
	/* The taker's socket is readable from the first byte again. */
	client_write(a, "x", 1);
	assert_int_equal(1, recv(f->mpa.fd, bytes, sizeof(bytes), 0));
	close(a);
}

static void undecided_bytes_do_not_keep_the_loop_busy(void **state)
{
	struct fixture *f = *state;
	int a = client_open(f, "MPA", 3);

	assert_false(loop_turn(f->loop, 0));
	close(a);
}

static void other_protocols_are_dropped(void **state)
{
	struct fixture *f = *state;
	int a = client_open(f, "GET / HTTP/1.0\r\n", 16);

	AWAIT_ONLY(client_was_dropped(a));
	close(a);
}

static void peer_that_ends_amid_its_first_bytes_is_dropped(void **state)
{
	struct fixture *f = *state;
	int a = client_open(f, "MPA", 3);

	shutdown(a, SHUT_WR);
	AWAIT(f->loop, client_was_dropped(a));
	assert_false(loop_turn(f->loop, 0));
	close(a);
}

static void silent_peer_is_dropped_after_the_timeout(void **state)
{
	struct fixture *f = *state;
	int a = client_open_silent(f);

	loop_advance(f->loop, LOOP_NS_PER_S - 1);
	assert_false(client_was_dropped(a));
	loop_advance(f->loop, 1);
	AWAIT_ONLY(client_was_dropped(a));
	close(a);
}

static void one_more_than_may_wait_drops_the_oldest(void **state)
{
	struct fixture *f = *state;
	int fds[5];

	for (int i = 0; i < 5; i++)
		fds[i] = client_open(f, "M", 1);
	AWAIT_ONLY(client_was_dropped(fds[0]));
	AWAIT_ONLY(client_was_dropped(fds[1]));
	for (int i = 2; i < 5; i++)
		assert_false(client_was_dropped(fds[i]));
	assert_int_equal(1, f->lines);
	for (int i = 0; i < 5; i++)
		close(fds[i]);
}

static void without_descriptors_accepting_pauses_with_one_line(void **state)
{
	struct fixture *f = *state;
	int a = client_dial(f, "\x43", 1);

	sys_fail_nth(2, EMFILE); /* the first is the loop's wait, the second accept4() */
	settle(f);
	assert_int_equal(0, f->iscsi.taken);
	assert_int_equal(1, f->lines);
	assert_false(loop_turn(f->loop, 0)); /* not busy */
	loop_advance(f->loop, LOOP_NS_PER_S);
	settle(f);
	assert_int_equal(1, f->iscsi.taken);
	close(a);
}

static void any_call_that_fails_costs_one_connection_at_most(void **state)
{
	struct fixture *f = *state;

	for (unsigned long n = 1; n < 40; n++) {
		int a = client_dial(f, "MPA", 3);

		sys_fail_nth(n, EIO);
		settle(f);
		client_write(a, " ID Req Frame", 13);
		settle(f);
		close(a);
		loop_advance(f->loop, 2 * LOOP_NS_PER_S);
	}
	sys_fail_nth(0, 0);
	assert_true(f->mpa.taken >= 20);
	close(client_open(f, "\x43", 1));
	assert_int_equal(1, f->iscsi.taken);
}

static void listener_that_cannot_be_made_leaks_nothing(void **state)
{
	struct fixture *f = *state;
	struct listener *l = NULL;
	struct address a = *listener_address(f->listener);
	const char *why;

	assert_int_equal(-EADDRINUSE, listener_new(f->loop, &a, NULL, &l));
	assert_int_equal(0, address_parse("127.0.0.1:0", 0, &a, &why));
	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, listener_new(f->loop, &a, NULL, &l));
	for (unsigned long n = 1; n <= 6; n++) {
		sys_fail_nth(n, ENOBUFS);
		assert_int_equal(-ENOBUFS, listener_new(f->loop, &a, NULL, &l));
	}
	assert_null(l);
	listener_free(NULL);
}

static void socket_that_was_handed_over_is_closed_on_failure(void **state)
{
	struct fixture *f = *state;
	struct listener_config config = {0};
	struct listener *l = NULL;

	for (unsigned long n = 1; n <= 2; n++) {
		config.fd = socket(AF_INET, SOCK_STREAM, 0);
		assert_true(config.fd >= 0);
		if (n == 1)
			alloc_fail_nth(1);
		else
			sys_fail_nth(1, ENOBUFS);
		assert_true(listener_new(f->loop, NULL, &config, &l) < 0);
		alloc_fail_nth(0);
		sys_fail_nth(0, 0);
		assert_int_equal(-1, fcntl(config.fd, F_GETFD));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_bytes_tell_the_protocols_apart_and_stay),
		TEST(first_bytes_may_come_one_by_one),
		TEST(undecided_bytes_do_not_keep_the_loop_busy),
		TEST(other_protocols_are_dropped),
		TEST(peer_that_ends_amid_its_first_bytes_is_dropped),
		TEST(silent_peer_is_dropped_after_the_timeout),
		TEST(one_more_than_may_wait_drops_the_oldest),
		TEST(without_descriptors_accepting_pauses_with_one_line),
		TEST(any_call_that_fails_costs_one_connection_at_most),
		TEST(listener_that_cannot_be_made_leaks_nothing),
		TEST(socket_that_was_handed_over_is_closed_on_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Portal addresses and the sockets on them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "common/base/sys.h"
#include "common/loop/address.h"

static struct address parsed(const char *text)
{
	struct address a;
	const char *why;

	assert_int_equal(0, address_parse(text, ADDRESS_DEFAULT_PORT, &a, &why));
	return a;
}

static void assert_printed(const char *expected, const char *text)
{
	struct address a = parsed(text);
	char out[ADDRESS_TEXT_SIZE];

	assert_string_equal(expected, address_print(&a, out));
}

static void addresses_are_printed_in_full(void **state)
{
	char out[ADDRESS_TEXT_SIZE];
	struct address a = parsed("[2001:db8::1]:860");

	(void)state;
	assert_printed("192.0.2.1:3260", "192.0.2.1");
	assert_printed("192.0.2.1:0", "192.0.2.1:0");
	assert_printed("192.0.2.1:65535", "192.0.2.1:65535");
	assert_printed("[2001:db8::1]:3260", "2001:db8::1");
	assert_printed("[2001:db8::1]:3260", "[2001:db8::1]");
	assert_printed("[2001:db8::1]:860", "[2001:db8::1]:860");
	assert_printed("[::]:3260", "*");
	assert_printed("[::]:99", "*:99");
	assert_printed("192.0.2.1:3260", "::ffff:192.0.2.1");
	assert_string_equal("2001:db8::1", address_print_host(&a, out));
	assert_int_equal(860, address_port(&a));
}

static void names_are_printed_without_being_looked_up(void **state)
{
	char out[ADDRESS_TEXT_SIZE], small[8];

	(void)state;
	assert_string_equal("storage.example:860",
		address_print_named("storage.example", 860, out, sizeof(out)));
	assert_string_equal(
		"192.0.2.1:3260", address_print_named("192.0.2.1", 3260, out, sizeof(out)));
	/* RFC 3986 section 3.2.2: an IPv6 address stands in brackets */
	assert_string_equal(
		"[2001:db8::1]:3260", address_print_named("2001:db8::1", 3260, out, sizeof(out)));
	assert_string_equal("192.0.2", address_print_named("192.0.2.1", 1, small, sizeof(small)));
}

static void malformed_addresses_are_refused(void **state)
{
	static const char *const texts[] = {"", ":3260", "[::1", "[]:1",
		"192.0.2.1:", "192.0.2.1:x", "192.0.2.1:65536", "192.0.2.1:-1", "[::1]3260",
		"[::1]:", "192.0.2.1:99999999999999999999"};
	struct address a;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *why = NULL;

		assert_int_equal(-EINVAL, address_parse(texts[i], 3260, &a, &why));
		assert_non_null(why);
	}
}

static void unknown_host_is_told_from_a_malformed_address(void **state)
{
	struct address a;
	const char *why = NULL;

	(void)state;
	assert_int_equal(-ENOENT, address_parse("no-such-host.invalid", 3260, &a, &why));
	assert_non_null(why);
}

static void mapped_address_equals_the_plain_one(void **state)
{
	struct address a = parsed("::ffff:192.0.2.1"), b = parsed("192.0.2.1");
	struct address c = parsed("192.0.2.1:1"), d = parsed("[2001:db8::1]");

	(void)state;
	assert_true(address_equal(&a, &b));
	assert_false(address_equal(&b, &c));
	assert_false(address_equal(&b, &d));
	assert_true(address_equal(&d, &d));
}

static void wildcards_are_known(void **state)
{
	struct address a = parsed("*"), b = parsed("0.0.0.0"), c = parsed("[::]"),
		       d = parsed("127.0.0.1");

	(void)state;
	assert_true(address_is_wildcard(&a));
	assert_true(address_is_wildcard(&b));
	assert_true(address_is_wildcard(&c));
	assert_false(address_is_wildcard(&d));
}

/* Listens on `text` and connects to it by `to`; the descriptors. */
static void connect_pair(const char *text, const char *to, int *ret_listening, int *ret_connected)
{
	struct address a = parsed(text), bound = {.length = sizeof(bound.sa)}, there;
	const char *why;
	struct pollfd p;

	*ret_listening = address_listen(&a);
	assert_true(*ret_listening >= 0);
	assert_int_equal(
		0, getsockname(*ret_listening, (struct sockaddr *)&bound.sa, &bound.length));
	assert_int_equal(0, address_parse(to, address_port(&bound), &there, &why));
	*ret_connected = address_connect(&there);
	assert_true(*ret_connected >= 0);
	p = (struct pollfd){.fd = *ret_connected, .events = POLLOUT};
	assert_int_equal(1, poll(&p, 1, 60000));
	assert_int_equal(POLLOUT, p.revents);
}

static void wildcard_listens_for_ipv4_too(void **state)
{
	int listening, connected;

	(void)state;
	connect_pair("*:0", "127.0.0.1", &listening, &connected);
	assert_true(address_socket_is_local(connected));
	close(listening);
	close(connected);
}

static void socket_to_loopback_is_local(void **state)
{
	int listening, connected;

	(void)state;
	connect_pair("127.0.0.1:0", "127.0.0.1", &listening, &connected);
	assert_true(address_socket_is_local(connected));
	assert_false(address_socket_is_local(listening));
	close(listening);
	close(connected);
}

static void port_in_use_is_reported(void **state)
{
	struct address a = parsed("127.0.0.1:0"), bound = {.length = sizeof(bound.sa)};
	int fd = address_listen(&a);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(0, getsockname(fd, (struct sockaddr *)&bound.sa, &bound.length));
	assert_int_equal(-EADDRINUSE, address_listen(&bound));
	close(fd);
}

static void failed_calls_are_reported_and_leak_no_descriptor(void **state)
{
	struct address a = parsed("127.0.0.1:0");
	int before = dup(0), after;

	(void)state;
	close(before);
	for (unsigned long n = 1; n <= 4; n++) {
		sys_fail_nth(n, EACCES);
		assert_int_equal(-EACCES, address_listen(&a));
	}
	for (unsigned long n = 1; n <= 3; n++) {
		sys_fail_nth(n, EACCES);
		assert_int_equal(-EACCES, address_connect(&a));
	}
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

static void host_without_ipv6_listens_on_ipv4_for_the_wildcard(void **state)
{
	struct address a = parsed("*:0"), bound = {.length = sizeof(bound.sa)};
	int fd;

	(void)state;
	sys_fail_nth(1, EAFNOSUPPORT);
	fd = address_listen(&a);
	assert_true(fd >= 0);
	assert_int_equal(0, getsockname(fd, (struct sockaddr *)&bound.sa, &bound.length));
	assert_int_equal(AF_INET, bound.sa.ss_family);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_printed_in_full),
		cmocka_unit_test(names_are_printed_without_being_looked_up),
		cmocka_unit_test(malformed_addresses_are_refused),
		cmocka_unit_test(unknown_host_is_told_from_a_malformed_address),
		cmocka_unit_test(mapped_address_equals_the_plain_one),
		cmocka_unit_test(wildcards_are_known),
		cmocka_unit_test(wildcard_listens_for_ipv4_too),
		cmocka_unit_test(socket_to_loopback_is_local),
		cmocka_unit_test(port_in_use_is_reported),
		cmocka_unit_test(failed_calls_are_reported_and_leak_no_descriptor),
		cmocka_unit_test(host_without_ipv6_listens_on_ipv4_for_the_wildcard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

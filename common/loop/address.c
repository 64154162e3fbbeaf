/* Portal addresses and the sockets opened on them (RFC 7143 section 4.2.7: the default port is
 * 3260). Called by configuration, discovery, listeners and movers. */
#include "common/loop/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/base/sys.h"

/* A DNS name has at most 253 characters, an IPv6 address with its scope fewer. */
#define HOST_SIZE 256
#define BACKLOG 1024 /* the kernel cuts it to net.core.somaxconn */

/* ---- text to address ---- */

static int port_parse(const char *text, uint16_t *ret)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || port > UINT16_MAX)
		return -EINVAL;
	*ret = (uint16_t)port;
	return 0;
}

/* Cuts text into the host (without brackets) and what follows it: "" or ":port". */
static int host_split(const char *text, char host[HOST_SIZE], const char **ret_rest)
{
	const char *colon = strchr(text, ':');
	const char *end = strchr(text, ']');
	size_t length;

	if (text[0] == '[') {
		if (!end)
			return -EINVAL;
		text++;
		*ret_rest = end + 1;
	} else {
		/* More than one colon without brackets: an IPv6 address without a port. */
		end = colon && !strchr(colon + 1, ':') ? colon : text + strlen(text);
		*ret_rest = end;
	}
	length = (size_t)(end - text);
	if (length == 0 || length >= HOST_SIZE)
		return -EINVAL;
	memcpy(host, text, length);
	host[length] = '\0';
	return 0;
}

static int host_resolve(const char *host, uint16_t port, struct address *ret, const char **why)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *found;
	char service[8];
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(host, service, &hints, &found);
	if (rc != 0) {
		*why = rc == EAI_AGAIN ? "the name cannot be looked up now" : "no such host";
		return -ENOENT;
	}
	memset(ret, 0, sizeof(*ret));
	memcpy(&ret->sa, found->ai_addr, found->ai_addrlen);
	ret->length = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

/* "*": the IPv6 wildcard, which address_listen() opens for IPv4 as well. */
static void address_set_wildcard(struct address *a, uint16_t port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&a->sa;

	memset(a, 0, sizeof(*a));
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(port);
	a->length = sizeof(*sin6);
}

int address_parse(const char *text, uint16_t default_port, struct address *ret, const char **why)
{
	uint16_t port = default_port;
	char host[HOST_SIZE];
	const char *rest;

	if (host_split(text, host, &rest) < 0) {
		*why = "not an address; write 192.0.2.1:3260, [2001:db8::1]:3260, host:3260 or "
		       "*:3260";
		return -EINVAL;
	}
	if (*rest && (*rest != ':' || port_parse(rest + 1, &port) < 0)) {
		*why = "the port is not a number within 0..65535";
		return -EINVAL;
	}
	if (strcmp(host, "*") == 0) {
		address_set_wildcard(ret, port);
		return 0;
	}
	return host_resolve(host, port, ret, why);
}

/* ---- address to text ---- */

/* An IPv4 peer of a socket that serves both families comes as ::ffff:a.b.c.d: shown and compared as
 * what it is. */
static struct address address_plain(const struct address *a)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)&a->sa;
	struct address plain = {.length = sizeof(struct sockaddr_in)};
	struct sockaddr_in *sin = (struct sockaddr_in *)&plain.sa;

	if (a->sa.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&sin6->sin6_addr))
		return *a;
	sin->sin_family = AF_INET;
	sin->sin_port = sin6->sin6_port;
	memcpy(&sin->sin_addr, sin6->sin6_addr.s6_addr + 12, 4);
	return plain;
}

char *address_print_host(const struct address *a, char out[ADDRESS_TEXT_SIZE])
{
	struct address plain = address_plain(a);

	if (getnameinfo((const struct sockaddr *)&plain.sa, plain.length, out, ADDRESS_TEXT_SIZE,
		    NULL, 0, NI_NUMERICHOST) != 0)
		snprintf(out, ADDRESS_TEXT_SIZE, "?");
	return out;
}

char *address_print(const struct address *a, char out[ADDRESS_TEXT_SIZE])
{
	bool brackets = address_plain(a).sa.ss_family == AF_INET6;
	char host[ADDRESS_TEXT_SIZE];

	address_print_host(a, host);
	snprintf(out, ADDRESS_TEXT_SIZE, "%s%.*s%s:%u", brackets ? "[" : "", ADDRESS_TEXT_SIZE - 9,
		host, brackets ? "]" : "", address_port(a));
	return out;
}

char *address_print_named(const char *host, unsigned port, char *out, size_t size)
{
	snprintf(out, size, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
	return out;
}

uint16_t address_port(const struct address *a)
{
	/* The port is at the same place in both families. */
	return ntohs(((const struct sockaddr_in *)&a->sa)->sin_port);
}

static bool host_equal(const struct address *a, const struct address *b)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)&a->sa;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)&b->sa;
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)&a->sa;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)&b->sa;

	if (a->sa.ss_family != b->sa.ss_family)
		return false;
	if (a->sa.ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a->sa.ss_family == AF_INET6 && a6->sin6_scope_id == b6->sin6_scope_id &&
	       memcmp(&a6->sin6_addr, &b6->sin6_addr, 16) == 0;
}

bool address_equal(const struct address *a, const struct address *b)
{
	struct address x = address_plain(a), y = address_plain(b);

	return host_equal(&x, &y) && address_port(&x) == address_port(&y);
}

bool address_is_wildcard(const struct address *a)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)&a->sa;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)&a->sa;

	if (a->sa.ss_family == AF_INET)
		return sin->sin_addr.s_addr == htonl(INADDR_ANY);
	return a->sa.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&sin6->sin6_addr);
}

static bool address_is_loopback(const struct address *a)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)&a->sa;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)&a->sa;

	if (a->sa.ss_family == AF_INET)
		return ntohl(sin->sin_addr.s_addr) >> 24 == 127;
	return a->sa.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&sin6->sin6_addr);
}

bool address_socket_is_local(int fd)
{
	struct address here = {.length = sizeof(here.sa)}, there = here;

	if (sys_getsockname(fd, (struct sockaddr *)&here.sa, &here.length) < 0 ||
		getpeername(fd, (struct sockaddr *)&there.sa, &there.length) < 0)
		return false;
	if (here.sa.ss_family == AF_UNIX)
		return true;
	here = address_plain(&here);
	there = address_plain(&there);
	return address_is_loopback(&there) || host_equal(&here, &there);
}

/* ---- sockets ---- */

static int socket_set(int fd, int level, int name, int value)
{
	return sys_setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int socket_open(const struct address *a)
{
	int fd = sys_socket(
		a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

	return fd < 0 ? -errno : fd;
}

static int socket_listen(int fd, const struct address *a)
{
	int rc = socket_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);

	/* The wildcard serves both families; an address given as IPv6 serves what it says. */
	if (rc == 0 && a->sa.ss_family == AF_INET6)
		rc = socket_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, !address_is_wildcard(a));
	if (rc == 0 && sys_bind(fd, (const struct sockaddr *)&a->sa, a->length) < 0)
		rc = -errno;
	if (rc == 0 && sys_listen(fd, BACKLOG) < 0)
		rc = -errno;
	return rc;
}

static int address_listen_once(const struct address *a)
{
	int fd = socket_open(a);
	int rc;

	if (fd < 0)
		return fd;
	rc = socket_listen(fd, a);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

int address_listen(const struct address *a)
{
	struct address v4 = {.length = sizeof(struct sockaddr_in)};
	int fd = address_listen_once(a);

	/* A host without IPv6 (a container, ipv6.disable=1): "*" is then the IPv4 wildcard. */
	if ((fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL) && a->sa.ss_family == AF_INET6 &&
		address_is_wildcard(a)) {
		v4.sa.ss_family = AF_INET;
		((struct sockaddr_in *)&v4.sa)->sin_port = htons(address_port(a));
		fd = address_listen_once(&v4);
	}
	return fd;
}

int address_connect(const struct address *a)
{
	int fd = socket_open(a);
	int rc;

	if (fd < 0)
		return fd;
	rc = socket_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (rc == 0 && sys_connect(fd, (const struct sockaddr *)&a->sa, a->length) < 0 &&
		errno != EINPROGRESS)
		rc = -errno;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

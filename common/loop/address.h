/* Portal addresses: "192.0.2.1:3260", "[2001:db8::1]:3260", "host", "*:3260"; and the sockets that
 * are opened on them. The default port is 3260 (RFC 7143 section 4.2.7: iscsi-target). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_DEFAULT_PORT 3260
#define ADDRESS_TEXT_SIZE 64 /* "[" INET6_ADDRSTRLEN "%" scope "]:65535" fits */

struct address {
	struct sockaddr_storage sa;
	socklen_t length;
};

/* Parses and, for a host name, resolves `text`. On failure -EINVAL (malformed) or -ENOENT (name
 * not found), with what is wrong in `why` (a string of static storage). */
int address_parse(const char *text, uint16_t default_port, struct address *ret, const char **why);
/* "192.0.2.1:3260" or "[2001:db8::1]:3260". Returns out. */
char *address_print(const struct address *a, char out[ADDRESS_TEXT_SIZE]);
/* The same without the port, and without brackets. */
char *address_print_host(const struct address *a, char out[ADDRESS_TEXT_SIZE]);
/* The same of a host, numeric or a name, that is not looked up. Returns out. */
char *address_print_named(const char *host, unsigned port, char *out, size_t size);
uint16_t address_port(const struct address *a);
bool address_equal(const struct address *a, const struct address *b);
bool address_is_wildcard(const struct address *a);
/* True when both ends of the connected socket are on this host (loopback, or the same address). */
bool address_socket_is_local(int fd);

/* A non-blocking listening socket (SO_REUSEADDR, CLOEXEC); the descriptor, or negative errno. */
int address_listen(const struct address *a);
/* Begins a non-blocking connect (TCP_NODELAY, CLOEXEC); the descriptor, or negative errno. It is
 * connected, or has failed (SO_ERROR), when it becomes writable. */
int address_connect(const struct address *a);

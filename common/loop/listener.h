/* One listening TCP port for several protocols, told apart by the first bytes of each connection:
 * iSCSI/TCP begins with a Login Request (0x43), iSER over software iWARP with an MPA request.
 * Used by the target's daemon; the movers add themselves as protocols. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/loop/address.h"
#include "common/loop/loop.h"

struct listener;

enum listener_verdict {
	LISTENER_NO,
	LISTENER_MORE, /* the bytes seen so far fit, but do not decide */
	LISTENER_YES,
};

#define LISTENER_PEEK_SIZE 20 /* an MPA request frame's fixed part (RFC 5044 section 7.1) */

/* Caller-owned; must outlive the listener. */
struct listener_protocol {
	const char *name; /* for logs */
	/* Judges the first `length` bytes (1..LISTENER_PEEK_SIZE); they stay in the socket. */
	enum listener_verdict (*match)(const uint8_t *bytes, size_t length);
	/* Takes the connected, non-blocking socket over, on the listener's loop. */
	void (*accepted)(struct listener_protocol *p, int fd, const struct address *peer);
	struct list link; /* the listener's own */
};

struct listener_config {
	/* A peer that has not said which protocol it speaks after this time is dropped. 0: 15 s. */
	uint64_t login_timeout_ns;
	/* Connections that may wait for their first bytes at a time; one more drops the oldest.
	 * 0: 64. */
	unsigned max_waiting;
	/* A socket that listens already (socket activation): owned from here on, also on failure,
	 * and `a` is ignored. 0: none. */
	int fd;
};

/* Listens on `a`. 0 or negative errno (EADDRINUSE, EADDRNOTAVAIL, EACCES, ENOMEM). */
int listener_new(struct loop *l, const struct address *a, const struct listener_config *config,
	struct listener **ret);
void listener_free(struct listener *l); /* closes waiting connections; NULL is allowed */
void listener_add_protocol(struct listener *l, struct listener_protocol *p);
/* The address that is bound (with the port chosen by the kernel where 0 was asked for). */
const struct address *listener_address(const struct listener *l);

/* Addresses of portals: names are looked up by a thread, since that may take long and the loop
 * serves devices meanwhile. Called by discover.c, sessions.c and autologin.c. */
#pragma once

#include <stdint.h>

#include "common/loop/address.h"

struct daemon;

/* Calls `done` once, from the loop: with the address, or NULL and one line. `host` without port and
 * brackets. 0 or negative errno (then no `done`). */
int resolve_start(struct daemon *d, const char *host, unsigned port,
	void (*done)(void *owner, const struct address *address, const char *why), void *owner);

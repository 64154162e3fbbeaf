/* How a worker's connections end when the daemon stops, in three steps that the daemon's main
 * times; on the worker's loop. worker->idle is called when nothing is left. */
#pragma once

#include <stdint.h>

struct worker;

/* Initiators on TCP are asked to log out within `seconds`; logins are dropped; discovery sessions,
 * and sessions over iSER (where some initiators do not survive an Async message), are closed once
 * their commands have run to their end. */
void drain_ask(struct worker *w, uint16_t seconds);
/* The others too. */
void drain_close(struct worker *w);
/* Whatever is left is aborted. */
void drain_abort(struct worker *w);

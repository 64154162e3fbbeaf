/* What makes a process a daemon, whichever: its descriptors, its loop and signals, and what it
 * tells systemd. Called by the main() of isertd and of iserd. */
#pragma once

#include "common/loop/loop.h"

/* "READY=1", "RELOADING=1" or "STOPPING=1" (sd_notify(3)): nothing where nobody listens. */
void service_notify(const char *state);
/* The main loop: as many descriptors as may be had, SIGPIPE ignored, and `on_signal` called on it
 * for SIGTERM, SIGINT and SIGHUP. `config` may be NULL. Before any other thread is started. 0 or
 * negative errno. */
int service_loop_new(const struct loop_config *config, void (*on_signal)(void *arg, int signal),
	void *arg, struct loop **ret);

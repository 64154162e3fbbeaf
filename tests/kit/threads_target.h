/* A target of several loops, each a thread, behind one portal on loopback that speaks iSCSI and
 * iSER over software iWARP: as isertd is, without its configuration file and control socket. */
#pragma once

#include "common/loop/address.h"

#define THREADS_IQN "iqn.2026-11.org.iseran:threads" /* LUN 0 fast, LUN 1 slower; 8 MiB each */

struct threads_target;

/* Fails the test when it cannot be made. */
struct threads_target *threads_target_new(void);
const struct address *threads_target_address(const struct threads_target *t);
/* Kills the connections of the loop `i` (modulo their number); returns when that is done. */
void threads_target_kill(struct threads_target *t, unsigned i);
/* Kills what is left, ends the threads. */
void threads_target_free(struct threads_target *t);

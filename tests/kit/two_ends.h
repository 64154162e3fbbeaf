/* An initiator and a target with memory LUNs in one process, on one loop, over a chosen mover: what
 * tests/pair is built from. Time is virtual, and goes on only when nothing else does, so that a
 * story is the same on every machine. Connections are made by the movers as usual; only where a
 * socket would be connected, one end of a byte pipe (pipe.h) is put in its place. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/loop/loop.h"
#include "initiator/discovery.h"
#include "initiator/session.h"
#include "target/worker.h"
#include "tests/kit/pipe.h"

#define TWO_ENDS_IQN "iqn.2026-11.org.iseran:pair"	/* open to all; LUN 0 fast, LUN 1 slow */
#define TWO_ENDS_CHAP_IQN "iqn.2026-11.org.iseran:chap" /* alice; proves itself as carol */
#define TWO_ENDS_INITIATOR "iqn.2026-11.org.iseran:initiator"
#define TWO_ENDS_NAME "alice"
#define TWO_ENDS_SECRET "alice's secret of 24"
#define TWO_ENDS_MUTUAL_NAME "carol"
#define TWO_ENDS_MUTUAL_SECRET "carol's secret of 23"
#define TWO_ENDS_SLOW_NS (60 * LOOP_NS_PER_MS) /* each request of LUN 1 */

enum two_ends_mover {
	TWO_ENDS_TCP,
	TWO_ENDS_TCP_DIGESTS, /* header and data digest */
	TWO_ENDS_ISER_MEMORY,
	TWO_ENDS_ISER_SOFTIWARP,
	TWO_ENDS_ISER_SOFTIWARP_CRC,
	TWO_ENDS_MOVERS
};

struct two_ends_config {
	enum two_ends_mover mover;
	enum pipe_chunking chunking; /* not for the memory provider */
	uint32_t seed;
	bool immediate_data; /* the target allows it */
	bool shallow;	     /* queues of 16, where thousands of connections are made */
	bool direct;	     /* no pipe, but a socketpair from end to end */
};

struct two_ends;

const char *two_ends_mover_name(enum two_ends_mover mover);
/* Fails the test when it cannot be made. */
struct two_ends *two_ends_new(const struct two_ends_config *config);
/* Ends the target as the daemon does, and fails the test if anything is left: memory, regions,
 * tags. */
void two_ends_free(struct two_ends *e);
struct loop *two_ends_loop(struct two_ends *e);
struct worker *two_ends_worker(struct two_ends *e);
/* Turns the loop until `condition(arg)`; fails the test after 20 s of its time. */
void two_ends_until(struct two_ends *e, bool (*condition)(void *arg), void *arg);
/* Turns the loop for `ns`. */
void two_ends_turn_for(struct two_ends *e, uint64_t ns);
/* The newest connection breaks under both ends. */
void two_ends_cut(struct two_ends *e);
/* While refused, nothing can be connected. */
void two_ends_refuse(struct two_ends *e, bool refused);
/* The initiator's mover, for discovery. */
struct dm_mover *two_ends_initiator_mover(struct two_ends *e);

/* ---- a session, and what it has told ---- */

struct two_session {
	struct two_ends *ends;
	struct ini_session *session; /* NULL once freed */
	unsigned logged_in, lost, ended;
	unsigned unexplained; /* losses, and ends with an error, without a reason */
	int error;
	unsigned login_status;
	char why[160];
};

/* What ini_session_new() takes with a two_session as owner. */
extern const struct ini_session_events two_session_events;
/* A configuration for `target`, to be changed before two_session_start(). */
struct ini_session_config two_session_config(struct two_ends *e, const char *target);
void two_session_start(
	struct two_session *s, struct two_ends *e, const struct ini_session_config *config);
/* The same where it may fail: 0, or what ini_session_new() said. */
int two_session_try(
	struct two_session *s, struct two_ends *e, const struct ini_session_config *config);
/* Starts, and waits until it is logged in or has ended. */
void two_session_login(
	struct two_session *s, struct two_ends *e, const struct ini_session_config *config);
/* Logs out if it is not over yet, waits, frees. */
void two_session_end(struct two_session *s);

/* ---- one task ---- */

struct two_task {
	struct ini_task task;
	unsigned done;
	int error;
};

/* READ or WRITE of `blocks` blocks of 512 bytes. */
void two_task_read(struct two_task *t, uint16_t lun, uint64_t lba, uint32_t blocks, void *data,
	struct dm_region *region);
void two_task_write(struct two_task *t, uint16_t lun, uint64_t lba, uint32_t blocks, void *data,
	struct dm_region *region);
/* TEST UNIT READY. */
void two_task_ready(struct two_task *t, uint16_t lun);
void two_task_submit(struct two_session *s, struct two_task *t);
void two_task_wait(struct two_session *s, struct two_task *t);
/* Submits, waits, and expects GOOD; unit attentions are passed over. */
void two_task_run(struct two_session *s, struct two_task *t);

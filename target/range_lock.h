/* Ranges of a logical unit that one command works on alone: COMPARE AND WRITE (SBC-3 section 5.2)
 * and ORWRITE read and write as one, among the commands of all loops. Everything else that touches
 * the medium holds its range shared, which costs an atomic add and subtract per stripe.
 *
 * The medium is dealt over 64 stripes, 1 MiB at a time; two ranges may thus meet in a stripe
 * without overlapping, which costs time, not correctness. Used by transfer.c and sbc_unmap.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/loop/loop.h"

#define RANGE_STRIPES 64
#define RANGE_STRIPE_SHIFT 20

/* A count of shared holders, and the flag of an exclusive one that is there or waits for them. */
struct range_stripe {
	_Alignas(64) _Atomic uint32_t state;
};

struct range_lock {
	struct range_stripe stripes[RANGE_STRIPES];
	pthread_mutex_t mutex; /* what is below, and the exclusive flags above */
	struct list waiting;   /* struct range_hold.link */
};

enum range_hold_state {
	RANGE_FREE,
	RANGE_WAITING, /* in the lock's list */
	RANGE_WOKEN,   /* its message is on the way to its loop */
	RANGE_HELD,
};

/* One command's hold. Zeroed at first; `loop` and `woken` are set by the caller. */
struct range_hold {
	struct loop *loop;
	/* Try again with range_lock_take(): called on `loop`, once per wait. */
	void (*woken)(struct range_hold *h);
	/* the lock's own: */
	_Atomic uint8_t state; /* enum range_hold_state: another loop makes WAITING WOKEN */
	uint64_t mask;
	bool exclusive, claimed;
	struct range_lock *lock;
	struct list link;
	struct loop_message message;
};

void range_lock_init(struct range_lock *l);
void range_lock_destroy(struct range_lock *l);
/* True: held. False: woken() follows. An empty range is held at once. */
bool range_lock_take(struct range_lock *l, struct range_hold *h, uint64_t offset, uint64_t length,
	bool exclusive);
/* Gives the hold up, whatever became of it: held, or (after woken()) not taken again. Harmless when
 * free. */
void range_lock_release(struct range_hold *h);
/* Gives up waiting. True: done; false: woken() is on its way and will come, the hold lives until
 * then. */
bool range_lock_cancel(struct range_hold *h);

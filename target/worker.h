/* What one loop of the target owns, made at start: the movers, the registered arena that command
 * buffers come from, the pool of commands. A connection stays with its worker for life. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/base/pool.h"
#include "common/datamover/datamover.h"
#include "common/loop/loop.h"

struct target_set; /* target/target_set.h: everything that is exported, shared by the workers */
struct tgt_lun;
struct backend_channel;

/* Sizes of arena buffers. A transfer longer than the large size is cut into extents (transfer.c),
 * so that no command needs more than a few buffers however long it is. */
#define WORKER_SMALL_BUFFER 8192 /* parameter data, sense, 4 KiB and 8 KiB I/O */
#define WORKER_MEDIUM_BUFFER 65536
#define WORKER_LARGE_BUFFER (1024 * 1024)

#define WORKER_MOVERS_MAX 4

struct worker_config {
	uint64_t spin_ns;
	unsigned commands; /* in flight on this loop; 0: 1024 */
	size_t arena_size; /* bytes; 0: 64 MiB */
};

struct tgt_session_counters {
	uint64_t commands, read_bytes, written_bytes, errors;
};

struct worker_mover {
	struct worker *worker;
	struct dm_mover *mover;
	struct dm_region *arena; /* the worker's arena, as this mover knows it */
};

struct worker {
	struct loop *loop;
	unsigned index;
	struct arena *arena;
	struct pool *commands;
	struct list starved; /* commands that wait for a buffer, struct command.starved_link */
	struct worker_mover movers[WORKER_MOVERS_MAX];
	unsigned mover_count;
	struct list sessions; /* of this worker, struct tgt_session.worker_link */
	struct list conns;    /* struct tgt_conn.worker_link */
	struct list channels; /* open ones, struct worker_channel.link */
	struct target_set *targets;
	struct tgt_session_counters counters; /* of the sessions that are gone */
	void *platform;			      /* the daemon's own: what it made the movers from */
	void (*platform_free)(struct worker *w); /* after the movers, before the loop; or NULL */
	/* While the daemon stops: called when the last connection and session are gone. */
	void (*idle)(struct worker *w);
	struct loop_call settle;
};

/* ---- worker.c ---- */

/* A loop of its own, with arena and commands; movers are added before it runs. NULL: no memory. */
struct worker *worker_new(
	unsigned index, const struct worker_config *config, struct target_set *targets);
/* Frees the movers too. No connection and no session is left; NULL is allowed. */
void worker_free(struct worker *w);
/* Owns `mover` from here on, also on failure; registers the arena with it. */
int worker_add_mover(struct worker *w, struct dm_mover *mover, struct worker_mover **ret);
/* A connection or a session of this worker has gone. */
void worker_settle(struct worker *w);
/* Opens the channels of LUNs that are memory, and registers that. At start, where a device takes
 * its time for it: later it would be a login that waits. */
void worker_open_memory(struct worker *w);
/* Closes every channel; no session is left. On the worker's loop. */
void worker_close_channels(struct worker *w);
/* Flushes the backend of every channel, then calls `done`. No session is left. -ENOMEM: nothing was
 * done. On the worker's loop. */
int worker_flush_channels(struct worker *w, void (*done)(struct worker *w));
/* Closes the channels that nobody uses, of LUNs that a reload has removed. */
void worker_sweep_channels(struct worker *w);

/* The worker's channel to a logical unit, opened by its first user; negative errno. */
int worker_channel_get(struct worker *w, struct tgt_lun *lun, struct backend_channel **ret);
void worker_channel_put(struct worker *w, struct tgt_lun *lun);
/* The backend's own memory as the mover knows it, so that data goes straight from and to it; NULL
 * where it has none, or could not be registered. The caller uses the channel. */
struct dm_region *worker_channel_region(struct worker_mover *m, struct tgt_lun *lun);

/* ---- arena.c: buffers of three sizes out of one registered range ---- */

struct arena;

/* Huge pages where there are any. NULL when there is no memory. */
struct arena *arena_new(size_t size);
void arena_free(struct arena *a);
/* A buffer of at least `size` bytes (at most WORKER_LARGE_BUFFER), or NULL when none is left. Large
 * sizes keep a reserve for small ones, so that small commands never starve behind large. */
void *arena_get(struct arena *a, size_t size, uint32_t *ret_capacity);
/* The same, but leaves `spare` of the largest size alone. */
void *arena_get_sparing(struct arena *a, size_t size, size_t spare, uint32_t *ret_capacity);
void arena_put(struct arena *a, void *buffer);
void *arena_memory(const struct arena *a, size_t *ret_length);

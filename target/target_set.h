/* What is exported: targets and their logical units, shared by all workers. Logins look it up under
 * its lock; commands never do (a session keeps its own table of nexuses). A reload of the
 * configuration builds what is new, then swaps it in at once. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/loop/address.h"
#include "target/config.h"
#include "target/device.h"
#include "target/registry.h"

struct worker;
struct worker_channel;

/* Makes the backend that a LUN's rows describe. 0; negative errno with one line in `why`. */
typedef int target_open_backend(
	const struct config_lun *row, struct backend **ret, char *why, size_t why_size);

struct tgt_lun {
	_Atomic unsigned holders;
	_Atomic bool removed; /* by a reload: channels are closed when their last user goes */
	uint16_t number;
	struct device *device;
	const struct config_lun *row; /* in the set's configuration; under its lock */
	size_t channel_count;
	struct worker_channel *channels[]; /* by worker index; each its worker's own */
};

struct tgt_target {
	_Atomic unsigned holders;
	_Atomic bool removed;
	char name[224];
	/* under the set's lock: */
	struct list link;
	const struct config_target *row; /* in the set's configuration; NULL once removed */
	struct tgt_lun **luns;		 /* ascending */
	size_t lun_count;
};

struct target_set {
	pthread_mutex_t lock;
	struct config *config;
	struct list targets;
	char (*portals)[ADDRESS_TEXT_SIZE]; /* as bound; set before the workers run */
	size_t portal_count;

	struct registry registry;
	_Atomic unsigned logins; /* connections in their login phase */
	_Atomic bool draining;	 /* no login any more */
	target_open_backend *open_backend;
	size_t worker_count;
};

/* Opens every backend. 0; -EINVAL with complaints in `report`; -ENOMEM. Holds `c`. */
int target_set_new(struct config *c, size_t worker_count, target_open_backend *open_backend,
	struct config_report *report, struct target_set **ret);
void target_set_free(struct target_set *s); /* no session is left; NULL is allowed */
/* Swaps `c` in; LUNs that did not change stay as they are. On failure nothing has changed. */
int target_set_reload(struct target_set *s, struct config *c, struct config_report *report);

/* The target of that name (in any case), held; NULL. */
struct tgt_target *target_set_find(struct target_set *s, const char *name);
struct tgt_target *tgt_target_hold(struct tgt_target *t);
void tgt_target_release(struct tgt_target *t); /* NULL is allowed */
struct tgt_lun *tgt_lun_hold(struct tgt_lun *l);
void tgt_lun_release(struct tgt_lun *l); /* NULL is allowed */

/* access.c: the access list. The entry that admits `initiator`; NULL with *ret_open = true where
 * the target has no list, NULL with false where it is refused. */
const struct config_initiator *access_find(
	const struct config_target *t, const char *initiator, bool *ret_open);
/* Whether the entry (NULL: no list) shows the LUN. */
bool access_shows(const struct config_initiator *i, uint16_t lun);

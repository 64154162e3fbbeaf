/* Every session of the daemon, on whichever loop: where a login finds the session that it
 * reinstates (RFC 7143 section 6.3.5). Under one mutex, taken by logins and by the end of a session
 * only.
 *
 * A session stays here until its last request has come back from the backend, also when its
 * connection is long gone. A newer session of the same I_T nexus counts such predecessors and holds
 * its medium access back until they have left, so that an old write never lands on a newer one; the
 * login itself waits for nobody. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/iscsi/pdu.h"
#include "common/loop/loop.h"

struct registry {
	pthread_mutex_t lock;
	struct list entries; /* oldest first */
	uint16_t last_tsih;
};

/* What other loops have to say to a session; delivered together, on its own loop. */
struct registry_mail {
	bool superseded;   /* a newer login took its place: terminate */
	bool reset;	   /* its target was reset cold: terminate */
	unsigned released; /* so many predecessors have come to rest */
	bool last; /* it was removed meanwhile: nothing more comes, the entry may be freed */
};

struct registry_entry {
	/* set by the session; the strings are its own */
	const char *initiator_name, *target_name;
	struct iscsi_isid isid;
	bool discovery; /* such sessions never reinstate each other */
	struct loop *loop;
	void (*deliver)(struct registry_entry *e, const struct registry_mail *mail);
	/* set by registry_add() */
	uint16_t tsih;
	unsigned predecessors;
	/* the registry's own */
	struct registry *registry;
	struct list link;
	struct loop_message message;
	struct registry_mail mail;
	bool posted, superseded, removed;
};

struct registry_limits {
	size_t sessions, target_sessions;
};

int registry_init(struct registry *r);
void registry_destroy(struct registry *r);
/* Enters a new session and tells its predecessors to terminate. `tsih`: 0, or that of the session
 * which it takes the place of. -EMFILE: the daemon has `limits->sessions`; -EUSERS: the target has
 * its own limit. */
int registry_add(struct registry *r, struct registry_entry *e, uint16_t tsih,
	const struct registry_limits *limits);
/* TARGET COLD RESET (section 11.5.1): every session with the target is told to terminate, the
 * asking one too. */
void registry_reset_target(struct registry *r, const char *target_name);
/* The session is at rest. True: the entry may be freed at once; false:
 * when mail with `last` comes. */
bool registry_remove(struct registry_entry *e);
/* Whether there is such a session (section 6.3.1: TSIH other than 0 in a login). */
bool registry_has(struct registry *r, const char *initiator_name, const char *target_name,
	const struct iscsi_isid *isid, uint16_t tsih);
size_t registry_count(struct registry *r);

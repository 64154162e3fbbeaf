/* Logins where node.startup is automatic (or onboot): in the background, each tried until it works,
 * since a target or the network may come up later than this host. Called by start.c and stop.c. */
#include <stdio.h>
#include <string.h>

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "initiator/daemon/sessions.h"

#define DELAY_FIRST_NS LOOP_NS_PER_S
#define DELAY_LAST_NS (60 * LOOP_NS_PER_S)

/* One record that is to become a session. */
struct autologin {
	struct daemon *daemon;
	struct list link; /* in daemon.autologins */
	/* which record: it is read anew for each try, since people may mend it meanwhile */
	char target[ISCSI_NAME_MAX + 1], address[RECORDS_ADDRESS_SIZE], iface[RECORDS_IFACE_SIZE];
	uint16_t port;
	struct loop_timer timer;
	uint64_t delay_ns;
	bool trying;
	char why[SESSION_WHY_SIZE]; /* of the last failure: told once */
};

static void autologin_free(struct autologin *a)
{
	loop_timer_cancel(&a->timer);
	list_remove(&a->link);
	alloc_free(a);
}

static void again(struct autologin *a, const char *why)
{
	if (strcmp(why, a->why) != 0) {
		log_warning("autologin", "%s: %s; it is tried again", a->target, why);
		snprintf(a->why, sizeof(a->why), "%s", why);
	}
	if (loop_timer_arm(a->daemon->loop, &a->timer, a->delay_ns) < 0)
		autologin_free(a);
	else
		a->delay_ns = min_u64(a->delay_ns * 2, DELAY_LAST_NS);
}

static void tried(void *owner, struct daemon_session *s, int status, const char *error)
{
	struct autologin *a = owner;

	(void)s;
	a->trying = false;
	if (status == STATUS_OK || a->daemon->stopping)
		autologin_free(a);
	else
		again(a, error);
}

/* node.leading_login: one session to the target is enough, once it is there. */
static void leave_to(struct autologin *a, const struct daemon_session *other)
{
	if (other->phase == SESSION_UP ||
		loop_timer_arm(a->daemon->loop, &a->timer, DELAY_FIRST_NS) < 0)
		autologin_free(a);
}

static void try_login(struct autologin *a)
{
	struct record_filter key = {a->target, a->address, a->port, -1, a->iface};
	struct session_waiter done = {tried, a, NULL};
	char why[SESSION_WHY_SIZE];
	struct daemon_session *other;
	struct node_record r;
	int status = STATUS_OK;

	_Static_assert(SESSION_WHY_SIZE >= RECORDS_WHY_SIZE, "both are written to `why`");
	if (records_read(a->daemon->records, &key, &r, why) < 0 ||
		r.startup == NODE_STARTUP_MANUAL) {
		autologin_free(a); /* somebody has changed their mind */
		return;
	}
	other = r.leading_login ? session_find_target(a->daemon, a->target) : NULL;
	if (other) {
		leave_to(a, other);
		return;
	}
	a->trying = true;
	status = session_login(a->daemon, &r, &done, why);
	explicit_bzero(&r, sizeof(r));
	if (status == STATUS_OK)
		return;
	a->trying = false;
	if (status == STATUS_EXISTS)
		autologin_free(a);
	else
		again(a, why);
}

static void expired(struct loop_timer *t)
{
	try_login(container_of(t, struct autologin, timer));
}

static int add(void *arg, const struct node_record *r, const char *why)
{
	struct daemon *d = arg;
	struct autologin *a;

	if (!r) {
		log_warning("autologin", "%s", why);
		return 0;
	}
	if (r->startup == NODE_STARTUP_MANUAL)
		return 0;
	a = alloc_zeroed(sizeof(*a));
	if (!a) {
		log_error("autologin", "%s: no memory", r->target_name);
		return 0;
	}
	a->daemon = d;
	memcpy(a->target, r->target_name, sizeof(a->target));
	memcpy(a->address, r->address, sizeof(a->address));
	memcpy(a->iface, r->iface, sizeof(a->iface));
	a->port = (uint16_t)r->port;
	a->timer.expired = expired;
	a->delay_ns = DELAY_FIRST_NS;
	list_append(&d->autologins, &a->link);
	return 0;
}

void autologin_start(struct daemon *d)
{
	struct record_filter all = {.tpgt = -1};
	struct autologin *a, *next;

	records_each(d->records, &all, add, d);
	list_for_each_safe(a, next, &d->autologins, link)
		try_login(a);
}

/* Those that are being tried are freed by `tried`, when their session has ended. */
void autologin_stop(struct daemon *d)
{
	struct autologin *a, *next;

	list_for_each_safe(a, next, &d->autologins, link)
		if (!a->trying)
			autologin_free(a);
}

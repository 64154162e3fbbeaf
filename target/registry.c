/* The registry of sessions: session reinstatement across loops (RFC 7143 section 6.3.5). Called by
 * session.c on any loop. */
#include "target/registry.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

int registry_init(struct registry *r)
{
	list_init(&r->entries);
	r->last_tsih = 0;
	return -pthread_mutex_init(&r->lock, NULL);
}

void registry_destroy(struct registry *r)
{
	pthread_mutex_destroy(&r->lock);
}

static bool same_target(const struct registry_entry *a, const struct registry_entry *b)
{
	return a->discovery == b->discovery &&
	       (a->discovery || !strcasecmp(a->target_name, b->target_name));
}

/* The I_T nexus: initiator port (name and ISID) and target (one portal group). */
static bool same_nexus(const struct registry_entry *a, const struct registry_entry *b)
{
	return !a->discovery && same_target(a, b) &&
	       !strcasecmp(a->initiator_name, b->initiator_name) &&
	       !memcmp(&a->isid, &b->isid, sizeof(a->isid));
}

/* On the entry's loop: takes the mail out under the lock, then reads it. */
static void entry_deliver(struct loop_message *m)
{
	struct registry_entry *e = container_of(m, struct registry_entry, message);
	struct registry_mail mail;

	pthread_mutex_lock(&e->registry->lock);
	mail = e->mail;
	mail.last = e->removed;
	e->mail = (struct registry_mail){0};
	e->posted = false;
	pthread_mutex_unlock(&e->registry->lock);
	e->deliver(e, &mail);
}

static void entry_post(struct registry_entry *e)
{
	if (e->posted)
		return;
	e->posted = true;
	e->message.deliver = entry_deliver;
	loop_post(e->loop, &e->message);
}

static void entry_supersede(struct registry_entry *old)
{
	if (old->superseded)
		return;
	old->superseded = true;
	old->mail.superseded = true;
	entry_post(old);
}

static bool tsih_used(const struct registry *r, uint16_t tsih)
{
	const struct registry_entry *e;

	list_for_each(e, &r->entries, link)
		if (e->tsih == tsih)
			return true;
	return false;
}

/* 1..65535 in turn; the limits of the configuration keep some free. */
static uint16_t tsih_next(struct registry *r)
{
	do {
		r->last_tsih++;
	} while (!r->last_tsih || tsih_used(r, r->last_tsih));
	return r->last_tsih;
}

/* Those that are about to be replaced, and those only waiting for their backend, do not count. */
static int check_limits(const struct registry *r, const struct registry_entry *new,
	const struct registry_limits *limits)
{
	const struct registry_entry *e;
	size_t all = 0, of_target = 0, entries = 0;

	list_for_each(e, &r->entries, link) {
		entries++;
		if (e->superseded || same_nexus(e, new))
			continue;
		all++;
		of_target += same_target(e, new);
	}
	if (all >= limits->sessions || entries >= UINT16_MAX - 1)
		return -EMFILE;
	if (!new->discovery && of_target >= limits->target_sessions)
		return -EUSERS;
	return 0;
}

static void enter(struct registry *r, struct registry_entry *new, uint16_t tsih)
{
	struct registry_entry *e;

	new->registry = r;
	new->predecessors = 0;
	new->tsih = tsih ? tsih : tsih_next(r);
	list_for_each(e, &r->entries, link)
		if (same_nexus(e, new)) {
			new->predecessors++;
			entry_supersede(e);
		}
	list_append(&r->entries, &new->link);
}

int registry_add(struct registry *r, struct registry_entry *e, uint16_t tsih,
	const struct registry_limits *limits)
{
	int err;

	pthread_mutex_lock(&r->lock);
	err = check_limits(r, e, limits);
	if (err == 0)
		enter(r, e, tsih);
	pthread_mutex_unlock(&r->lock);
	return err;
}

void registry_reset_target(struct registry *r, const char *target_name)
{
	const struct registry_entry key = {.target_name = target_name};
	struct registry_entry *e;

	pthread_mutex_lock(&r->lock);
	list_for_each(e, &r->entries, link)
		if (same_target(e, &key)) {
			e->mail.reset = true;
			entry_post(e);
		}
	pthread_mutex_unlock(&r->lock);
}

/* Whoever stands behind in the list is newer, and has counted this one. */
static void release_successors(struct registry_entry *gone)
{
	struct list *head = &gone->registry->entries;

	for (struct list *n = gone->link.next; n != head; n = n->next) {
		struct registry_entry *e = list_entry(n, struct registry_entry, link);

		if (!same_nexus(e, gone))
			continue;
		e->mail.released++;
		entry_post(e);
	}
}

bool registry_remove(struct registry_entry *e)
{
	bool posted;

	pthread_mutex_lock(&e->registry->lock);
	release_successors(e);
	list_remove(&e->link);
	e->removed = true;
	posted = e->posted;
	pthread_mutex_unlock(&e->registry->lock);
	return !posted;
}

bool registry_has(struct registry *r, const char *initiator_name, const char *target_name,
	const struct iscsi_isid *isid, uint16_t tsih)
{
	struct registry_entry key = {
		.initiator_name = initiator_name, .target_name = target_name, .isid = *isid};
	struct registry_entry *e;
	bool found = false;

	pthread_mutex_lock(&r->lock);
	list_for_each(e, &r->entries, link)
		if (e->tsih == tsih && !e->superseded && same_nexus(e, &key))
			found = true;
	pthread_mutex_unlock(&r->lock);
	return found;
}

size_t registry_count(struct registry *r)
{
	struct registry_entry *e;
	size_t count = 0;

	pthread_mutex_lock(&r->lock);
	list_for_each(e, &r->entries, link)
		count++;
	pthread_mutex_unlock(&r->lock);
	return count;
}

/* Reservations: the state, who conflicts with it, and RESERVE and RELEASE of SPC-2, which SPC-4
 * section 5.13.3 lets live beside persistent reservations (CRH). Persistent ones are read by
 * reservations_in.c and changed by reservations_out.c. */
#include "target/reservations.h"

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "target/command.h"
#include "target/executors.h"

struct reservation *reservation_new(void)
{
	return alloc_zeroed(sizeof(struct reservation));
}

void reservation_free(struct reservation *r)
{
	alloc_free(r);
}

struct registrant *reservation_registrant(struct reservation *r, const char *initiator_port)
{
	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++)
		if (r->registrants[i].key &&
			!strcmp(r->registrants[i].initiator_port, initiator_port))
			return &r->registrants[i];
	return NULL;
}

bool reservation_is_all(const struct reservation *r)
{
	return r->type == RESERVATION_WRITE_EXCLUSIVE_ALL ||
	       r->type == RESERVATION_EXCLUSIVE_ACCESS_ALL;
}

bool reservation_is_holder(const struct reservation *r, const struct registrant *g)
{
	return g && r->type && (reservation_is_all(r) || r->holder == g);
}

void reservation_update(struct device *d)
{
	const struct reservation *r = d->reservation;

	atomic_store_explicit(&d->reserved, r->holder_nexus || r->type, memory_order_release);
}

void reservation_nexus_lost(struct device *d, const struct nexus *n)
{
	if (!n || d->reservation->holder_nexus == n->id)
		d->reservation->holder_nexus = 0;
	reservation_update(d);
}

/* ---- who conflicts ---- */

static bool registrants_may(uint8_t type)
{
	return type >= RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS;
}

static bool others_may_read(uint8_t type)
{
	return type == RESERVATION_WRITE_EXCLUSIVE ||
	       type == RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS ||
	       type == RESERVATION_WRITE_EXCLUSIVE_ALL;
}

static bool persistent_conflict(struct reservation *r, const struct nexus *n, unsigned flags)
{
	const struct registrant *g = reservation_registrant(r, n->initiator_port);

	if (!r->type || flags & OPERATION_DESPITE_RESERVATION || reservation_is_holder(r, g))
		return false;
	if (g && registrants_may(r->type))
		return false;
	return !(others_may_read(r->type) && flags & OPERATION_READS_RESERVED);
}

bool reservation_conflicts(const struct command *cmd)
{
	const struct nexus *n = cmd->nexus;
	struct device *d = n->device;
	struct reservation *r = d->reservation;
	unsigned flags = cmd->operation->flags;
	bool conflict;

	pthread_mutex_lock(&d->lock);
	conflict =
		r->holder_nexus && r->holder_nexus != n->id && !(flags & OPERATION_DESPITE_RESERVE);
	if (!conflict)
		conflict = persistent_conflict(r, n, flags);
	pthread_mutex_unlock(&d->lock);
	return conflict;
}

/* ---- RESERVE and RELEASE (SPC-2 sections 7.21 to 7.24) ---- */

static bool any_registrant(const struct reservation *r)
{
	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++)
		if (r->registrants[i].key)
			return true;
	return false;
}

/* Beside a persistent reservation that the nexus may use anyway, RESERVE does nothing; beside any
 * other, and beside registrations alone, it conflicts. */
static uint8_t reserve(struct reservation *r, const struct nexus *n)
{
	const struct registrant *g = reservation_registrant(r, n->initiator_port);

	if (reservation_is_holder(r, g) || (g && r->type && registrants_may(r->type)))
		return SCSI_GOOD;
	if (r->type || any_registrant(r))
		return SCSI_RESERVATION_CONFLICT;
	r->holder_nexus = n->id;
	return SCSI_GOOD;
}

void reservation_reserve(struct command *cmd)
{
	struct device *d = cmd->nexus->device;
	uint8_t status;

	pthread_mutex_lock(&d->lock);
	status = reserve(d->reservation, cmd->nexus);
	reservation_update(d);
	pthread_mutex_unlock(&d->lock);
	command_finish(cmd, status);
}

/* From one who has not reserved it is no error, and releases nothing. */
void reservation_release(struct command *cmd)
{
	struct device *d = cmd->nexus->device;

	pthread_mutex_lock(&d->lock);
	reservation_nexus_lost(d, cmd->nexus);
	pthread_mutex_unlock(&d->lock);
	command_finish(cmd, SCSI_GOOD);
}

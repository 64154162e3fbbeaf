/* Reservations of a logical unit: RESERVE and RELEASE of SPC-2, persistent reservations of SPC-4
 * section 5.13. State is under the device's mutex; device->reserved spares
 * commands the look at it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/scsi/reservation.h"

struct command;
struct device;
struct nexus;
struct reservation;

/* Initiator ports that may be registered at a time: two per host of a large cluster. */
#define RESERVATION_REGISTRANTS_MAX 128

struct registrant {
	char initiator_port[256];
	uint64_t key; /* 0: the slot is free */
};

struct reservation {
	uint64_t holder_nexus; /* RESERVE: the nexus's id; 0: none */
	uint32_t generation;
	struct registrant registrants[RESERVATION_REGISTRANTS_MAX];
	uint8_t type;		   /* enum reservation_type; 0: no persistent reservation */
	struct registrant *holder; /* not for the types of all registrants */
};

/* NULL when there is no memory. */
struct reservation *reservation_new(void);
void reservation_free(struct reservation *r); /* NULL is allowed */
/* Whether `cmd` must be refused with RESERVATION CONFLICT. Takes the device's mutex. */
bool reservation_conflicts(const struct command *cmd);

/* The device's mutex is held by the caller of what follows. */

/* The nexus is gone, or (NULL) the unit was reset: a RESERVE ends. */
void reservation_nexus_lost(struct device *d, const struct nexus *n);
struct registrant *reservation_registrant(struct reservation *r, const char *initiator_port);
bool reservation_is_all(const struct reservation *r); /* a type of all registrants is in force */
bool reservation_is_holder(const struct reservation *r, const struct registrant *g);
/* Keeps device->reserved in step with the state. */
void reservation_update(struct device *d);

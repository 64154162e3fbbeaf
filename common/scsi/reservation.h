/* Persistent reservations (SPC-4 sections 5.13, 6.15, 6.16): codes and parameter data. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

enum reservation_in_action {
	RESERVATION_READ_KEYS = 0,
	RESERVATION_READ_RESERVATION = 1,
	RESERVATION_REPORT_CAPABILITIES = 2,
	RESERVATION_READ_FULL_STATUS = 3,
};

enum reservation_out_action {
	RESERVATION_REGISTER = 0,
	RESERVATION_RESERVE = 1,
	RESERVATION_RELEASE = 2,
	RESERVATION_CLEAR = 3,
	RESERVATION_PREEMPT = 4,
	RESERVATION_PREEMPT_AND_ABORT = 5,
	RESERVATION_REGISTER_AND_IGNORE = 6,
	RESERVATION_REGISTER_AND_MOVE = 7,
};

enum reservation_type {
	RESERVATION_WRITE_EXCLUSIVE = 1,
	RESERVATION_EXCLUSIVE_ACCESS = 3,
	RESERVATION_WRITE_EXCLUSIVE_REGISTRANTS = 5,
	RESERVATION_EXCLUSIVE_ACCESS_REGISTRANTS = 6,
	RESERVATION_WRITE_EXCLUSIVE_ALL = 7,
	RESERVATION_EXCLUSIVE_ACCESS_ALL = 8,
};

#define RESERVATION_OUT_LENGTH 24 /* of every service action but REGISTER AND MOVE */

struct reservation_out {
	uint64_t key, service_action_key;
	bool spec_i_pt, all_tg_pt, aptpl;
};

void reservation_out_encode(const struct reservation_out *o, uint8_t out[RESERVATION_OUT_LENGTH]);
void reservation_out_decode(const uint8_t in[RESERVATION_OUT_LENGTH], struct reservation_out *ret);

/* READ KEYS: as many keys as fit are written; ADDITIONAL LENGTH tells of all. */
void reservation_keys_encode(
	uint32_t generation, const uint64_t *keys, size_t count, struct bytes_writer *w);
/* READ RESERVATION: type 0 is "no reservation". */
void reservation_holder_encode(
	uint32_t generation, uint64_t key, uint8_t type, struct bytes_writer *w);
/* REPORT CAPABILITIES: types are the six of enum reservation_type. */
void reservation_capabilities_encode(struct bytes_writer *w);

/* One descriptor of READ FULL STATUS. */
struct reservation_status {
	uint64_t key;
	bool all_target_ports, holder;
	uint8_t type; /* meaningful for a holder */
	uint16_t relative_port;
	const char *initiator_port; /* "<name>,i,0x<isid>": iSCSI TransportID, format 01b */
};

/* PRGENERATION and a length that reservation_full_end() fills in. */
size_t reservation_full_begin(uint32_t generation, struct bytes_writer *w);
void reservation_status_encode(const struct reservation_status *s, struct bytes_writer *w);
void reservation_full_end(size_t begun, struct bytes_writer *w);

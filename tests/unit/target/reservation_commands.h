/* PERSISTENT RESERVE IN and OUT as the tests of the reservations send them, and two initiator ports
 * that have registered. */
#pragma once

#include "tests/unit/target/device_server.h"

#include "target/reservations.h"

enum {
	KEY_A = 0xaaaa,
	KEY_B = 0xbbbb,
};

static inline struct server_result *out(
	struct tgt_session *s, uint8_t action, uint8_t type, uint64_t key, uint64_t new_key)
{
	struct reservation_out o = {.key = key, .service_action_key = new_key};
	uint8_t list[RESERVATION_OUT_LENGTH], cdb[CDB_SIZE];

	reservation_out_encode(&o, list);
	cdb_persistent_reserve_out(cdb, action, type, sizeof(list));
	return server_out(s, cdb, list, sizeof(list));
}

static inline void in(struct tgt_session *s, uint8_t action)
{
	uint8_t cdb[CDB_SIZE];

	cdb_persistent_reserve_in(cdb, action, 65535);
	assert_good(server_in(s, cdb, 65535));
}

static inline uint8_t can(struct tgt_session *s, bool write)
{
	uint8_t cdb[CDB_SIZE], data[512] = {0};
	unsigned size;

	cdb_read_write(cdb, write ? SCSI_DATA_OUT : SCSI_DATA_IN, 0, 1, false, &size);
	return (write ? server_out(s, cdb, data, 512) : server_in(s, cdb, 512))->status;
}

static inline unsigned keys(struct tgt_session *s)
{
	in(s, RESERVATION_READ_KEYS);
	return get_be32(s->server->memory + 4) / 8;
}

static inline uint8_t held_type(struct tgt_session *s)
{
	in(s, RESERVATION_READ_RESERVATION);
	return get_be32(s->server->memory + 4) ? s->server->memory[8 + 13] : 0;
}

struct two {
	struct server *v;
	struct tgt_session *a, *b;
};

/* Two initiators on two loops, both registered. */
static inline struct two two_registered(void)
{
	struct two t = {.v = server_new()};

	t.a = server_session(t.v, 0);
	t.b = server_session(t.v, 1);
	assert_good(out(t.a, RESERVATION_REGISTER, 0, 0, KEY_A));
	assert_good(out(t.b, RESERVATION_REGISTER_AND_IGNORE, 0, 99, KEY_B));
	return t;
}

/* Task management as the tests of tmf.c and abort.c send it, to a unit that is slow. */
#pragma once

#include "tests/unit/target/device_server.h"

static const struct server_config slow = {.delay_ns = 10 * LOOP_NS_PER_MS};

static inline uint32_t send_read(struct tgt_session *s)
{
	uint8_t cdb[CDB_SIZE];
	unsigned size;

	cdb_read_write(cdb, SCSI_DATA_IN, 0, 8, false, &size);
	return server_send(s, (struct server_send){.cdb = cdb, .read = true, .length = 4096});
}

static inline void request(struct tgt_session *s, uint8_t function, uint16_t lun, uint32_t tag)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_TMF_REQUEST,
		.itt = 1000,
		.lun = iscsi_lun_encode(lun),
		.tmf = {.function = function, .referenced_tag = tag},
	};

	s->tmf_responses = 0;
	tmf_start(s, &pdu);
}

static inline void manage(struct tgt_session *s, uint8_t function, uint16_t lun, uint32_t tag)
{
	request(s, function, lun, tag);
	server_turn(s->server);
}

static inline bool has_attention(struct tgt_session *s, uint16_t code)
{
	uint16_t a;

	return nexus_attention_take(s->nexus, &a) && a == code;
}

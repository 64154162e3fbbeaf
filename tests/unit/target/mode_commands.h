/* MODE SENSE and MODE SELECT as the tests of modes.c and mode_select.c send them. */
#pragma once

#include "tests/unit/target/device_server.h"

#include "common/scsi/mode.h"

static inline uint32_t sense6(struct tgt_session *s, uint8_t page, uint8_t control, bool dbd)
{
	uint8_t cdb[CDB_SIZE];
	struct server_result *r;

	cdb_mode_sense6(cdb, page, control, dbd, 255);
	r = server_in(s, cdb, 255);
	assert_good(r);
	assert_int_equal(s->server->memory[0], r->put_end - 1);
	return r->put_end;
}

/* PERSISTENT RESERVE OUT by several nexuses, with RESERVE(6) and plain I/O between
 * (target/reservations*.c; SPC-4 section 5.13). After each step the readable state must be whole.
 * Input: server flags, then records of session and flags, service action, scope and type, and, by
 * the flags, two small keys or a length and so many bytes of list. */
#include "target/reservations.h"
#include "common/scsi/reservation.h"
#include "tests/fuzz/server.h"

enum flags {
	LIST = 0x10,  /* the list's bytes come, else it is composed */
	OTHER = 0x20, /* another command: the service action's byte is its number */
	APTPL = 0x40,
	SPEC_I_PT = 0x80,
};

static void check_state(struct server *v)
{
	struct reservation *r = v->device->reservation;
	bool found = false;
	unsigned registered = 0;

	for (size_t i = 0; i < RESERVATION_REGISTRANTS_MAX; i++) {
		registered += r->registrants[i].key != 0;
		found |= r->holder == &r->registrants[i] && r->registrants[i].key;
	}
	/* Who holds is registered (or, for the types of all registrants, anybody is). */
	FUZZ_CHECK(!r->type || registered);
	FUZZ_CHECK(!r->holder || (found && r->type));
}

static void read_state(struct server *v, unsigned session, uint8_t action)
{
	uint8_t cdb[CDB_SIZE];

	cdb_persistent_reserve_in(cdb, action & 3, 512);
	server_command(v,
		(struct server_send){.session = session, .cdb = cdb, .reads = true, .length = 512});
	server_settle(v);
}

static void other(struct server *v, unsigned session, uint8_t number)
{
	struct server_send what = {.session = session};
	uint8_t cdb[CDB_SIZE];
	unsigned length;

	what.cdb = cdb;
	switch (number & 3) {
	case 0:
		cdb_reserve6(cdb);
		break;
	case 1:
		cdb_release6(cdb);
		break;
	case 2:
		cdb_read_write(cdb, SCSI_DATA_IN, number, 1, false, &length);
		what.reads = true;
		what.length = 4096;
		break;
	default:
		cdb_read_write(cdb, SCSI_DATA_OUT, number, 1, false, &length);
		what.writes = true;
		what.length = 4096;
	}
	server_command(v, what);
}

static void reserve_out(struct server *v, struct fuzz_input *in, uint8_t flags)
{
	uint8_t cdb[CDB_SIZE], list[RESERVATION_OUT_LENGTH], action = fuzz_u8(in);
	uint8_t type = fuzz_u8(in);
	struct server_send what = {.session = flags & 3, .cdb = cdb, .writes = true};
	struct reservation_out o;

	if (flags & LIST) {
		what.out_length = fuzz_take(in, fuzz_u16(in) % SERVER_OUT, &what.out);
	} else {
		o = (struct reservation_out){.key = fuzz_u8(in) & 3,
			.service_action_key = fuzz_u8(in) & 3,
			.aptpl = flags & APTPL,
			.spec_i_pt = flags & SPEC_I_PT};
		reservation_out_encode(&o, list);
		what.out = list;
		what.out_length = sizeof(list);
	}
	what.length = (uint32_t)what.out_length;
	cdb_persistent_reserve_out(cdb, action & 0x1f, type, what.length);
	cdb[2] = type;
	server_command(v, what);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	struct server *v = server_new(fuzz_u8(&in));

	while (in.left && v->count < SERVER_COMMANDS - 2) {
		uint8_t flags = fuzz_u8(&in);

		if (flags & OTHER)
			other(v, flags & 3, fuzz_u8(&in));
		else
			reserve_out(v, &in, flags);
		server_settle(v);
		check_state(v);
		read_state(v, flags & 3, (uint8_t)v->count);
	}
	server_free(v);
	return 0;
}

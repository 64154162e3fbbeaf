/* MODE SELECT's parameter lists (target/mode_select.c, modes.c; SPC-4 section 7.5). After each, the
 * pages are read back in every form.
 * Input: server flags, then records of flags, length (2) and so many bytes of list. */
#include "tests/fuzz/server.h"

enum flags {
	TEN = 1, /* MODE SELECT(10) */
	SAVE = 2,
	NO_FORMAT = 4, /* PF = 0 */
	SHORT_CDB = 8, /* the CDB says half of the list's length */
	LONG_CDB = 16, /* or one byte more than there is */
	IMMEDIATE = 32,
	SESSION = 0xc0,
};

static void mode_select(struct server *v, struct fuzz_input *in)
{
	uint8_t flags = fuzz_u8(in), cdb[CDB_SIZE];
	struct server_send what = {
		.session = flags / (SESSION & -SESSION), .cdb = cdb, .writes = true};
	size_t length;

	what.out_length = fuzz_take(in, fuzz_u16(in) % SERVER_OUT, &what.out);
	what.length = (uint32_t)what.out_length;
	what.immediate = flags & IMMEDIATE ? what.length : 0;
	length = flags & SHORT_CDB ? what.out_length / 2 : what.out_length;
	length += flags & LONG_CDB ? 1 : 0;
	if (flags & TEN)
		cdb_mode_select10(cdb, flags & SAVE, (uint16_t)length);
	else
		cdb_mode_select6(cdb, flags & SAVE, (uint8_t)min_size(length, 255));
	if (flags & NO_FORMAT)
		cdb[1] &= 0xef;
	server_command(v, what);
	server_settle(v);
}

static void mode_sense(struct server *v, uint8_t control)
{
	uint8_t cdb[CDB_SIZE];

	cdb_mode_sense10(cdb, 0x3f, control, false, 1024);
	cdb[3] = 0xff;
	server_command(v, (struct server_send){.cdb = cdb, .reads = true, .length = 1024});
	server_settle(v);
	FUZZ_CHECK(v->commands[v->count - 1].status == SCSI_GOOD ||
		   v->commands[v->count - 1].status == SCSI_CHECK_CONDITION);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	struct server *v = server_new(fuzz_u8(&in));

	while (in.left && v->count < SERVER_COMMANDS - 4) {
		mode_select(v, &in);
		for (uint8_t control = 0; control < 3; control++)
			mode_sense(v, control);
	}
	server_free(v);
	return 0;
}

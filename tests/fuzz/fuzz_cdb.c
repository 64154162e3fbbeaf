/* CDBs, their data and task management into the device server (target/command.c, opcodes.c, spc.c,
 * sbc*.c, transfer.c, tmf.c ...). Input: server flags, then records of
 *   flags, session and LUN, CDB (16), EDTL (4), immediate (2), AHS words where flagged and their
 *   bytes, length (2) and so many bytes of data-out
 * or, where flagged, of a task management function. */
#include "tests/fuzz/server.h"

enum flags {
	READS = 1,
	WRITES = 2,
	ATTRIBUTE = 0x0c, /* SIMPLE, ORDERED, HEAD OF QUEUE, ACA */
	WITH_AHS = 0x10,
	TASK_MANAGEMENT = 0x20,
	SETTLE = 0x40, /* all is over before the next */
	ABORT = 0x80,  /* the oldest command of the session is aborted, as by its connection */
};

static void task_management(struct server *v, struct fuzz_input *in)
{
	uint8_t where = fuzz_u8(in), function = fuzz_u8(in), itt = fuzz_u8(in);

	server_tmf(v, where & 3, function, itt, where >> 4);
}

static void abort_oldest(struct server *v, unsigned session)
{
	struct list *all = &v->sessions[session % SERVER_SESSIONS].commands;

	if (!list_empty(all))
		command_abort(list_first(all, struct command, session_link));
}

static bool command(struct server *v, struct fuzz_input *in, uint8_t flags)
{
	uint8_t where = fuzz_u8(in), cdb[16], *ahs = NULL;
	struct server_send what = {
		.session = where & 3,
		.cdb = cdb,
		.reads = flags & READS,
		.writes = flags & WRITES,
		.attribute = (uint8_t)(1 + (flags & ATTRIBUTE) / 4),
		.lun = where >> 4,
	};
	bool more;

	fuzz_fill(in, cdb, sizeof(cdb));
	what.length = fuzz_u32(in);
	what.immediate = fuzz_u16(in);
	if (flags & WITH_AHS)
		what.ahs_words = fuzz_u8(in);
	if (what.ahs_words) {
		ahs = malloc(what.ahs_words * 4u);
		fuzz_fill(in, ahs, what.ahs_words * 4u);
		what.ahs = ahs;
	}
	what.out_length = fuzz_take(in, fuzz_u16(in), &what.out);
	more = server_command(v, what);
	free(ahs);
	return more;
}

static bool step(struct server *v, struct fuzz_input *in)
{
	uint8_t flags = fuzz_u8(in);
	bool more = true;

	if (flags & TASK_MANAGEMENT)
		task_management(v, in);
	else
		more = command(v, in, flags);
	if (flags & ABORT)
		abort_oldest(v, flags);
	if (flags & SETTLE)
		server_settle(v);
	return more;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	struct server *v = server_new(fuzz_u8(&in));

	while (in.left && step(v, &in))
		;
	server_free(v);
	return 0;
}

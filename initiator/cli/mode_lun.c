/* iseradm -m lun: works on a LUN without a block device. iserd does it in a session of its own; the
 * file is opened here, with the rights of who calls, and passed on. */
#include <limits.h>
#include <string.h>

#include "initiator/cli/iseradm.h"

static const char usage[] =
	"iseradm -m lun -T TARGET [-p HOST[:PORT]] [-I iser|tcp] -l LUN -o OPERATION\n\n"
	"  -o list                                        the LUNs of the target\n"
	"  -o read [--offset N] [--length N] [--file F]   to F, or standard output\n"
	"  -o write [--offset N] [--file F]               from F, or standard input\n"
	"  -o copy-in --file F | copy-out --file F        a whole image; zeroes are not moved\n"
	"  -o verify --file F                             compare; tells the first difference\n"
	"  -o reset                                       ends every command of the LUN\n"
	"  -o bench [--rw read|write|randread|randwrite|rw|randrw] [--bs N] [--iodepth N]\n"
	"           [--runtime S] [--size N] [--rwmixread PERCENT] [--busy-poll US] [--plain]\n";

enum lun_op {
	OP_LIST,
	OP_READ,
	OP_WRITE,
	OP_COPY_IN,
	OP_COPY_OUT,
	OP_VERIFY,
	OP_BENCH,
	OP_RESET,
};

static const char *const op_words[] = {
	"list", "read", "write", "copy-in", "copy-out", "verify", "bench", "reset", NULL};
static const char *const rw_words[] = {
	"read", "write", "randread", "randwrite", "randrw", "rw", NULL};

/* What an operation does with the file. */
static const struct {
	bool file, write, needed; /* needed: standard input or output only if it is asked for */
} kinds[] = {
	[OP_LIST] = {false, false, false},
	[OP_READ] = {true, true, false},
	[OP_WRITE] = {true, false, false},
	[OP_COPY_IN] = {true, false, true},
	[OP_COPY_OUT] = {true, true, true},
	[OP_VERIFY] = {true, false, true},
	[OP_BENCH] = {false, false, false},
	[OP_RESET] = {false, false, false},
};

#define NO_LUN ULONG_MAX
#define NO_SIZE UINT64_MAX
#define MIN_RUNTIME 1
#define MAX_RUNTIME (24 * 3600)

struct lun {
	struct tool_options tool;
	const char *target, *portal, *interface, *transport, *provider, *file;
	int op, rw;
	unsigned long lun, depth, runtime, mix, busy_poll;
	uint64_t offset, length, block_size;
	bool force, plain, progress;
};

static struct tool_call request(const struct lun *l)
{
	struct tool_call c = tool_request("lun");

	/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): check() does not let -1 come here */
	tool_put(&c, "operation", op_words[l->op]);
	tool_put(&c, "target", l->target);
	tool_put(&c, "portal", l->portal);
	tool_put(&c, "transport", l->transport);
	tool_put(&c, "provider", l->provider);
	tool_put_flag(&c, "force", l->force);
	if (l->op != OP_LIST)
		tool_put_number(&c, "lun", l->lun);
	if (l->offset)
		tool_put_number(&c, "offset", l->offset);
	if (l->length != NO_SIZE)
		tool_put_number(&c, "length", l->length);
	return c;
}

static void put_bench(const struct lun *l, struct tool_call *c)
{
	tool_put(c, "rw", rw_words[l->rw]);
	tool_put_number(c, "bs", l->block_size);
	tool_put_number(c, "iodepth", l->depth);
	tool_put_number(c, "runtime_ms", l->runtime * 1000);
	tool_put_number(c, "rwmixread", l->mix);
	tool_put_number(c, "busy_poll_us", l->busy_poll);
}

static void print(const struct lun *l, struct json_object *reply, FILE *out)
{
	if (l->tool.json)
		reply_print(reply, out);
	else if (l->op == OP_LIST)
		print_lun_list(reply, out);
	else if (l->op == OP_BENCH)
		print_lun_bench(reply, l->plain, out);
	else if (l->op == OP_RESET)
		fprintf(out, "Lun: %lu was reset\n", l->lun);
	else
		print_lun_copy(reply, out);
}

static int ask(const struct lun *l, struct tool_call *c, struct json_object **ret_reply)
{
	struct lun_progress p;
	int status;

	lun_progress_init(&p, l->progress, l->op == OP_BENCH);
	c->progress = lun_progress_show;
	c->arg = &p;
	status = tool_ask(&l->tool, c, ret_reply);
	c->progress = NULL;
	c->arg = NULL;
	lun_progress_end(&p);
	return status;
}

static int run(const struct lun *l)
{
	struct lun_file f = {.fd = -1, .stream = -1};
	struct json_object *reply = NULL;
	struct tool_call c;
	int status = STATUS_OK;

	if (kinds[l->op].file)
		status = lun_file_open(&f, l->file, kinds[l->op].write);
	if (status == STATUS_OK) {
		c = request(l);
		c.fd = f.fd;
		c.fd_name = f.stream < 0 ? f.path : NULL;
		tool_put_flag(&c, "truncate", f.truncate);
		if (l->op == OP_BENCH)
			put_bench(l, &c);
		status = ask(l, &c, &reply);
	}
	status = lun_file_close(&f, status);
	if (status == STATUS_OK && !(f.write && !f.path)) /* not among data */
		print(l, reply, stdout);
	json_object_put(reply);
	return status;
}

static int check(struct lun *l)
{
	if (l->op < 0)
		return tool_fail(STATUS_USAGE, "what to do? -o list, read, write, copy-in, "
					       "copy-out, verify, bench or reset");
	if (!l->target)
		return tool_fail(STATUS_USAGE, "which target? -T TARGET says it");
	if (l->op != OP_LIST && l->lun == NO_LUN)
		return tool_fail(STATUS_USAGE, "which LUN? -l LUN says it; -o list shows them");
	if (l->file && !kinds[l->op].file)
		return tool_fail(STATUS_USAGE, "-o %s has no use for --file", op_words[l->op]);
	if (!l->file && kinds[l->op].needed)
		return tool_fail(STATUS_USAGE, "-o %s needs --file FILE (- for standard %s)",
			op_words[l->op], kinds[l->op].write ? "output" : "input");
	return take_interface(l->interface, &l->transport) ? STATUS_OK : STATUS_USAGE;
}

int mode_lun(int argc, char **argv)
{
	struct lun l = {
		.op = -1,
		.rw = 2, /* randread */
		.lun = NO_LUN,
		.depth = 1,
		.runtime = 5,
		.mix = 50,
		.length = NO_SIZE,
		.block_size = 4096,
	};
	const struct option_row rows[] = {
		{"targetname", 'T', OPTION_STRING, &l.target, "TARGET", "an iSCSI name", 0, 0,
			NULL},
		{"portal", 'p', OPTION_STRING, &l.portal, "HOST[:PORT]", "where the target is", 0,
			0, NULL},
		{"interface", 'I', OPTION_STRING, &l.interface, "iser|tcp", "transport", 0, 0,
			NULL},
		{"provider", 0, OPTION_STRING, &l.provider, "auto|verbs|softiwarp",
			"what carries iSER, from now on; auto: verbs where an RDMA device routes "
			"there",
			0, 0, NULL},
		{"lun", 'l', OPTION_UINT, &l.lun, "LUN", "number of the LUN", 0, 16383, NULL},
		{"op", 'o', OPTION_CHOICE, &l.op, "OPERATION", "what to do, see above", 0, 0,
			op_words},
		{"file", 'F', OPTION_STRING, &l.file, "FILE",
			"image; - is standard input or output", 0, 0, NULL},
		{"offset", 0, OPTION_SIZE, &l.offset, "BYTES", "where on the LUN; default 0", 0, 0,
			NULL},
		{"length", 0, OPTION_SIZE, &l.length, "BYTES", "how much; default all", 0, 0, NULL},
		{"rw", 0, OPTION_CHOICE, &l.rw, "PATTERN", "bench: default randread", 0, 0,
			rw_words},
		{"bs", 0, OPTION_SIZE, &l.block_size, "BYTES", "bench: bytes per I/O; default 4K",
			0, 0, NULL},
		{"iodepth", 0, OPTION_UINT, &l.depth, "N", "bench: I/Os under way; default 1", 1,
			1024, NULL},
		{"runtime", 0, OPTION_UINT, &l.runtime, "SECONDS", "bench: default 5", MIN_RUNTIME,
			MAX_RUNTIME, NULL},
		{"size", 0, OPTION_SIZE, &l.length, "BYTES", "bench: the same as --length", 0, 0,
			NULL},
		{"rwmixread", 0, OPTION_UINT, &l.mix, "PERCENT",
			"bench: reads of rw and randrw; default 50", 0, 100, NULL},
		{"busy-poll", 0, OPTION_UINT, &l.busy_poll, "MICROSECONDS",
			"bench: poll so long before sleeping; default 0", 0, 1000000, NULL},
		{"plain", 0, OPTION_FLAG, &l.plain, NULL, "bench: one line", 0, 0, NULL},
		{"progress", 0, OPTION_FLAG, &l.progress, NULL,
			"show progress though stderr is no terminal", 0, 0, NULL},
		{"force", 'f', OPTION_FLAG, &l.force, NULL,
			"write though the LUN's device here is in use", 0, 0, NULL},
		TOOL_ROWS(&l.tool),
	};
	int operands;
	bool end;
	int status = tool_parse("lun", usage, rows, &l.tool, argc, argv, 0, &operands, &end);

	if (!end)
		status = check(&l);
	return end || status != STATUS_OK ? status : run(&l);
}

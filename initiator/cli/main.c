/* iseradm: the tool of iserd, with iscsiadm's syntax. One row per mode. */
#include <stdio.h>
#include <string.h>

#include "initiator/cli/iseradm.h"

static const struct verb_row modes[] = {
	{"discovery", mode_discovery, "ask a portal which targets it has"},
	{"discoverydb", mode_discoverydb, "the same, and the records of portals"},
	{"node", mode_node, "node records; log in to targets, log out"},
	{"session", mode_session, "sessions and their devices"},
	{"iface", mode_iface, "the interfaces: iser and tcp"},
	{"lun", mode_lun, "read, write, copy, verify, measure a LUN without a block device"},
	{"daemon", mode_daemon, "iserd itself: status, stop, log"},
	{0},
};

/* Modes of iscsiadm that there are not, and what to use instead. */
static const struct {
	const char *mode, *instead;
} refused[] = {
	{"fw", "no firmware is asked for sessions; -m node -o new, and node.startup automatic, log "
	       "in when iserd starts"},
	{"host", "there are no SCSI hosts; -m session -P 3 shows sessions and their devices, -m "
		 "node -s what they have done"},
	{"flashnode",
		"there is no flash; records lie in the state directory, see iseran-records(5)"},
};

static int refuse_mode(const char *mode)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (!strcmp(refused[i].mode, mode))
			return tool_fail(STATUS_UNSUPPORTED, "-m %s: %s", mode, refused[i].instead);
	return STATUS_OK;
}

#define STATUS_HELP_ROW(name, status, what) {status, what},

static const struct {
	int number;
	const char *text;
} statuses[] = {STATUS_TABLE(STATUS_HELP_ROW)};

static int help(void)
{
	puts("iseradm: tells iserd, the iSCSI and iSER initiator, what to do; starts it if it does "
	     "not run\n\n  iseradm -m MODE [OPTIONS]\n");
	for (const struct verb_row *m = modes; m->name; m++)
		printf("  -m %-11s %s\n", m->name, m->help);
	puts("\niseradm -m MODE --help has the options of a mode. A first session:\n\n"
	     "  iseradm -m discovery -t sendtargets -p 192.0.2.1\n"
	     "  iseradm -m node -T iqn.2026-11.org.example:disk -p 192.0.2.1 --login\n"
	     "  iseradm -m session -P 3\n"
	     "  iseradm -m node -T iqn.2026-11.org.example:disk --logout\n\n"
	     "Exit statuses:");
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		printf("  %3d  %s\n", statuses[i].number, statuses[i].text);
	return STATUS_OK;
}

static bool is(const char *argument, const char *letter, const char *name)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): NULL is behind argc only */
	return !strcmp(argument, letter) || !strcmp(argument, name);
}

/* Takes `count` arguments at `at` out of argv. */
static void take_out(int *argc, char **argv, int at, int count)
{
	for (int i = at; i + count <= *argc; i++)
		argv[i] = argv[i + count];
	*argc -= count;
}

/* -m MODE, -mMODE, --mode MODE or --mode=MODE, wherever it stands; NULL: none. */
static const char *take_mode(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		const char *mode = NULL;
		int count = 1;

		if (is(argv[i], "-m", "--mode")) {
			mode = i + 1 < *argc ? argv[i + 1] : "";
			count = i + 1 < *argc ? 2 : 1;
		} else if (!strncmp(argv[i], "--mode=", 7)) {
			mode = argv[i] + 7;
		} else if (!strncmp(argv[i], "-m", 2)) {
			mode = argv[i] + 2;
		}
		if (!mode)
			continue;
		take_out(argc, argv, i, count);
		return mode;
	}
	return NULL;
}

static int run(int argc, char **argv)
{
	const char *mode = take_mode(&argc, argv);
	const struct verb_row *row;

	if (mode && is(mode, "-h", "--help"))
		return help();
	if (mode && refuse_mode(mode) != STATUS_OK)
		return STATUS_UNSUPPORTED;
	if (mode && *mode) {
		row = verbs_find("iseradm -m", modes, mode, stderr);
		return row ? row->run(argc, argv) : STATUS_USAGE;
	}
	if (argc > 1 && is(argv[1], "-h", "--help"))
		return help();
	if (argc > 1 && is(argv[1], "-V", "--version")) {
		puts("iseradm (Iseran) " ISERAN_VERSION);
		return STATUS_OK;
	}
	if (argc > 1 && is(argv[1], "-k", "--killiscsid"))
		return tool_fail(
			STATUS_UNSUPPORTED, "-k: iserd is ended by iseradm -m daemon -o stop");
	return tool_fail(STATUS_USAGE,
		"a mode is missing: -m discovery, node, session, lun or daemon; --help explains "
		"them");
}

int main(int argc, char **argv)
{
	return options_end("iseradm", run(argc, argv), stdout, stderr);
}

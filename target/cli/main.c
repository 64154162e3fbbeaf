/* isertadm: the control tool of isertd. One row per verb. */
#include <stdio.h>
#include <string.h>

#include "target/cli/isertadm.h"

static const struct verb_row verbs[] = {
	{"show", verb_show, "portals, targets and LUNs"},
	{"sessions", verb_sessions, "who is logged in"},
	{"stats", verb_stats, "commands and bytes, per loop"},
	{"reload", verb_reload, "read the configuration anew"},
	{"check", verb_check, "check a configuration file without using it"},
	{"drop", verb_drop, "close a session"},
	{"log", verb_log, "say what is logged: error, warning, info or debug"},
	{"stop", verb_stop, "end the daemon in order"},
	{0},
};

static void help(FILE *out)
{
	fputs("isertadm: speaks to isertd\n\n  isertadm VERB [OPTIONS]\n\n", out);
	for (const struct verb_row *v = verbs; v->name; v++)
		fprintf(out, "  %-10s %s\n", v->name, v->help);
	fputs("\nisertadm VERB --help has the options of a verb.\n", out);
}

static int run(int argc, char **argv)
{
	const struct verb_row *verb;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		help(stdout);
		return EXIT_OK;
	}
	if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		puts("isertadm (Iseran) " ISERAN_VERSION);
		return EXIT_OK;
	}
	if (argc < 2) {
		fputs("isertadm: a verb is missing; isertadm --help lists them\n", stderr);
		return EXIT_USAGE;
	}
	verb = verbs_find("isertadm", verbs, argv[1], stderr);
	return verb ? verb->run(argc - 1, argv + 1) : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	return options_end("isertadm", run(argc, argv), stdout, stderr);
}

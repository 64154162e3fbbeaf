/* The command line of isertd. Called by main.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "target/daemon/daemon.h"

static const char *const levels[] = {"error", "warning", "info", "debug", NULL};

#define ROWS(o)                                                                                    \
	{                                                                                          \
		{"config", 'c', OPTION_STRING, &(o)->config, "FILE",                               \
			"configuration; default /etc/iseran/isertd.yaml", 0, 0, NULL},             \
			{"check", 'C', OPTION_FLAG, &(o)->check, NULL,                             \
				"check the configuration and its images, then end", 0, 0, NULL},   \
			{"keys", 0, OPTION_FLAG, &(o)->keys, NULL,                                 \
				"list every key of the configuration file", 0, 0, NULL},           \
			{"portal", 'p', OPTION_LIST, &(o)->portals, "ADDRESS",                     \
				"without a file: listen there; default *:3260, port 0: any free "  \
				"one",                                                             \
				0, 0, NULL},                                                       \
			{"target", 't', OPTION_LIST, &(o)->targets, "NAME",                        \
				"without a file: the target's name", 0, 0, NULL},                  \
			{"lun", 'l', OPTION_LIST, &(o)->luns, "[N=]KIND=WHAT",                     \
				"without a file: file=PATH, memory=SIZE or null=SIZE; N counts "   \
				"from 0",                                                          \
				0, 0, NULL},                                                       \
			{"loops", 0, OPTION_UINT, &(o)->loops, "N",                                \
				"threads; default one per CPU", 0, 256, NULL},                     \
			{"control", 0, OPTION_STRING, &(o)->control, "PATH",                       \
				"control socket; default $ISERTD_CONTROL or "                      \
				"/run/iseran/isertd.sock",                                         \
				0, 0, NULL},                                                       \
			{"port-file", 0, OPTION_STRING, &(o)->port_file, "FILE",                   \
				"write the ports that are listened on there, one per line", 0, 0,  \
				NULL},                                                             \
			{"log-level", 0, OPTION_CHOICE, &(o)->log_level, "LEVEL",                  \
				"error, warning, info or debug", 0, 0, levels},                    \
			{"foreground", 'f', OPTION_FLAG, &(o)->foreground, NULL,                   \
				"stay in the foreground (it always does)", 0, 0, NULL},            \
			{"version", 'V', OPTION_FLAG, &(o)->version, NULL,                         \
				"version and what is built in", 0, 0, NULL},                       \
			{"help", 'h', OPTION_FLAG, &(o)->help, NULL, "this help", 0, 0, NULL},     \
			{0},                                                                       \
	}

static int refuse(const char *what)
{
	fprintf(stderr, "isertd: %s\n", what);
	return -EINVAL;
}

int daemon_options_parse(struct daemon_options *o, int argc, char **argv)
{
	const struct option_row rows[] = ROWS(o);
	int operands;

	*o = (struct daemon_options){.log_level = -1};
	if (options_parse("isertd", rows, argc, argv, &operands, stderr) < 0)
		return -EINVAL;
	if (operands) {
		fprintf(stderr, "isertd: \"%s\" is not an option; see isertd --help\n", argv[1]);
		return -EINVAL;
	}
	if (quick_wanted(o) && o->config)
		return refuse("--config and --target, --lun or --portal are two configurations; "
			      "give one of them");
	if (!o->config)
		o->config = "/etc/iseran/isertd.yaml";
	return 0;
}

void daemon_options_help(FILE *out)
{
	struct daemon_options o;
	const struct option_row rows[] = ROWS(&o);

	fputs("isertd: iSCSI and iSER target\n\n"
	      "  isertd --config FILE\n"
	      "  isertd --target iqn.2026-01.org.example:disk --lun file=disk.img\n\n",
		out);
	options_help(rows, out);
	fputs("\nSIGTERM ends it in order, SIGHUP reads the configuration anew. See also "
	      "isertadm.\n",
		out);
}

void daemon_version(FILE *out)
{
	fputs("isertd (Iseran) " ISERAN_VERSION "\n"
#ifdef HAVE_VERBS
	      "movers: tcp, iser over softiwarp and verbs\n"
#else
	      "movers: tcp, iser over softiwarp (verbs not built in: libibverbs or librdmacm was "
	      "missing)\n"
#endif
	      "backends: file (io_uring, threads), memory, null; delay, fault\n"
#ifdef HAVE_SYSTEMD
	      "systemd: readiness, socket activation\n",
#else
	      "systemd: not built in\n",
#endif
		out);
}

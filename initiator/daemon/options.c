/* The command line of iserd. Called by main.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "initiator/daemon/daemon.h"

static const char *const levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const crc_words[] = {"auto", "off", "on", NULL}; /* enum softiwarp_crc */
static const char *const window_words[] = {"auto", "off", NULL};

#define SECOND_US 1000000ul

#define ROWS(c)                                                                                    \
	{                                                                                          \
		{"state-dir", 's', OPTION_STRING, &(c)->state_directory, "DIRECTORY",              \
			"node records and the initiator's name; default $ISERAN_STATE_DIR or "     \
			"/var/lib/iseran",                                                         \
			0, 0, NULL},                                                               \
			{"runtime-dir", 'r', OPTION_STRING, &(c)->runtime_directory, "DIRECTORY",  \
				"control socket, devices and by-path links; default "              \
				"$ISERAN_RUNTIME_DIR or /run/iseran",                              \
				0, 0, NULL},                                                       \
			{"log-level", 'l', OPTION_CHOICE, &(c)->log_level, "LEVEL",                \
				"error, warning, info or debug", 0, 0, levels},                    \
			{"no-devices", 0, OPTION_FLAG, &(c)->no_devices, NULL,                     \
				"sessions without block devices", 0, 0, NULL},                     \
			{"busy-poll", 0, OPTION_UINT, &(c)->busy_poll, "MICROSECONDS",             \
				"poll so long before sleeping; default 0", 0, SECOND_US, NULL},    \
			{"crc", 0, OPTION_CHOICE, &(c)->crc, "WHEN",                               \
				"checksums of software iWARP: auto (not within one host), on or "  \
				"off",                                                             \
				0, 0, crc_words},                                                  \
			{"windows", 0, OPTION_CHOICE, &(c)->no_windows, "WHEN",                    \
				"memory windows of RDMA devices: auto (where there are any) or "   \
				"off",                                                             \
				0, 0, window_words},                                               \
			{"version", 'V', OPTION_FLAG, &(c)->version, NULL,                         \
				"version and what is built in", 0, 0, NULL},                       \
			{"help", 'h', OPTION_FLAG, &(c)->help, NULL, "this help", 0, 0, NULL},     \
			{0},                                                                       \
	}

static const char *from_environment(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

int daemon_options_parse(struct daemon_config *c, int argc, char **argv)
{
	const struct option_row rows[] = ROWS(c);
	int operands;

	*c = (struct daemon_config){
		.state_directory = from_environment("ISERAN_STATE_DIR", "/var/lib/iseran"),
		.runtime_directory = from_environment("ISERAN_RUNTIME_DIR", "/run/iseran"),
		.log_level = LOG_LEVEL_INFO,
	};
	if (options_parse("iserd", rows, argc, argv, &operands, stderr) < 0)
		return -EINVAL;
	if (operands) {
		fprintf(stderr, "iserd: \"%s\" is not an option; see iserd --help\n", argv[1]);
		return -EINVAL;
	}
	return 0;
}

void daemon_options_help(FILE *out)
{
	struct daemon_config c;
	const struct option_row rows[] = ROWS(&c);

	fputs("iserd: iSCSI and iSER initiator; it stays in the foreground, and iseradm tells it "
	      "what to do\n\n"
	      "  iserd --state-dir DIRECTORY --runtime-dir DIRECTORY\n\n",
		out);
	options_help(rows, out);
	fputs("\nSIGTERM logs out all sessions and ends it; a second one does not wait for devices "
	      "in use.\n",
		out);
}

void daemon_version(FILE *out)
{
	fputs("iserd (Iseran) " ISERAN_VERSION "\n"
#ifdef HAVE_VERBS
	      "movers: tcp, iser over softiwarp and verbs\n"
#else
	      "movers: tcp, iser over softiwarp (verbs not built in: libibverbs or librdmacm was "
	      "missing)\n"
#endif
#ifdef HAVE_FUSE
	      "block devices: fuse with a loop device\n"
#else
	      "block devices: not built in (libfuse3 was missing)\n"
#endif
#ifdef HAVE_SYSTEMD
	      "systemd: readiness\n",
#else
	      "systemd: not built in\n",
#endif
		out);
}

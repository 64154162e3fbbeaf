/* isertadm check: a configuration file is checked, by the isertd that lies beside this tool (or in
 * $PATH); no daemon need run. */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "target/cli/isertadm.h"

/* The daemon in our own directory first: it is the one of this installation. */
static void run_beside(const char *config)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);

	if (n <= 0)
		return;
	path[n] = '\0';
	dirname(path);
	strncat(path, "/isertd", sizeof(path) - strlen(path) - 1);
	execl(path, "isertd", "--check", "--config", config, (char *)NULL);
}

int verb_check(int argc, char **argv)
{
	struct tool_options o = {0};
	const struct option_row rows[] = {TOOL_ROWS(&o), {0}};
	bool end;
	int status = tool_parse(rows, &o, "FILE", 1, argc, argv, &end);

	if (end)
		return status;
	run_beside(argv[1]);
	execlp("isertd", "isertd", "--check", "--config", argv[1], (char *)NULL);
	fprintf(stderr, "isertadm: cannot run isertd: %s\n", strerror(errno));
	return EXIT_FAILED;
}

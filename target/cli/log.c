/* isertadm log: what the daemon logs from now on. */
#include "target/cli/isertadm.h"

int verb_log(int argc, char **argv)
{
	struct tool_options o = {0};
	const struct option_row rows[] = {TOOL_ROWS(&o), {0}};
	bool end;
	int status = tool_parse(rows, &o, "error|warning|info|debug", 1, argc, argv, &end);

	return end ? status : tool_tell(&o, "log", "level", argv[1]);
}

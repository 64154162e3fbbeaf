/* isertadm reload: the daemon reads its configuration anew; with mistakes in it nothing changes. */
#include "target/cli/isertadm.h"

int verb_reload(int argc, char **argv)
{
	struct tool_options o = {0};
	const struct option_row rows[] = {TOOL_ROWS(&o), {0}};
	bool end;
	int status = tool_parse(rows, &o, "", 0, argc, argv, &end);

	return end ? status : tool_tell(&o, "reload", NULL, NULL);
}

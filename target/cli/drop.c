/* isertadm drop: closes the sessions of an initiator, or one by its TSIH
 * (see isertadm sessions). */
#include "target/cli/isertadm.h"

int verb_drop(int argc, char **argv)
{
	struct tool_options o = {0};
	const struct option_row rows[] = {TOOL_ROWS(&o), {0}};
	bool end;
	int status = tool_parse(rows, &o, "TSIH|INITIATOR", 1, argc, argv, &end);

	return end ? status : tool_tell(&o, "drop", "session", argv[1]);
}

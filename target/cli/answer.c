/* isertadm's verbs that show what isertd answers: show, sessions, stats. */
#include <stdio.h>

#include "target/cli/isertadm.h"

int tool_show(int argc, char **argv, const char *verb, void (*print)(struct json_object *reply))
{
	struct tool_options o = {0};
	const struct option_row rows[] = {TOOL_ROWS(&o), {0}};
	struct json_object *reply;
	bool end;
	int status = tool_parse(rows, &o, "", 0, argc, argv, &end);

	if (end)
		return status;
	status = tool_ask(&o, verb, NULL, NULL, &reply);
	if (status != EXIT_OK)
		return status;
	if (o.json)
		reply_print(reply, stdout);
	else
		print(reply);
	json_object_put(reply);
	return EXIT_OK;
}

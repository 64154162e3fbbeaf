/* isertadm sessions: who is logged in, and what they have done. */
#include <stdio.h>

#include "target/cli/isertadm.h"

static void print_session(struct json_object *s)
{
	char read[32], written[32];
	bool discovery = tool_flag(s, "discovery");

	printf("[%llu] %s from %s %s%s\n", (unsigned long long)tool_number(s, "tsih"),
		tool_text(s, "initiator"), tool_text(s, "peer"), discovery ? "(discovery)" : "to ",
		discovery ? "" : tool_text(s, "target"));
	printf("    %s/%s on loop %llu, %s, up %llu s, LUNs %llu\n", tool_text(s, "mover"),
		tool_text(s, "provider"), (unsigned long long)tool_number(s, "loop"),
		tool_text(s, "state"), (unsigned long long)tool_number(s, "age_s"),
		(unsigned long long)tool_number(s, "luns"));
	printf("    commands %llu (%llu under way, %llu failed), read %s, written %s\n",
		(unsigned long long)tool_number(s, "commands"),
		(unsigned long long)tool_number(s, "under_way"),
		(unsigned long long)tool_number(s, "errors"),
		tool_bytes(tool_number(s, "read_bytes"), read),
		tool_bytes(tool_number(s, "written_bytes"), written));
}

int verb_sessions(int argc, char **argv)
{
	struct tool_options o = {0};
	const struct option_row rows[] = {TOOL_ROWS(&o), {0}};
	struct json_object *reply;
	bool end;
	int status = tool_parse(rows, &o, "", 0, argc, argv, &end);

	if (end)
		return status;
	status = tool_ask(&o, "sessions", NULL, NULL, &reply);
	if (status != EXIT_OK)
		return status;
	if (o.json)
		tool_print_json(reply);
	else if (!tool_count(reply, "sessions"))
		puts("no sessions");
	for (size_t i = 0; !o.json && i < tool_count(reply, "sessions"); i++)
		print_session(tool_item(reply, "sessions", i));
	json_object_put(reply);
	return EXIT_OK;
}

/* isertadm sessions: who is logged in, and what they have done. */
#include <stdio.h>

#include "target/cli/isertadm.h"

static void print_session(struct json_object *s)
{
	char read[32], written[32];
	bool discovery = field_flag(s, "discovery");

	printf("[%llu] %s from %s %s%s\n", (unsigned long long)field_number(s, "tsih"),
		field_text(s, "initiator"), field_text(s, "peer"),
		discovery ? "(discovery)" : "to ", discovery ? "" : field_text(s, "target"));
	printf("    %s/%s on loop %llu, %s, up %llu s, LUNs %llu\n", field_text(s, "mover"),
		field_text(s, "provider"), (unsigned long long)field_number(s, "loop"),
		field_text(s, "state"), (unsigned long long)field_number(s, "age_s"),
		(unsigned long long)field_number(s, "luns"));
	printf("    commands %llu (%llu under way, %llu failed), read %s, written %s\n",
		(unsigned long long)field_number(s, "commands"),
		(unsigned long long)field_number(s, "under_way"),
		(unsigned long long)field_number(s, "errors"),
		bytes_text(field_number(s, "read_bytes"), read),
		bytes_text(field_number(s, "written_bytes"), written));
}

static void print(struct json_object *o)
{
	if (!field_count(o, "sessions"))
		puts("no sessions");
	for (size_t i = 0; i < field_count(o, "sessions"); i++)
		print_session(field_item(o, "sessions", i));
}

int verb_sessions(int argc, char **argv)
{
	return tool_show(argc, argv, "sessions", print);
}

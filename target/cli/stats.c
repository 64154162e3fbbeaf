/* isertadm stats: what each loop has done since the start. */
#include <stdio.h>

#include "target/cli/isertadm.h"

static void print(struct json_object *o)
{
	char read[32], written[32];

	printf("%-5s %11s %8s %9s %14s %8s %11s %11s\n", "loop", "connections", "sessions",
		"under way", "commands", "failed", "read", "written");
	for (size_t i = 0; i < field_count(o, "loops"); i++) {
		struct json_object *l = field_item(o, "loops", i);

		printf("%-5llu %11llu %8llu %9llu %14llu %8llu %11s %11s\n",
			(unsigned long long)field_number(l, "loop"),
			(unsigned long long)field_number(l, "connections"),
			(unsigned long long)field_number(l, "sessions"),
			(unsigned long long)field_number(l, "under_way"),
			(unsigned long long)field_number(l, "commands"),
			(unsigned long long)field_number(l, "errors"),
			bytes_text(field_number(l, "read_bytes"), read),
			bytes_text(field_number(l, "written_bytes"), written));
	}
	printf("logging in: %llu\n", (unsigned long long)field_number(o, "logins"));
}

int verb_stats(int argc, char **argv)
{
	return tool_show(argc, argv, "stats", print);
}

/* isertadm show: the daemon, its portals, targets and LUNs. */
#include <stdio.h>

#include "target/cli/isertadm.h"

static void print_lun(struct json_object *l)
{
	const char *path = field_text(l, "path");
	char size[32];

	printf("    LUN %-5llu %-10s %llu-byte blocks  %s%s%s%s%s\n",
		(unsigned long long)field_number(l, "lun"),
		bytes_text(field_number(l, "size"), size),
		(unsigned long long)field_number(l, "block_size"), field_text(l, "backend"),
		path && path[0] ? " " : "", path ? path : "",
		field_flag(l, "readonly") ? ", read-only" : "",
		field_flag(l, "write_cache") ? "" : ", no write cache");
}

static void print_target(struct json_object *t)
{
	const char *alias = field_text(t, "alias");
	size_t initiators = field_count(t, "initiators");

	printf("\n%s%s%s%s\n", field_text(t, "name"), alias && alias[0] ? "  \"" : "",
		alias ? alias : "", alias && alias[0] ? "\"" : "");
	printf("    %s%s\n", initiators ? "initiators:" : "open to every initiator",
		field_flag(t, "chap") ? ", with CHAP" : "");
	for (size_t i = 0; i < initiators; i++)
		printf("        %s\n", json_object_get_string(field_item(t, "initiators", i)));
	for (size_t i = 0; i < field_count(t, "luns"); i++)
		print_lun(field_item(t, "luns", i));
}

static void print(struct json_object *o)
{
	printf("isertd %s, pid %llu, up %llu s, loops %llu, sessions %llu, configuration %s\n",
		field_text(o, "version"), (unsigned long long)field_number(o, "pid"),
		(unsigned long long)field_number(o, "uptime_s"),
		(unsigned long long)field_number(o, "loops"),
		(unsigned long long)field_number(o, "sessions"), field_text(o, "config"));
	for (size_t i = 0; i < field_count(o, "portals"); i++)
		printf("listening on %s\n", json_object_get_string(field_item(o, "portals", i)));
	for (size_t i = 0; i < field_count(o, "targets"); i++)
		print_target(field_item(o, "targets", i));
}

int verb_show(int argc, char **argv)
{
	return tool_show(argc, argv, "show", print);
}

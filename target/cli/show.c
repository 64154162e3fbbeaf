/* isertadm show: the daemon, its portals, targets and LUNs. */
#include <stdio.h>

#include "target/cli/isertadm.h"

/* "5 ms": in the largest unit that it is whole in. */
static void print_time(const char *what, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	printf("%s %llu %s", what, (unsigned long long)(ns / units[i].ns), units[i].name);
}

static void print_delay(struct json_object *d)
{
	if (!d)
		return;
	print_time("        delay: read", field_number(d, "read_ns"));
	print_time(", write", field_number(d, "write_ns"));
	print_time(", flush", field_number(d, "flush_ns"));
	putchar('\n');
}

static void print_fault(struct json_object *f)
{
	unsigned long long to = field_number(f, "to"), after = field_number(f, "after");
	unsigned long long count = field_number(f, "count");

	printf("        fault: %s fails with %s", field_text(f, "operation"),
		field_text(f, "error"));
	if (to)
		printf(" in bytes %llu to %llu", (unsigned long long)field_number(f, "from"), to);
	if (after)
		printf(", after %llu that succeed", after);
	if (count)
		printf(", %llu times", count);
	putchar('\n');
}

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
	print_delay(field_object(l, "delay"));
	for (size_t i = 0; i < field_count(l, "faults"); i++)
		print_fault(field_item(l, "faults", i));
}

/* Behind whom or what it is of. */
static void print_chap(struct json_object *o)
{
	const char *mutual = field_text(o, "chap_mutual_name");

	if (field_flag(o, "chap"))
		printf(", with CHAP as %s%s%s", field_text(o, "chap_name"),
			*mutual ? ", mutual as " : "", mutual);
}

static void print_initiator(struct json_object *i)
{
	size_t luns = field_count(i, "luns");

	printf("        %s", field_text(i, "name"));
	print_chap(i);
	for (size_t k = 0; k < luns; k++)
		printf("%s%s", k ? " " : ", LUNs ",
			json_object_get_string(field_item(i, "luns", k)));
	putchar('\n');
}

static void print_target(struct json_object *t)
{
	const char *alias = field_text(t, "alias");
	size_t initiators = field_count(t, "initiators");

	printf("\n%s%s%s%s\n", field_text(t, "name"), alias && alias[0] ? "  \"" : "",
		alias ? alias : "", alias && alias[0] ? "\"" : "");
	printf("    %s", initiators ? "initiators" : "open to every initiator");
	print_chap(t);
	puts(initiators ? ":" : "");
	for (size_t i = 0; i < initiators; i++)
		print_initiator(field_item(t, "initiators", i));
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

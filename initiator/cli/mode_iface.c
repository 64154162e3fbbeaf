/* iseradm -m iface: the interfaces, which are the two transports. Nothing of them is kept anywhere,
 * so that there is nothing to make or change. */
#include <string.h>

#include "initiator/cli/iseradm.h"

static const char usage[] = "iseradm -m iface               the interfaces\n"
			    "iseradm -m iface -I iser|tcp   one as a record\n";

enum iface_op {
	OP_SHOW,
};

static const char *const op_words[] = {
	"show", "new", "delete", "update", "apply", "applyall", NULL};
static const char *const transports[] = {"tcp", "iser"};

struct iface {
	struct tool_options tool;
	const char *interface, *transport, *name, *value;
	int op;
	unsigned long level;
};

static void print_record(const char *transport)
{
	puts("# BEGIN RECORD " ISERAN_VERSION);
	printf("iface.iscsi_ifacename = %s\n", interface_name(transport));
	printf("iface.net_ifacename = <empty>\niface.ipaddress = <empty>\n"
	       "iface.hwaddress = <empty>\niface.transport_name = %s\n"
	       "iface.initiatorname = <empty>\n",
		transport);
	puts("# END RECORD");
}

static void print_json(const struct iface *i)
{
	struct json_object *reply = json_object_new_object(), *list = json_object_new_array();

	for (size_t k = 0; k < sizeof(transports) / sizeof(transports[0]); k++) {
		struct json_object *o = json_object_new_object();

		if (i->transport && strcmp(i->transport, transports[k]) != 0) {
			json_object_put(o);
			continue;
		}
		json_object_object_add(
			o, "iface", json_object_new_string(interface_name(transports[k])));
		json_object_object_add(o, "transport", json_object_new_string(transports[k]));
		json_object_array_add(list, o);
	}
	json_object_object_add(reply, "ifaces", list);
	reply_print(reply, stdout);
	json_object_put(reply);
}

static int show(const struct iface *i)
{
	if (i->tool.json) {
		print_json(i);
	} else if (i->transport) {
		print_record(i->transport);
	} else {
		for (size_t k = 0; k < sizeof(transports) / sizeof(transports[0]); k++)
			printf("%s %s,<empty>,<empty>,<empty>,<empty>\n",
				interface_name(transports[k]), transports[k]);
	}
	return STATUS_OK;
}

int mode_iface(int argc, char **argv)
{
	struct iface i = {.op = OP_SHOW};
	const struct option_row rows[] = {
		{"interface", 'I', OPTION_STRING, &i.interface, "iser|tcp|default", "one of them",
			0, 0, NULL},
		{"op", 'o', OPTION_CHOICE, &i.op, "show", "the same as no action", 0, 0, op_words},
		{"name", 'n', OPTION_STRING, &i.name, "NAME", "of -o update: there is none", 0, 0,
			NULL},
		{"value", 'v', OPTION_STRING, &i.value, "VALUE", "likewise", 0, 0, NULL},
		{"print", 'P', OPTION_UINT, &i.level, "0|1", "the same", 0, 1, NULL},
		TOOL_ROWS(&i.tool),
	};
	int operands;
	bool end;
	int status = tool_parse("iface", usage, rows, &i.tool, argc, argv, 0, &operands, &end);

	if (end)
		return status;
	if (i.op != OP_SHOW)
		return tool_fail(STATUS_UNSUPPORTED,
			"-m iface -o %s: iser and tcp are all the interfaces, and have no "
			"settings; "
			"-m node -o update -n iface.initiatorname, or iface.rdma_provider, sets "
			"those of a record",
			op_words[i.op]);
	if (!take_interface(i.interface, &i.transport))
		return STATUS_USAGE;
	return show(&i);
}

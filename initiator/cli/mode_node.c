/* iseradm -m node: node records (list, show, new, delete, update), login and logout. */
#include <string.h>

#include "initiator/cli/iseradm.h"

static const char usage[] =
	"iseradm -m node [-T TARGET] [-p HOST[:PORT][,TPGT]] [-I iser|tcp] ACTION\n\n"
	"  (none)                      list the records; with -T or -p, show them\n"
	"  -l, --login [all|automatic|manual|onboot]\n"
	"  -u, --logout [all|automatic|manual|onboot] [--force]\n"
	"  -R, --rescan                look for new LUNs and sizes\n"
	"  -o show [-S] | new | delete\n"
	"  -o update -n NAME -v VALUE|-|@FILE [-n NAME -v VALUE] ...\n";

enum node_op {
	OP_NONE = -1,
	OP_SHOW,
	OP_NEW,
	OP_DELETE,
	OP_UPDATE,
};

static const char *const op_words[] = {"show", "new", "delete", "update", NULL};
static const char *const all_words[] = {"all", "automatic", "manual", "onboot", NULL};

enum node_all {
	ALL_NONE = -1,
};

struct node {
	struct tool_options tool;
	const char *target, *portal, *interface, *transport, *provider;
	struct option_list names, values;
	bool login, logout, rescan, stats, show_secrets, force, no_wait;
	int op, login_all, logout_all;
	unsigned long level;
};

static struct tool_call request(const struct node *n, const char *verb)
{
	struct tool_call c = tool_request(verb);

	tool_put(&c, "target", n->target);
	tool_put(&c, "portal", n->portal);
	tool_put(&c, "transport", n->transport);
	tool_put(&c, "provider", n->provider);
	return c;
}

/* ---- records ---- */

static void print_record(struct json_object *record)
{
	struct json_object *settings = field_object(record, "settings");

	if (settings)
		print_settings(settings, stdout);
	else
		printf("# %s at %s has more; -T and -p show it\n", field_text(record, "target"),
			field_text(record, "portal"));
}

static void print_records(const struct node *n, struct json_object *reply)
{
	bool whole = n->op == OP_SHOW || n->target || n->portal;

	if (n->level == 1) {
		print_target_tree(field_object(reply, "nodes"), stdout);
		return;
	}
	for (size_t i = 0; i < field_count(reply, "nodes"); i++)
		if (whole)
			print_record(field_item(reply, "nodes", i));
		else
			print_target(field_item(reply, "nodes", i), stdout);
}

static int show(const struct node *n)
{
	struct tool_call c = request(n, "node-list");
	struct json_object *reply = NULL;
	int status;

	tool_put_flag(&c, "show_secrets", n->show_secrets);
	status = tool_ask(&n->tool, &c, &reply);
	if (status != STATUS_OK)
		return status;
	if (n->tool.json)
		reply_print(reply, stdout);
	else
		print_records(n, reply);
	if (!n->tool.json && !field_count(reply, "nodes"))
		status = tool_fail(STATUS_NOT_FOUND, "No records found");
	json_object_put(reply);
	return status;
}

static int new (const struct node *n)
{
	struct tool_call c;
	char portal[128];
	int status;

	if (!n->target || !n->portal)
		return tool_fail(STATUS_USAGE, "-o new needs -T TARGET and -p HOST[:PORT]");
	c = request(n, "node-new");
	status = tool_tell(&n->tool, &c);
	if (status == STATUS_OK && !n->tool.json)
		printf("New iSCSI node [iface: %s, target: %s, portal: %s] added\n",
			interface_name(n->transport ? n->transport : "iser"), n->target,
			portal_with_comma(n->portal, portal));
	return status;
}

static int delete (const struct node *n)
{
	struct tool_call c = request(n, "node-delete");

	return tool_tell(&n->tool, &c);
}

static int update(const struct node *n)
{
	struct tool_call c = request(n, "node-update");
	int status = put_settings(&c, &n->names, &n->values);

	if (status == STATUS_OK)
		return tool_tell(&n->tool, &c);
	json_object_put(c.request);
	return status;
}

/* ---- sessions ---- */

static int login(const struct node *n)
{
	struct tool_call c;

	c = request(n, "login");
	if (n->login_all != ALL_NONE)
		tool_put(&c, "startup", all_words[n->login_all]);
	if (n->no_wait)
		json_object_object_add(c.request, "wait", json_object_new_boolean(false));
	return run_logins(&n->tool, &c);
}

static int logout(const struct node *n)
{
	struct tool_call c = request(n, "logout");

	if (n->logout_all != ALL_NONE)
		tool_put(&c, "startup", all_words[n->logout_all]);
	tool_put_flag(&c, "force", n->force);
	return run_logouts(&n->tool, &c);
}

static int rescan(const struct node *n)
{
	struct tool_call c = request(n, "rescan");

	return run_rescans(&n->tool, &c);
}

static int stats(const struct node *n)
{
	struct tool_call c = request(n, "sessions");
	struct json_object *reply = NULL;
	int status = tool_ask(&n->tool, &c, &reply);

	if (status != STATUS_OK)
		return status;
	if (n->tool.json)
		reply_print(reply, stdout);
	else if (!field_count(reply, "sessions"))
		status = tool_fail(STATUS_NOT_FOUND, "No matching sessions found");
	for (size_t i = 0; !n->tool.json && i < field_count(reply, "sessions"); i++)
		print_session_statistics(field_item(reply, "sessions", i), stdout);
	json_object_put(reply);
	return status;
}

/* ---- the command line ---- */

static int (*const ops[])(const struct node *n) = {
	[OP_SHOW] = show,
	[OP_NEW] = new,
	[OP_DELETE] = delete,
	[OP_UPDATE] = update,
};

/* The word behind --login or --logout. */
static int take_word(struct node *n, const char *word)
{
	int all = 0;

	while (all_words[all] && strcmp(all_words[all], word) != 0)
		all++;
	if (!all_words[all] || (!n->login && !n->logout))
		return tool_fail(STATUS_USAGE,
			"'%s' belongs to no option; --login and --logout take all, automatic, "
			"manual or onboot",
			word);
	*(n->login ? &n->login_all : &n->logout_all) = all;
	return STATUS_OK;
}

static int check(struct node *n)
{
	n->login |= n->login_all != ALL_NONE;
	n->logout |= n->logout_all != ALL_NONE;
	if (n->login + n->logout + n->rescan + n->stats + (n->op != OP_NONE) > 1)
		return tool_fail(STATUS_USAGE,
			"only one of --login, --logout, --rescan, --stats and -o at a time");
	if (n->op != OP_UPDATE && n->op != OP_SHOW && (n->names.count || n->values.count))
		return tool_fail(STATUS_USAGE, "-n and -v belong to -o update");
	return take_interface(n->interface, &n->transport) ? STATUS_OK : STATUS_USAGE;
}

static int run(const struct node *n)
{
	if (n->login)
		return login(n);
	if (n->logout)
		return logout(n);
	if (n->rescan)
		return rescan(n);
	if (n->stats)
		return stats(n);
	return n->op == OP_NONE ? show(n) : ops[n->op](n);
}

int mode_node(int argc, char **argv)
{
	struct node n = {.op = OP_NONE, .login_all = ALL_NONE, .logout_all = ALL_NONE};
	const struct option_row rows[] = {
		{"targetname", 'T', OPTION_STRING, &n.target, "TARGET", "an iSCSI name", 0, 0,
			NULL},
		{"portal", 'p', OPTION_STRING, &n.portal, "HOST[:PORT][,TPGT]",
			"where the target is", 0, 0, NULL},
		{"interface", 'I', OPTION_STRING, &n.interface, "iser|tcp", "transport", 0, 0,
			NULL},
		{"provider", 0, OPTION_STRING, &n.provider, "auto|verbs|softiwarp",
			"what carries iSER, from now on; auto: verbs where an RDMA device routes "
			"there",
			0, 0, NULL},
		{"login", 'l', OPTION_FLAG, &n.login, NULL, "log in", 0, 0, NULL},
		{"logout", 'u', OPTION_FLAG, &n.logout, NULL, "log out", 0, 0, NULL},
		{"loginall", 'L', OPTION_CHOICE, &n.login_all, "all|automatic|manual|onboot",
			"log in wherever node.startup is that; all: but onboot", 0, 0, all_words},
		{"logoutall", 'U', OPTION_CHOICE, &n.logout_all, "all|automatic|manual|onboot",
			"log out likewise", 0, 0, all_words},
		{"no_wait", 'W', OPTION_FLAG, &n.no_wait, NULL,
			"log in without waiting for the outcome", 0, 0, NULL},
		{"rescan", 'R', OPTION_FLAG, &n.rescan, NULL, "look for new LUNs and sizes", 0, 0,
			NULL},
		{"op", 'o', OPTION_CHOICE, &n.op, "show|new|delete|update",
			"what to do with the records", 0, 0, op_words},
		{"stats", 's', OPTION_FLAG, &n.stats, NULL, "what the sessions have done", 0, 0,
			NULL},
		{"name", 'n', OPTION_LIST, &n.names, "NAME", "a setting of the record", 0, 0, NULL},
		{"value", 'v', OPTION_LIST, &n.values, "VALUE|-|@FILE",
			"its value; - reads standard input, @FILE a file", 0, 0, NULL},
		{"show", 'S', OPTION_FLAG, &n.show_secrets, NULL, "show secrets, too", 0, 0, NULL},
		{"print", 'P', OPTION_UINT, &n.level, "0|1", "1: as a tree", 0, 1, NULL},
		{"force", 'f', OPTION_FLAG, &n.force, NULL,
			"log out though a device is in use; its I/O fails", 0, 0, NULL},
		TOOL_ROWS(&n.tool),
	};
	int operands;
	bool end;
	int status = tool_parse("node", usage, rows, &n.tool, argc, argv, 1, &operands, &end);

	if (!end && operands)
		status = take_word(&n, argv[1]);
	if (!end && status == STATUS_OK)
		status = check(&n);
	return end || status != STATUS_OK ? status : run(&n);
}

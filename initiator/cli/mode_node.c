/* iseradm -m node: node records (list, show, new, delete, update), login and logout. */
#include <string.h>

#include "initiator/cli/iseradm.h"

static const char usage[] =
	"iseradm -m node [-T TARGET] [-p HOST[:PORT][,TPGT]] [-I iser|tcp] ACTION\n\n"
	"  (none)                      list the records; with -T or -p, show them\n"
	"  -l, --login [all|automatic|manual]\n"
	"  -u, --logout [all] [--force]\n"
	"  -R, --rescan                look for new LUNs and sizes\n"
	"  -o show [-S] | new | delete\n"
	"  -o update -n NAME -v VALUE|-|@FILE\n";

enum node_op {
	OP_NONE = -1,
	OP_SHOW,
	OP_NEW,
	OP_DELETE,
	OP_UPDATE,
};

static const char *const op_words[] = {"show", "new", "delete", "update", NULL};
static const char *const all_words[] = {"all", "automatic", "manual", NULL};

enum node_all {
	ALL_NONE = -1,
	ALL_ALL,
	ALL_AUTOMATIC,
	ALL_MANUAL,
};

struct node {
	struct tool_options tool;
	const char *target, *portal, *interface, *transport, *provider, *name, *value;
	bool login, logout, rescan, show_secrets, force;
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

	puts("# BEGIN RECORD " ISERAN_VERSION);
	if (settings) {
		json_object_object_foreach(settings, name, value)
			printf("%s = %s\n", name, json_object_get_string(value));
	} else {
		printf("# %s at %s has more; -T and -p show it\n", field_text(record, "target"),
			field_text(record, "portal"));
	}
	puts("# END RECORD");
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
	for (size_t i = 0; i < field_count(reply, "unreadable"); i++)
		status = tool_fail(STATUS_DATABASE, "%s",
			json_object_get_string(field_item(reply, "unreadable", i)));
	if (!n->tool.json && status == STATUS_OK && !field_count(reply, "nodes"))
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
	struct tool_call c;
	char value[1024];
	int status;

	if (!n->name || !n->value)
		return tool_fail(STATUS_USAGE,
			"-o update needs -n NAME and -v VALUE; -v - reads the value from standard "
			"input, -v @FILE from a file");
	status = take_value(n->value, value, sizeof(value));
	if (status != STATUS_OK)
		return status;
	c = request(n, "node-update");
	tool_put(&c, "name", n->name);
	tool_put(&c, "value", value);
	return tool_tell(&n->tool, &c);
}

/* ---- sessions ---- */

/* Those whose record says node.startup = manual, one by one. */
static int login_manual(const struct node *n)
{
	struct tool_call c = request(n, "node-list");
	struct json_object *reply = NULL;
	int status = tool_ask(&n->tool, &c, &reply);
	size_t begun = 0;

	if (status != STATUS_OK)
		return status;
	for (size_t i = 0; i < field_count(reply, "nodes"); i++) {
		struct json_object *r = field_item(reply, "nodes", i);
		int rc;

		if (strcmp(field_text(field_object(r, "settings"), "node.startup"), "manual") != 0)
			continue;
		begun++;
		c = tool_request("login");
		tool_put(&c, "target", field_text(r, "target"));
		tool_put(&c, "portal", field_text(r, "portal"));
		tool_put(&c, "transport", field_text(r, "transport"));
		rc = run_logins(&n->tool, &c);
		status = status == STATUS_OK ? rc : status;
	}
	json_object_put(reply);
	return begun ? status : tool_fail(STATUS_NOT_FOUND, "No records found");
}

static int login(const struct node *n)
{
	struct tool_call c;

	if (n->login_all == ALL_MANUAL)
		return login_manual(n);
	c = request(n, n->login_all == ALL_AUTOMATIC ? "login-automatic" : "login");
	return run_logins(&n->tool, &c);
}

static int logout(const struct node *n)
{
	struct tool_call c = request(n, "logout");

	tool_put_flag(&c, "force", n->force);
	return run_logouts(&n->tool, &c);
}

static int rescan(const struct node *n)
{
	struct tool_call c = request(n, "rescan");

	return run_rescans(&n->tool, &c);
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
	int all = ALL_ALL;

	while (all_words[all] && strcmp(all_words[all], word) != 0)
		all++;
	if (!all_words[all] || (!n->login && !n->logout) || (n->logout && all != ALL_ALL))
		return tool_fail(STATUS_USAGE,
			"'%s' belongs to no option; --login takes all, automatic or manual, "
			"--logout takes all",
			word);
	if (n->login)
		n->login_all = all;
	return STATUS_OK;
}

static int check(struct node *n)
{
	n->login |= n->login_all != ALL_NONE;
	n->logout |= n->logout_all != ALL_NONE;
	if (n->login + n->logout + n->rescan + (n->op != OP_NONE) > 1)
		return tool_fail(
			STATUS_USAGE, "only one of --login, --logout, --rescan and -o at a time");
	if (n->op != OP_UPDATE && (n->name || n->value))
		return tool_fail(STATUS_USAGE, "-n and -v belong to -o update");
	if (n->logout_all == ALL_AUTOMATIC || n->logout_all == ALL_MANUAL)
		return tool_fail(STATUS_USAGE, "--logoutall takes all");
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
		{"loginall", 'L', OPTION_CHOICE, &n.login_all, "all|automatic|manual",
			"log in wherever node.startup is that", 0, 0, all_words},
		{"logoutall", 'U', OPTION_CHOICE, &n.logout_all, "all", "log out everywhere", 0, 0,
			all_words},
		{"rescan", 'R', OPTION_FLAG, &n.rescan, NULL, "look for new LUNs and sizes", 0, 0,
			NULL},
		{"op", 'o', OPTION_CHOICE, &n.op, "show|new|delete|update",
			"what to do with the records", 0, 0, op_words},
		{"name", 'n', OPTION_STRING, &n.name, "NAME", "a setting of the record", 0, 0,
			NULL},
		{"value", 'v', OPTION_STRING, &n.value, "VALUE|-|@FILE",
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

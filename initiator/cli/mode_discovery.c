/* iseradm -m discovery and -m discoverydb: ask a portal for its targets (SendTargets), and the
 * records of the portals that were asked. The two differ as iscsiadm's do: discovery asks when it
 * is given a portal, discoverydb when --discover says so. */
#include <string.h>

#include "initiator/cli/iseradm.h"

static const char usage[] =
	"iseradm -m discovery -t sendtargets -p HOST[:PORT] [-I iser|tcp] [-l]   ask, keep "
	"records\n"
	"iseradm -m discovery [-P 0|1]                                           who was asked\n"
	"iseradm -m discovery -p HOST[:PORT] -o show|delete                      the record of "
	"it\n";

static const char usage_db[] =
	"iseradm -m discoverydb -t sendtargets -p HOST[:PORT] -D [-I iser|tcp] [-l]  ask, keep "
	"records\n"
	"iseradm -m discoverydb -t sendtargets -p HOST[:PORT] -o show|new|delete\n"
	"iseradm -m discoverydb -t sendtargets -p HOST[:PORT] -o update -n NAME -v VALUE|-|@FILE\n"
	"iseradm -m discoverydb [-P 0|1]                                             who was "
	"asked\n";

enum discovery_op {
	OP_NONE = -1,
	OP_SHOW,
	OP_NEW,
	OP_DELETE,
	OP_UPDATE,
	OP_NONPERSISTENT,
};

static const char *const op_words[] = {"show", "new", "delete", "update", "nonpersistent", NULL};

struct discovery {
	struct tool_options tool;
	const char *type, *portal, *interface, *transport, *provider;
	const char *username, *password, *username_in, *password_in;
	struct option_list names, values;
	bool db, discover, login, show_secrets;
	int op;
	unsigned long level;
};

/* ---- asking ---- */

static int put_auth(const struct discovery *d, struct tool_call *c)
{
	const char *const fields[][2] = {
		{"username", d->username},
		{"password", d->password},
		{"username_in", d->username_in},
		{"password_in", d->password_in},
	};
	struct json_object *auth = NULL;
	char value[1024];
	int status = STATUS_OK;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && status == STATUS_OK; i++) {
		if (!fields[i][1])
			continue;
		if (!auth) {
			auth = json_object_new_object();
			json_object_object_add(c->request, "auth", auth);
		}
		status = take_value(fields[i][1], value, sizeof(value));
		json_object_object_add(auth, fields[i][0], json_object_new_string(value));
	}
	return status;
}

static void print_found(const struct discovery *d, struct json_object *reply)
{
	if (d->tool.json)
		reply_print(reply, stdout);
	else if (d->level == 1)
		print_target_tree(field_object(reply, "targets"), stdout);
	else
		for (size_t i = 0; i < field_count(reply, "targets"); i++)
			print_target(field_item(reply, "targets", i), stdout);
	if (field_flag(reply, "truncated"))
		fputs("iseradm: there are more targets than can be listed\n", stderr);
}

static int login_to(const struct discovery *d, struct json_object *reply)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < field_count(reply, "targets"); i++) {
		struct json_object *t = field_item(reply, "targets", i);
		struct tool_call c = tool_request("login");
		int rc;

		tool_put(&c, "target", field_text(t, "target"));
		tool_put(&c, "portal", field_text(t, "portal"));
		tool_put(&c, "transport", d->transport);
		tool_put(&c, "provider", d->provider);
		rc = run_logins(&d->tool, &c);
		status = status == STATUS_OK ? rc : status;
	}
	return status;
}

static struct tool_call request(const struct discovery *d, const char *verb)
{
	struct tool_call c = tool_request(verb);

	tool_put(&c, "portal", d->portal);
	tool_put(&c, "transport", d->transport);
	tool_put(&c, "provider", d->provider);
	return c;
}

static int discover(const struct discovery *d)
{
	struct tool_call c = request(d, "discovery");
	struct json_object *reply = NULL;
	int status;

	tool_put_flag(&c, "nonpersistent", d->op == OP_NONPERSISTENT);
	status = put_auth(d, &c);
	if (status != STATUS_OK) {
		json_object_put(c.request);
		return status;
	}
	status = tool_ask(&d->tool, &c, &reply);
	if (status != STATUS_OK)
		return status;
	print_found(d, reply);
	if (!field_count(reply, "targets"))
		status = tool_fail(
			STATUS_NOT_FOUND, "%s tells of no target that we may see", d->portal);
	else if (d->login)
		status = login_to(d, reply);
	json_object_put(reply);
	return status;
}

/* ---- records ---- */

static void print_one(struct json_object *discovery, unsigned long level)
{
	struct json_object *targets = field_object(discovery, "targets");
	char portal[128];

	if (level == 0) {
		printf("%s via sendtargets over %s\n", field_text(discovery, "portal"),
			field_text(discovery, "transport"));
		return;
	}
	printf("DiscoveryAddress: %s\n",
		portal_with_comma(field_text(discovery, "portal"), portal));
	if (targets)
		print_target_tree(targets, stdout);
}

static int list(const struct discovery *d)
{
	struct tool_call c = tool_request("discovery-list");
	struct json_object *reply = NULL;
	int status = tool_ask(&d->tool, &c, &reply);

	if (status != STATUS_OK)
		return status;
	if (d->tool.json)
		reply_print(reply, stdout);
	else if (!field_count(reply, "discoveries"))
		status = tool_fail(STATUS_NOT_FOUND, "No records found");
	else if (d->level == 1)
		puts("SENDTARGETS:");
	for (size_t i = 0; !d->tool.json && i < field_count(reply, "discoveries"); i++)
		print_one(field_item(reply, "discoveries", i), d->level);
	json_object_put(reply);
	return status;
}

static int show(const struct discovery *d)
{
	struct tool_call c = request(d, "discovery-show");
	struct json_object *reply = NULL;
	int status;

	if (!d->portal) {
		json_object_put(c.request);
		return list(d);
	}
	tool_put_flag(&c, "show_secrets", d->show_secrets);
	status = tool_ask(&d->tool, &c, &reply);
	if (status != STATUS_OK)
		return status;
	if (d->tool.json)
		reply_print(reply, stdout);
	else
		print_settings(field_object(reply, "settings"), stdout);
	json_object_put(reply);
	return STATUS_OK;
}

static int new (const struct discovery *d)
{
	struct tool_call c = request(d, "discovery-new");
	char portal[128];
	int status = tool_tell(&d->tool, &c);

	if (status == STATUS_OK && !d->tool.json)
		printf("New discovery record for [%s] added.\n",
			portal_with_comma(d->portal, portal));
	return status;
}

static int delete (const struct discovery *d)
{
	struct tool_call c = request(d, "discovery-delete");

	return tool_tell(&d->tool, &c);
}

static int update(const struct discovery *d)
{
	struct tool_call c = request(d, "discovery-update");
	int status = put_settings(&c, &d->names, &d->values);

	if (status == STATUS_OK)
		return tool_tell(&d->tool, &c);
	json_object_put(c.request);
	return status;
}

/* ---- the command line ---- */

static int (*const ops[])(const struct discovery *d) = {
	[OP_SHOW] = show,
	[OP_NEW] = new,
	[OP_DELETE] = delete,
	[OP_UPDATE] = update,
};

/* -o new and -o update of `-m discovery` say which records a discovery may make or change: they do
 * not stand in its way here. */
static bool asks(const struct discovery *d)
{
	if (d->discover || d->op == OP_NONPERSISTENT)
		return true;
	return !d->db && d->portal && d->op != OP_SHOW && d->op != OP_DELETE;
}

static int check_type(const struct discovery *d)
{
	if (!d->type || !strcmp(d->type, "st") || !strcmp(d->type, "sendtargets"))
		return STATUS_OK;
	return tool_fail(
		STATUS_DISCOVERY_TYPE, "-t %s: sendtargets (or st) is the only type", d->type);
}

static int check(struct discovery *d)
{
	int status = check_type(d);

	if (status != STATUS_OK)
		return status;
	if (!d->portal && (d->login || d->type || d->discover || d->op > OP_SHOW))
		return tool_fail(STATUS_USAGE, "which portal? -p HOST[:PORT] says it");
	if (d->login && !asks(d))
		return tool_fail(STATUS_USAGE, "--login goes with --discover");
	if ((d->names.count || d->values.count) && (!d->db || d->op != OP_UPDATE))
		return tool_fail(STATUS_USAGE, "-n and -v belong to -m discoverydb -o update");
	if (d->username && !d->password)
		return tool_fail(STATUS_USAGE, "--username needs --password, too");
	return take_interface(d->interface, &d->transport) ? STATUS_OK : STATUS_USAGE;
}

static int run(struct discovery *d, int argc, char **argv)
{
	const struct option_row rows[] = {
		{"type", 't', OPTION_STRING, &d->type, "sendtargets", "how to ask", 0, 0, NULL},
		{"portal", 'p', OPTION_STRING, &d->portal, "HOST[:PORT]", "whom to ask", 0, 0,
			NULL},
		{"discover", 'D', OPTION_FLAG, &d->discover, NULL, "ask", 0, 0, NULL},
		{"interface", 'I', OPTION_STRING, &d->interface, "iser|tcp|default",
			"transport, also of the records that are made; default iser", 0, 0, NULL},
		{"provider", 0, OPTION_STRING, &d->provider, "auto|verbs|softiwarp",
			"what carries iSER, from now on; auto: verbs where an RDMA device routes "
			"there",
			0, 0, NULL},
		{"login", 'l', OPTION_FLAG, &d->login, NULL, "log in to what was found", 0, 0,
			NULL},
		{"op", 'o', OPTION_CHOICE, &d->op, "show|new|delete|update|nonpersistent",
			"what to do with the record; nonpersistent: ask, and keep none", 0, 0,
			op_words},
		{"name", 'n', OPTION_LIST, &d->names, "NAME", "a setting of the record", 0, 0,
			NULL},
		{"value", 'v', OPTION_LIST, &d->values, "VALUE|-|@FILE",
			"its value; - reads standard input, @FILE a file", 0, 0, NULL},
		{"show", 'S', OPTION_FLAG, &d->show_secrets, NULL, "show secrets, too", 0, 0, NULL},
		{"print", 'P', OPTION_UINT, &d->level, "0|1", "1: as a tree", 0, 1, NULL},
		{"username", 0, OPTION_STRING, &d->username, "NAME", "CHAP: our name", 0, 0, NULL},
		{"password", 0, OPTION_STRING, &d->password, "SECRET|-|@FILE",
			"CHAP: our secret; - reads standard input, @FILE a file", 0, 0, NULL},
		{"username-in", 0, OPTION_STRING, &d->username_in, "NAME",
			"mutual CHAP: the target's name", 0, 0, NULL},
		{"password-in", 0, OPTION_STRING, &d->password_in, "SECRET|-|@FILE",
			"mutual CHAP: the target's secret", 0, 0, NULL},
		TOOL_ROWS(&d->tool),
	};
	int operands;
	bool end;
	int status = tool_parse(d->db ? "discoverydb" : "discovery", d->db ? usage_db : usage, rows,
		&d->tool, argc, argv, 0, &operands, &end);

	if (!end)
		status = check(d);
	if (end || status != STATUS_OK)
		return status;
	if (asks(d))
		return discover(d);
	return d->op == OP_NONE ? show(d) : ops[d->op](d);
}

int mode_discovery(int argc, char **argv)
{
	struct discovery d = {.op = OP_NONE};

	return run(&d, argc, argv);
}

int mode_discoverydb(int argc, char **argv)
{
	struct discovery d = {.op = OP_NONE, .db = true};

	return run(&d, argc, argv);
}

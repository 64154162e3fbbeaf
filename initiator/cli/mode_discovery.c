/* iseradm -m discovery: asks a portal for its targets (SendTargets); without -p, lists the portals
 * that were asked before. */
#include <string.h>

#include "initiator/cli/iseradm.h"

static const char usage[] =
	"iseradm -m discovery -t sendtargets -p HOST[:PORT] [-I iser|tcp] [-l]   ask, keep "
	"records\n"
	"iseradm -m discovery [-P 0|1]                                           who was asked\n";

struct discovery {
	struct tool_options tool;
	const char *type, *portal, *interface, *transport, *provider;
	const char *username, *password, *username_in, *password_in;
	bool login;
	unsigned long level;
};

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

static int discover(const struct discovery *d)
{
	struct tool_call c = tool_request("discovery");
	struct json_object *reply = NULL;
	int status;

	tool_put(&c, "portal", d->portal);
	tool_put(&c, "transport", d->transport);
	tool_put(&c, "provider", d->provider);
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

static void print_one(struct json_object *discovery, unsigned long level)
{
	struct json_object *targets = field_object(discovery, "targets");

	if (field_object(discovery, "error"))
		printf("%s\n", field_text(discovery, "error"));
	else if (level == 0)
		printf("%s via sendtargets over %s\n", field_text(discovery, "portal"),
			field_text(discovery, "transport"));
	else
		printf("DiscoveryAddress: %s\n", field_text(discovery, "portal"));
	if (level == 1 && targets)
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
	for (size_t i = 0; !d->tool.json && i < field_count(reply, "discoveries"); i++)
		print_one(field_item(reply, "discoveries", i), d->level);
	json_object_put(reply);
	return status;
}

static int check(struct discovery *d)
{
	if (d->type && strcmp(d->type, "st") != 0 && strcmp(d->type, "sendtargets") != 0)
		return tool_fail(STATUS_DISCOVERY_TYPE,
			"-t %s: sendtargets (or st) is the only type", d->type);
	if (!d->portal && (d->login || d->type))
		return tool_fail(STATUS_USAGE, "which portal? -p HOST[:PORT] says it");
	if (d->username && !d->password)
		return tool_fail(STATUS_USAGE, "--username needs --password, too");
	return take_interface(d->interface, &d->transport) ? STATUS_OK : STATUS_USAGE;
}

int mode_discovery(int argc, char **argv)
{
	struct discovery d = {0};
	const struct option_row rows[] = {
		{"type", 't', OPTION_STRING, &d.type, "sendtargets", "how to ask", 0, 0, NULL},
		{"portal", 'p', OPTION_STRING, &d.portal, "HOST[:PORT]", "whom to ask", 0, 0, NULL},
		{"interface", 'I', OPTION_STRING, &d.interface, "iser|tcp",
			"transport, also of the records that are made; default iser", 0, 0, NULL},
		{"provider", 0, OPTION_STRING, &d.provider, "auto|verbs|softiwarp",
			"what carries iSER, from now on; auto: verbs where an RDMA device routes "
			"there",
			0, 0, NULL},
		{"login", 'l', OPTION_FLAG, &d.login, NULL, "log in to what was found", 0, 0, NULL},
		{"print", 'P', OPTION_UINT, &d.level, "0|1", "1: as a tree", 0, 1, NULL},
		{"username", 0, OPTION_STRING, &d.username, "NAME", "CHAP: our name", 0, 0, NULL},
		{"password", 0, OPTION_STRING, &d.password, "SECRET|-|@FILE",
			"CHAP: our secret; - reads standard input, @FILE a file", 0, 0, NULL},
		{"username-in", 0, OPTION_STRING, &d.username_in, "NAME",
			"mutual CHAP: the target's name", 0, 0, NULL},
		{"password-in", 0, OPTION_STRING, &d.password_in, "SECRET|-|@FILE",
			"mutual CHAP: the target's secret", 0, 0, NULL},
		TOOL_ROWS(&d.tool),
	};
	int operands;
	bool end;
	int status = tool_parse("discovery", usage, rows, &d.tool, argc, argv, 0, &operands, &end);

	if (!end)
		status = check(&d);
	if (end || status != STATUS_OK)
		return status;
	return d.portal ? discover(&d) : list(&d);
}

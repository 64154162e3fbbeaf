/* Targets, logins and logouts in iscsiadm's words, which scripts look for. Called by the modes. */
#include <string.h>
#include <unistd.h>

#include "initiator/cli/iseradm.h"

#define ISCSI_PORT "3260" /* RFC 7143 section 4.2.7.1: where none is given */

char *portal_with_comma(const char *portal, char out[128])
{
	const char *bracket = portal[0] == '[' ? strchr(portal, ']') : NULL;
	const char *colon = strrchr(bracket ? bracket : portal, ':');
	size_t length = colon ? (size_t)(colon - portal) : strlen(portal);

	if (bracket) {
		portal++;
		length = (size_t)(bracket - portal);
	}
	snprintf(out, 128, "%.*s%s%s", (int)length, portal, *portal ? "," : "",
		colon	  ? colon + 1
		: *portal ? ISCSI_PORT
			  : "");
	return out;
}

const char *interface_name(const char *transport)
{
	return !strcmp(transport, "tcp") ? "default" : transport;
}

bool take_interface(const char *word, const char **ret_transport)
{
	static const char *const words[][2] = {
		{"iser", "iser"}, {"tcp", "tcp"}, {"default", "tcp"}};

	*ret_transport = NULL;
	for (size_t i = 0; word && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i][0], word))
			*ret_transport = words[i][1];
	if (!word || *ret_transport)
		return true;
	tool_fail(STATUS_USAGE, "-I %s: iser and tcp (or default) are the interfaces", word);
	return false;
}

void print_target(struct json_object *target, FILE *out)
{
	fprintf(out, "%s,%llu %s\n", field_text(target, "portal"),
		(unsigned long long)field_number(target, "tpgt"), field_text(target, "target"));
}

/* Targets come sorted by name, those of a discovery by portal; one that was shown is not again. */
static bool was_before(struct json_object *targets, size_t i)
{
	const char *name = field_text(json_object_array_get_idx(targets, i), "target");

	for (size_t k = 0; k < i; k++)
		if (!strcmp(field_text(json_object_array_get_idx(targets, k), "target"), name))
			return true;
	return false;
}

void print_target_tree(struct json_object *targets, FILE *out)
{
	size_t count = json_object_array_length(targets);

	for (size_t i = 0; i < count; i++) {
		const char *name = field_text(json_object_array_get_idx(targets, i), "target");

		if (was_before(targets, i))
			continue;
		fprintf(out, "Target: %s\n", name);
		for (size_t k = i; k < count; k++) {
			struct json_object *t = json_object_array_get_idx(targets, k);
			const char *transport = field_text(t, "transport");

			if (strcmp(field_text(t, "target"), name) != 0)
				continue;
			fprintf(out, "\tPortal: %s,%llu\n", field_text(t, "portal"),
				(unsigned long long)field_number(t, "tpgt"));
			if (*transport)
				fprintf(out, "\t\tIface Name: %s\n", interface_name(transport));
		}
	}
}

void print_settings(struct json_object *settings, FILE *out)
{
	fputs("# BEGIN RECORD " ISERAN_VERSION "\n", out);
	json_object_object_foreach(settings, name, value)
		fprintf(out, "%s = %s\n", name, json_object_get_string(value));
	fputs("# END RECORD\n", out);
}

/* ---- logins and logouts ---- */

/* What one verb says of each session, and where its outcomes are. */
struct story {
	const char *key; /* of the list in the reply */
	const char *begun, *succeeded, *failed;
	bool sid; /* sessions are told by their number */
};

static const struct story login_story = {
	"logins", "Logging in to", "Login to", "Could not login to", false};
static const struct story logout_story = {
	"logouts", "Logging out of session", "Logout of", "Could not logout of", true};
static const struct story rescan_story = {
	"rescans", "Rescanning session", "Rescan of", "Could not rescan", true};

static void print_who(const struct story *s, struct json_object *entry, FILE *out)
{
	char portal[128];

	portal_with_comma(field_text(entry, "portal"), portal);
	if (s->sid && field_object(entry, "session"))
		fprintf(out, "[sid: %llu, ", (unsigned long long)field_number(entry, "session"));
	else
		fprintf(out, "[iface: %s, ", interface_name(field_text(entry, "transport")));
	fprintf(out, "target: %s, portal: %s]", field_text(entry, "target"), portal);
}

/* After a login that is good but for its block devices. */
static void tell_missing_devices(struct json_object *entry)
{
	unsigned long long missing = field_number(entry, "without_device");

	if (!missing)
		return;
	fprintf(stderr, "iseradm: warning: LUN %llu",
		(unsigned long long)field_number(entry, "without_device_first"));
	if (missing > 1)
		fprintf(stderr, " (and %llu more)", missing - 1);
	fprintf(stderr, " has no block device: %s; -m lun reads and writes it without\n",
		field_text(entry, "without_device_reason"));
}

/* What one verb says to one caller. */
struct telling {
	const struct story *story;
	bool waiting; /* attempts that failed are told */
};

static void tell(void *arg, struct json_object *progress)
{
	const struct telling *t = arg;
	const struct story *s = t->story;
	struct json_object *entry = field_object(progress, "begun");
	bool begun = entry;

	if (field_object(progress, "waiting")) {
		if (t->waiting)
			fprintf(stderr, "iseradm: %s\n", field_text(progress, "why"));
		return;
	}
	if (!entry)
		entry = field_object(progress, "ended");
	if (!entry || !field_object(entry, "target") || (!begun && !field_flag(entry, "ok")))
		return;
	printf("%s ", begun ? s->begun : s->succeeded);
	print_who(s, entry, stdout);
	puts(begun ? "" : " successful.");
	fflush(stdout);
	if (!begun)
		tell_missing_devices(entry);
}

static int tell_failures(const struct story *s, struct json_object *reply)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < field_count(reply, s->key); i++) {
		struct json_object *entry = field_item(reply, s->key, i);

		if (field_flag(entry, "ok"))
			continue;
		if (status == STATUS_OK)
			status = (int)field_number(entry, "status");
		fflush(stdout);
		fprintf(stderr, "iseradm: ");
		if (field_object(entry, "target")) {
			fprintf(stderr, "%s ", s->failed);
			print_who(s, entry, stderr);
			fprintf(stderr, ": ");
		}
		fprintf(stderr, "%s\n", field_text(entry, "error"));
	}
	return status;
}

static int run(const struct tool_options *o, struct tool_call *c, const struct story *s)
{
	struct telling t = {s, o->debug > 0 || isatty(STDERR_FILENO)};
	struct json_object *reply = NULL;
	int status;

	c->progress = o->json ? NULL : tell;
	c->arg = &t;
	status = tool_ask(o, c, &reply);
	if (status != STATUS_OK)
		return status;
	if (o->json)
		reply_print(reply, stdout);
	status = tell_failures(s, reply);
	json_object_put(reply);
	return status;
}

int run_logins(const struct tool_options *o, struct tool_call *c)
{
	return run(o, c, &login_story);
}

int run_logouts(const struct tool_options *o, struct tool_call *c)
{
	return run(o, c, &logout_story);
}

int run_rescans(const struct tool_options *o, struct tool_call *c)
{
	return run(o, c, &rescan_story);
}

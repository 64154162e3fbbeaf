/* Sessions as iscsiadm shows them: -P 0 a line, -P 1..3 a tree. Called by mode_session.c. */
#include <string.h>

#include "initiator/cli/iseradm.h"

static unsigned long long number(struct json_object *o, const char *key)
{
	return (unsigned long long)field_number(o, key);
}

static void print_line(struct json_object *s, FILE *out)
{
	fprintf(out, "%s: [%llu] %s,%llu %s (non-flash)\n", field_text(s, "transport"),
		number(s, "session"), field_text(s, "portal"), number(s, "tpgt"),
		field_text(s, "target"));
}

/* A frame of stars as wide as the words. */
static void print_heading(const char *words, FILE *out)
{
	int width = (int)strlen(words);
	static const char stars[] = "********************************";

	fprintf(out, "\t\t%.*s\n\t\t%s\n\t\t%.*s\n", width, stars, words, width, stars);
}

static void print_interface(struct json_object *s, FILE *out)
{
	struct json_object *info = field_object(s, "info");
	const char *provider = field_text(s, "provider");
	char local[128];

	portal_with_comma(field_text(info, "local"), local);
	local[strcspn(local, ",")] = '\0';
	print_heading("Interface:", out);
	fprintf(out, "\t\tIface Name: %s\n", interface_name(field_text(s, "transport")));
	fprintf(out, "\t\tIface Transport: %s%s%s%s\n", field_text(s, "transport"),
		*provider ? " (" : "", provider, *provider ? ")" : "");
	fprintf(out, "\t\tIface Initiatorname: %s\n", field_text(s, "initiator"));
	fprintf(out, "\t\tIface IPaddress: %s\n", *local ? local : "<empty>");
	fprintf(out, "\t\tSID: %llu\n", number(s, "session"));
	fprintf(out, "\t\tISID: %s\n", field_text(s, "isid"));
}

static void print_state(struct json_object *s, FILE *out)
{
	bool connected = field_object(s, "info");
	const char *error = field_text(s, "last_error");

	fprintf(out, "\t\tiSCSI Connection State: %s\n",
		connected ? "LOGGED IN" : "TRANSPORT WAIT");
	fprintf(out, "\t\tiSCSI Session State: %s\n", field_text(s, "state"));
	fprintf(out, "\t\tRecoveries: %llu\n", number(s, "recoveries"));
	if (*error)
		fprintf(out, "\t\tLast Error: %s\n", error);
}

static void print_timeouts(struct json_object *s, FILE *out)
{
	static const char *const lines[][2] = {
		{"Recovery", "recovery"},
		{"Target Reset", "target_reset"},
		{"LUN Reset", "lun_reset"},
		{"Abort", "abort"},
	};
	struct json_object *timeouts = field_object(s, "timeouts");

	if (!timeouts)
		return;
	print_heading("Timeouts:", out);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		fprintf(out, "\t\t%s Timeout: %s\n", lines[i][0],
			json_object_get_string(field_object(timeouts, lines[i][1])));
}

/* Secrets are covered whether they are set or not. */
static void print_chap(struct json_object *s, FILE *out)
{
	static const char *const suffixes[] = {"", "_in"};
	struct json_object *chap = field_object(s, "chap");
	char key[16];

	if (!chap)
		return;
	print_heading("CHAP:", out);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(key, sizeof(key), "username%s", suffixes[i]);
		fprintf(out, "\t\t%s: %s\n\t\tpassword%s: ********\n", key,
			field_object(chap, key) ? field_text(chap, key) : "<empty>", suffixes[i]);
	}
}

static void print_params(struct json_object *s, FILE *out)
{
	struct json_object *params = field_object(s, "params");

	if (!params)
		return;
	print_heading("Negotiated iSCSI params:", out);
	json_object_object_foreach(params, name, value)
	{
		bool flag = json_object_is_type(value, json_type_boolean);
		const char *text = json_object_get_string(value);

		if (flag)
			text = json_object_get_boolean(value) ? "Yes" : "No";
		fprintf(out, "\t\t%s: %s\n", name, text);
	}
}

static void print_transport(struct json_object *s, FILE *out)
{
	struct json_object *info = field_object(s, "info");
	const char *detail = field_text(info, "detail");

	if (!info || !*detail)
		return;
	print_heading("Transport:", out);
	fprintf(out, "\t\t%s\n", detail);
	fprintf(out, "\t\tSent: %llu PDUs, %llu bytes\n", number(info, "pdus_sent"),
		number(info, "bytes_sent"));
	fprintf(out, "\t\tReceived: %llu PDUs, %llu bytes\n", number(info, "pdus_received"),
		number(info, "bytes_received"));
}

static void print_lun(struct json_object *l, FILE *out)
{
	const char *device = field_text(l, "device"), *why = field_text(l, "why");
	const char *link = field_text(l, "link");
	bool attached = field_object(l, "device");
	char size[32];

	fprintf(out, "\t\tLun: %llu\n", number(l, "lun"));
	if (attached)
		fprintf(out, "\t\t\tAttached scsi disk %s\t\tState: %s\n",
			!strncmp(device, "/dev/", 5) ? device + 5 : device, field_text(l, "state"));
	else
		fprintf(out, "\t\t\tNo block device\t\tState: %s\n", field_text(l, "state"));
	if (!attached && field_object(l, "why"))
		fprintf(out, "\t\t\tReason: %s\n", why);
	fprintf(out, "\t\t\tSize: %s (%llu bytes), %llu-byte blocks%s\n",
		bytes_text(field_number(l, "size"), size), number(l, "size"),
		number(l, "block_size"), field_flag(l, "readonly") ? ", read-only" : "");
	fprintf(out, "\t\t\tDevice: %s %s %s, serial %s\n", field_text(l, "vendor"),
		field_text(l, "product"), field_text(l, "revision"), field_text(l, "serial"));
	fprintf(out, "\t\t\tWWID: %s\n", field_text(l, "wwid"));
	if (attached && *link)
		fprintf(out, "\t\t\tLink: %s\n", link);
}

static void print_luns(struct json_object *s, FILE *out)
{
	print_heading("Attached SCSI devices:", out);
	for (size_t i = 0; i < field_count(s, "luns"); i++)
		print_lun(field_item(s, "luns", i), out);
	if (!field_count(s, "luns"))
		fputs("\t\tnone\n", out);
}

static void print_portal(struct json_object *s, unsigned long level, FILE *out)
{
	const char *current = field_text(s, "connected_to");

	if (!*current)
		current = field_text(s, "portal");
	fprintf(out, "\tCurrent Portal: %s,%llu\n", current, number(s, "tpgt"));
	fprintf(out, "\tPersistent Portal: %s,%llu\n", field_text(s, "portal"), number(s, "tpgt"));
	print_interface(s, out);
	print_state(s, out);
	if (level >= 2) {
		print_timeouts(s, out);
		print_chap(s, out);
		print_params(s, out);
		print_transport(s, out);
	}
	if (level >= 3)
		print_luns(s, out);
}

/* Sessions to one target stand below it together. */
void print_sessions(struct json_object *reply, unsigned long level, FILE *out)
{
	size_t count = field_count(reply, "sessions");

	for (size_t i = 0; i < count; i++) {
		struct json_object *s = field_item(reply, "sessions", i);
		const char *target = field_text(s, "target");
		bool first = true;

		if (level == 0) {
			print_line(s, out);
			continue;
		}
		for (size_t k = 0; k < i; k++)
			first &= strcmp(field_text(field_item(reply, "sessions", k), "target"),
					 target) != 0;
		if (!first)
			continue;
		fprintf(out, "Target: %s (non-flash)\n", target);
		for (size_t k = i; k < count; k++)
			if (!strcmp(field_text(field_item(reply, "sessions", k), "target"), target))
				print_portal(field_item(reply, "sessions", k), level, out);
	}
}

static void print_counters(const char *heading, struct json_object *counters, FILE *out)
{
	if (!counters)
		return;
	fprintf(out, "%s\n", heading);
	json_object_object_foreach(counters, name, value)
		fprintf(out, "\t%s: %s\n", name, json_object_get_string(value));
}

void print_session_statistics(struct json_object *s, FILE *out)
{
	char portal[128], heading[32];

	fprintf(out, "Stats for session [sid: %llu, target: %s, portal: %s]\n",
		number(s, "session"), field_text(s, "target"),
		portal_with_comma(field_text(s, "portal"), portal));
	print_counters("Session:", field_object(s, "stats"), out);
	for (size_t i = 0; i < field_count(s, "luns"); i++) {
		struct json_object *l = field_item(s, "luns", i);

		snprintf(heading, sizeof(heading), "Lun %llu:", number(l, "lun"));
		print_counters(heading, field_object(l, "stats"), out);
	}
}

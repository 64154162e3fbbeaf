/* iseradm -m session: sessions as a list or a tree, their statistics, rescan, logout. */
#include "initiator/cli/iseradm.h"

static const char usage[] = "iseradm -m session [-r SID] [ACTION]\n\n"
			    "  (none), -P 0      one line per session\n"
			    "  -P 1|2|3          as a tree; 2: with time-outs and negotiated "
			    "parameters; 3: with devices\n"
			    "  -s, --stats       what each has done\n"
			    "  -R, --rescan      look for new LUNs and sizes\n"
			    "  -u, --logout [--force]\n";

static const char *const op_words[] = {"show", "new", NULL};

struct session {
	struct tool_options tool;
	unsigned long sid, level;
	bool logout, rescan, stats, force, show_secrets;
	int op;
};

static struct tool_call request(const struct session *s, const char *verb)
{
	struct tool_call c = tool_request(verb);

	if (s->sid)
		tool_put_number(&c, "session", s->sid);
	return c;
}

static int none(const struct session *s)
{
	if (s->sid)
		return tool_fail(STATUS_NO_SESSION,
			"there is no session %lu; -m session lists them", s->sid);
	return tool_fail(STATUS_NOT_FOUND, "No active sessions.");
}

static void print(const struct session *s, struct json_object *reply)
{
	for (size_t i = 0; s->stats && i < field_count(reply, "sessions"); i++)
		print_session_statistics(field_item(reply, "sessions", i), stdout);
	if (!s->stats)
		print_sessions(reply, s->level, stdout);
}

/* An iserd that does not run has no sessions: it need not be started to say so. */
static int show(const struct session *s)
{
	struct tool_call c = request(s, "sessions");
	struct json_object *reply = NULL;
	int status;

	c.start = false;
	status = tool_ask(&s->tool, &c, &reply);
	if (status == STATUS_NO_DAEMON && !reply && s->tool.json) {
		reply = json_object_new_object();
		json_object_object_add(reply, "sessions", json_object_new_array());
		status = STATUS_OK;
	}
	if (status != STATUS_OK)
		return status == STATUS_NO_DAEMON ? none(s) : status;
	if (s->tool.json)
		reply_print(reply, stdout);
	else if (!field_count(reply, "sessions"))
		status = none(s);
	else
		print(s, reply);
	json_object_put(reply);
	return status;
}

static int logout(const struct session *s)
{
	struct tool_call c = request(s, "logout");

	tool_put_flag(&c, "force", s->force);
	return run_logouts(&s->tool, &c);
}

static int rescan(const struct session *s)
{
	struct tool_call c = request(s, "rescan");

	return run_rescans(&s->tool, &c);
}

int mode_session(int argc, char **argv)
{
	struct session s = {0};
	const struct option_row rows[] = {
		{"sid", 'r', OPTION_UINT, &s.sid, "SID", "one session, by its number", 1,
			UINT32_MAX, NULL},
		{"print", 'P', OPTION_UINT, &s.level, "0..3", "as a tree, in so much detail", 0, 3,
			NULL},
		{"stats", 's', OPTION_FLAG, &s.stats, NULL, "statistics", 0, 0, NULL},
		{"rescan", 'R', OPTION_FLAG, &s.rescan, NULL, "look for new LUNs and sizes", 0, 0,
			NULL},
		{"logout", 'u', OPTION_FLAG, &s.logout, NULL, "log out", 0, 0, NULL},
		{"force", 'f', OPTION_FLAG, &s.force, NULL,
			"log out though a device is in use; its I/O fails", 0, 0, NULL},
		{"op", 'o', OPTION_CHOICE, &s.op, "show", "the same as no action", 0, 0, op_words},
		{"show", 'S', OPTION_FLAG, &s.show_secrets, NULL,
			"as iscsiadm has it; secrets are not kept in a session", 0, 0, NULL},
		TOOL_ROWS(&s.tool),
	};
	int operands;
	bool end;
	int status = tool_parse("session", usage, rows, &s.tool, argc, argv, 0, &operands, &end);

	if (end)
		return status;
	if (s.op)
		return tool_fail(STATUS_UNSUPPORTED,
			"-o new: iserd makes one session per record; another portal, or -I, makes "
			"another");
	if (s.logout && s.rescan)
		return tool_fail(STATUS_USAGE, "only one of --logout and --rescan at a time");
	return s.logout ? logout(&s) : s.rescan ? rescan(&s) : show(&s);
}

/* iseradm -m daemon: iserd itself. It is not started for this. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "initiator/cli/iseradm.h"

static const char usage[] =
	"iseradm -m daemon [-o status]\n"
	"iseradm -m daemon -o stop [--force]                   log out everywhere, and end it\n"
	"iseradm -m daemon -o log -v error|warning|info|debug  what it logs from now on\n";

enum daemon_op {
	OP_STATUS,
	OP_STOP,
	OP_LOG,
};

static const char *const op_words[] = {"status", "stop", "log", NULL};

struct daemon_mode {
	struct tool_options tool;
	int op;
	const char *level;
	bool force;
};

static int ask(const struct daemon_mode *d, struct tool_call *c, struct json_object **ret_reply)
{
	int status;

	c->start = false;
	*ret_reply = NULL;
	status = tool_ask(&d->tool, c, ret_reply);
	return status;
}

static int not_running(const struct daemon_mode *d)
{
	return tool_fail(
		STATUS_NO_DAEMON, "iserd does not run with %s", tool_runtime_dir(&d->tool));
}

static void print_status(struct json_object *o)
{
	printf("iserd %s, pid %llu, up %llu s\n", field_text(o, "version"),
		(unsigned long long)field_number(o, "pid"),
		(unsigned long long)field_number(o, "uptime_s"));
	printf("initiator name      %s\n", field_text(o, "initiator"));
	printf("state directory     %s\n", field_text(o, "state_dir"));
	printf("runtime directory   %s\n", field_text(o, "runtime_dir"));
	printf("log level           %s\n", field_text(o, "log_level"));
	printf("block devices       %s\n", field_flag(o, "devices") ? "yes" : "no");
	printf("sessions            %llu, %llu being tried at start\n",
		(unsigned long long)field_number(o, "sessions"),
		(unsigned long long)field_number(o, "logins_waiting"));
}

static int show_status(const struct daemon_mode *d)
{
	struct tool_call c = tool_request("status");
	struct json_object *reply;
	int status = ask(d, &c, &reply);

	if (status == STATUS_NO_DAEMON)
		return not_running(d);
	if (status != STATUS_OK)
		return status;
	if (d->tool.json)
		reply_print(reply, stdout);
	else
		print_status(reply);
	json_object_put(reply);
	return STATUS_OK;
}

/* It has 20 s for its devices and 10 s for the rest. */
static int wait_for_end(uint64_t pid)
{
	const struct timespec step = {.tv_nsec = 20000000};

	for (int i = 0; i < 40 * 50; i++) {
		if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			return STATUS_OK;
		nanosleep(&step, NULL);
	}
	return tool_fail(STATUS_FAILED, "iserd (process %llu) has not ended within 40 s",
		(unsigned long long)pid);
}

static int stop(const struct daemon_mode *d)
{
	struct tool_call c = tool_request("status");
	struct json_object *reply;
	uint64_t pid;
	int status = ask(d, &c, &reply);

	if (status == STATUS_NO_DAEMON)
		return not_running(d);
	if (status != STATUS_OK)
		return status;
	pid = field_number(reply, "pid");
	json_object_put(reply);
	c = tool_request("stop");
	tool_put_flag(&c, "force", d->force);
	status = ask(d, &c, &reply);
	json_object_put(reply);
	return status == STATUS_OK ? wait_for_end(pid) : status;
}

static int set_log(const struct daemon_mode *d)
{
	struct tool_call c;
	struct json_object *reply;
	int status;

	if (!d->level)
		return tool_fail(STATUS_USAGE, "-o log needs -v error, warning, info or debug");
	c = tool_request("set-log");
	tool_put(&c, "level", d->level);
	status = ask(d, &c, &reply);
	json_object_put(reply);
	return status == STATUS_NO_DAEMON ? not_running(d) : status;
}

static int (*const ops[])(const struct daemon_mode *d) = {
	[OP_STATUS] = show_status,
	[OP_STOP] = stop,
	[OP_LOG] = set_log,
};

int mode_daemon(int argc, char **argv)
{
	struct daemon_mode d = {0};
	const struct option_row rows[] = {
		{"op", 'o', OPTION_CHOICE, &d.op, "status|stop|log", "what to do", 0, 0, op_words},
		{"value", 'v', OPTION_STRING, &d.level, "LEVEL", "of -o log", 0, 0, NULL},
		{"force", 'f', OPTION_FLAG, &d.force, NULL, "stop though a device is in use", 0, 0,
			NULL},
		TOOL_ROWS(&d.tool),
	};
	int operands;
	bool end;
	int status = tool_parse("daemon", usage, rows, &d.tool, argc, argv, 0, &operands, &end);

	return end ? status : ops[d.op](&d);
}

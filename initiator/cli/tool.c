/* What the modes of iseradm are built from: command lines, and questions to iserd. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/control/control.h"
#include "initiator/cli/iseradm.h"

int tool_fail(enum ini_status status, const char *format, ...)
{
	va_list args;

	fputs("iseradm: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return (int)status;
}

/* Only what a mode can do with its operands is allowed. */
int tool_parse(const char *mode, const char *usage, const struct option_row *rows,
	const struct tool_options *o, int argc, char **argv, int operands, int *ret_operands,
	bool *ret_end)
{
	char program[64];

	*ret_end = true;
	snprintf(program, sizeof(program), "iseradm -m %s", mode);
	if (options_parse(program, rows, argc, argv, ret_operands, stderr) < 0)
		return STATUS_USAGE;
	if (o->help) {
		fputs(usage, stdout);
		putchar('\n');
		options_help(rows, stdout);
		return STATUS_OK;
	}
	if (*ret_operands > operands) {
		fprintf(stderr, "%s: '%s' belongs to no option; %s --help shows what does\n",
			program, argv[1 + operands], program);
		return STATUS_USAGE;
	}
	*ret_end = false;
	return STATUS_OK;
}

/* ---- where iserd is ---- */

static const char *directory(const char *given, const char *variable, const char *otherwise)
{
	const char *set = getenv(variable);

	if (given)
		return given;
	return set && *set ? set : otherwise;
}

const char *tool_runtime_dir(const struct tool_options *o)
{
	return directory(o->runtime_dir, "ISERAN_RUNTIME_DIR", "/run/iseran");
}

const char *tool_state_dir(const struct tool_options *o)
{
	return directory(o->state_dir, "ISERAN_STATE_DIR", "/var/lib/iseran");
}

/* ---- requests ---- */

struct tool_call tool_request(const char *verb)
{
	struct tool_call c = {.request = json_object_new_object(), .fd = -1, .start = true};

	tool_put(&c, "verb", verb);
	return c;
}

void tool_put(struct tool_call *c, const char *key, const char *value)
{
	if (value)
		json_object_object_add(c->request, key, json_object_new_string(value));
}

void tool_put_number(struct tool_call *c, const char *key, uint64_t value)
{
	json_object_object_add(c->request, key, json_object_new_int64((int64_t)value));
}

void tool_put_flag(struct tool_call *c, const char *key, bool value)
{
	if (value)
		json_object_object_add(c->request, key, json_object_new_boolean(true));
}

static int unreachable(const char *path, int err)
{
	if (err == -EACCES || err == -EPERM)
		return tool_fail(STATUS_ACCESS,
			"%s: permission denied; try as root, or as the user that iserd runs as",
			path);
	return tool_fail(STATUS_NO_DAEMON, "%s: %s", path, strerror(-err));
}

static int connect_or_start(const struct tool_options *o, const struct tool_call *call,
	const char *path, struct control_client **ret)
{
	int rc = control_connect(path, ret), status;

	if (rc == -ECONNREFUSED || rc == -ENOENT) {
		if (!call->start)
			return STATUS_NO_DAEMON;
		status = start_iserd(o, path);
		if (status != STATUS_OK)
			return status;
		rc = control_connect(path, ret);
	}
	return rc < 0 ? unreachable(path, rc) : STATUS_OK;
}

/* iserd does not know what the file that it was given is called. */
static void tell_error(const struct tool_call *c, int status, const char *error)
{
	static const char nameless[] = "the file";
	size_t length = sizeof(nameless) - 1;

	if (c->fd_name && !strncmp(error, nameless, length))
		tool_fail((enum ini_status)status, "%s%s", c->fd_name, error + length);
	else
		tool_fail((enum ini_status)status, "%s", error);
}

/* What iserd passed over, being in nobody's way. */
static void tell_warnings(struct json_object *reply)
{
	for (size_t i = 0; i < field_count(reply, "warnings"); i++)
		fprintf(stderr, "iseradm: warning: %s; it is passed over\n",
			json_object_get_string(field_item(reply, "warnings", i)));
}

static int ask(struct control_client *client, struct tool_call *c, struct json_object **ret_reply)
{
	struct json_object *reply = NULL;
	int status = control_call_fd(client, c->request, c->fd, c->progress, c->arg, &reply);

	c->request = NULL;
	if (status < 0)
		return tool_fail(STATUS_DAEMON_LOST, "iserd went away before it answered: %s",
			strerror(-status));
	if (status > 0) {
		tell_error(c, status, field_text(reply, "error"));
		json_object_put(reply);
		return status;
	}
	tell_warnings(reply);
	*ret_reply = reply;
	return STATUS_OK;
}

int tool_ask(const struct tool_options *o, struct tool_call *c, struct json_object **ret_reply)
{
	struct control_client *client = NULL;
	char path[TOOL_PATH_SIZE];
	int status;

	snprintf(path, sizeof(path), "%s/iserd.sock", tool_runtime_dir(o));
	if (o->debug)
		fprintf(stderr, "iseradm: %s: asked for \"%s\"\n", path,
			field_text(c->request, "verb"));
	status = connect_or_start(o, c, path, &client);
	if (status == STATUS_OK)
		status = ask(client, c, ret_reply);
	control_disconnect(client);
	json_object_put(c->request);
	c->request = NULL;
	return status;
}

int tool_tell(const struct tool_options *o, struct tool_call *c)
{
	struct json_object *reply = NULL;
	int status = tool_ask(o, c, &reply);

	if (status == STATUS_OK && o->json)
		reply_print(reply, stdout);
	if (status == STATUS_OK)
		status = (int)field_number(reply, "status");
	for (size_t i = 0; i < field_count(reply, "failures"); i++)
		tool_fail((enum ini_status)status, "%s",
			json_object_get_string(field_item(reply, "failures", i)));
	json_object_put(reply);
	return status;
}

/* What the verbs of isertadm are built from: command lines, and questions to the daemon. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/control/control.h"
#include "target/cli/control_path.h"
#include "target/cli/isertadm.h"

int tool_parse(const struct option_row *rows, const struct tool_options *o, const char *usage,
	int operands, int argc, char **argv, bool *ret_end)
{
	char program[64];
	int given;

	*ret_end = true;
	snprintf(program, sizeof(program), "isertadm %s", argv[0]);
	if (options_parse(program, rows, argc, argv, &given, stderr) < 0)
		return EXIT_USAGE;
	if (o->help) {
		printf("%s%s%s\n\n", program, usage[0] ? " " : "", usage);
		options_help(rows, stdout);
		return EXIT_OK;
	}
	if (given != operands) {
		fprintf(stderr, "%s: %s; %s%s%s would be right\n", program,
			given > operands ? "too many words" : "a word is missing", program,
			usage[0] ? " " : "", usage);
		return EXIT_USAGE;
	}
	*ret_end = false;
	return EXIT_OK;
}

/* ---- questions ---- */

static int unreachable(const char *path, int err)
{
	if (err == -EACCES || err == -EPERM) {
		fprintf(stderr,
			"isertadm: %s: permission denied; try as root, or as the user that "
			"isertd runs as\n",
			path);
		return EXIT_REFUSED;
	}
	if (err == -ECONNREFUSED || err == -ENOENT)
		fprintf(stderr,
			"isertadm: no isertd answers at %s; is it running? --control names "
			"another socket\n",
			path);
	else
		fprintf(stderr, "isertadm: %s: %s\n", path, strerror(-err));
	return EXIT_UNREACHABLE;
}

/* The daemon's own words may be several lines (a reload that found several mistakes). */
static void print_error(struct json_object *reply)
{
	const char *text = reply ? field_text(reply, "error") : "";

	while (*text) {
		size_t length = strcspn(text, "\n");

		fprintf(stderr, "isertadm: %.*s\n", (int)length, text);
		text += length + (text[length] == '\n');
	}
}

static int ask(struct control_client *c, const char *path, struct json_object *request,
	struct json_object **ret_reply)
{
	struct json_object *reply = NULL;
	int status = control_call(c, request, NULL, NULL, &reply);

	if (status < 0) {
		fprintf(stderr, "isertadm: %s: isertd went away before it answered: %s\n", path,
			strerror(-status));
		return EXIT_UNREACHABLE;
	}
	if (status > 0) {
		print_error(reply);
		json_object_put(reply);
		return status;
	}
	*ret_reply = reply;
	return EXIT_OK;
}

int tool_ask(const struct tool_options *o, const char *verb, const char *key, const char *value,
	struct json_object **ret_reply)
{
	struct json_object *request = json_object_new_object();
	struct control_client *c;
	char fallback[CONTROL_PATH_SIZE];
	const char *path = o->control ? o->control : fallback;
	int status;

	control_path_default(fallback);
	json_object_object_add(request, "verb", json_object_new_string(verb));
	if (key)
		json_object_object_add(request, key, json_object_new_string(value));
	status = control_connect(path, &c);
	if (status < 0) {
		json_object_put(request);
		return unreachable(path, status);
	}
	status = ask(c, path, request, ret_reply);
	control_disconnect(c);
	return status;
}

int tool_tell(const struct tool_options *o, const char *verb, const char *key, const char *value)
{
	struct json_object *reply = NULL;
	int status = tool_ask(o, verb, key, value, &reply);

	if (status == EXIT_OK && o->json)
		reply_print(reply, stdout);
	json_object_put(reply);
	return status;
}

/* What the verbs of isertadm are built from: command lines, questions to the daemon, fields of its
 * answers. */
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
	const char *text = reply ? tool_text(reply, "error") : "";

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
	char path[CONTROL_PATH_SIZE];
	int status;

	control_path_default(path);
	if (o->control)
		snprintf(path, sizeof(path), "%s", o->control);
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
		tool_print_json(reply);
	json_object_put(reply);
	return status;
}

/* ---- answers ---- */

void tool_print_json(struct json_object *json)
{
	json_object_object_del(json, "ok");
	puts(json_object_to_json_string_ext(
		json, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
}

static struct json_object *field(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(o, key, &value);
	return value;
}

const char *tool_text(struct json_object *o, const char *key)
{
	struct json_object *value = field(o, key);

	return value ? json_object_get_string(value) : "";
}

uint64_t tool_number(struct json_object *o, const char *key)
{
	return (uint64_t)json_object_get_int64(field(o, key));
}

bool tool_flag(struct json_object *o, const char *key)
{
	return json_object_get_boolean(field(o, key));
}

size_t tool_count(struct json_object *o, const char *key)
{
	struct json_object *list = field(o, key);

	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

struct json_object *tool_item(struct json_object *o, const char *key, size_t i)
{
	return json_object_array_get_idx(field(o, key), i);
}

char *tool_bytes(uint64_t bytes, char out[32])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1024 && unit < sizeof(units) / sizeof(units[0]) - 1; unit++)
		value /= 1024;
	snprintf(out, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return out;
}

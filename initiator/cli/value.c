/* Values that need not stand on the command line, see iseradm.h. Called by node and discovery. */
#include <errno.h>
#include <string.h>

#include "initiator/cli/iseradm.h"

static int read_line(FILE *in, const char *where, char *out, size_t size)
{
	size_t length;

	if (!fgets(out, (int)size, in))
		return tool_fail(STATUS_USAGE, "%s: %s", where,
			ferror(in) ? strerror(errno) : "there is no line in it");
	length = strcspn(out, "\n");
	if (length + 1 == size)
		return tool_fail(
			STATUS_USAGE, "%s: its first line is longer than any value", where);
	out[length] = '\0';
	return STATUS_OK;
}

int take_value(const char *word, char *out, size_t size)
{
	FILE *file;
	int status;

	if (!strcmp(word, "-"))
		return read_line(stdin, "standard input", out, size);
	if (word[0] != '@') {
		snprintf(out, size, "%s", word);
		return STATUS_OK;
	}
	file = fopen(word + 1, "re");
	if (!file)
		return tool_fail(STATUS_USAGE, "%s: %s", word + 1, strerror(errno));
	status = read_line(file, word + 1, out, size);
	fclose(file);
	return status;
}

int put_settings(
	struct tool_call *c, const struct option_list *names, const struct option_list *values)
{
	struct json_object *settings = json_object_new_object();
	char value[1024];
	int status = STATUS_OK;

	json_object_object_add(c->request, "settings", settings);
	if (!names->count || names->count != values->count)
		return tool_fail(STATUS_USAGE,
			"-o update needs -n NAME and -v VALUE; -v - reads the value from standard "
			"input, -v @FILE from a file");
	for (size_t i = 0; i < names->count && status == STATUS_OK; i++) {
		status = take_value(values->values[i], value, sizeof(value));
		json_object_object_add(settings, names->values[i], json_object_new_string(value));
	}
	explicit_bzero(value, sizeof(value));
	return status;
}

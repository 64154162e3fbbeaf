/* What tests of iseradm's modes share: a command line as a person types it, and an iserd whose
 * answers are a script, with what it was asked. tool.c and targets.c are the real ones. */
#pragma once

#define CLI_KIT_NO_TOOL
#include "tests/unit/initiator/cli/cli_kit.h"

#include <errno.h>
#include <unistd.h>

#include "common/control/control.h"

/* Names of their own: the file under test has static functions that are called the same. */
#define ask kit_ask
#define run kit_run
#define directory kit_directory
#define tell kit_tell
#include "initiator/cli/targets.c"
#include "initiator/cli/tool.c"
#undef ask
#undef run
#undef directory
#undef tell

struct answer {
	int status;	      /* enum ini_status, or negative errno: iserd went away */
	const char *text;     /* NULL: {} */
	const char *progress; /* one line before it, or NULL */
};

static struct {
	int connect; /* negative errno: iserd is not met */
	bool starts; /* start_iserd() makes it run */
	const struct answer *answers;
	unsigned answered, started;
	char asked[8][512]; /* requests, as JSON */
	int fd;		    /* that came with the last one */
	struct caught output;
	char *out, *err;
} it;

int control_connect(const char *path, struct control_client **ret)
{
	(void)path;
	*ret = NULL;
	return it.connect;
}

void control_disconnect(struct control_client *c)
{
	(void)c;
}

int control_call_fd(struct control_client *c, struct json_object *request, int fd,
	void (*progress)(void *arg, struct json_object *json), void *arg,
	struct json_object **ret_reply)
{
	const struct answer *a = &it.answers[it.answered];

	(void)c;
	assert_true(it.answered < 8 && it.answers);
	snprintf(it.asked[it.answered++], sizeof(it.asked[0]), "%s",
		json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN));
	json_object_put(request);
	it.fd = fd;
	if (a->progress && progress) {
		struct json_object *p = json(a->progress);

		progress(arg, p);
		json_object_put(p);
	}
	if (a->status < 0)
		return a->status;
	*ret_reply = json(a->text ? a->text : "{}");
	return a->status;
}

int start_iserd(const struct tool_options *o, const char *socket_path)
{
	(void)o;
	(void)socket_path;
	it.started++;
	if (!it.starts)
		return STATUS_NO_DAEMON;
	it.connect = 0;
	return STATUS_OK;
}

/* Runs a mode with the words of `line`, and answers each question in turn. Its exit status. */
static int iseradm(
	int (*mode)(int argc, char **argv), const char *line, const struct answer *answers)
{
	static char text[512];
	char *argv[32] = {"iseradm"}, *rest = text;
	int argc = 1, status;

	snprintf(text, sizeof(text), "%s", line);
	while ((argv[argc] = strsep(&rest, " ")))
		if (*argv[argc])
			argc++;
	argv[argc] = NULL;
	free_output(&it.output);
	it.answers = answers;
	it.answered = it.started = 0;
	memset(it.asked, 0, sizeof(it.asked));
	catch_output(&it.output);
	status = mode(argc, argv);
	release_output(&it.output);
	it.out = it.output.text[0];
	it.err = it.output.text[1];
	return status;
}

static int iserd_runs(void **state)
{
	(void)state;
	it.connect = 0;
	it.starts = false;
	return 0;
}

static int last_output_is_freed(void **state)
{
	(void)state;
	free_output(&it.output);
	memset(&it, 0, sizeof(it));
	return 0;
}

#define MODE_TEST(name) cmocka_unit_test_setup(name, iserd_runs)

/* What tests of isertadm's files share: isertd's answers from a text, and what was printed. The
 * file under test is included, since a program's files are in no library; the test defines
 * CLI_KIT_TOOL where tool.c is not under test itself. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cli/isertadm.h"

/* Standard output and errors of the last run. */
static struct {
	int status;
	char *out, *errors;
} ran;

static inline void call(int (*verb)(int argc, char **argv), int argc, ...)
{
	FILE *was_out = stdout, *was_errors = stderr;
	size_t out_size, errors_size;
	char *argv[8] = {NULL};
	va_list arguments;

	va_start(arguments, argc);
	for (int i = 0; i < argc; i++)
		argv[i] = va_arg(arguments, char *);
	va_end(arguments);
	free(ran.out);
	free(ran.errors);
	stdout = open_memstream(&ran.out, &out_size);
	stderr = open_memstream(&ran.errors, &errors_size);
	ran.status = verb(argc, argv);
	fclose(stdout);
	fclose(stderr);
	stdout = was_out;
	stderr = was_errors;
}

static inline int forget(void **state)
{
	(void)state;
	free(ran.out);
	free(ran.errors);
	ran.out = ran.errors = NULL;
	return 0;
}

static inline void prints(const char *text)
{
	if (!strstr(ran.out, text))
		fail_msg("\"%s\" is not in: %s", text, ran.out);
}

#ifdef CLI_KIT_TOOL
#include "target/cli/answer.c"

/* The answer that isertd gives, and what it was asked. */
static struct {
	const char *reply;
	int status;
	char asked[128];
} isertd;

int tool_parse(const struct option_row *rows, const struct tool_options *o, const char *usage,
	int operands, int argc, char **argv, bool *ret_end)
{
	int given;

	(void)o, (void)usage;
	*ret_end = options_parse("isertadm", rows, argc, argv, &given, stderr) < 0 ||
		   given != operands;
	return *ret_end ? EXIT_USAGE : EXIT_OK;
}

int tool_ask(const struct tool_options *o, const char *verb, const char *key, const char *value,
	struct json_object **ret_reply)
{
	(void)o;
	snprintf(isertd.asked, sizeof(isertd.asked), "%s %s=%s", verb, key ? key : "",
		value ? value : "");
	if (isertd.status == 0)
		*ret_reply = json_tokener_parse(isertd.reply ? isertd.reply : "{}");
	return isertd.status;
}

int tool_tell(const struct tool_options *o, const char *verb, const char *key, const char *value)
{
	struct json_object *reply = NULL;
	int status = tool_ask(o, verb, key, value, &reply);

	json_object_put(reply);
	return status;
}
#endif

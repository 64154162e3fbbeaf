/* What tests of iseradm's files share: iserd's answers from a text, and what was printed. The file
 * under test is included, since a program's files are in no library. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/cli/iseradm.h"

/* Standard output and errors, as long as they are caught. */
struct caught {
	FILE *was[2], *streams[2];
	char *text[2];
	size_t size[2];
};

static inline void catch_output(struct caught *c)
{
	FILE **const which[] = {&stdout, &stderr};

	for (int i = 0; i < 2; i++) {
		c->was[i] = *which[i];
		c->streams[i] = open_memstream(&c->text[i], &c->size[i]);
		*which[i] = c->streams[i];
	}
}

static inline void release_output(struct caught *c)
{
	stdout = c->was[0];
	stderr = c->was[1];
	fclose(c->streams[0]);
	fclose(c->streams[1]);
}

static inline void free_output(struct caught *c)
{
	free(c->text[0]);
	free(c->text[1]);
}

static inline struct json_object *json(const char *text)
{
	struct json_object *o = json_tokener_parse(text);

	assert_non_null(o);
	return o;
}

/* ---- tool.c's part ---- */

#ifndef CLI_KIT_NO_TOOL
static struct {
	const char *progress[8]; /* lines that iserd sends, NULL at the end */
	const char *reply;
	int status;
} iserd;

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

int tool_ask(const struct tool_options *o, struct tool_call *c, struct json_object **ret_reply)
{
	(void)o;
	for (int i = 0; iserd.progress[i] && c->progress; i++) {
		struct json_object *p = json(iserd.progress[i]);

		c->progress(c->arg, p);
		json_object_put(p);
	}
	if (iserd.status == 0)
		*ret_reply = json(iserd.reply);
	return iserd.status;
}
#endif

/* isertadm: what its verbs share. One file per verb; main.c has the table of verbs, tool.c what
 * they are built from. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>

#include "common/base/options.h"
#include "common/control/fields.h"

/* Options that every verb has. */
struct tool_options {
	const char *control; /* NULL: the default */
	bool json, help;
};

/* The rows of struct tool_options, to begin a verb's own table with. */
#define TOOL_ROWS(o)                                                                               \
	{"control", 0, OPTION_STRING, &(o)->control, "PATH",                                       \
		"control socket; default $ISERTD_CONTROL or /run/iseran/isertd.sock", 0, 0, NULL}, \
		{"json", 'j', OPTION_FLAG, &(o)->json, NULL, "print JSON", 0, 0, NULL},            \
	{                                                                                          \
		"help", 'h', OPTION_FLAG, &(o)->help, NULL, "this help", 0, 0, NULL                \
	}

/* Parses a verb's command line, which takes `operands` operands (described by `usage`, e.g.
 * "LEVEL"; "" for none). EXIT_OK; another exit status when the verb shall end at once: *ret_end is
 * then true (also after --help). */
int tool_parse(const struct option_row *rows, const struct tool_options *o, const char *usage,
	int operands, int argc, char **argv, bool *ret_end);
/* Asks the daemon {"verb": verb, key: value}; key may be NULL. An exit status, after one line on
 * stderr if it is not EXIT_OK; *ret_reply is the caller's, json_object_put(). */
int tool_ask(const struct tool_options *o, const char *verb, const char *key, const char *value,
	struct json_object **ret_reply);
/* A verb without an answer worth showing: asks, and ends. */
int tool_tell(const struct tool_options *o, const char *verb, const char *key, const char *value);
/* A verb that is nothing but a question and its answer: reads the command line, asks, and prints
 * JSON or what `print` makes of it. An exit status. */
int tool_show(int argc, char **argv, const char *verb, void (*print)(struct json_object *reply));

int verb_show(int argc, char **argv);
int verb_sessions(int argc, char **argv);
int verb_stats(int argc, char **argv);
int verb_reload(int argc, char **argv);
int verb_drop(int argc, char **argv);
int verb_check(int argc, char **argv);
int verb_log(int argc, char **argv);
int verb_stop(int argc, char **argv);

/* iseradm: what its modes share. main.c has the table of modes, one file per mode; tool.c asks
 * iserd, which start.c starts where it does not run; targets.c prints what iscsiadm would print
 * where people's scripts look; tree.c is `-m session -P`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <json-c/json.h>

#include "common/base/options.h"
#include "common/control/fields.h"
#include "initiator/status.h"

#define TOOL_PATH_SIZE 4096

/* Options that every mode has. */
struct tool_options {
	const char *state_dir, *runtime_dir; /* NULL: the default */
	bool json, help;
	unsigned long debug; /* 1: what is asked and waited for is told */
};

/* Their rows, behind a mode's own ones. */
#define TOOL_ROWS(o)                                                                               \
	{"json", 'j', OPTION_FLAG, &(o)->json, NULL, "print JSON", 0, 0, NULL},                    \
		{"state-dir", 0, OPTION_STRING, &(o)->state_dir, "DIRECTORY",                      \
			"for an iserd that is started; default $ISERAN_STATE_DIR or "              \
			"/var/lib/iseran",                                                         \
			0, 0, NULL},                                                               \
		{"runtime-dir", 0, OPTION_STRING, &(o)->runtime_dir, "DIRECTORY",                  \
			"where iserd is met; default $ISERAN_RUNTIME_DIR or /run/iseran", 0, 0,    \
			NULL},                                                                     \
		{"debug", 'd', OPTION_UINT, &(o)->debug, "LEVEL",                                  \
			"1 or more: tell what is asked of iserd, and waited for", 0, 8, NULL},     \
		{"help", 'h', OPTION_FLAG, &(o)->help, NULL, "this help", 0, 0, NULL},             \
	{                                                                                          \
		0                                                                                  \
	}

/* ---- tool.c ---- */

/* Parses a mode's command line. `usage` are the lines that --help begins with. STATUS_OK; another
 * exit status when the tool shall end at once: *ret_end is then true (also after --help). Operands
 * are left in argv[1..*ret_operands]; `operands` is the most there may be. */
int tool_parse(const char *mode, const char *usage, const struct option_row *rows,
	const struct tool_options *o, int argc, char **argv, int operands, int *ret_operands,
	bool *ret_end);
/* "iseradm: " and one line on stderr; returns `status`. */
int tool_fail(enum ini_status status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct tool_call {
	struct json_object *request; /* taken over */
	int fd;			     /* to send along; -1: none */
	const char *fd_name;	     /* what errors call it; NULL: "the file" */
	bool start;		     /* iserd is started where it does not run */
	void (*progress)(void *arg, struct json_object *json);
	void *arg;
};

/* {"verb": verb}, to be sent without a descriptor, to an iserd that is started if need be. */
struct tool_call tool_request(const char *verb);
/* Adds a field, unless the value is NULL. */
void tool_put(struct tool_call *c, const char *key, const char *value);
void tool_put_number(struct tool_call *c, const char *key, uint64_t value);
void tool_put_flag(struct tool_call *c, const char *key, bool value); /* unless false */
/* Asks iserd, and tells its warnings. An exit status, after one line on stderr if it is not
 * STATUS_OK; *ret_reply is the caller's, json_object_put(). STATUS_NO_DAEMON without a line where
 * iserd does not run and `start` is false. */
int tool_ask(const struct tool_options *o, struct tool_call *c, struct json_object **ret_reply);
/* A request whose answer is not worth showing but in JSON, and for what has failed. */
int tool_tell(const struct tool_options *o, struct tool_call *c);
const char *tool_runtime_dir(const struct tool_options *o);
const char *tool_state_dir(const struct tool_options *o);

/* ---- start.c ---- */

/* Starts iserd in the background and waits until its socket answers. An exit status, after one line
 * on stderr if it is not STATUS_OK. */
int start_iserd(const struct tool_options *o, const char *socket_path);

/* ---- targets.c: what iscsiadm prints, too ---- */

/* "127.0.0.1,3260" from "127.0.0.1:3260"; returns out. */
char *portal_with_comma(const char *portal, char out[128]);
/* "127.0.0.1:3260,1 iqn..." */
void print_target(struct json_object *target, FILE *out);
/* Target, its portals, and their interfaces, as `-P 1` of discovery and node shows them. */
void print_target_tree(struct json_object *targets, FILE *out);
/* A record as its file has it. */
void print_settings(struct json_object *settings, FILE *out);
/* "iser" for the record of an iser interface, "default" for tcp, as the record has it. */
const char *interface_name(const char *transport);
/* Asks for a login or a logout (`verb` "login", "login-automatic", "logout") and prints a line as
 * each begins and ends. The exit status of the first that failed. */
int run_logins(const struct tool_options *o, struct tool_call *c);
int run_logouts(const struct tool_options *o, struct tool_call *c);
int run_rescans(const struct tool_options *o, struct tool_call *c);
/* Transport for -I: "tcp" for "default"; NULL for NULL. False after one line. */
bool take_interface(const char *word, const char **ret_transport);

/* ---- tree.c ---- */

/* `sessions` is the array of the reply. Level 0: one line each. */
void print_sessions(struct json_object *reply, unsigned long level, FILE *out);
void print_session_statistics(struct json_object *session, FILE *out);

/* ---- value.c ---- */

/* The value of -v: "-" is the first line of stdin and "@FILE" that of a file, so that secrets need
 * not be seen in a list of processes. Into `out`; an exit status, after one line if not STATUS_OK.
 */
int take_value(const char *word, char *out, size_t size);
/* The settings of -o update, NAME by NAME with its VALUE (take_value()); an exit status, after one
 * line if not STATUS_OK. */
int put_settings(
	struct tool_call *c, const struct option_list *names, const struct option_list *values);

/* ---- lun_file.c ---- */

/* The file of -m lun. Pipes and terminals cannot go to iserd, which must not wait for them: a
 * temporary file stands in. */
struct lun_file {
	const char *path; /* NULL or "-": stdin or stdout */
	bool write;	  /* data go to the file */
	int fd;		  /* for iserd */
	int stream;	  /* that the temporary file stands in for; -1: none */
	bool created, truncate;
};

/* An exit status, after one line if not STATUS_OK. */
int lun_file_open(struct lun_file *f, const char *path, bool write);
/* After the operation, which ended with `status`: what a temporary file holds goes to its stream, a
 * file that was made for nothing goes away. An exit status. */
int lun_file_close(struct lun_file *f, int status);

/* ---- lun_progress.c ---- */

struct lun_progress {
	bool show, terminal, time; /* time: milliseconds of a measurement, not bytes */
	bool shown;
	uint64_t began_ns, last_ns;
};

void lun_progress_init(struct lun_progress *p, bool wanted, bool time);
void lun_progress_show(void *progress, struct json_object *json);
void lun_progress_end(struct lun_progress *p);
/* The line without its ends: "512.0 MiB of 1.0 GiB, 50 %, 1200 MB/s, 0:01 left". */
void lun_progress_line(uint64_t done, uint64_t total, double seconds, char *out, size_t size);

/* ---- lun_print.c ---- */

void print_lun_list(struct json_object *reply, FILE *out);
void print_lun_copy(struct json_object *reply, FILE *out);
void print_lun_bench(struct json_object *reply, bool plain, FILE *out);

/* ---- the modes ---- */

int mode_discovery(int argc, char **argv);
int mode_discoverydb(int argc, char **argv); /* mode_discovery.c */
int mode_iface(int argc, char **argv);
int mode_node(int argc, char **argv);
int mode_session(int argc, char **argv);
int mode_lun(int argc, char **argv);
int mode_daemon(int argc, char **argv);

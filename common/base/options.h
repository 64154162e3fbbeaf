/* Command lines by table: verbs, options, help, and one clear line for every mistake. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
	OPTION_FLAG,   /* bool *target = true */
	OPTION_STRING, /* const char **target */
	OPTION_LIST,   /* struct option_list *target: may be given many times */
	OPTION_UINT,   /* unsigned long *target, within [min, max] */
	OPTION_SIZE,   /* uint64_t *target: bytes, with suffix K M G T (powers of 1024) */
	OPTION_CHOICE, /* int *target = index into the NULL-terminated `choices` */
};

struct option_list {
	const char *values[64];
	size_t count;
};

struct option_row {
	const char *name; /* long name without dashes; NULL ends the table */
	char letter;	  /* short form, or 0 */
	enum option_kind kind;
	void *target;
	const char *argument;	    /* what help calls the value, e.g. "BYTES"; NULL for flags */
	const char *help;	    /* one line */
	unsigned long min, max;	    /* OPTION_UINT; both 0: no bounds */
	const char *const *choices; /* OPTION_CHOICE */
};

/* Parses argv[1..]; options and operands may be mixed; "--" ends the options. Operands are left at
 * the front of argv (argv[1..*ret_operands]). 0, or -EINVAL after the one line
 * "PROGRAM: what is wrong; what would be right" was written to `errors` (a near miss names the
 * option that was probably meant). */
int options_parse(const char *program, const struct option_row *rows, int argc, char **argv,
	int *ret_operands, FILE *errors);
/* One line per option, aligned, on `out`. */
void options_help(const struct option_row *rows, FILE *out);

/* A verb of a tool: `run` gets argv with argv[0] = the verb and returns the exit status. */
struct verb_row {
	const char *name; /* NULL ends the table */
	int (*run)(int argc, char **argv);
	const char *help; /* one line */
};

/* The row for `name`, or NULL after one line that names the nearest verb. */
const struct verb_row *verbs_find(
	const char *program, const struct verb_row *rows, const char *name, FILE *errors);

/* The exit status of a tool: `status`, or EXIT_FAILED after one line when what it printed did not
 * get out (a full disk): a script must not take half a list for the whole. */
int options_end(const char *program, int status, FILE *out, FILE *errors);

/* "512", "4K", "1M", "2G", "1T" to bytes; -EINVAL, -ERANGE. */
int size_parse(const char *text, uint64_t *ret_bytes);
/* Exit statuses that every tool of the project shares; scripts may rely on them. */
enum exit_status {
	EXIT_OK = 0,
	EXIT_FAILED = 1,      /* the operation failed; the line on stderr says why */
	EXIT_USAGE = 2,	      /* the command line or a file is wrong */
	EXIT_UNREACHABLE = 3, /* the daemon or the target could not be reached */
	EXIT_REFUSED = 4,     /* authentication, access list or permission */
	EXIT_NOT_FOUND = 5,   /* no such record, session, target or LUN */
	EXIT_EXISTS = 6,      /* there already */
	EXIT_TIMED_OUT = 7,
};

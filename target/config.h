/* The configuration of isertd: one YAML file, read through one table-driven schema
 * (config_schema.c), into the plain structs below. Every mistake in it is reported, each as
 * "file:line: key: what is wrong; what would be right", and the file is used only if there is none.
 * Read by the daemon at start and at SIGHUP; target_set.c turns it into what is exported. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Items of a list, each of the size that its element's schema says; use config_item(). */
struct config_list {
	void *items;
	size_t count;
};

#define config_item(list, type, i) (((type *)(list).items)[i])

/* Each struct begins with the line of the file on which it starts, for later complaints (an image
 * that cannot be opened). */

struct config_word { /* an element that is one word */
	unsigned line;
	const char *word;
};

struct config_number {
	unsigned line;
	uint64_t number;
};

struct config_secret { /* who proves itself, and with what (RFC 7143 section 12.1.3) */
	unsigned line;
	const char *name, *secret;
	const char *secret_file; /* where the secret was read from, or NULL */
};

struct config_chap {
	unsigned line;
	const char *name, *secret; /* what the initiator must prove */
	const char *secret_file;
	struct config_list algorithms; /* struct config_word, in order of preference; empty: all */
	struct config_secret *mutual;  /* what the target proves if asked; NULL: it cannot */
};

struct config_initiator {
	unsigned line;
	const char *name;	  /* a name, or a shell pattern */
	struct config_chap *chap; /* instead of the target's; NULL: the target's */
	struct config_list luns;  /* struct config_number: those it may see; empty: all */
};

struct config_delay { /* nanoseconds, added to each request */
	unsigned line;
	uint64_t read, write, flush;
};

struct config_fault {
	unsigned line;
	int operation;	   /* enum config_fault_operation */
	uint64_t from, to; /* bytes; to 0: everywhere */
	uint64_t after, count;
	int error; /* index into config_fault_errors */
};

enum config_fault_operation { /* 1 + enum backend_operation */
	CONFIG_FAULT_ANY,
};

enum config_store {
	CONFIG_STORE_FILE,
	CONFIG_STORE_MEMORY,
	CONFIG_STORE_NULL,
};

struct config_lun {
	unsigned line;
	uint64_t lun;
	int backend;	     /* enum config_store */
	const char *path;    /* file */
	uint64_t size;	     /* bytes; 0: the whole file */
	uint64_t block_size; /* 0: the backend's choice */
	bool direct, readonly, write_cache, thin, rotational;
	int engine; /* enum file_engine */
	uint64_t threads;
	const char *vendor, *product, *revision, *serial;
	struct config_delay *delay;
	struct config_list faults; /* struct config_fault */
};

struct config_target {
	unsigned line;
	const char *name, *alias;
	struct config_chap *chap;      /* NULL: no authentication */
	struct config_list initiators; /* struct config_initiator; empty: everyone */
	struct config_list luns;       /* struct config_lun, ascending */
};

struct config_discovery {
	unsigned line;
	struct config_chap *chap;
};

struct config {
	unsigned line;
	_Atomic unsigned holders;
	struct config_block *blocks; /* all memory of this configuration */
	const char *file;	     /* as it was named */

	struct config_list portals; /* struct config_word */
	struct config_list targets; /* struct config_target */
	struct config_discovery *discovery;

	uint64_t loops; /* 0: one per CPU */
	uint64_t busy_poll_ns;
	uint64_t arena_size, commands; /* per loop */
	uint64_t queue_depth;	       /* commands in flight per session */

	uint64_t max_sessions, max_target_sessions, max_logins;
	uint64_t login_timeout_ns, ping_interval_ns, ping_timeout_ns, drain_timeout_ns;

	int header_digest, data_digest; /* enum config_digest */
	bool immediate_data;
	uint64_t max_burst, first_burst;
	uint64_t max_receive;  /* MaxRecvDataSegmentLength on TCP */
	uint64_t iser_receive; /* TargetRecvDataSegmentLength */
	bool require_rdma_extensions, remote_invalidate;
	bool rdma;
	uint64_t rdma_retry_count, rdma_ack_timeout_ns, rdma_rnr_timer_ns;
	int crc; /* enum softiwarp_crc */
	uint64_t max_fpdu;
	const char *congestion_control;

	int log_level; /* enum log_level */
	const char *control;
};

enum config_digest {
	CONFIG_DIGEST_OPTIONAL, /* as the initiator prefers */
	CONFIG_DIGEST_NONE,
	CONFIG_DIGEST_CRC32C,
};

/* The positive errno of a fault rule's `error`. */
int config_fault_errno(int index);
/* As the file has them: "EIO"; and "read" of its `operation`. */
const char *config_fault_error_name(int index);
const char *config_fault_operation_name(int index);

/* What was wrong, one line each, in the order of the file. */
struct config_report {
	char **lines; /* warnings begin with "warning: " after the place */
	size_t count;
	unsigned errors, warnings;
	bool unnumbered; /* lines mean nothing to the reader: the text is a command line */
	bool incomplete; /* there was no memory for a line */
};

void config_report_free(struct config_report *r);
/* Adds a line; an error unless `warning`. `line` 0: the file as a whole. */
void config_report_add(struct config_report *r, bool warning, const char *file, unsigned line,
	const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Reads a file. 0, or -EINVAL (with at least one error in `report`) or -ENOMEM. Warnings may be in
 * the report in any case. The caller holds *ret once. */
int config_load(const char *path, struct config_report *report, struct config **ret);
/* The same from text. `name` stands where the file's name would in complaints; relative paths are
 * taken from `directory` (NULL: as they are). */
int config_parse(const char *name, const char *directory, const char *text, size_t length,
	struct config_report *report, struct config **ret);

struct config *config_hold(struct config *c);
/* The last release wipes and frees it. NULL is allowed. From any thread. */
void config_release(struct config *c);
/* Whether two LUNs are the same store, so that a reload can keep it. */
bool config_lun_equal(const struct config_lun *a, const struct config_lun *b);

/* Every key with its type, range, default and meaning, as text for a person. */
struct config_text {
	char *text;
	size_t length;
};
int config_help(struct config_text *ret); /* -ENOMEM; free with alloc_free(ret->text) */

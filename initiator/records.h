/* The node database: what is known of targets, in open-iscsi's `name = value` form and directory
 * layout, so that people's fingers and scripts keep working:
 *
 *     <state>/initiatorname                                 InitiatorName=iqn...
 *     <state>/nodes/<target>/<address>,<port>,<tpgt>/<iface> one node record
 *     <state>/send_targets/<address>,<port>                 one discovery record
 *
 * Each setting is one row of a table (settings.c): name, type, range, default, where it lives,
 * whether it is a secret. Files are written as a whole (temporary file, fsync, rename) with mode
 * 0600, since CHAP secrets are readable by their owner alone. A name that no row has is refused
 * with one line; the names of open-iscsi that mean nothing here are listed in settings.c and passed
 * over.
 *
 * Blocking file I/O: called by iserd on control requests, never on the data path. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/iscsi/keys.h"

#define RECORDS_WHY_SIZE 512	/* one line for a person: what, where, what would be right */
#define RECORDS_ADDRESS_SIZE 64 /* a host name or a numeric address without port and brackets */
#define RECORDS_IFACE_SIZE 32
#define RECORDS_SECRET_SIZE 256 /* LOGIN_CHAP_SECRET_MAX and NUL */

enum node_transport {
	NODE_TRANSPORT_TCP,
	NODE_TRANSPORT_ISER,
};

/* What carries iSER. */
enum node_provider {
	/* verbs where an RDMA device routes to the portal, else software iWARP */
	NODE_PROVIDER_AUTO,
	NODE_PROVIDER_VERBS,
	NODE_PROVIDER_SOFTIWARP,
};

enum node_startup {
	NODE_STARTUP_MANUAL,
	NODE_STARTUP_AUTOMATIC,
	NODE_STARTUP_ONBOOT,
};

enum node_authmethod {
	NODE_AUTH_NONE,
	NODE_AUTH_CHAP,
};

/* One node record: a target at one portal through one transport. Times are seconds, lengths bytes.
 * Names in the comments are those of the file. */
struct node_record {
	char target_name[ISCSI_NAME_MAX + 1]; /* node.name */
	uint32_t tpgt;			      /* node.tpgt */
	uint32_t startup;		      /* node.startup, enum node_startup */
	bool leading_login; /* node.leading_login: one portal of the target is enough at start */
	char iface[RECORDS_IFACE_SIZE];		 /* iface.iscsi_ifacename: "default" or "iser" */
	uint32_t transport;			 /* iface.transport_name, enum node_transport */
	uint32_t provider;			 /* iface.rdma_provider, enum node_provider */
	char initiator_name[ISCSI_NAME_MAX + 1]; /* iface.initiatorname; empty: the daemon's own */
	char address[RECORDS_ADDRESS_SIZE];	 /* node.conn[0].address */
	uint32_t port;				 /* node.conn[0].port */
	char discovery_address[RECORDS_ADDRESS_SIZE]; /* node.discovery_address */
	uint32_t discovery_port;		      /* node.discovery_port */
	char discovery_type[16]; /* node.discovery_type: "send_targets" or "static" */

	uint32_t authmethod; /* node.session.auth.authmethod, enum node_authmethod */
	char username[RECORDS_SECRET_SIZE], password[RECORDS_SECRET_SIZE];
	char username_in[RECORDS_SECRET_SIZE], password_in[RECORDS_SECRET_SIZE];
	char chap_algs[64]; /* node.session.auth.chap_algs: "SHA3-256,SHA1,MD5,SHA256" */

	int32_t replacement_timeout; /* node.session.timeo.replacement_timeout; -1: for ever, 0: at
					once */
	uint32_t abort_timeout, lu_reset_timeout, tgt_reset_timeout; /* node.session.err_timeo.* */
	uint32_t initial_login_retry_max; /* node.session.initial_login_retry_max */
	uint32_t nr_sessions;		  /* node.session.nr_sessions */
	uint32_t cmds_max, queue_depth;	  /* node.session.*: per session, per LUN */

	bool initial_r2t, immediate_data; /* node.session.iscsi.*, as the keys of RFC 7143 */
	uint32_t first_burst_length, max_burst_length;
	uint32_t default_time2wait, default_time2retain;
	uint32_t max_connections, max_outstanding_r2t, error_recovery_level;

	uint32_t login_timeout, logout_timeout;	      /* node.conn[0].timeo.* */
	uint32_t noop_out_interval, noop_out_timeout; /* 0: no pings */
	uint32_t max_recv_data_segment_length; /* node.conn[0].iscsi.MaxRecvDataSegmentLength */
	uint32_t header_digest, data_digest;   /* node.conn[0].iscsi.*Digest, enum node_digest */
};

enum node_digest {
	NODE_DIGEST_NONE,
	NODE_DIGEST_CRC32C,
	NODE_DIGEST_CRC32C_NONE, /* both, CRC32C preferred */
	NODE_DIGEST_NONE_CRC32C, /* both; offered as CRC32C,None all the same */
};

/* One discovery record. */
struct discovery_record {
	char address[RECORDS_ADDRESS_SIZE]; /* discovery.sendtargets.address */
	uint32_t port;			    /* discovery.sendtargets.port */
	uint32_t transport;		    /* iface.transport_name */
	uint32_t provider;		    /* iface.rdma_provider */
	uint32_t authmethod;		    /* discovery.sendtargets.auth.* */
	char username[RECORDS_SECRET_SIZE], password[RECORDS_SECRET_SIZE];
	char username_in[RECORDS_SECRET_SIZE], password_in[RECORDS_SECRET_SIZE];
	char chap_algs[64];
	uint32_t login_timeout; /* discovery.sendtargets.timeo.login_timeout */
	uint32_t reopen_max;	/* discovery.sendtargets.reopen_max */
};

/* ---- one record in memory (settings.c) ---- */

/* The defaults, for `transport`, whose iface is then "default" (tcp) or "iser". */
void node_record_default(struct node_record *r, enum node_transport transport);
void discovery_record_default(struct discovery_record *r, enum node_transport transport);
/* Sets one setting from its text. -ENOENT: no such name; -EINVAL, -ERANGE: bad value. `why` then
 * says what is wrong and what would be right; a secret is never repeated in it. */
int node_record_set(
	struct node_record *r, const char *name, const char *value, char why[RECORDS_WHY_SIZE]);
int discovery_record_set(struct discovery_record *r, const char *name, const char *value,
	char why[RECORDS_WHY_SIZE]);
/* A setting that says where the record lies in the database (node.name, node.conn[0].address ...):
 * update must refuse it, a new record is what is meant. */
bool node_setting_is_key(const char *name);
bool discovery_setting_is_key(const char *name);
/* The text of one setting; secrets come as "********" unless `show_secrets`. -ENOENT, -ENOSPC. */
int node_record_get(
	const struct node_record *r, const char *name, bool show_secrets, char *out, size_t size);
/* Calls `each` for every setting in file order. An unset text is "<empty>" as open-iscsi has it. */
void node_record_each(const struct node_record *r, bool show_secrets,
	void (*each)(void *arg, const char *name, const char *value), void *arg);
void discovery_record_each(const struct discovery_record *r, bool show_secrets,
	void (*each)(void *arg, const char *name, const char *value), void *arg);
/* Checks that hold between settings (CHAP without a name, FirstBurstLength above MaxBurstLength,
 * password_in equal to password). -EINVAL and why. */
int node_record_check(const struct node_record *r, char why[RECORDS_WHY_SIZE]);
/* "default" or "iser". */
const char *node_transport_iface(enum node_transport transport);
/* "tcp" or "iser"; -EINVAL for another word. */
const char *node_transport_name(enum node_transport transport);
int node_transport_parse(const char *word, enum node_transport *ret);
/* "auto", "verbs" or "softiwarp"; -EINVAL for another word. */
int node_provider_parse(const char *word, enum node_provider *ret);
/* An iSCSI name (RFC 7143 section 4.2.7): iqn., eui. or naa., allowed
 * characters. -EINVAL and why. */
int records_check_name(const char *name, char why[RECORDS_WHY_SIZE]);

/* ---- the database on disk (records.c) ---- */

struct records;

/* Makes `state_directory` (0700) where it is missing, and the initiator's name, once, from the
 * system's random source: "iqn.2026-11.org.iseran:" and 12 hexadecimal digits. 0 or negative errno
 * with why. */
int records_open(const char *state_directory, struct records **ret, char why[RECORDS_WHY_SIZE]);
void records_close(struct records *db); /* NULL is allowed */
const char *records_initiator_name(const struct records *db);
const char *records_directory(const struct records *db);

/* Which records are meant. NULL, 0 and -1 mean any. */
struct record_filter {
	const char *target_name;
	const char *address;
	uint16_t port;
	int32_t tpgt;	   /* -1: any */
	const char *iface; /* "default", "iser" */
};

/* Calls `each` for every matching record, sorted by target name, then by portal. A record that
 * cannot be read is given as NULL with why (one line with file and line number); it does not hide
 * the others. `each` may write or delete the record it is given. Stops at the first non-zero that
 * `each` returns, and returns that; -ENOENT when there is no matching record. */
int records_each(struct records *db, const struct record_filter *filter,
	int (*each)(void *arg, const struct node_record *r, const char *why), void *arg);
/* One record, named whole (all but tpgt, which may be -1). -ENOENT; -EINVAL for a file with a
 * mistake. */
int records_read(struct records *db, const struct record_filter *key, struct node_record *ret,
	char why[RECORDS_WHY_SIZE]);
/* Writes, replacing the one with the same target, portal and iface (whatever its tpgt). -EINVAL
 * without a target or an address. What must hold between settings (node_record_check()) is for who
 * logs in to ask: people set one after the other, and in any order. */
int records_write(struct records *db, const struct node_record *r, char why[RECORDS_WHY_SIZE]);
int records_delete(struct records *db, const struct node_record *r, char why[RECORDS_WHY_SIZE]);
/* Deletes those files of matching records that records_each() gives as NULL: where they lie says
 * which record they were to be. 0 also when there are none. */
int records_delete_unusable(
	struct records *db, const struct record_filter *filter, char why[RECORDS_WHY_SIZE]);

int records_discovery_each(struct records *db,
	int (*each)(void *arg, const struct discovery_record *r, const char *why), void *arg);
int records_discovery_read(struct records *db, const char *address, uint16_t port,
	struct discovery_record *ret, char why[RECORDS_WHY_SIZE]);
int records_discovery_write(
	struct records *db, const struct discovery_record *r, char why[RECORDS_WHY_SIZE]);
int records_discovery_delete(
	struct records *db, const char *address, uint16_t port, char why[RECORDS_WHY_SIZE]);

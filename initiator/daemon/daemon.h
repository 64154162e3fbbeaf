/* iserd: what its files share. main.c begins and ends it, start.c makes what it needs, options.c
 * reads the command line, server.c answers iseradm by one table of verbs, nodes.c, discover.c and
 * discoveries.c keep records, logins.c acts on many sessions at a time, sessions.c and luns.c are
 * one session and its devices, stop.c ends all. Everything belongs to one loop, but for jobs
 * (job*.c), which have a thread and a loop of their own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <json-c/json.h>

#include "common/base/list.h"
#include "common/base/options.h"
#include "common/control/control.h"
#include "common/loop/loop.h"
#include "initiator/daemon/movers.h"
#include "initiator/export/export.h"
#include "initiator/records.h"
#include "initiator/session.h"
#include "initiator/status.h"

/* Sessions of one initiator name to one target must differ in their ISID (RFC 7143 section
 * 10.1.1): the `index` of ini_isid_make(), by transport, and for jobs from DAEMON_ISID_JOBS on up
 * to 255. */
enum daemon_isid_index {
	DAEMON_ISID_ISER = 0,
	DAEMON_ISID_TCP = 1,
	DAEMON_ISID_JOBS = 16,
};

/* Jobs at a time (job.c): each has a thread, its own ISID, and up to 256 MiB of buffers. */
#define DAEMON_JOBS_MAX 8

struct daemon_config {
	/* As they were given; absolute and without links once daemon_start() has made them. */
	const char *state_directory, *runtime_directory;
	int log_level;		 /* enum log_level */
	bool no_devices;	 /* sessions without block devices */
	unsigned long busy_poll; /* microseconds; 0: none */
	int crc;		 /* enum softiwarp_crc */
	int no_windows;		 /* verbs: keys of whole regions are told */
	bool version, help;
};

struct daemon {
	struct daemon_config config;
	struct loop *loop;
	struct daemon_movers *movers;
	struct records *records;
	struct control_server *control;
	int pid_file; /* locked while we run; -1: none */
	uint64_t started_ns;

	struct list sessions; /* struct daemon_session, by number */
	unsigned last_number; /* of sessions */
	struct list autologins;
	struct list discoveries; /* under way */
	unsigned busy;		 /* these, and name look-ups: the end waits for them */

	bool stopping, forced; /* no login any more; devices in use are not spared */
	bool lost; /* at the end, a device in use was taken away, or a cache not written */
	struct loop_timer stop_timer;
	struct job *jobs[DAEMON_JOBS_MAX]; /* under way; their place gives the ISID */
};

/* ---- options.c ---- */

/* 0; -EINVAL after one line on stderr. Strings are those of argv and the environment. */
int daemon_options_parse(struct daemon_config *c, int argc, char **argv);
void daemon_options_help(FILE *out);
void daemon_version(FILE *out);

/* ---- start.c ---- */

/* 0, or an exit status after one line on stderr; daemon_free() undoes it. */
int daemon_start(struct daemon *d);
/* After every session has ended. */
void daemon_free(struct daemon *d);

/* ---- stop.c ---- */

/* Logs out all sessions, in bounded time, then loop_stop(). A second call does not wait for devices
 * in use. */
void daemon_stop(struct daemon *d);
/* Something that the end waits for is over. */
void daemon_settle(struct daemon *d);

/* ---- discover.c ---- */

/* Cancels all discoveries. */
void discover_stop(struct daemon *d);

/* ---- autologin.c ---- */

/* Begins to log in where node.startup is automatic; tries until it works. */
void autologin_start(struct daemon *d);
void autologin_stop(struct daemon *d);

/* ---- server.c ---- */

control_handler daemon_control;

/* A verb's handler: answers now or later. */
typedef void daemon_verb(struct daemon *d, struct control_request *r, struct json_object *json);

/* ---- the verbs ---- */

daemon_verb discover_handle; /* discover.c */
daemon_verb discovery_handle_list, discovery_handle_show, discovery_handle_new,
	discovery_handle_update, discovery_handle_delete; /* discoveries.c */
daemon_verb node_handle_list, node_handle_new, node_handle_delete, node_handle_update; /* nodes.c */
daemon_verb login_handle, logout_handle, rescan_handle; /* logins.c */
daemon_verb sessions_handle, status_handle;		/* show.c */
daemon_verb job_handle_lun;				/* job.c */

/* ---- job.c ---- */

/* Cancels all jobs, and waits for their threads (each ends within its loop's next turn). */
void jobs_stop(struct daemon *d);

/* ---- request.c: fields of requests ---- */

/* NULL where there is none, or where it is no string. */
const char *request_text(struct json_object *json, const char *key);
bool request_flag(struct json_object *json, const char *key, bool otherwise);
/* -EINVAL: there, but no number within [0, max]. `otherwise` where there is none. */
int request_number(
	struct json_object *json, const char *key, uint64_t max, uint64_t otherwise, uint64_t *ret);

/* Which records or sessions a request means. */
struct request_filter {
	struct record_filter record; /* points into the request, or to host */
	char host[RECORDS_ADDRESS_SIZE];
	const char *transport; /* "iser", "tcp" or NULL */
	const char *provider;  /* "auto", "verbs", "softiwarp" or NULL; not a matter of which */
	unsigned session;      /* 0: any */
};

/* From "target", "portal" ("host[:port][,tpgt]"), "transport", "provider" and "session". False
 * after it has answered with what is wrong. */
bool request_filter(
	struct control_request *r, struct json_object *json, struct request_filter *ret);

/* What a request says of the provider goes into a record's field. */
void request_provider(const struct request_filter *f, uint32_t *provider);

/* ---- failure.c: what became of a login or a discovery, for a person ---- */

enum ini_status failure_status(int error, unsigned login_status);
/* One line into out: "127.0.0.1:3260: connection refused; is a target listening on that port?" */
void failure_line(const char *portal, int error, unsigned login_status, const char *why, char *out,
	size_t size);

/* ---- json helpers of request.c ---- */

void put_text(struct json_object *o, const char *key, const char *value); /* NULL: null */
void put_number(struct json_object *o, const char *key, uint64_t value);
void put_bool(struct json_object *o, const char *key, bool value);
/* What a record is of: "target", "portal", "tpgt" and "transport". */
void put_node(struct json_object *o, const struct node_record *r);
/* One more line in the list `key`, which is made with its first. */
void put_line(struct json_object *o, const char *key, const char *line);

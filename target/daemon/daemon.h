/* isertd: what its files share. main.c starts and ends it, options.c reads the command line,
 * stores.c and movers.c name the concrete backends and movers, broadcast.c speaks to the workers,
 * reload.c and stop.c act on signals, control.c answers isertadm. All but what broadcast.c runs
 * belongs to the main loop. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "common/base/options.h"
#include "common/control/control.h"
#include "common/loop/loop.h"
#include "target/config.h"
#include "target/portal.h"
#include "target/target_set.h"
#include "target/worker.h"

struct daemon;
struct rdma_provider;
struct rdma_acceptor;
struct rdma_portal;

struct daemon_options {
	const char *config, *control, *port_file;
	int log_level; /* -1: the configuration's */
	bool check, version, help, keys, foreground;
	/* quick mode: a configuration on the command line */
	struct option_list portals, targets, luns;
	unsigned long loops;
};

/* One worker, its thread, and what its movers are made from. */
struct daemon_worker {
	struct daemon *daemon;
	struct worker *worker;
	pthread_t thread;
	bool started;
	struct dm_mover *tcp;
	struct rdma_provider *softiwarp, *verbs; /* verbs: NULL where there are none */
	struct rdma_acceptor *iser, *iser_verbs;
	struct tgt_acceptor tcp_acceptor, iser_acceptor, verbs_acceptor;
};

enum stop_stage {
	STOP_NOT,
	STOP_ASKED,    /* initiators are asked to log out */
	STOP_CLOSING,  /* sessions are closed once their commands are over */
	STOP_ABORTING, /* nothing is waited for but the backends */
};

struct daemon {
	struct daemon_options options;
	struct loop *loop;
	struct config *config; /* held; that of the start, for what a reload does not change */
	struct target_set *targets;
	struct daemon_worker *workers;
	struct worker **worker_list; /* the same, for portal_spread */
	size_t worker_count;
	struct portal_spread spread;
	struct portal **portals;
	size_t portal_count;
	struct rdma_portal *rdma_portals;
	size_t rdma_portal_count;
	bool ports_written; /* options.port_file is ours to remove */
	struct control_server *control;
	const char *control_path;
	uint64_t started_ns;

	enum stop_stage stage;
	struct loop_timer stop_timer;
	uint64_t stop_began_ns;
	size_t workers_flushing; /* workers that have not flushed their backends yet */
	size_t broadcasts;	 /* under way: the loops must turn until they are back */
	bool drained;		 /* every worker was idle in time */
};

/* ---- options.c ---- */

/* 0; -EINVAL after one line on stderr. */
int daemon_options_parse(struct daemon_options *o, int argc, char **argv);
void daemon_options_help(FILE *out);
void daemon_version(FILE *out);

/* ---- quick.c ---- */

/* Whether the command line itself is the configuration. */
bool quick_wanted(const struct daemon_options *o);
/* A configuration from --portal, --target and --lun. As config_load(). */
int quick_config(const struct daemon_options *o, struct config_report *report, struct config **ret);

/* ---- stores.c ---- */

target_open_backend store_open;
/* Opens it only to see whether it could be exported: others, such as a daemon that runs, may be
 * using it. For --check. */
target_open_backend store_look;

/* ---- movers.c ---- */

#define DAEMON_PROTOCOLS 2
extern const struct portal_protocol daemon_protocols[DAEMON_PROTOCOLS];

/* The movers of one worker, freed with it. 0 or -ENOMEM. */
int movers_new(struct daemon_worker *w, const struct config *c);

/* ---- rdma.c ---- */

/* Listens for RDMA on the address of every portal. 0 or -ENOMEM. */
int rdma_portals_new(struct daemon *d);
void rdma_portals_free(struct daemon *d);

/* ---- start.c ---- */

/* Everything but the targets: workers, portals, control socket, threads. 0, or an exit status after
 * one line on stderr; daemon_free() undoes it. */
int daemon_start(struct daemon *d);
void daemon_free(struct daemon *d);
/* Prints the report on stderr, line by line. */
void daemon_print_report(const struct config_report *r);
/* Where the control socket is. */
const char *daemon_control_path(const struct daemon *d);

/* ---- broadcast.c ---- */

struct broadcast;

struct broadcast_part { /* one worker's share */
	struct loop_message message;
	struct broadcast *broadcast;
	struct daemon_worker *worker;
	struct json_object *result; /* `each` may leave something here for `done` */
	unsigned count;		    /* likewise */
};

/* Calls `each` on every worker's loop, then `done` on the main loop. -ENOMEM: neither is called. */
int broadcast_run(struct daemon *d, void (*each)(struct broadcast_part *p, void *arg),
	void (*done)(struct daemon *d, struct broadcast_part *parts, size_t count, void *arg),
	void *arg);

/* ---- reload.c ---- */

/* Reads the configuration anew. 0; -EINVAL with complaints in `report`, and nothing has changed. */
int daemon_reload(struct daemon *d, struct config_report *report);

/* ---- stop.c ---- */

/* Ends in loop_stop(). A second call does not wait for initiators. */
void daemon_stop(struct daemon *d);
/* Ends the main loop if nothing is left to wait for. */
void daemon_stop_settle(struct daemon *d);

/* ---- control.c, show.c, sessions.c ---- */

control_handler daemon_control;
struct json_object *show_daemon(struct daemon *d);
struct json_object *show_sessions_of(struct worker *w);
struct json_object *show_totals_of(struct worker *w);

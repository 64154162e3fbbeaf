/* Jobs: what `iseradm -m lun` asks for, each with a thread, a loop, movers, a session and a disk of
 * its own, so that neither a copy nor a measurement shares anything with the devices in use. job.c
 * and job_request.c are the daemon's side (requests, answers, cancelling), on the daemon's loop;
 * job_run.c is the thread from login to logout; job_list.c, job_copy.c, job_bench.c and job_reset.c
 * are what is done in between. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include "common/loop/address.h"
#include "common/loop/loop.h"
#include "initiator/daemon/daemon.h"
#include "initiator/disk.h"
#include "initiator/records.h"
#include "initiator/scan.h"
#include "initiator/session.h"

#define JOB_LINE_SIZE 512
#define JOB_DEPTH_MAX 1024		      /* I/Os that a measurement has under way */
#define JOB_MEMORY_MAX (256ull * 1024 * 1024) /* buffers of one job, in bytes */
#define JOB_BLOCK_MAX (16ull * 1024 * 1024)   /* bytes of one I/O of a measurement */

enum job_rw {
	JOB_READ,
	JOB_WRITE,
	JOB_RANDREAD,
	JOB_RANDWRITE,
	JOB_RANDRW,
	JOB_RW,
};

/* From the request; bytes, but where a name says otherwise. */
struct job_options {
	uint64_t lun;
	uint64_t offset;
	uint64_t length; /* of the range; UINT64_MAX: to the end */
	uint64_t rw;	 /* enum job_rw */
	uint64_t block_size, depth, runtime_ms, read_percent, busy_poll_us;
};

struct job;

/* One row per operation of the request. */
struct job_operation {
	const char *name;
	bool disk;	       /* works on one LUN */
	bool file, file_write; /* needs a descriptor, which is written to */
	/* On the daemon's loop: whether it would write to the LUN. NULL: never. */
	bool (*writes)(const struct job *j);
	/* On the job's thread, once the disk is there; ends with job_finish(). */
	void (*start)(struct job *j);
	/* After the last I/O has ended, and the session too: gives back what start() took (the
	 * session still exists). May be NULL. */
	void (*release)(struct job *j);
};

struct job {
	/* ---- the daemon's side ---- */
	struct daemon *daemon;
	struct control_request *request;
	unsigned place; /* in daemon.jobs */
	struct loop_timer progress;
	struct loop_message cancel, ended_message;
	pthread_t thread;
	bool threaded, cancel_sent, gone; /* gone: nobody waits for the answer any more */

	/* ---- set before the thread starts ---- */
	const struct job_operation *operation;
	struct job_options options;
	struct node_record record;
	char initiator_name[ISCSI_NAME_MAX + 1], portal[RECORDS_ADDRESS_SIZE + 16];
	struct address address;
	int file;      /* -1: none */
	bool truncate; /* what the file holds goes, once there is something to write */
	struct loop *loop;

	/* ---- the thread's ---- */
	struct daemon_movers *movers;
	struct ini_session *session;
	struct ini_scan *scan;
	struct disk *disk;
	struct loop_call step;
	void *work; /* of the operation */
	bool found; /* the operation has been started */
	bool over;  /* job_finish() was called: nothing new is begun */
	bool cancelled, leaving, ended, freeing;
	int status; /* enum ini_status */
	char line[JOB_LINE_SIZE];
	struct json_object *result; /* handed over with the end */

	/* ---- both: how far it is, in bytes ---- */
	_Atomic uint64_t done, total;
};

/* ---- job_request.c ---- */

/* Reads and checks the request: operation, options, record, portal, and the descriptor that came
 * with it. False after it has answered with what is wrong. */
bool job_request_read(struct job *j, struct control_request *r, struct json_object *json);

const char *job_rw_name(const struct job *j);

/* ---- job_run.c ---- */

/* The thread's function; `arg` is the job. Posts ended_message at its end. */
void *job_run(void *arg);
/* `deliver` of the message that cancels. */
void job_cancelled(struct loop_message *m);
/* The outcome, from the job's thread; the first one counts. `result` is taken over (may be NULL).
 * Then the session is logged out and the thread ends. */
void job_finish(struct job *j, struct json_object *result);
void job_fail(struct job *j, enum ini_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for an I/O of the disk that has failed. */
void job_fail_io(struct job *j, const struct disk_io *io, int error);
/* Whether options.offset and options.length are a range of the disk, in whole blocks; fails the job
 * otherwise. A length of UINT64_MAX becomes the rest of the disk. */
bool job_check_range(struct job *j);

/* ---- the operations ---- */

struct json_object *job_list_luns(const struct disk_info *luns, size_t count); /* job_list.c */
void job_copy_start(struct job *j), job_copy_release(struct job *j);	       /* job_copy.c */
void job_bench_start(struct job *j), job_bench_release(struct job *j);	       /* job_bench.c */
bool job_bench_writes(const struct job *j);
void job_reset_start(struct job *j); /* job_reset.c */

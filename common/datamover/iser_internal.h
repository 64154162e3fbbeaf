/* What the files of the iSER mover share. Nobody else includes it.
 *
 *   iser.c           the mover: connect, accept, regions
 *   iser_conn.c      a connection's life: events, keys, enable, terminate, closed
 *   iser_buffers.c   registered send and receive buffers of a connection
 *   iser_receive.c   Sends of the peer -> Control_Notify
 *   iser_send.c      Send_Control; posting of all that was queued, one doorbell per turn
 *   iser_transfer.c  target: Put_Data and Get_Data as RDMA Write and RDMA Read
 *   iser_task.c      initiator: advertised buffers of tasks; target: commands' tags
 *
 * One queue, in the order of the downcalls: a PDU or a transfer gets the next ticket, waits in its
 * list, and is posted by iser_pump() at the end of the turn, as far as the send queue's depth
 * allows. RDMA Writes are posted unsignalled where a Send follows in the same batch: completions
 * come in the order of posting, so that the Send's tells theirs. */
#pragma once

#include "common/base/list.h"
#include "common/datamover/datamover.h"
#include "common/datamover/iser.h"
#include "common/datamover/iser_header.h"
#include "common/loop/loop.h"
#include "common/rdma/rdma.h"

/* Data segment of login PDUs, text PDUs and immediate data: RFC 7143's default
 * MaxRecvDataSegmentLength, and what every known peer has room for. */
#define ISER_DATA_MAX 8192
/* The receives of ib_iser and libiscsi in full-feature phase, whatever they negotiate. */
#define ISER_RESPONSE_DATA_MAX 128
/* AHS that a receive has room for beside the data: an extended CDB of 260 bytes (4 + 244, padded)
 * and a bidirectional read length (8). */
#define ISER_AHS_ROOM 256
/* Login moves one PDU at a time; more only gives a hasty peer a clean refusal. */
#define ISER_LOGIN_RECEIVES 4
#define ISER_LOGIN_SENDS 4
/* Most PDUs carry no more than sense data or a short AHS. */
#define ISER_SMALL_SEND 512
/* RDMA Reads that may be outstanding, on the target's side and as the initiator serves them: enough
 * for a 16 MiB write cut into 1 MiB pieces. */
#define ISER_READS 16
#define ISER_DRAIN_NS LOOP_NS_PER_S /* datamover.h: a graceful end takes at most a second */

struct iser_mover {
	struct dm_mover base;
	struct loop *loop;
	struct rdma_provider *provider;
	struct iser_mover_config config; /* defaults filled in */
	/* Receives in full-feature phase: the command window, and half as much again for immediate
	 * PDUs and for initiators that look at MaxCmdSN late or never (libiscsi 1.19). */
	uint32_t receives;
	struct rdma_conn_limits limits;
	struct list acceptors; /* struct iser_acceptor */
};

enum iser_phase {
	ISER_CONNECTING, /* initiator: waits for RDMA_ESTABLISHED */
	ISER_LOGIN,	 /* PDUs flow; waits for dm_enable() */
	ISER_FULL_FEATURE,
	ISER_DRAINING, /* dm_terminate(graceful): waits until all that is queued is posted */
	ISER_ENDING,   /* waits for the provider's `closed` */
};

/* One registered range, cut into receive and send buffers. */
struct iser_buffers {
	uint8_t *memory;
	struct rdma_region *region;
	struct iser_receive *receives;
	struct iser_send *sends;
	uint32_t receive_count;
};

struct iser_receive {
	struct rdma_receive rdma;
	struct iser_conn *conn;
};

struct iser_send {
	struct rdma_send rdma;
	struct iser_conn *conn;
	struct list link;  /* in a free list, or in conn->pending_sends */
	struct list *home; /* its free list */
	uint64_t ticket;
};

struct iser_transfer {
	struct rdma_transfer rdma;
	struct iser_conn *conn;
	struct list link; /* in conn->free_transfers, or (unsignalled) in conn->unsignalled */
	struct dm_transfer *user;
	uint64_t ticket;
	bool read;
};

/* Target: one SCSI command of the peer. */
struct iser_command {
	struct dm_task task;
	struct iser_conn *conn;
	struct list link;	   /* in conn->free_commands */
	struct iser_header header; /* the initiator's tags */
	uint32_t expected_length;  /* EDTL */
	uint32_t transfers, reads; /* handed over and not done yet; reads among them */
	bool released;		   /* the upper layer is done with it; waits for its transfers */
	bool responded; /* its SCSI Response is queued behind its data, which must still leave */
};

/* Initiator: what the mover keeps in dm_task.mover_private. */
struct iser_task {
	struct iser_conn *conn; /* NULL: not the mover's */
	struct dm_task *next;	/* in its bucket */
	struct rdma_region *read_region,
		*write_region; /* registered for this task alone, or NULL */
	uint32_t read_stag, write_stag;
	bool read_exposed, write_exposed;
};

_Static_assert(sizeof(struct iser_task) <= sizeof(((struct dm_task *)0)->mover_private),
	"dm_task has room for what the mover keeps of it");

struct iser_conn {
	struct dm_conn base;
	struct iser_mover *mover;
	struct rdma_conn *rdma;
	enum iser_phase phase;
	bool initiator;
	bool remote_invalidate; /* target: the peer takes it. initiator: the peer may do it */
	bool allocated;		/* full-feature resources were asked for, well or not */
	bool disconnected;	/* rdma_disconnect() was called for the graceful end */
	int error;
	const char *reason;
	struct loop_timer drain;

	struct iser_buffers login, full_feature;
	struct list free_small, free_large; /* struct iser_send */
	uint64_t ticket;
	uint32_t credit; /* of the send queue: requests that may be posted */
	struct list pending_sends, pending_transfers; /* each in ticket order */
	struct loop_call pump;

	/* target */
	struct iser_transfer *transfers;
	struct list free_transfers, unsignalled;
	struct list canceled; /* struct dm_transfer, to be told by the call */
	struct loop_call cancel;
	struct iser_command *commands;
	struct list free_commands;

	/* initiator */
	struct dm_task **buckets;	   /* by ITT */
	uint32_t bucket_count, task_count; /* bucket_count is a power of two */
	/* a write no longer than this goes with its command; 0: none does */
	uint32_t immediate_limit;

	uint64_t pdus_sent, pdus_received;
};

static inline struct iser_conn *iser_conn_of(struct dm_conn *c)
{
	return container_of(c, struct iser_conn, base);
}

static inline struct iser_command *iser_command_of(struct dm_task *t)
{
	return container_of(t, struct iser_command, task);
}

static inline struct iser_task *iser_task_of(struct dm_task *t)
{
	return (struct iser_task *)t->mover_private;
}

static inline bool iser_conn_carries(const struct iser_conn *c)
{
	return c->phase == ISER_LOGIN || c->phase == ISER_FULL_FEATURE;
}

/* iser_conn.c */
extern const struct dm_ops iser_ops; /* iser.c */
extern const struct rdma_conn_upcalls iser_rdma_upcalls;
struct iser_conn *iser_conn_new(struct iser_mover *m, bool initiator);
void iser_conn_free(struct iser_conn *c);
/* The one way to fail: the first error and reason are told; the provider completes everything. */
void iser_conn_fail(struct iser_conn *c, int error, const char *reason);
void iser_declare_keys(struct dm_conn *c, struct iscsi_params *offer);
int iser_allocate_connection_resources(struct dm_conn *c, const struct iscsi_params *p);
int iser_enable(struct dm_conn *c, const struct iscsi_params *p);
void iser_terminate(struct dm_conn *c, bool graceful);
void iser_get_info(const struct dm_conn *c, struct dm_conn_info *ret);

/* iser_buffers.c */
struct iser_buffers_shape {
	uint32_t receives, large_sends, small_sends;
};
int iser_buffers_make(
	struct iser_conn *c, struct iser_buffers *b, const struct iser_buffers_shape *shape);
int iser_buffers_post(struct iser_conn *c, struct iser_buffers *b);
void iser_buffers_free(struct iser_conn *c, struct iser_buffers *b);

/* iser_receive.c */
void iser_receive_done(struct rdma_work *w, int status);

/* iser_send.c */
/* A buffer with room for `size` bytes, or NULL. */
struct iser_send *iser_send_get(struct iser_conn *c, size_t size);
void iser_send_put(struct iser_send *s);
/* The first `length` bytes of its buffer leave in their turn. */
void iser_send_queue(struct iser_conn *c, struct iser_send *s, uint32_t length);
int iser_send_control(struct dm_conn *c, const struct iscsi_pdu *pdu, const void *ahs,
	const void *data, struct dm_task *task);
void iser_send_done(struct rdma_work *w, int status);
/* Something was queued: iser_pump() runs at the end of this turn. */
void iser_pump_schedule(struct iser_conn *c);
void iser_pump(struct loop_call *call);

/* iser_transfer.c */
int iser_put_data(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t);
int iser_get_data(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t);
uint64_t iser_transfer_ticket(const struct dm_transfer *t);
/* Posts the first pending transfer. */
int iser_transfer_post(struct iser_conn *c, bool signalled);
/* A request with `ticket` is done: so are the unsignalled writes before it. */
void iser_transfers_retire(struct iser_conn *c, uint64_t ticket);
void iser_transfers_cancel(struct iser_conn *c, struct iser_command *cmd);
void iser_transfers_cancel_call(struct loop_call *call);
/* The connection is over: every transfer that is left is told. */
void iser_transfers_abandon(struct iser_conn *c);
int iser_transfers_make(struct iser_conn *c);

/* iser_task.c */
int iser_tasks_make(struct iser_conn *c);
/* Initiator: advertises the task's buffers in `header`, what `immediate` leaves of the write. */
int iser_task_advertise(
	struct iser_conn *c, struct dm_task *task, uint32_t immediate, struct iser_header *header);
struct dm_task *iser_task_find(const struct iser_conn *c, uint32_t itt);
/* Initiator: the peer's Send invalidated `stag`; false if that is none of the task's. */
bool iser_task_invalidated(struct dm_task *task, uint32_t stag);
void iser_tasks_abandon(struct iser_conn *c);
/* Target: NULL when there are more commands than receives. */
struct iser_command *iser_command_get(struct iser_conn *c);
void iser_command_put(struct iser_command *cmd);
void iser_deallocate_task_resources(struct dm_conn *c, struct dm_task *task);

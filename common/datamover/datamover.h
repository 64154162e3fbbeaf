/* The seam between iSCSI and its transports: RFC 5047, the Datamover Architecture. Two movers
 * implement it (tcp.c, iser.c); the initiator and the target use it and nothing below it.
 *
 * Above this seam there is only "put this buffer" and "get this buffer". R2T, Data-In, Data-Out,
 * DataSN and R2TSN exist inside tcp.c alone; STags, Sends, RDMA Reads and Writes inside iser.c
 * alone.
 *
 * Threads: a mover, and all that comes from it, belongs to one loop. Re-entrance: no upcall is made
 * from inside a downcall; every upcall and every `done` comes from the loop.
 *
 * Life of a connection, seen from above:
 *
 *     dm_connect() / accepted()                    bytes can flow, login phase
 *     dm_declare_keys()                            the mover's own keys go into the offer
 *     dm_send_control(Login ...) / control_notify  login PDUs, one at a time
 *     dm_allocate_connection_resources(outcome)    before the last login PDU is sent: by then all
 *                                                  that the peer may send can be received
 *     dm_enable(outcome)                           target: right after it has sent the last Login
 *                                                  Response; initiator: in the control_notify that
 *                                                  brought it (digests begin with the next PDU)
 *     ...                                          full-feature phase
 *     dm_terminate()                               by either, at any time
 *     connection_terminate_notify()                always, exactly once, last: the mover calls
 *                                                  nothing more, and the conn is gone when it
 *                                                  returns */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/iscsi/keys.h"
#include "common/iscsi/pdu.h"

struct dm_mover;
struct dm_conn;

/* Memory that the mover can move from and to: a whole arena, a memory backend, an exporter's
 * buffers. Registered once, used by many transfers (RFC 5047 leaves this to the platform). */
struct dm_region {
	void *address;
	size_t length;
	void *mover_handle;
};

/* One direction of a SCSI task's data as the initiator has it. */
struct dm_buffer {
	void *data;
	uint32_t length;	  /* 0: no data in this direction */
	struct dm_region *region; /* that `data` lies in; NULL where the mover may copy */
};

/* The mover's record of one SCSI task.
 *   initiator: embedded in the caller's task; read, write and edtl are set by the caller; it is the
 *              mover's from dm_send_control() until dm_deallocate_task_resources().
 *   target:    made by the mover when the command arrives, passed up with it, given back by
 *              dm_deallocate_task_resources(). `owner` is the upper layer's in both cases. */
struct dm_task {
	void *owner;
	uint32_t itt;
	struct dm_buffer read, write; /* initiator */
	uint32_t received; /* initiator, valid at the SCSI Response: bytes of read data that are
			      known to have come. TCP counts them; RDMA cannot, and says read.length
			    */
	uint32_t immediate_length; /* initiator, after dm_send_control(): immediate data sent.
				      target: immediate data that came with the command */
	bool can_get, can_put; /* target: the initiator advertised a buffer for it (always so on TCP
				  where the command's W or R bit is set) */
	void *mover_private[6];
};

/* One transfer of the target: caller-owned, the mover's until `done`. */
struct dm_transfer {
	void *data;
	uint32_t length;	  /* > 0 */
	uint32_t offset;	  /* in the task's data */
	struct dm_region *region; /* that `data` lies in */
	/* Data_Completion_Notify (RFC 5047 section 7.2.3): 0, or negative errno when the connection
	 * is failing. `data` is the caller's again. */
	void (*done)(struct dm_transfer *t, int status);
	struct list link; /* the mover's own, as all below */
	struct dm_task *task;
	uint32_t progress;
	void *mover_private[4];
};

/* Sequence numbers that PDUs made by the mover must carry (Data-In, R2T, Data-Out). The upper layer
 * owns the struct and keeps it current; the mover only reads it. */
struct dm_sequence {
	/* target: the StatSN of the next status, which no mover moves on */
	uint32_t stat_sn, exp_cmd_sn, max_cmd_sn;
	uint32_t exp_stat_sn; /* initiator */
};

/* Upcalls. `owner` is the pointer given with dm_connect() or dm_conn_set_owner(). */
struct dm_upcalls {
	/* Control_Notify (7.2.1): one PDU has come. `data` (pdu->data_length bytes) is valid during
	 * the call; so are `ahs` bytes (pdu->ahs_words * 4). `task` is set for a SCSI Command
	 * (target) and, at the initiator, for the SCSI Response of a task that the mover knows.
	 * On TCP a status that came in a Data-In is presented as a SCSI Response. Never called for
	 * Data-In, Data-Out and R2T. A PDU that cannot be decoded comes with decode_error < 0 (see
	 * iscsi_pdu_decode()); the upper layer rejects it. */
	void (*control_notify)(void *owner, const struct iscsi_pdu *pdu, const uint8_t *bhs,
		int decode_error, const void *ahs, const void *data, struct dm_task *task);
	/* The connection made by dm_connect() can carry PDUs. */
	void (*connected)(void *owner);
	/* Connection_Terminate_Notify (7.2.2). 0: dm_terminate() was called, or the peer closed in
	 * order; negative errno otherwise, with a reason fit for a log line. Transfers that were
	 * under way have had their `done` before. */
	void (*connection_terminate_notify)(void *owner, int error, const char *reason);
	/* Target: a data transfer broke the protocol in a way that fails the task, not the
	 * connection (wrong DataSN, data digest, Data-Out beyond the R2T): the upper layer ends it
	 * with a CHECK CONDITION, ABORTED COMMAND. A transfer under way has had `done` with
	 * -EBADMSG. May be NULL (initiator). */
	void (*task_failed)(void *owner, struct dm_task *task, const char *reason);
};

struct address;

/* What a portal does with a new connection: gives it upcalls and an owner by dm_conn_set_owner()
 * before it returns, or terminates it. */
struct dm_acceptor {
	void (*accepted)(struct dm_acceptor *a, struct dm_conn *conn, const struct address *peer);
};

/* What people are shown (-P 3, isertadm): all strings are static or in the struct. */
struct dm_conn_info {
	const char *mover;    /* "tcp" or "iser" */
	const char *provider; /* "socket", "softiwarp", "verbs", "memory" */
	char local[64], peer[64];
	bool header_digest, data_digest; /* software iWARP: data_digest is MPA's CRC */
	bool remote_invalidate;
	uint64_t pdus_sent, pdus_received, bytes_sent, bytes_received;
	uint32_t queue_depth; /* receives posted (iSER) */
	char detail[64];      /* provider's own: device, FPDU size */
};

/* What registering a range of memory does to its pages, as the RDMA provider below has it. */
enum dm_pinning {
	DM_PINS_NOT,   /* nothing */
	DM_PINS,       /* a device keeps those it has seen: none may be given back */
	DM_PINS_LATER, /* there is no device yet that would use them */
};

struct dm_ops {
	const char *name; /* "tcp", "iser" */
	int (*connect)(struct dm_mover *m, const struct address *to, uint64_t timeout_ns,
		const struct dm_upcalls *up, void *owner, struct dm_conn **ret);
	int (*register_region)(
		struct dm_mover *m, void *address, size_t length, struct dm_region **ret);
	void (*unregister_region)(struct dm_mover *m, struct dm_region *r);
	enum dm_pinning (*pinning)(struct dm_mover *m); /* NULL: not */
	void (*free_mover)(struct dm_mover *m);

	void (*declare_keys)(struct dm_conn *c, struct iscsi_params *offer);
	int (*allocate_connection_resources)(struct dm_conn *c, const struct iscsi_params *p);
	int (*enable)(struct dm_conn *c, const struct iscsi_params *p);
	void (*terminate)(struct dm_conn *c, bool graceful);
	int (*send_control)(struct dm_conn *c, const struct iscsi_pdu *pdu, const void *ahs,
		const void *data, struct dm_task *task);
	int (*put_data)(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t);
	int (*get_data)(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t);
	void (*deallocate_task_resources)(struct dm_conn *c, struct dm_task *task);
	void (*get_info)(const struct dm_conn *c, struct dm_conn_info *ret);
};

/* Base structs, first member of each mover's own. */
struct dm_mover {
	const struct dm_ops *ops;
};

struct dm_conn {
	const struct dm_ops *ops;
	const struct dm_upcalls *up;
	void *owner;
	const struct dm_sequence *sequence;
	/* True when the mover sums memory and sends it after that (TCP data digest, MPA CRC): what
	 * others may change meanwhile must then be copied first. Set by dm_enable() at the latest.
	 */
	bool checksums_data;
	/* True for iSER: RFC 7145's keys are negotiated, digests are None. */
	bool rdma;
	/* Initiator: SCSI tasks that may be under way at a time, whatever the command window says:
	 * each needs a receive for its response (iSER). 0: no limit of the mover's. */
	uint32_t tasks_max;
};

/* ---- downcalls: the primitives of RFC 5047 section 7.1, and what each mover does ---- */

/* Begins a connection. TCP: socket connect. iSER: rdma connect with the CM private data of RFC 7145
 * section 5.1. `connected` or `connection_terminate_notify` follows, the latter with -ETIMEDOUT
 * after `timeout_ns`. */
static inline int dm_connect(struct dm_mover *m, const struct address *to, uint64_t timeout_ns,
	const struct dm_upcalls *up, void *owner, struct dm_conn **ret)
{
	return m->ops->connect(m, to, timeout_ns, up, owner, ret);
}

/* Target, inside accepted(). */
static inline void dm_conn_set_owner(struct dm_conn *c, const struct dm_upcalls *up, void *owner)
{
	c->up = up;
	c->owner = owner;
}

/* Where the mover reads sequence numbers from; `s` must outlive the connection. */
static inline void dm_conn_set_sequence(struct dm_conn *c, const struct dm_sequence *s)
{
	c->sequence = s;
}

/* TCP: nothing to do. iSER: one memory region of the RDMA device. -ENOMEM
 * and what the device says. */
static inline int dm_register_region(
	struct dm_mover *m, void *address, size_t length, struct dm_region **ret)
{
	return m->ops->register_region(m, address, length, ret);
}

static inline void dm_unregister_region(struct dm_mover *m, struct dm_region *r)
{
	if (r)
		m->ops->unregister_region(m, r);
}

static inline enum dm_pinning dm_pinning(struct dm_mover *m)
{
	return m->ops->pinning ? m->ops->pinning(m) : DM_PINS_NOT;
}

static inline void dm_mover_free(struct dm_mover *m)
{
	if (m)
		m->ops->free_mover(m);
}

/* Login: fills in the keys that the mover owns (digests and MaxRecvDataSegmentLength;
 * RDMAExtensions and the two RecvDataSegmentLengths for iSER), leaving all others untouched. */
static inline void dm_declare_keys(struct dm_conn *c, struct iscsi_params *offer)
{
	c->ops->declare_keys(c, offer);
}

/* Allocate_Connection_Resources. iSER: posts the receives of the full-feature phase. */
static inline int dm_allocate_connection_resources(
	struct dm_conn *c, const struct iscsi_params *outcome)
{
	return c->ops->allocate_connection_resources(c, outcome);
}

/* Notice_Key_Values and Enable_Datamover in one: the outcome of the login
 * is in force from here on. */
static inline int dm_enable(struct dm_conn *c, const struct iscsi_params *outcome)
{
	return c->ops->enable(c, outcome);
}

/* Connection_Terminate. `graceful`: what was handed over before leaves first (a Logout Response, a
 * Reject), for at most a second; otherwise at once. Idempotent. connection_terminate_notify()
 * follows. */
static inline void dm_terminate(struct dm_conn *c, bool graceful)
{
	c->ops->terminate(c, graceful);
}

/* Send_Control. `pdu` and `data` (pdu->data_length bytes, at most 8 KiB + padding) and `ahs`
 * (pdu->ahs_words * 4) are copied. `task` is set for a SCSI Command (initiator: the mover adds tags
 * or immediate data to it) and for a SCSI Response (target: the mover may invalidate the tag, or
 * collapse a GOOD status into the last Data-In). Sent in order, behind earlier dm_put_data() of the
 * connection. -ENOTCONN once the connection is failing; -ENOBUFS when the peer has stopped taking
 * what is queued (the connection then fails). */
static inline int dm_send_control(struct dm_conn *c, const struct iscsi_pdu *pdu, const void *ahs,
	const void *data, struct dm_task *task)
{
	return c->ops->send_control(c, pdu, ahs, data, task);
}

/* Put_Data (target). TCP: Data-In PDUs cut to the initiator's MaxRecvDataSegmentLength and
 * MaxBurstLength. iSER: RDMA Write. */
static inline int dm_put_data(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t)
{
	return c->ops->put_data(c, task, t);
}

/* Get_Data (target). TCP: R2T, and Data-Out straight into t->data. iSER: RDMA Read. The offset
 * never lies in the immediate data. */
static inline int dm_get_data(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t)
{
	return c->ops->get_data(c, task, t);
}

/* Deallocate_Task_Resources. From here on the peer can reach nothing of the task's memory.
 * Initiator: to be called before the task's buffers are touched or given away, also when it failed.
 * Target: transfers under way get their `done` (-ECANCELED) from the loop, later. */
static inline void dm_deallocate_task_resources(struct dm_conn *c, struct dm_task *task)
{
	c->ops->deallocate_task_resources(c, task);
}

static inline void dm_conn_get_info(const struct dm_conn *c, struct dm_conn_info *ret)
{
	c->ops->get_info(c, ret);
}

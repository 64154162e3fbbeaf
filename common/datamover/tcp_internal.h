/* Inside of the iSCSI/TCP mover, shared by tcp*.c and by nobody else.
 *
 *   tcp.c            the mover: its making, connections in and out, the table of operations
 *   tcp_conn.c       a connection's life: start, failure, orderly end, `done` of transfers
 *   tcp_rx.c         bytes in: one recv, the stream, dispatch by opcode
 *   tcp_tx.c         bytes out: the queue of items, PDUs made from them, one sendmsg
 *   tcp_control.c    Send_Control: the PDUs that come from above
 *   tcp_target.c     tasks of the target: commands in, deallocation, failed tasks
 *   tcp_put.c        Put_Data: Data-In
 *   tcp_get.c        Get_Data: R2T out, Data-Out in
 *   tcp_initiator.c  tasks of the initiator: Data-In, R2T, responses in; Data-Out out
 *
 * Out-going work is a queue of items in the order of the downcalls. PDUs are made from the front of
 * it only when there is room in the stream, so that an item of 16 MiB holds no more memory than one
 * of 4 KiB, and every header carries the sequence numbers of the moment it leaves. */
#pragma once

#include "common/base/list.h"
#include "common/base/tags.h"
#include "common/datamover/datamover.h"
#include "common/datamover/tcp.h"
#include "common/datamover/tcp_slab.h"
#include "common/iscsi/stream.h"
#include "common/loop/address.h"
#include "common/loop/loop.h"

/* What one recv takes. 32 writes of 4 KiB come at once, and it still fits the L2 cache. One per
 * mover: what was read is consumed before the next connection reads. */
#define TCP_STAGING_SIZE (128u * 1024)
/* From here on the rest of a data segment is received in place: below, the second iovec costs more
 * than copying what fits the L1 cache. */
#define TCP_DIRECT_MIN (16u * 1024)
/* What is read behind such a rest: the next header and a few small PDUs; more of it would be data
 * of the next long segment, to be copied. */
#define TCP_DIRECT_TAIL (8u * 1024)
/* Reads of one connection per turn, so that one that streams does not starve the others. */
#define TCP_READS_PER_TURN 8
/* Iovecs of one sendmsg: the kernel's UIO_MAXIOV. */
#define TCP_IOVECS 1024
/* PDUs in the stream at a time: most have two iovecs, so this many fill one sendmsg. */
#define TCP_PDUS_MAX (TCP_IOVECS / 2)
/* Commands that one initiator may have unanswered: well above any command window that a session
 * offers, so that only a peer that disregards MaxCmdSN reaches it. */
#define TCP_TASKS_MAX 1024u
/* R2Ts outstanding per task: four bursts keep any link busy whatever the negotiation allows. */
#define TCP_R2TS_PER_TASK 4u
/* Control PDUs that wait to leave: one response per command, and as many again for pings,
 * rejects and an initiator's own commands. A peer that lets more pile up does not read. */
#define TCP_CONTROLS_MAX (2u * TCP_TASKS_MAX)
/* The same as bytes of their data: 128 login or text PDUs of 8 KiB. */
#define TCP_CONTROL_BYTES_MAX (1024u * 1024)
#define TCP_CONTROL_DATA_MAX 8192u /* datamover.h: data of one dm_send_control() */
/* Payload of most control PDUs: sense data is at most 252 + 2 bytes (SPC-4 section 4.5). */
#define TCP_PAYLOAD_SMALL 256u
#define TCP_PAYLOAD_LARGE (TCP_CONTROL_DATA_MAX + ISCSI_AHS_MAX)
#define TCP_LOGIN_DATA_MAX 8192u    /* MaxRecvDataSegmentLength in the login phase, section 6.3 */
#define TCP_LINGER_NS LOOP_NS_PER_S /* dm_terminate(graceful): "for at most a second" */
#define TCP_BUCKETS 256 /* of the initiator's ITT table: chains of 1 at the usual depth */

struct tcp_mover {
	struct dm_mover dm;
	struct loop *loop;
	struct tcp_mover_config config;
	char congestion[16]; /* TCP_CA_NAME_MAX */
	struct list conns;
	struct tcp_slab items, pdus, tasks, r2ts, payload_small, payload_large;
	struct iovec iov[TCP_IOVECS];
	uint8_t *staging;
};

enum tcp_phase {
	TCP_CONNECTING, /* waits for the socket, or for the first turn of an adopted one */
	TCP_OPEN,
	/* dm_terminate(graceful): waits for the last byte to be taken by the socket */
	TCP_FLUSHING,
	TCP_LINGERING, /* waits for the peer's end, so that closing does not reset what it still
			  reads */
	TCP_DEAD,      /* waits for the loop to make the last upcall */
};

struct tcp_conn {
	struct dm_conn dm;
	struct tcp_mover *mover;
	struct list link; /* of the mover */
	bool target;
	enum tcp_phase phase;
	struct dm_acceptor *acceptor; /* until accepted() was called */
	struct address peer, local;

	struct loop_watch watch;
	struct loop_timer timer; /* connect, linger */
	struct loop_call start, flush, finish, end;
	int error; /* of TCP_DEAD */
	const char *reason;

	/* the outcome of the login; the RFC's defaults before */
	struct iscsi_params params;
	uint32_t max_send; /* the peer's MaxRecvDataSegmentLength */

	/* in */
	struct iscsi_rx rx;
	uint8_t *control_data; /* data segment that came in pieces, rx.max_data_length bytes */
	uint32_t control_capacity;
	uint8_t *control_old;	 /* the one before it grew */
	const void *rx_data;	 /* where the present data segment is, for control_notify() */
	struct tcp_r2t *rx_r2t;	 /* target: of the present Data-Out; NULL: it is thrown away */
	struct dm_task *rx_task; /* initiator: of the present Data-In; NULL: it is thrown away */

	/* out */
	struct iscsi_tx tx;
	struct list out; /* items not yet, or not wholly, made into PDUs */
	uint32_t pdus;	 /* in tx */
	uint32_t controls, control_bytes;
	uint64_t next_sequence;	  /* of items */
	uint64_t status_sequence; /* of the newest item that carries a StatSN of its own */

	/* target */
	struct list tasks;
	uint32_t task_count;
	struct tags *tags;  /* TTT -> struct tcp_r2t */
	struct list failed; /* tasks whose task_failed() is due */
	/* initiator */
	struct list *buckets; /* ITT -> dm_task */

	struct list finished; /* transfers whose `done` is due */
	uint64_t pdus_sent, pdus_received, bytes_sent, bytes_received;
};

enum tcp_item_kind {
	TCP_ITEM_CONTROL,
	TCP_ITEM_PUT, /* Data-In */
	TCP_ITEM_R2T,
	TCP_ITEM_BURST, /* Data-Out for one R2T */
	TCP_ITEM_KINDS
};

/* Something to send. In conn->out until its last PDU is made; then kept by its PDUs. */
struct tcp_item {
	struct list link;
	enum tcp_item_kind kind;
	uint32_t pdus; /* made, and not yet sent */
	bool made;     /* the last PDU is made, or no more will be */
	bool cancelled;
	uint64_t sequence;
	struct dm_task *task; /* whose memory it refers to; NULL: none, or not any more */
	uint32_t offset, length, progress; /* PUT, BURST: of the task's data */
	uint32_t data_sn;
	union {
		struct {
			struct iscsi_pdu pdu;
			uint8_t *payload; /* ahs, then data; NULL: none */
			const void *data;
			uint32_t payload_size; /* 0, TCP_PAYLOAD_SMALL or _LARGE */
			void *copy;	       /* immediate data of a task that was deallocated */
		} control;
		struct {
			struct dm_transfer *transfer;
			bool has_status, overflow, underflow;
			uint32_t stat_sn, residual;
		} put;
		struct tcp_r2t *r2t;
		struct {
			uint32_t ttt, itt;
			uint64_t lun;
		} burst;
	};
};

struct tcp_pdu {
	struct iscsi_tx_pdu tx;
	struct tcp_conn *conn;
	struct tcp_item *item;
	void *copy; /* data saved from a task that was deallocated; freed when sent */
};

/* An R2T that waits for (the rest of) its Data-Outs. */
struct tcp_r2t {
	struct list link; /* of the task */
	struct tcp_task *task;
	struct dm_transfer *transfer;
	struct tcp_item *item; /* until the R2T PDU is made */
	uint32_t ttt, r2t_sn;
	uint32_t offset, length, received; /* of the task's data */
	uint32_t data_sn;		   /* of the next Data-Out */
};

/* The target's record of a task. */
struct tcp_task {
	struct dm_task dm;
	struct list link; /* of the conn */
	struct list failed_link;
	const char *failure;
	bool released;	/* deallocated; waits for puts that must still leave */
	bool responded; /* its SCSI Response was handed over */
	uint64_t lun;
	struct list transfers; /* dm_transfer, under way */
	uint32_t finishing;    /* transfers whose `done` is due: it may still look at the record */
	struct list r2ts;
	uint32_t r2t_count;
	uint32_t next_sn;	   /* DataSN and R2TSN share one numbering (section 4.2.2.4) */
	struct tcp_item *last_put; /* that still has a PDU to make, and is the newest */
};

/* The initiator's part of a dm_task, in mover_private. */
struct tcp_initiator_task {
	struct list link; /* of a bucket */
	uint32_t next_sn; /* of the next Data-In or R2T */
	uint32_t r2ts;	  /* answered in part */
	uint32_t items;	  /* that refer to the task's memory */
	bool known;
};
_Static_assert(sizeof(struct tcp_initiator_task) <= sizeof(((struct dm_task *)0)->mover_private),
	"the initiator's part fits");

/* A dm_transfer's part, in mover_private. */
struct tcp_transfer {
	struct tcp_item *item; /* put */
	uint32_t requested;    /* get: bytes asked for by R2Ts */
	int32_t status;	       /* of `done` */
	bool get;
};
_Static_assert(sizeof(struct tcp_transfer) <= sizeof(((struct dm_transfer *)0)->mover_private),
	"a transfer's part fits");

static inline struct tcp_conn *tcp_conn_of(struct dm_conn *c)
{
	return container_of(c, struct tcp_conn, dm);
}

static inline struct tcp_task *tcp_task_of(struct dm_task *t)
{
	return container_of(t, struct tcp_task, dm);
}

static inline struct tcp_initiator_task *tcp_initiator_task_of(struct dm_task *t)
{
	return (struct tcp_initiator_task *)(void *)t->mover_private;
}

static inline struct tcp_transfer *tcp_transfer_of(struct dm_transfer *t)
{
	return (struct tcp_transfer *)(void *)t->mover_private;
}

/* True while downcalls may queue something. */
static inline bool tcp_conn_open(const struct tcp_conn *c)
{
	return c->phase == TCP_OPEN;
}

/* tcp_conn.c */
int tcp_conn_new(struct tcp_mover *m, int fd, bool target, struct tcp_conn **ret);
void tcp_conn_free(struct tcp_conn *c);
/* The connection can carry PDUs. 0 or negative errno of the loop. */
int tcp_conn_open_socket(struct tcp_conn *c);
/* Ends it, now: nothing is read or sent any more, the last upcall comes from the loop. `reason` is
 * of static storage. The first call counts. */
void tcp_conn_fail(struct tcp_conn *c, int error, const char *reason);
void tcp_conn_terminate(struct dm_conn *c, bool graceful);
/* TCP_FLUSHING, and nothing is left to send. */
void tcp_conn_flushed(struct tcp_conn *c);
/* `t->done(status)` from the loop. */
void tcp_transfer_finish(struct tcp_conn *c, struct dm_transfer *t, int status);

/* tcp_rx.c */
void tcp_rx_ready(struct tcp_conn *c);
/* Room for data segments of `size` bytes that come in pieces. 0 or -ENOMEM. */
int tcp_rx_reserve(struct tcp_conn *c, uint32_t size);
/* Passes the present PDU up. */
void tcp_rx_notify(struct tcp_conn *c, const struct iscsi_pdu *pdu, int error, struct dm_task *t);

/* tcp_tx.c */
/* A new item, not yet queued; NULL: no memory. */
struct tcp_item *tcp_item_new(struct tcp_conn *c, enum tcp_item_kind kind);
void tcp_item_queue(struct tcp_conn *c, struct tcp_item *item);
/* No more PDUs are made of it; those that are made and not begun are taken back. Frees it unless
 * one that is begun keeps it. */
void tcp_item_cancel(struct tcp_conn *c, struct tcp_item *item);
/* The bytes that it refers to are given away: those that must still leave (all of a command's
 * immediate data, since its CmdSN cannot be taken back; the rest of a Data-Out that is begun) are
 * copied. 0 or -ENOMEM. */
int tcp_item_detach(struct tcp_conn *c, struct tcp_item *item);
/* Makes PDUs while there is room. */
void tcp_tx_fill(struct tcp_conn *c);
void tcp_tx_ready(struct tcp_conn *c);
void tcp_tx_flush(struct loop_call *call);
/* Frees all that is queued, which finishes its transfers. */
void tcp_tx_drop(struct tcp_conn *c);

/* What each kind does. */
struct tcp_item_ops {
	/* The next PDU: header in *pdu, and *ret_data of *ret_length
	 * bytes. True if it is the last. */
	bool (*next)(struct tcp_conn *c, struct tcp_item *item, struct iscsi_pdu *pdu,
		const void **ret_ahs, const void **ret_data, uint32_t *ret_length);
	/* Its last PDU has left, or it was cancelled; the item itself is freed by the caller. */
	void (*over)(struct tcp_conn *c, struct tcp_item *item);
};
extern const struct tcp_item_ops tcp_control_ops, tcp_put_ops, tcp_r2t_ops, tcp_burst_ops;

/* tcp_control.c */
int tcp_send_control(struct dm_conn *c, const struct iscsi_pdu *pdu, const void *ahs,
	const void *data, struct dm_task *task);

/* tcp_target.c */
void tcp_target_command(struct tcp_conn *c);
/* Gets end here, with `status`; their later Data-Outs are unknown. */
void tcp_target_gets_cancel(struct tcp_conn *c, struct tcp_task *task, int status);
/* The task's gets fail with -EBADMSG, then task_failed(). */
void tcp_target_fail_task(struct tcp_conn *c, struct tcp_task *task, const char *reason);
void tcp_target_deallocate(struct tcp_conn *c, struct dm_task *task);
/* Frees a record that is deallocated and has no transfer left, nor a `done` to deliver. */
void tcp_target_settle(struct tcp_conn *c, struct tcp_task *task);

/* tcp_put.c */
int tcp_put_data(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t);
/* A GOOD status goes into the last Data-In of its task when that is still to be made and nothing
 * behind it carries a StatSN. */
bool tcp_put_collapse(struct tcp_conn *c, struct tcp_task *task, const struct iscsi_pdu *pdu);

/* tcp_get.c */
int tcp_get_data(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t);
void tcp_get_cancel(struct tcp_conn *c, struct tcp_r2t *r2t);
void tcp_data_out_header(struct tcp_conn *c);
void tcp_data_out_done(struct tcp_conn *c);

/* tcp_initiator.c */
int tcp_initiator_init(struct tcp_conn *c);
/* A SCSI Command leaves: its task is known from now on, and immediate data is chosen. */
void tcp_initiator_command(struct tcp_conn *c, struct dm_task *task, struct tcp_item *item);
void tcp_initiator_deallocate(struct tcp_conn *c, struct dm_task *task);
void tcp_data_in_header(struct tcp_conn *c);
void tcp_data_in_done(struct tcp_conn *c);
void tcp_initiator_r2t(struct tcp_conn *c);
void tcp_initiator_response(struct tcp_conn *c);
/* The table forgets every task: the connection is over. */
void tcp_initiator_forget(struct tcp_conn *c);

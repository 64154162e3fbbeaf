/* What the files of the software iWARP provider share; for them alone.
 *
 * softiwarp.c     the provider and the verbs: posting, exposing, completions
 * softiwarp_conn.c   a connection made and taken up
 * softiwarp_cm.c  connection setup by MPA
 * softiwarp_close.c  the end, and the timer
 * softiwarp_tx.c  the stream's iovecs into the socket
 * softiwarp_rx.c  the socket's bytes into the stream */
#pragma once

#include "common/base/list.h"
#include "common/iwarp/mpa.h"
#include "common/iwarp/stream.h"
#include "common/loop/address.h"
#include "common/loop/loop.h"
#include "common/rdma/rdma.h"
#include "common/rdma/softiwarp.h"

/* One large receive for headers and small payloads; all of it is taken by the stream at once, so
 * the connections of a provider share it. */
#define SOFTIWARP_STAGING (256 * 1024)
/* Tags at a time, of all connections of a provider: 256 sessions with 128 commands of two each. */
#define SOFTIWARP_STAGS 65536

struct softiwarp {
	struct rdma_provider base;
	struct loop *loop;
	struct softiwarp_config config;
	struct stag_table *stags;
	struct list conns;
	uint8_t *staging;
};

enum softiwarp_state {
	SOFTIWARP_CONNECTING,	 /* active: TCP's handshake */
	SOFTIWARP_AWAIT_REPLY,	 /* active: the request is leaving or has left */
	SOFTIWARP_AWAIT_REQUEST, /* passive */
	SOFTIWARP_REQUESTED,	 /* passive: the owner has to accept or reject */
	SOFTIWARP_REPLYING,	 /* passive: the reply is leaving */
	SOFTIWARP_UP,
	SOFTIWARP_FLUSHING,  /* closing in order: what was posted is leaving */
	SOFTIWARP_LINGERING, /* FIN sent, the peer's is awaited */
	SOFTIWARP_OVER,	     /* the socket is closed, completions are to be delivered */
};

/* A posted request on its way. */
struct softiwarp_message {
	struct iwarp_message iwarp;
	bool signalled;
};

struct softiwarp_conn {
	struct rdma_conn base;
	struct softiwarp *provider;
	struct list link;
	enum softiwarp_state state;
	bool active;
	bool owned;	/* `up` is valid */
	bool undecided; /* requested, and neither accepted nor rejected */

	struct loop_watch watch;
	struct loop_timer timer; /* handshake; then kicks; then the end */
	struct loop_call flush, deliver;

	struct rdma_conn_upcalls up;
	struct rdma_conn_limits limits;
	struct rdma_acceptor *acceptor;
	bool event_due;
	enum rdma_conn_event event;
	struct rdma_private_data peer_pd;
	int error;
	char reason[160];

	struct rdma_private_data own_pd;
	struct mpa_frame request; /* passive: what was asked for */
	uint8_t in[MPA_FRAME_MAX];
	size_t in_used, in_need;
	uint8_t out[MPA_FIXED_SIZE + MPA_PD_SENT_MAX];
	size_t out_length, out_sent;

	struct iwarp_stream *stream;
	struct softiwarp_message *messages;
	struct list messages_free; /* by iwarp.link */
	struct list receives;	   /* posted rdma_receives, oldest first */
	uint32_t receive_count;
	struct list done; /* works to be completed by `deliver` */
	unsigned kicks;

	uint32_t max_ulpdu;
	struct mpa_agreement agreed;
	uint64_t bytes_sent, bytes_received;
};

static inline struct softiwarp_conn *softiwarp_conn_of(struct rdma_conn *c)
{
	return container_of(c, struct softiwarp_conn, base);
}

/* softiwarp.c */
extern const struct rdma_ops softiwarp_ops;
extern const struct iwarp_upcalls softiwarp_upcalls;
void softiwarp_deliver(struct loop_call *call);
/* Cancels what is outstanding, makes the last upcall, and frees the connection. */
void softiwarp_conn_finish(struct softiwarp_conn *c);

/* softiwarp_conn.c */
/* Takes `fd` in any case. `timeout_ns` is for the whole of the setup. 0 or negative errno. */
int softiwarp_conn_new(struct softiwarp *p, int fd, enum softiwarp_state state, unsigned events,
	uint64_t timeout_ns, struct softiwarp_conn **ret);
/* Options only make the socket better: a socketpair, for one, has none of them. */
void softiwarp_socket_prepare(const struct softiwarp *p, int fd);
/* What this end would like to agree on. */
struct mpa_wish softiwarp_wish(const struct softiwarp_conn *c);
int softiwarp_stream_open(struct softiwarp_conn *c, const struct mpa_agreement *a); /* -ENOMEM */
void softiwarp_event_soon(struct softiwarp_conn *c, enum rdma_conn_event event);
/* Both ends have agreed, and the frames have left. */
void softiwarp_up_begin(struct softiwarp_conn *c);
/* What is waited for at the socket; when that cannot be, the connection is over. */
void softiwarp_watch(struct softiwarp_conn *c, unsigned events);

/* softiwarp_cm.c */
/* An event of the socket before the stream is up. */
void softiwarp_mpa_ready(struct softiwarp_conn *c);
int softiwarp_connect(struct rdma_provider *p, const struct address *to, uint64_t timeout_ns,
	const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
	const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret);
int softiwarp_accept(struct rdma_conn *base, const struct rdma_conn_limits *limits,
	const struct rdma_private_data *pd, const struct rdma_conn_upcalls *up, void *owner);
void softiwarp_reject(struct rdma_conn *base, const struct rdma_private_data *pd);

/* softiwarp_close.c */
void softiwarp_disconnect(struct rdma_conn *base, bool graceful);
void softiwarp_expired(struct loop_timer *t);
/* Best effort: when FPDUs before it do not all fit the socket, the Terminate is lost. */
void softiwarp_terminate(struct softiwarp_conn *c, enum rdmap_fault fault);
/* The one way to fail, and to end: closes the socket, revokes every tag, defers the completions and
 * the last upcall. The first caller's reason stands. */
void softiwarp_conn_over(struct softiwarp_conn *c, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The stream has failed, or the peer has sent Terminate: tells the peer, and ends. */
void softiwarp_conn_fail(struct softiwarp_conn *c);
/* The peer has closed its direction. */
void softiwarp_conn_eof(struct softiwarp_conn *c);
/* Everything has left that a graceful disconnect waited for. */
void softiwarp_conn_flushed(struct softiwarp_conn *c);
/* The first FPDUs of an active end have left: wakes the peer up if it overlooked them. */
void softiwarp_kick_arm(struct softiwarp_conn *c);

/* softiwarp_tx.c */
void softiwarp_flush(struct loop_call *call);
void softiwarp_flush_soon(struct softiwarp_conn *c);
/* One attempt, without touching the connection's state. False: not everything has left. */
bool softiwarp_send_rest(struct softiwarp_conn *c);

/* softiwarp_rx.c */
void softiwarp_receive(struct softiwarp_conn *c);

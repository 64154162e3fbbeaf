/* What the verbs provider computes without a device: depths and limits of a connection, the cut of
 * long transfers, private data, the identity of a completion. Pure; built and tested everywhere,
 * also where libibverbs is not. Used by the files named in verbs_internal.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/rdma/rdma.h"

/* What a device can do, as far as it matters here. */
struct verbs_caps {
	uint32_t max_work;	  /* requests in one queue of a queue pair */
	uint32_t max_sge;	  /* pieces of memory per request */
	uint32_t max_completions; /* entries of one completion queue */
	uint32_t max_message;	  /* bytes of one request */
	uint32_t max_windows;
	uint8_t reads_in, reads_out; /* RDMA Reads of a queue pair, served and outstanding */
	bool iwarp;
	bool sums_in_place; /* what is sent is summed where it lies, and fetched again after that */
	bool windows;	    /* memory windows of type 2 */
	bool send_invalidate; /* Send with Invalidate */
};

/* The queues of one connection. */
struct verbs_shape {
	uint32_t sends, receives; /* places of the two queues */
	uint32_t sge;
	uint32_t windows; /* 0: keys of the regions are told instead */
};

/* `exposes`: this end tells its memory to the peer. A depth beyond the device's is cut: what does
 * not fit waits in memory. */
struct verbs_shape verbs_shape_make(
	const struct rdma_conn_limits *limits, const struct verbs_caps *caps, bool exposes);

/* RDMA Reads in the words of RDMA_CM: how many the sender of the message serves, and how many it
 * wants to have outstanding. */
struct verbs_reads {
	uint8_t responder_resources, initiator_depth;
};

/* For the REQ. */
struct verbs_reads verbs_reads_ask(
	const struct rdma_conn_limits *limits, const struct verbs_caps *caps);
/* For the REP. `asked` is the request's event as librdmacm shows it, which has turned it round: its
 * responder_resources are the reads that the peer wants to have outstanding, its initiator_depth
 * those that the peer serves. Those of an iWARP request may be unknown, and are 0 then. */
struct verbs_reads verbs_reads_answer(const struct rdma_conn_limits *limits,
	const struct verbs_caps *caps, const struct verbs_reads *asked);

/* The next part of a transfer of `length` bytes of which `done` are posted: as much as one message
 * takes, in whole pages but for the last. */
uint32_t verbs_part(const struct verbs_caps *caps, uint32_t length, uint32_t done);

/* InfiniBand's CM shows its whole field, zeros included: the length says nothing there. iWARP's
 * does. */
void verbs_private_data_take(const void *bytes, size_t length, struct rdma_private_data *ret);

/* The `wr_id` of a request: which connection of the provider (its place, and how often that place
 * was used before), which queue, which place in the queue. A completion that comes after its
 * connection has gone is thus known, whatever became of the memory. */
struct verbs_cookie {
	uint32_t place;	     /* 20 bits */
	uint32_t generation; /* 23 bits */
	bool receive;
	uint32_t index; /* 20 bits */
};

#define VERBS_PLACES_MAX (1u << 20)
#define VERBS_GENERATIONS (1u << 23)
#define VERBS_INDEX_MAX (1u << 20)

uint64_t verbs_cookie_pack(const struct verbs_cookie *c);
struct verbs_cookie verbs_cookie_unpack(uint64_t wr_id);

/* The code (0..31) of the shortest RNR NAK timer that is not shorter than `us` microseconds:
 * InfiniBand Architecture, table "Encoding for RNR NAK Timer Field". */
uint8_t verbs_rnr_timer_code(uint32_t us);
/* The code of the shortest local ACK timeout (4.096 us * 2^code) not shorter than `us`; 0 for 0:
 * as the device and the path have it. */
uint8_t verbs_ack_timeout_code(uint64_t us);

/* One line that names need and limit and says what to set. */
void verbs_memlock_explain(
	uint64_t need, uint64_t limit, const char *device, char *out, size_t size);

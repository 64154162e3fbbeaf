/* The iSCSI/TCP mover. Named only by the daemons' main and by tests. */
#pragma once

#include "common/datamover/datamover.h"

struct loop;
struct listener;

struct tcp_mover_config {
	unsigned header_digest, data_digest;   /* set of enum iscsi_digest this end accepts; the
						  initiator offers, the target chooses */
	uint32_t max_recv_data_segment_length; /* bytes, 512..16777215; 0: 256 KiB */
	/* A write no longer than this goes as immediate data (if negotiated); a longer one waits
	 * for R2T whole, so that its data is received in place. Initiator. */
	uint32_t immediate_limit;	/* bytes; 0: 16 KiB */
	const char *congestion_control; /* TCP_CONGESTION, or NULL for the system's choice */
};

/* NULL when there is no memory. Free with dm_mover_free() after its last connection is gone. */
struct dm_mover *tcp_mover_new(struct loop *loop, const struct tcp_mover_config *config);
/* Takes over a connected, non-blocking socket (also a socketpair of a test). Target: `acceptor`
 * gets the connection, from the loop. Owns `fd` in any case. 0 or -ENOMEM. */
int tcp_mover_adopt(struct dm_mover *m, int fd, struct dm_acceptor *acceptor);
/* The same for the connecting side of a socketpair. */
int tcp_mover_adopt_active(
	struct dm_mover *m, int fd, const struct dm_upcalls *up, void *owner, struct dm_conn **ret);
/* Whether the first bytes of a connection are an iSCSI Login Request (listener.h). */
int tcp_mover_match(const uint8_t *bytes, size_t length);

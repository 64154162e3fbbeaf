/* The software iWARP provider: sockets around common/iwarp. Named only by the daemons' main and by
 * tests. Wire-compatible with Linux siw. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/loop/listener.h"
#include "common/rdma/rdma.h"

struct loop;

enum softiwarp_crc {
	SOFTIWARP_CRC_AUTO, /* off when both ends are on this host, on otherwise */
	SOFTIWARP_CRC_OFF,
	SOFTIWARP_CRC_ON,
};

struct softiwarp_config {
	enum softiwarp_crc crc;
	/* Largest ULPDU that is sent (bytes, 128..65535); 0: 65535 & ~7. "mss": 1 keeps each FPDU
	 * within the TCP segment size, for hardware peers. */
	uint32_t max_ulpdu;
	bool ulpdu_by_mss;
	uint64_t mpa_timeout_ns;	/* for the request or the reply; 0: 5 s */
	const char *congestion_control; /* TCP_CONGESTION, or NULL */
};

struct rdma_provider *softiwarp_new(struct loop *loop, const struct softiwarp_config *config);
/* Takes over a connected, non-blocking socket on which an MPA request will arrive (or has). Owns
 * `fd` in any case. `acceptor` gets the connection when the request is whole. 0 or -ENOMEM. */
int softiwarp_adopt(struct rdma_provider *p, int fd, struct rdma_acceptor *acceptor);
/* The connecting side on a given socket (tests: a socketpair). As rdma_connect() else. */
int softiwarp_connect_fd(struct rdma_provider *p, int fd, uint64_t timeout_ns,
	const struct rdma_conn_limits *limits, const struct rdma_private_data *pd,
	const struct rdma_conn_upcalls *up, void *owner, struct rdma_conn **ret);
/* For struct listener_protocol: does the connection begin with an MPA request? */
enum listener_verdict softiwarp_match(const uint8_t *bytes, size_t length);

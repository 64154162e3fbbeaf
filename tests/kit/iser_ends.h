/* Two iSER movers, or one and a raw RDMA peer, over the memory provider: what the tests of the iSER
 * mover's files are built from. */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/datamover/iser.h"
#include "common/datamover/iser_header.h"
#include "common/loop/address.h"
#include "tests/kit/memory_rdma.h"

#define IO_SIZE (64 * 1024)
#define RAW_SIZE 16384

/* One end of a connection as its upper layer sees it. */
struct end {
	struct dm_conn *conn;
	unsigned connected, pdus, terminated;
	struct iscsi_pdu pdu; /* the last */
	uint8_t bhs[ISCSI_BHS_SIZE], ahs[1024], data[16384];
	int decode_error;
	struct dm_task *task;
	int error;
	char reason[128];
	bool release; /* gives the task back when its PDU comes */
};

/* A peer that speaks RDMA and whatever bytes the test likes. */
struct raw {
	struct rdma_conn *conn;
	struct rdma_acceptor acceptor;
	struct rdma_provider *provider;
	struct rdma_private_data mine, theirs;
	uint8_t *memory; /* 32 receives, then one send */
	struct rdma_region *region;
	struct rdma_receive receives[32];
	struct rdma_send send;
	struct rdma_transfer transfer;
	unsigned established, closed, received, sent;
	int error;
	uint8_t last[RAW_SIZE];
	uint32_t last_length;
	bool last_invalidated;
	uint32_t last_stag;
};

struct fixture {
	struct loop *loop;
	struct rdma_provider *provider;
	struct dm_mover *target, *initiator;
	struct dm_acceptor upper;
	struct rdma_acceptor *acceptor;
	struct end t, i;
	struct raw raw;
	uint8_t *near, *far; /* the initiator's and the target's memory, IO_SIZE each */
	struct dm_region *near_region, *far_region;
	unsigned long live;
};

struct fixture *fixture_new(const struct iser_mover_config *config);
/* Ends everything that is left, and checks that nothing is. */
void fixture_free(struct fixture *f);
void fixture_turn(struct fixture *f);
/* Begins the initiator's connection: 0, or what dm_connect() said. */
int fixture_connect(struct fixture *f);
/* Both movers, connected, logged in by one PDU each way, in full-feature phase. */
void fixture_session(struct fixture *f, const struct iscsi_params *params);
struct iscsi_params fixture_params(void);

/* The raw peer connects to the target's mover. */
void raw_connect(struct fixture *f, const void *private_data, size_t length);
/* The raw peer is what the initiator's mover connects to. */
void raw_listen(struct fixture *f, const void *private_data, size_t length);
void raw_send(struct fixture *f, const void *bytes, size_t length);
/* iSER header, BHS of `pdu`, then `data`. Returns the length. */
size_t raw_compose(
	uint8_t *out, const struct iser_header *h, const struct iscsi_pdu *pdu, const void *data);
void raw_send_pdu(struct fixture *f, const struct iser_header *h, const struct iscsi_pdu *pdu,
	const void *data);

/* ---- what stories need ---- */

extern const struct iser_mover_config iser_ends_allow, iser_ends_forbid; /* remote invalidation */
extern const struct iser_header iser_ends_plain; /* a control PDU without tags */

struct transfer {
	struct dm_transfer dm;
	unsigned done;
	int status;
};

/* `length` bytes at f->far + offset, to or from that offset of the task. */
struct transfer ends_transfer(struct fixture *f, uint32_t offset, uint32_t length);
/* IO_SIZE bytes that differ by place and seed. */
void ends_fill(uint8_t *p, uint32_t seed);
struct iscsi_pdu ends_command(const struct dm_task *t, uint32_t itt);
/* From the initiator, until the target has it. */
void ends_send_command(struct fixture *f, struct dm_task *task, uint32_t itt);
void ends_send_response(struct fixture *f, uint32_t itt, struct dm_task *task);
/* A raw initiator at the target's mover, in full-feature phase. */
struct fixture *raw_session(void);
/* A raw target that the initiator's mover is logged in to. */
struct fixture *raw_target(const struct iser_mover_config *config);
/* The initiator reads 4 KiB into f->near; its header as the target got it. */
struct iser_header raw_target_command(struct fixture *f, struct dm_task *task, uint32_t itt);

/* For the tests of the SCSI device server: a worker per loop on a virtual clock, one unit on the
 * memory store (or on a slow one), sessions that only record, and a mover that copies. What the
 * device server needs of session.h is defined here, so each test program includes this once. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/bytes.h"
#include "common/base/pool.h"
#include "common/iscsi/pdu.h"
#include "common/scsi/cdb.h"
#include "target/abort.h"
#include "target/backend/stores.h"
#include "target/command.h"
#include "target/session.h"
#include "target/worker.h"

#define SERVER_TARGET "iqn.2026-01.org.example:disk"
#define SERVER_LOOPS 2
#define SERVER_SESSIONS 4
#define SERVER_RESULTS 64
#define SERVER_MEMORY (20u * 1024 * 1024)

struct server_result {
	bool sent, responded, aborted;
	struct dm_task task;
	uint8_t status;
	struct scsi_sense sense;
	uint64_t transfer_length;
	uint32_t order;	  /* the how-manieth response of the session */
	uint32_t put_end; /* data-in, as far as it came */
	uint8_t *in;	  /* the initiator's memory */
	const uint8_t *out;
	uint32_t gets, puts;
};

struct tgt_session {
	struct server *server;
	struct worker *worker;
	struct nexus *nexus;
	struct list commands;
	char port[64];
	struct dm_conn conn;
	struct server_result results[SERVER_RESULTS];
	uint32_t next_itt, responses;
	unsigned tmf_responses, target_resets;
	uint8_t tmf_response;
	bool mover_holds; /* transfers do not end until server_let_go() */
	int mover_status; /* what they end with */
	struct list held; /* struct dm_transfer.link */
	struct backend_channel *channel;
};

struct server {
	struct worker workers[SERVER_LOOPS];
	struct device *device;
	struct tgt_session sessions[SERVER_SESSIONS];
	unsigned session_count;
	uint8_t *memory; /* for data-in */
};

/* ---- the mover ---- */

struct held_call {
	struct loop_call call;
	struct dm_transfer *transfer;
	int status;
};

static void transfer_called(struct loop_call *c)
{
	struct held_call *h = container_of(c, struct held_call, call);
	struct dm_transfer *t = h->transfer;
	int status = h->status;

	free(h);
	t->done(t, status);
}

static void server_end_transfer(struct tgt_session *s, struct dm_transfer *t, int status)
{
	struct held_call *h = calloc(1, sizeof(*h));

	h->call.call = transfer_called;
	h->transfer = t;
	h->status = status;
	loop_defer(s->worker->loop, &h->call);
}

static struct tgt_session *server_conn_session(struct dm_conn *c)
{
	return container_of(c, struct tgt_session, conn);
}

static struct server_result *server_result_of(struct tgt_session *s, uint32_t itt)
{
	return &s->results[itt % SERVER_RESULTS];
}

static void hold_or_end(struct tgt_session *s, struct dm_task *task, struct dm_transfer *t)
{
	t->task = task;
	if (s->mover_holds)
		list_append(&s->held, &t->link);
	else
		server_end_transfer(s, t, s->mover_status);
}

static int server_put(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t)
{
	struct tgt_session *s = server_conn_session(c);
	struct server_result *r = server_result_of(s, task->itt);

	assert_true(t->length > 0);
	assert_non_null(t->region);
	/* Data-in in order (DataSequenceInOrder), and never more than was asked for. */
	assert_int_equal(t->offset, r->put_end);
	memcpy(r->in + t->offset, t->data, t->length);
	r->put_end += t->length;
	r->puts++;
	hold_or_end(s, task, t);
	return 0;
}

static int server_get(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t)
{
	struct tgt_session *s = server_conn_session(c);
	struct server_result *r = server_result_of(s, task->itt);

	assert_true(t->length > 0);
	assert_true(t->offset >= task->immediate_length);
	assert_non_null(r->out);
	if (!s->mover_status)
		memcpy(t->data, r->out + t->offset, t->length);
	r->gets++;
	hold_or_end(s, task, t);
	return 0;
}

static void server_deallocate(struct dm_conn *c, struct dm_task *task)
{
	struct tgt_session *s = server_conn_session(c);
	struct dm_transfer *t, *tmp;

	list_for_each_safe(t, tmp, &s->held, link) {
		if (t->task != task)
			continue;
		list_remove(&t->link);
		server_end_transfer(s, t, -ECANCELED);
	}
}

static const struct dm_ops server_ops = {
	.name = "copy",
	.put_data = server_put,
	.get_data = server_get,
	.deallocate_task_resources = server_deallocate,
};

static inline void server_let_go(struct tgt_session *s)
{
	struct list *node;

	s->mover_holds = false;
	while ((node = list_pop(&s->held)))
		server_end_transfer(s, list_entry(node, struct dm_transfer, link), s->mover_status);
}

/* ---- session.h ---- */

struct worker *tgt_session_worker(const struct tgt_session *s)
{
	return s->worker;
}

struct worker_mover *tgt_session_mover(const struct tgt_session *s)
{
	return &s->worker->movers[0];
}

struct tgt_target *tgt_session_target(const struct tgt_session *s)
{
	(void)s;
	return NULL;
}

const char *tgt_session_initiator_port(const struct tgt_session *s)
{
	return s->port;
}

size_t tgt_session_luns(const struct tgt_session *s, uint16_t *luns, size_t max)
{
	if (max)
		luns[0] = s->server->device->lun;
	return 1;
}

struct nexus *tgt_session_nexus(struct tgt_session *s, uint16_t lun)
{
	return lun == s->server->device->lun ? s->nexus : NULL;
}

void tgt_session_luns_told(struct tgt_session *s)
{
	nexus_attention_drop(s->nexus, ASC_REPORTED_LUNS_DATA_HAS_CHANGED);
}

struct list *tgt_session_commands(struct tgt_session *s)
{
	return &s->commands;
}

void tgt_session_respond(struct tgt_session *s, struct command *cmd)
{
	struct server_result *r = server_result_of(s, cmd->itt);

	assert_false(r->responded || r->aborted);
	r->responded = true;
	r->status = cmd->status;
	r->sense = cmd->sense;
	r->transfer_length = cmd->transfer_length;
	r->order = ++s->responses;
}

void tgt_session_command_aborted(struct tgt_session *s, struct command *cmd)
{
	struct server_result *r = server_result_of(s, cmd->itt);

	assert_false(r->aborted);
	r->aborted = true;
}

void tgt_session_tmf_respond(struct tgt_session *s, uint32_t itt, uint8_t response)
{
	(void)itt;
	s->tmf_responses++;
	s->tmf_response = response;
}

void tgt_session_reset_target(struct tgt_session *s)
{
	s->target_resets++;
}

/* ---- the server ---- */

struct server_config {
	uint64_t delay_ns; /* of reads and writes; 0: the memory store itself */
	uint32_t block_size;
	uint64_t blocks;
	unsigned commands;
	bool readonly, no_write_cache, no_thin;
	const struct fault_config *fault;
};

static inline struct backend *server_backend(const struct server_config *config)
{
	struct memory_config memory = {
		.size = config->blocks * config->block_size,
		.block_size = config->block_size,
	};
	struct delay_config delay = {config->delay_ns, config->delay_ns, config->delay_ns};
	struct backend *b = NULL;
	char why[256];

	assert_int_equal(memory_backend_new(&memory, &b, why, sizeof(why)), 0);
	if (config->fault)
		assert_int_equal(fault_backend_new(b, config->fault, &b, why, sizeof(why)), 0);
	if (config->delay_ns)
		assert_int_equal(delay_backend_new(b, &delay, &b, why, sizeof(why)), 0);
	return b;
}

static inline void server_worker_init(struct worker *w, unsigned commands)
{
	struct loop_config virtual = {.virtual_clock = true};

	w->loop = loop_new(&virtual);
	w->arena = arena_new(0x400000);
	w->commands = pool_new(commands ? commands : 64, sizeof(struct command));
	list_init(&w->starved);
	assert_true(w->loop && w->arena && w->commands);
	w->movers[0].worker = w;
	w->movers[0].arena = calloc(1, sizeof(struct dm_region));
}

static inline struct server *server_new_with(struct server_config config)
{
	struct server *v = calloc(1, sizeof(*v));
	struct device_config device = {
		.lun = 0,
		.readonly = config.readonly,
		.write_cache = !config.no_write_cache,
		.thin = !config.no_thin,
	};

	config.block_size = config.block_size ? config.block_size : 512;
	config.blocks = config.blocks ? config.blocks : 65536;
	v->memory = calloc(1, SERVER_MEMORY);
	for (unsigned i = 0; i < SERVER_LOOPS; i++)
		server_worker_init(&v->workers[i], config.commands);
	assert_int_equal(
		device_new(&device, SERVER_TARGET, server_backend(&config), &v->device), 0);
	return v;
}

static inline struct server *server_new(void)
{
	return server_new_with((struct server_config){0});
}

/* On loop `loop`; the unit attention of the new nexus is taken away. */
static inline struct tgt_session *server_session(struct server *v, unsigned loop)
{
	struct tgt_session *s = &v->sessions[v->session_count++];
	uint16_t a;

	s->server = v;
	s->worker = &v->workers[loop];
	s->conn.ops = &server_ops;
	snprintf(s->port, sizeof(s->port), "iqn.host%u,i,0x0", v->session_count);
	list_init(&s->commands);
	list_init(&s->held);
	assert_int_equal(backend_open_channel(v->device->backend, s->worker->loop, &s->channel), 0);
	assert_int_equal(
		nexus_new(v->device, s->worker->loop, s->channel, s, s->port, &s->nexus), 0);
	assert_true(nexus_attention_take(s->nexus, &a));
	return s;
}

static inline void server_turn(struct server *v)
{
	bool any = true;

	while (any) {
		any = false;
		for (unsigned i = 0; i < SERVER_LOOPS; i++)
			any |= loop_turn(v->workers[i].loop, 0);
	}
}

static inline void server_advance(struct server *v, uint64_t ns)
{
	for (unsigned i = 0; i < SERVER_LOOPS; i++)
		loop_advance(v->workers[i].loop, ns);
	server_turn(v);
}

static inline void server_session_end(struct tgt_session *s)
{
	struct command *cmd;

	list_for_each(cmd, &s->commands, session_link)
		command_abort(cmd);
	server_let_go(s);
	server_turn(s->server);
	for (unsigned i = 0; i < 100 && !list_empty(&s->commands); i++)
		server_advance(s->server, LOOP_NS_PER_S);
	assert_true(list_empty(&s->commands));
	nexus_free(s->nexus);
	backend_close_channel(s->channel);
	s->nexus = NULL;
}

static inline void server_free(struct server *v)
{
	for (unsigned i = 0; i < v->session_count; i++)
		if (v->sessions[i].nexus)
			server_session_end(&v->sessions[i]);
	server_turn(v);
	device_free(v->device);
	for (unsigned i = 0; i < SERVER_LOOPS; i++) {
		struct worker *w = &v->workers[i];

		assert_true(list_empty(&w->starved));
		loop_free(w->loop);
		arena_free(w->arena);
		pool_free(w->commands);
		free(w->movers[0].arena);
	}
	free(v->memory);
	free(v);
}

/* ---- commands ---- */

struct server_send {
	const uint8_t *cdb; /* 16 bytes */
	bool read, write;
	uint8_t attribute;
	uint32_t length; /* EDTL */
	const void *out;
	uint32_t immediate; /* bytes of `out` that come with the command */
	uint16_t lun;
};

/* Returns the task tag. */
static inline uint32_t server_send(struct tgt_session *s, struct server_send what)
{
	uint32_t itt = s->next_itt++;
	struct server_result *r = server_result_of(s, itt);
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_SCSI_COMMAND,
		.itt = itt,
		.lun = iscsi_lun_encode(what.lun),
		.data_length = what.immediate,
		.command = {.read = what.read,
			.write = what.write,
			.attribute = what.attribute,
			.expected_length = what.length},
	};
	uint8_t *immediate = what.immediate ? malloc(what.immediate) : NULL;

	*r = (struct server_result){.sent = true, .in = s->server->memory, .out = what.out};
	r->task.itt = itt;
	r->task.can_put = what.read;
	r->task.can_get = what.write;
	r->task.immediate_length = what.immediate;
	memcpy(pdu.command.cdb, what.cdb, CDB_SIZE);
	if (immediate)
		memcpy(immediate, what.out, what.immediate);
	command_arrive(s, &s->conn, &r->task, &pdu, NULL, immediate);
	/* The mover's memory is gone when the call returns. */
	free(immediate);
	return itt;
}

/* Sends, and turns until the response is there. */
static inline struct server_result *server_do(struct tgt_session *s, struct server_send what)
{
	struct server_result *r = server_result_of(s, server_send(s, what));

	server_turn(s->server);
	for (unsigned i = 0; i < 200 && !r->responded; i++)
		server_advance(s->server, LOOP_NS_PER_MS);
	assert_true(r->responded);
	return r;
}

static inline struct server_result *server_in(
	struct tgt_session *s, const uint8_t *cdb, uint32_t length)
{
	return server_do(s, (struct server_send){.cdb = cdb, .read = true, .length = length});
}

static inline struct server_result *server_out(
	struct tgt_session *s, const uint8_t *cdb, const void *out, uint32_t length)
{
	return server_do(
		s, (struct server_send){.cdb = cdb, .write = true, .length = length, .out = out});
}

static inline struct server_result *server_none(struct tgt_session *s, const uint8_t *cdb)
{
	return server_do(s, (struct server_send){.cdb = cdb});
}

static inline void assert_good(const struct server_result *r)
{
	assert_int_equal(r->sense.asc, 0);
	assert_int_equal(r->status, SCSI_GOOD);
}

static inline void assert_sense(const struct server_result *r, uint8_t key, uint16_t code)
{
	assert_int_equal(r->status, SCSI_CHECK_CONDITION);
	assert_int_equal(r->sense.key, key);
	assert_int_equal(r->sense.asc << 8 | r->sense.ascq, code);
}

static inline void server_read(
	struct tgt_session *s, uint64_t lba, uint32_t blocks, uint32_t length)
{
	uint8_t cdb[CDB_SIZE];
	unsigned size;

	cdb_read_write(cdb, SCSI_DATA_IN, lba, blocks, false, &size);
	assert_good(server_in(s, cdb, length));
}

static inline void server_write(
	struct tgt_session *s, uint64_t lba, uint32_t blocks, const void *data, uint32_t length)
{
	uint8_t cdb[CDB_SIZE];
	unsigned size;

	cdb_read_write(cdb, SCSI_DATA_OUT, lba, blocks, false, &size);
	assert_good(server_out(s, cdb, data, length));
}

static inline uint8_t *server_pattern(size_t length, unsigned seed)
{
	uint8_t *p = malloc(length);

	for (size_t i = 0; i < length; i++)
		p[i] = (uint8_t)(i * 7 + i / 509 + seed);
	return p;
}

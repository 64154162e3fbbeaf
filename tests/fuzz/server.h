/* The SCSI device server without a network, for the drivers of CDBs and parameter lists: one worker
 * on a virtual clock, one unit on the memory store (or a slow one), a few sessions that only check
 * what they are told, and a mover that checks every transfer and copies. What the device server
 * needs of session.h is defined here, so each driver includes this once. */
#pragma once

#include <errno.h>

#include "common/base/pool.h"
#include "common/iscsi/pdu.h"
#include "common/scsi/cdb.h"
#include "target/abort.h"
#include "target/backend/stores.h"
#include "target/command.h"
#include "target/session.h"
#include "target/worker.h"
#include "tests/fuzz/fuzz.h"

#define SERVER_SESSIONS 3
#define SERVER_COMMANDS 64 /* of one input */
#define SERVER_ARENA (4u << 20)
#define SERVER_OUT 4096 /* data-out repeats after so many bytes */

struct server_command {
	struct dm_task task;
	uint32_t length; /* EDTL */
	uint32_t put_end;
	bool responded, aborted, reads, writes;
	uint8_t *out; /* SERVER_OUT bytes */
	uint8_t status;
};

struct tgt_session {
	struct server *server;
	struct nexus *nexus;
	struct backend_channel *channel;
	struct list commands, held;
	struct dm_conn conn;
	char port[64];
	unsigned tmf_wanted, tmf_responses;
	bool holds; /* transfers do not end until server_let_go() */
};

struct server {
	struct worker worker;
	struct dm_region region;
	struct device *device;
	struct tgt_session sessions[SERVER_SESSIONS];
	struct server_command commands[SERVER_COMMANDS];
	unsigned count;
	unsigned long live;
	uint8_t sink; /* what was put, read once so that the sanitizer sees it */
};

/* ---- the mover ---- */

struct server_call {
	struct loop_call call;
	struct dm_transfer *transfer;
	int status;
};

static void server_called(struct loop_call *c)
{
	struct server_call h = *container_of(c, struct server_call, call);

	free(container_of(c, struct server_call, call));
	h.transfer->done(h.transfer, h.status);
}

static void server_end(struct tgt_session *s, struct dm_transfer *t, int status)
{
	struct server_call *h = calloc(1, sizeof(*h));

	h->call.call = server_called;
	h->transfer = t;
	h->status = status;
	loop_defer(s->server->worker.loop, &h->call);
}

static struct tgt_session *server_session_of(struct dm_conn *c)
{
	return container_of(c, struct tgt_session, conn);
}

static struct server_command *server_command_of(struct dm_task *task)
{
	return container_of(task, struct server_command, task);
}

static void server_hold_or_end(struct tgt_session *s, struct dm_task *task, struct dm_transfer *t)
{
	t->task = task;
	if (s->holds)
		list_append(&s->held, &t->link);
	else
		server_end(s, t, 0);
}

static int server_put(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t)
{
	struct tgt_session *s = server_session_of(c);
	struct server_command *k = server_command_of(task);
	const uint8_t *data = t->data;

	FUZZ_CHECK(k->reads && t->length > 0 && t->region);
	FUZZ_CHECK(t->offset == k->put_end); /* in order */
	FUZZ_CHECK((uint64_t)t->offset + t->length <= k->length);
	for (uint32_t i = 0; i < t->length; i += 64)
		s->server->sink ^= data[i];
	s->server->sink ^= data[t->length - 1];
	k->put_end += t->length;
	server_hold_or_end(s, task, t);
	return 0;
}

static int server_get(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t)
{
	struct tgt_session *s = server_session_of(c);
	struct server_command *k = server_command_of(task);
	uint8_t *data = t->data;

	FUZZ_CHECK(k->writes && t->length > 0 && t->region);
	FUZZ_CHECK(t->offset >= task->immediate_length);
	FUZZ_CHECK((uint64_t)t->offset + t->length <= k->length);
	for (uint32_t done = 0; done < t->length;) {
		uint32_t at = (t->offset + done) % SERVER_OUT;
		uint32_t n = min_u32(t->length - done, SERVER_OUT - at);

		memcpy(data + done, k->out + at, n);
		done += n;
	}
	server_hold_or_end(s, task, t);
	return 0;
}

static void server_deallocate(struct dm_conn *c, struct dm_task *task)
{
	struct tgt_session *s = server_session_of(c);
	struct dm_transfer *t, *tmp;

	list_for_each_safe(t, tmp, &s->held, link) {
		if (t->task != task)
			continue;
		list_remove(&t->link);
		server_end(s, t, -ECANCELED);
	}
}

static const struct dm_ops server_ops = {
	.name = "fuzz",
	.put_data = server_put,
	.get_data = server_get,
	.deallocate_task_resources = server_deallocate,
};

static inline void server_let_go(struct tgt_session *s)
{
	struct list *node;

	s->holds = false;
	while ((node = list_pop(&s->held)))
		server_end(s, list_entry(node, struct dm_transfer, link), 0);
}

/* ---- session.h ---- */

struct worker *tgt_session_worker(const struct tgt_session *s)
{
	return &s->server->worker;
}

struct worker_mover *tgt_session_mover(const struct tgt_session *s)
{
	return &s->server->worker.movers[0];
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
	struct server_command *k = &s->server->commands[cmd->itt];

	FUZZ_CHECK(!k->responded && !k->aborted);
	FUZZ_CHECK(cmd->status != SCSI_CHECK_CONDITION || cmd->sense.key);
	FUZZ_CHECK(cmd->status != SCSI_GOOD || !cmd->sense.key);
	k->responded = true;
	k->status = cmd->status;
}

void tgt_session_command_aborted(struct tgt_session *s, struct command *cmd)
{
	struct server_command *k = &s->server->commands[cmd->itt];

	FUZZ_CHECK(!k->aborted);
	k->aborted = true;
}

void tgt_session_tmf_respond(struct tgt_session *s, uint32_t itt, uint8_t response)
{
	(void)itt, (void)response;
	s->tmf_responses++;
}

void tgt_session_reset_target(struct tgt_session *s)
{
	(void)s;
}

/* ---- the server ---- */

enum server_flags {
	SERVER_SLOW = 1, /* the store takes 10 ms */
	SERVER_READONLY = 2,
	SERVER_4K = 4, /* blocks of 4096 bytes */
	SERVER_THIN = 8,
	SERVER_HOLDS = 16, /* the mover keeps transfers until the end of each step */
	SERVER_ROTATES = 32,
	SERVER_NO_CACHE = 64,
};

static struct backend *server_backend(uint8_t flags)
{
	const struct memory_config memory = {
		.size = 1u << 20, .block_size = flags & SERVER_4K ? 4096 : 512};
	const struct delay_config delay = {
		10 * LOOP_NS_PER_MS, 10 * LOOP_NS_PER_MS, 10 * LOOP_NS_PER_MS};
	struct backend *b = NULL;
	char why[256];

	FUZZ_CHECK(memory_backend_new(&memory, &b, why, sizeof(why)) == 0);
	if (flags & SERVER_SLOW)
		FUZZ_CHECK(delay_backend_new(b, &delay, &b, why, sizeof(why)) == 0);
	return b;
}

static void server_session_open(struct server *v, unsigned i, uint8_t flags)
{
	struct tgt_session *s = &v->sessions[i];
	uint16_t a;

	s->server = v;
	s->conn.ops = &server_ops;
	s->holds = flags & SERVER_HOLDS;
	snprintf(s->port, sizeof(s->port), "iqn.2026-01.org.example:host%u,i,0x800000000001", i);
	list_init(&s->commands);
	list_init(&s->held);
	FUZZ_CHECK(backend_open_channel(v->device->backend, v->worker.loop, &s->channel) == 0);
	FUZZ_CHECK(nexus_new(v->device, v->worker.loop, s->channel, s, s->port, &s->nexus) == 0);
	while (nexus_attention_take(s->nexus, &a))
		;
}

static struct server *server_new(uint8_t flags)
{
	const struct loop_config virtual = {.virtual_clock = true};
	static struct arena *arena; /* made once: every input gives its buffers back */
	struct server *v = calloc(1, sizeof(*v));
	const struct device_config device = {
		.readonly = flags & SERVER_READONLY,
		.write_cache = !(flags & SERVER_NO_CACHE),
		.thin = flags & SERVER_THIN,
		.rotational = flags & SERVER_ROTATES,
	};

	if (!arena)
		arena = arena_new(SERVER_ARENA);
	v->live = alloc_live();
	v->worker.loop = loop_new(&virtual);
	v->worker.arena = arena;
	v->worker.commands = pool_new(16, sizeof(struct command));
	FUZZ_CHECK(v->worker.loop && v->worker.arena && v->worker.commands);
	list_init(&v->worker.starved);
	v->worker.movers[0].worker = &v->worker;
	v->worker.movers[0].arena = &v->region;
	FUZZ_CHECK(device_new(&device, "iqn.2026-01.org.example:disk", server_backend(flags),
			   &v->device) == 0);
	for (unsigned i = 0; i < SERVER_SESSIONS; i++)
		server_session_open(v, i, flags);
	return v;
}

static inline void server_turn(struct server *v)
{
	while (loop_turn(v->worker.loop, 0))
		;
}

static inline void server_advance(struct server *v, uint64_t ns)
{
	loop_advance(v->worker.loop, ns);
	server_turn(v);
}

/* All that was begun comes to its end, with a response unless it was aborted. */
static inline void server_settle(struct server *v)
{
	for (unsigned round = 0; round < 1000; round++) {
		bool busy = false;

		server_turn(v);
		for (unsigned i = 0; i < SERVER_SESSIONS; i++) {
			server_let_go(&v->sessions[i]);
			busy |= !list_empty(&v->sessions[i].commands);
		}
		if (!busy)
			break;
		server_advance(v, 10 * LOOP_NS_PER_MS);
	}
	server_turn(v);
	for (unsigned i = 0; i < v->count; i++)
		FUZZ_CHECK(v->commands[i].responded || v->commands[i].aborted);
	for (unsigned i = 0; i < SERVER_SESSIONS; i++)
		FUZZ_CHECK(list_empty(&v->sessions[i].commands) &&
			   v->sessions[i].tmf_responses == v->sessions[i].tmf_wanted);
}

/* With commands under way these are aborted, as when a connection is lost. */
static inline void server_free(struct server *v)
{
	for (unsigned i = 0; i < SERVER_SESSIONS; i++) {
		struct command *cmd;

		list_for_each(cmd, &v->sessions[i].commands, session_link)
			command_abort(cmd);
	}
	server_settle(v);
	FUZZ_CHECK(list_empty(&v->worker.starved));
	for (unsigned i = 0; i < SERVER_SESSIONS; i++) {
		nexus_free(v->sessions[i].nexus);
		backend_close_channel(v->sessions[i].channel);
	}
	server_turn(v);
	device_free(v->device);
	loop_free(v->worker.loop);
	pool_free(v->worker.commands);
	for (unsigned i = 0; i < v->count; i++)
		free(v->commands[i].out);
	FUZZ_CHECK(alloc_live() == v->live);
	free(v);
}

/* ---- commands ---- */

struct server_send {
	unsigned session;
	const uint8_t *cdb; /* 16 bytes */
	bool reads, writes;
	uint8_t attribute;
	uint16_t lun;
	uint32_t length; /* EDTL */
	const uint8_t *out;
	size_t out_length;  /* repeated as often as needed */
	uint32_t immediate; /* bytes that come with the command; at most EDTL and SERVER_OUT */
	const uint8_t *ahs;
	uint8_t ahs_words;
};

static inline void server_out(struct server_command *k, const uint8_t *out, size_t length)
{
	k->out = calloc(1, SERVER_OUT);
	for (size_t i = 0; length && i < SERVER_OUT; i += length)
		memcpy(k->out + i, out, min_size(length, SERVER_OUT - i));
}

/* False: there are enough commands. */
static inline bool server_command(struct server *v, struct server_send what)
{
	struct tgt_session *s = &v->sessions[what.session % SERVER_SESSIONS];
	struct server_command *k = &v->commands[v->count];
	uint32_t immediate = min_u32(what.immediate, min_u32(what.length, SERVER_OUT));
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_SCSI_COMMAND,
		.itt = v->count,
		.lun = iscsi_lun_encode(what.lun),
		.ahs_words = what.ahs_words,
		.command = {.read = what.reads,
			.write = what.writes,
			.attribute = what.attribute,
			.expected_length = what.length},
	};
	uint8_t *data = NULL, *ahs = NULL;

	if (v->count == SERVER_COMMANDS)
		return false;
	v->count++;
	server_out(k, what.out, what.out_length);
	k->length = what.length;
	k->reads = what.reads;
	k->writes = what.writes;
	pdu.data_length = what.writes ? immediate : 0;
	k->task = (struct dm_task){.itt = pdu.itt,
		.immediate_length = pdu.data_length,
		.can_get = what.writes,
		.can_put = what.reads};
	memcpy(pdu.command.cdb, what.cdb, sizeof(pdu.command.cdb));
	/* In memory of their exact size, which is gone when the call returns. */
	if (pdu.data_length)
		data = fuzz_copy(k->out, pdu.data_length, false);
	if (what.ahs_words)
		ahs = fuzz_copy(what.ahs, what.ahs_words * 4u, false);
	command_arrive(s, &s->conn, &k->task, &pdu, ahs, data);
	free(data);
	free(ahs);
	return true;
}

static inline void server_tmf(
	struct server *v, unsigned session, uint8_t function, uint32_t itt, uint16_t lun)
{
	struct tgt_session *s = &v->sessions[session % SERVER_SESSIONS];
	const struct iscsi_pdu pdu = {
		.opcode = ISCSI_TMF_REQUEST,
		.itt = 0x80000000u,
		.lun = iscsi_lun_encode(lun),
		.tmf = {.function = function, .referenced_tag = itt},
	};

	s->tmf_wanted++;
	tmf_start(s, &pdu);
}

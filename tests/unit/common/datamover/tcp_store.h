/* A target of the iSCSI/TCP mover that reads from and writes to a store, and an initiator's reads
 * and writes of it. */
#pragma once

#include "tests/unit/common/datamover/tcp_kit.h"

#define STORE_SIZE (4u * 1024 * 1024)

static uint8_t store[STORE_SIZE], memory[STORE_SIZE];

static inline void store_fill(void)
{
	for (size_t i = 0; i < STORE_SIZE; i++)
		store[i] = (uint8_t)(i * 2654435761u >> 13);
	memset(memory, 0, STORE_SIZE);
}

static inline void respond(struct kit_end *e, struct dm_task *task, uint32_t itt)
{
	struct iscsi_pdu pdu = {
		.opcode = ISCSI_SCSI_RESPONSE, .itt = itt, .stat_sn = e->sequence.stat_sn++};

	assert_int_equal(dm_send_control(e->conn, &pdu, NULL, NULL, task), 0);
}

struct server {
	bool respond_late; /* only once the data has left */
	uint32_t extent;   /* bytes per transfer; 0: all in one */
	struct dm_transfer transfers[64];
	int used, pending;
	struct dm_task *task;
};

static inline void served(struct dm_transfer *t, int status)
{
	struct kit_end *e = t->task->owner;
	struct server *s = e->arg;

	kit_done(t, status);
	if (--s->pending || status)
		return;
	if (s->respond_late || t->task->can_get)
		respond(e, t->task, t->task->itt);
	s->used = 0;
	dm_deallocate_task_resources(e->conn, t->task);
}

static inline void serve(struct kit_end *e, const struct kit_pdu *p, const void *data)
{
	struct server *s = e->arg;
	bool write = p->pdu.command.write;
	uint32_t at = p->pdu.data_length, length = p->pdu.command.expected_length;

	if (p->pdu.opcode != ISCSI_SCSI_COMMAND)
		return;
	p->task->owner = e;
	assert_int_equal(p->task->can_get, write);
	if (at)
		memcpy(store, data, at);
	s->pending = 0;
	while (at < length) {
		struct dm_transfer *t = &s->transfers[s->used++];
		uint32_t n = s->extent ? min_u32(s->extent, length - at) : length - at;

		*t = (struct dm_transfer){
			.data = store + at, .length = n, .offset = at, .done = served};
		s->pending++;
		assert_int_equal((write ? dm_get_data : dm_put_data)(e->conn, p->task, t), 0);
		at += n;
	}
	if (!write && !s->respond_late)
		respond(e, p->task, p->pdu.itt);
	if (s->pending)
		return;
	respond(e, p->task, p->pdu.itt);
	dm_deallocate_task_resources(e->conn, p->task);
}

static inline void command_send(struct kit_end *e, struct dm_task *task, uint32_t itt)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_COMMAND, .itt = itt, .cmd_sn = itt};

	pdu.command.read = task->read.length > 0;
	pdu.command.write = task->write.length > 0;
	pdu.command.expected_length = task->read.length + task->write.length;
	assert_int_equal(dm_send_control(e->conn, &pdu, NULL, NULL, task), 0);
}

static inline void one_read(struct kit_pair *p, uint32_t length)
{
	struct dm_task task = {.read = {.data = memory, .length = length}};
	int before = p->initiator.count;

	store_fill();
	command_send(&p->initiator, &task, 5);
	kit_settle(p->loop);
	assert_int_equal(p->initiator.count, before + 1);
	assert_int_equal(p->initiator.pdus[before].pdu.opcode, ISCSI_SCSI_RESPONSE);
	assert_int_equal(p->initiator.pdus[before].pdu.itt, 5);
	assert_ptr_equal(p->initiator.pdus[before].task, &task);
	assert_int_equal(task.received, length);
	assert_memory_equal(memory, store, length);
	assert_int_equal(memory[length], 0);
	dm_deallocate_task_resources(p->initiator.conn, &task);
}

static inline void one_write(struct kit_pair *p, uint32_t length, uint32_t immediate)
{
	struct dm_task task = {.write = {.data = memory, .length = length}};
	int before = p->initiator.count;

	store_fill();
	memcpy(memory, store, length);
	memset(store, 0, STORE_SIZE);
	command_send(&p->initiator, &task, 6);
	kit_settle(p->loop);
	assert_int_equal(task.immediate_length, immediate);
	assert_int_equal(p->initiator.count, before + 1);
	assert_memory_equal(memory, store, length);
	assert_int_equal(store[length], 0);
	dm_deallocate_task_resources(p->initiator.conn, &task);
}

static inline void lengths(const struct iscsi_params *params, struct server *server, int buffer)
{
	static const uint32_t table[] = {1, 511, 512, 4096, 8192, 16384, 65536, 65537, 262144,
		300001, 1048576, STORE_SIZE - 1};
	struct kit_pair p;

	kit_pair_init(&p, params, buffer);
	p.target.react = serve;
	p.target.arg = server;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (server->extent && table[i] / server->extent > 60)
			continue;
		one_read(&p, table[i]);
		one_write(&p, table[i], params->immediate_data && table[i] <= 16384 ? table[i] : 0);
	}
	assert_int_equal(p.target.done_status, 0);
	kit_pair_release(&p);
}

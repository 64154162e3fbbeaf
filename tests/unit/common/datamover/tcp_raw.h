/* A target of the iSCSI/TCP mover with a raw initiator that has a write under way. */
#pragma once

#include "tests/unit/common/datamover/tcp_kit.h"

#include "common/base/sys.h"

static uint8_t block[65536];

static inline struct iscsi_pdu command_of(bool write, uint32_t length)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_SCSI_COMMAND, .itt = 7, .cmd_sn = 1, .final = true};

	pdu.command.read = !write;
	pdu.command.write = write;
	pdu.command.expected_length = length;
	return pdu;
}

/* A write of `length` bytes for which the target has sent its R2T. */
static inline void write_begin(
	struct kit_raw *r, struct dm_transfer *t, uint32_t length, struct iscsi_pdu *ret_r2t)
{
	struct iscsi_pdu pdu = command_of(true, length);
	struct dm_task *task;

	kit_raw_send(r, &pdu, NULL, 0);
	task = r->end.pdus[r->end.count - 1].task;
	assert_non_null(task);
	task->owner = &r->end;
	*t = (struct dm_transfer){.data = block, .length = length, .done = kit_done};
	memset(block, 0, sizeof(block));
	assert_int_equal(dm_get_data(r->end.conn, task, t), 0);
	kit_settle(r->loop);
	assert_true(kit_raw_receive(r, ret_r2t, NULL));
	assert_int_equal(ret_r2t->opcode, ISCSI_R2T);
}

static inline struct iscsi_pdu data_out_of(const struct iscsi_pdu *r2t)
{
	struct iscsi_pdu pdu = {.opcode = ISCSI_DATA_OUT, .itt = r2t->itt, .final = true};

	pdu.data_out.ttt = r2t->r2t.ttt;
	pdu.data_out.offset = r2t->r2t.offset;
	return pdu;
}

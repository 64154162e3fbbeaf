/* Data that never come, or are never taken (target/overdue.c). */
#include "tests/unit/target/session_kit.h"

#include <errno.h>

#include "common/scsi/cdb.h"

static struct dm_transfer *left;

/* The mover takes a transfer and leaves it alone. */
static int keep(struct dm_conn *c, struct dm_task *task, struct dm_transfer *t)
{
	(void)c;
	t->task = task;
	left = t;
	return 0;
}

static struct dm_ops lazy_ops;

static void logged_in_lazily(struct kit_conn *c)
{
	ready(c);
	lazy_ops = *c->base.ops;
	lazy_ops.get_data = keep;
	lazy_ops.put_data = keep;
	c->base.ops = &lazy_ops;
}

static void transfer(struct kit_conn *c, uint8_t opcode)
{
	struct iscsi_pdu pdu = test_unit_ready(c, 1);

	pdu.command.cdb[0] = opcode;
	pdu.command.cdb[4] = 1;
	pdu.command.read = opcode == SCSI_READ_6;
	pdu.command.write = opcode == SCSI_WRITE_6;
	pdu.command.expected_length = 512;
	submit(c, pdu);
}

/* Never silent, so that it is never pinged. */
static void talk_for(struct kit_conn *c, unsigned seconds)
{
	for (unsigned i = 0; i < seconds && !c->terminated; i += 10) {
		struct iscsi_pdu pdu = kit_request(c, ISCSI_NOP_OUT, ISCSI_TAG_NONE);

		c->cmd_sn--;
		pdu.immediate = true;
		pdu.nop.ttt = ISCSI_TAG_NONE;
		kit_deliver(&kit, c, &pdu, NULL, 0);
		loop_advance(kit.worker->loop, 10 * LOOP_NS_PER_S);
	}
}

/* The connection is gone: the mover gives back what it had. */
static void lose(struct kit_conn *c)
{
	struct dm_transfer *t = left;

	left = NULL;
	kit_lose(&kit, c);
	if (t)
		t->done(t, -ECANCELED);
	kit_turn(&kit);
}

static void an_initiator_that_leaves_its_data_alone_is_dropped(void **state)
{
	static const uint8_t opcodes[] = {SCSI_READ_6, SCSI_WRITE_6};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct kit_conn c;

		logged_in_lazily(&c);
		transfer(&c, opcodes[i]);
		talk_for(&c, 180); /* as long as an initiator may wait */
		assert_false(c.terminated);
		talk_for(&c, 180);
		assert_true(c.terminated);
		lose(&c);
	}
}

static void also_where_nobody_is_pinged(void **state)
{
	struct kit_conn c;

	(void)state;
	kit_stop(&kit);
	kit_start(&kit, "ping_interval: 0s\ntargets:\n- name: " KIT_TARGET "\n"
			"  luns: [{lun: 0, backend: memory, size: 1M}]\n");
	logged_in_lazily(&c);
	transfer(&c, SCSI_WRITE_6);
	loop_advance(kit.worker->loop, 180 * LOOP_NS_PER_S);
	assert_false(c.terminated);
	loop_advance(kit.worker->loop, 180 * LOOP_NS_PER_S);
	assert_true(c.terminated);
	lose(&c);
}

static void an_initiator_at_rest_is_not_dropped(void **state)
{
	struct kit_conn c;

	(void)state;
	logged_in_lazily(&c);
	talk_for(&c, 1000);
	assert_false(c.terminated);
	lose(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_initiator_that_leaves_its_data_alone_is_dropped),
		TEST(also_where_nobody_is_pinged),
		TEST(an_initiator_at_rest_is_not_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* For the tests of a session's parts: a target that is there before each case, and an initiator
 * that has logged in. */
#pragma once

#include "tests/unit/target/target_kit.h"

#include "common/scsi/sense.h"

static struct kit kit;

static inline int setup(void **state)
{
	(void)state;
	kit_start(&kit, kit_default);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	kit_stop(&kit);
	return 0;
}

static inline void logged_in(struct kit_conn *c)
{
	assert_true(kit_login(&kit, c, KIT_TARGET, 1));
	assert_true(c->enabled);
}

static inline struct iscsi_pdu test_unit_ready(struct kit_conn *c, uint32_t itt)
{
	struct iscsi_pdu pdu = kit_request(c, ISCSI_SCSI_COMMAND, itt);

	pdu.command.attribute = ISCSI_ATTR_SIMPLE;
	return pdu;
}

static inline void submit(struct kit_conn *c, struct iscsi_pdu pdu)
{
	kit_deliver(&kit, c, &pdu, NULL, 0);
}

/* The next answer is the SCSI Response of `itt` with that status. */
static inline const struct kit_sent *responds(struct kit_conn *c, uint32_t itt, uint8_t status)
{
	const struct kit_sent *s = kit_next(c);

	assert_non_null(s);
	assert_int_equal(s->pdu.opcode, ISCSI_SCSI_RESPONSE);
	assert_int_equal(s->pdu.itt, itt);
	assert_int_equal(s->pdu.response.status, status);
	return s;
}

/* The power-on attention is out of the way. */
static inline void ready(struct kit_conn *c)
{
	logged_in(c);
	submit(c, test_unit_ready(c, 100));
	responds(c, 100, SCSI_CHECK_CONDITION);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

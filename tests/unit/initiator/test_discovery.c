/* SendTargets (RFC 7143 section 4.3, appendix C and section 13.8). */
#include "initiator/discovery.h"
#include "tests/unit/initiator/fake_target.h"

struct fake_discovery {
	struct fake *fake;
	struct discovery *discovery;
	unsigned done;
	int error;
	unsigned status;
	size_t count;
	bool truncated;
	char why[256];
	struct discovery_entry entries[8];
};

static void discovered(void *owner, const struct discovery_result *result)
{
	struct fake_discovery *d = owner;

	d->done++;
	d->error = result->error;
	d->status = result->login_status;
	d->count = result->count;
	d->truncated = result->truncated;
	snprintf(d->why, sizeof(d->why), "%s", result->why);
	for (size_t i = 0; i < result->count && i < ARRAY_SIZE(d->entries); i++)
		d->entries[i] = result->entries[i];
}

static void discovery_setup(struct fake_discovery *d)
{
	*d = (struct fake_discovery){.fake = fake_new()};
}

static void discovery_run(struct fake_discovery *d)
{
	struct discovery_config c = {
		.loop = d->fake->loop, .mover = &d->fake->dm, .initiator_name = FAKE_INITIATOR};
	const char *why;

	assert_int_equal(address_parse("192.0.2.1:3260", 3260, &c.portal, &why), 0);
	assert_int_equal(discovery_start(&c, discovered, d, &d->discovery), 0);
	fake_turns(d->fake);
}

static void discovery_teardown(struct fake_discovery *d)
{
	fake_free(d->fake);
	assert_int_equal(alloc_live(), 0);
}

static void a_target_without_an_address_is_where_it_was_asked(void **state)
{
	struct fake_discovery d;

	(void)state;
	discovery_setup(&d);
	discovery_run(&d);
	assert_int_equal(d.done, 1);
	assert_int_equal(d.error, 0);
	assert_int_equal(d.count, 1);
	assert_string_equal(d.entries[0].target_name, FAKE_TARGET);
	assert_string_equal(d.entries[0].address, "192.0.2.1");
	assert_int_equal(d.entries[0].port, 3260);
	assert_int_equal(fake_count(d.fake, ISCSI_LOGOUT_REQUEST), 1);
	discovery_teardown(&d);
}

static void answer_text(
	struct fake *f, const struct iscsi_pdu *pdu, const char *text, uint32_t length, bool more)
{
	struct fake_answer *a = fake_answer_begin(f->conn, ISCSI_TEXT_RESPONSE, pdu->itt);

	memcpy(a->data, text, length);
	a->pdu.data_length = length;
	a->pdu.final = !more;
	a->pdu.text.more = more;
	a->pdu.text.ttt = more ? 0x55 : ISCSI_TAG_NONE;
}

/* In pieces of 10 bytes, each asked for with the TTT of the one before. */
static bool answer_in_pieces(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	static const char text[] = "TargetName=iqn.2026-11.org.example:a\0"
				   "TargetAddress=192.0.2.7:3261,3\0"
				   "TargetAddress=[fe80::1%eth0]:3260,1\0"
				   "TargetName=iqn.2026-11.org.example:b\0"
				   "TargetAddress=storage.example,1";
	size_t *offset = f->arg;
	size_t n = min_size(10, sizeof(text) - *offset);

	(void)task;
	if (pdu->opcode != ISCSI_TEXT_REQUEST)
		return false;
	assert_int_equal(pdu->text.ttt, *offset ? 0x55 : ISCSI_TAG_NONE);
	answer_text(f, pdu, text + *offset, (uint32_t)n, *offset + n < sizeof(text));
	*offset += n;
	return true;
}

static void an_answer_in_pieces_is_put_together(void **state)
{
	struct fake_discovery d;
	size_t offset = 0;

	(void)state;
	discovery_setup(&d);
	d.fake->override = answer_in_pieces;
	d.fake->arg = &offset;
	discovery_run(&d);
	assert_int_equal(d.error, 0);
	assert_int_equal(d.count, 3);
	assert_string_equal(d.entries[0].address, "192.0.2.7");
	assert_int_equal(d.entries[0].port, 3261);
	assert_int_equal(d.entries[0].tpgt, 3);
	assert_string_equal(d.entries[1].address, "fe80::1%eth0");
	assert_string_equal(d.entries[1].target_name, "iqn.2026-11.org.example:a");
	assert_string_equal(d.entries[2].target_name, "iqn.2026-11.org.example:b");
	assert_string_equal(d.entries[2].address, "storage.example");
	assert_int_equal(d.entries[2].port, 3260);
	discovery_teardown(&d);
}

static bool answer_for_ever(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	(void)task;
	if (pdu->opcode != ISCSI_TEXT_REQUEST)
		return false;
	answer_text(f, pdu, "TargetName=iqn.a:b\0Tar", 22, true);
	return true;
}

static void an_answer_without_end_is_cut_off(void **state)
{
	static struct fake_discovery d;

	(void)state;
	discovery_setup(&d);
	d.fake->override = answer_for_ever;
	discovery_run(&d);
	assert_int_equal(d.done, 1);
	assert_int_equal(fake_count(d.fake, ISCSI_TEXT_REQUEST), DISCOVERY_PDUS_MAX + 1);
	discovery_teardown(&d);
}

static void a_refused_discovery_tells_why(void **state)
{
	struct fake_discovery d;

	(void)state;
	discovery_setup(&d);
	d.fake->login_status = LOGIN_AUTHENTICATION_FAILURE;
	discovery_run(&d);
	assert_int_equal(d.done, 1);
	assert_int_equal(d.error, -EACCES);
	assert_int_equal(d.status, LOGIN_AUTHENTICATION_FAILURE);
	assert_true(strlen(d.why) > 0);
	discovery_teardown(&d);
}

static void nobody_listening_is_told(void **state)
{
	struct fake_discovery d;

	(void)state;
	discovery_setup(&d);
	d.fake->refuse = -ECONNREFUSED;
	discovery_run(&d);
	assert_int_equal(d.error, -ECONNREFUSED);
	discovery_teardown(&d);
}

static bool answer_nothing(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	(void)f;
	(void)task;
	return pdu->opcode == ISCSI_TEXT_REQUEST;
}

static void a_question_that_is_not_answered_times_out(void **state)
{
	struct fake_discovery d;

	(void)state;
	discovery_setup(&d);
	d.fake->override = answer_nothing;
	discovery_run(&d);
	fake_seconds(d.fake, 16);
	assert_int_equal(d.done, 1);
	assert_int_equal(d.error, -ETIMEDOUT);
	discovery_teardown(&d);
}

static void a_discovery_can_be_given_up(void **state)
{
	struct fake_discovery d;

	(void)state;
	discovery_setup(&d);
	d.fake->override = answer_nothing;
	discovery_run(&d);
	discovery_cancel(d.discovery);
	assert_int_equal(d.done, 0);
	fake_turns(d.fake);
	assert_int_equal(d.done, 1);
	assert_int_equal(d.error, -ECANCELED);
	discovery_teardown(&d);
}

static bool answer_with_opcode(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	(void)task;
	if (pdu->opcode != ISCSI_TEXT_REQUEST)
		return false;
	fake_answer_begin(f->conn, *(uint8_t *)f->arg, pdu->itt)->pdu.text.ttt = ISCSI_TAG_NONE;
	return true;
}

static void what_does_not_belong_to_a_discovery_ends_it(void **state)
{
	static uint8_t opcodes[] = {
		ISCSI_SCSI_RESPONSE, ISCSI_TMF_RESPONSE, ISCSI_REJECT, ISCSI_R2T};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct fake_discovery d;

		discovery_setup(&d);
		d.fake->override = answer_with_opcode;
		d.fake->arg = &opcodes[i];
		discovery_run(&d);
		assert_int_equal(d.done, 1);
		assert_int_equal(d.error, -EPROTO);
		discovery_teardown(&d);
	}
}

static void running_out_of_memory_is_told(void **state)
{
	bool passed = false;

	(void)state;
	for (unsigned long n = 1; !passed; n++) {
		struct discovery_config c = {.initiator_name = FAKE_INITIATOR};
		struct fake_discovery d;
		const char *why;

		assert_true(n < 100);
		discovery_setup(&d);
		c.loop = d.fake->loop;
		c.mover = &d.fake->dm;
		address_parse("192.0.2.1:3260", 3260, &c.portal, &why);
		alloc_fail_nth(n);
		if (discovery_start(&c, discovered, &d, &d.discovery) == 0) {
			fake_seconds(d.fake, 1);
			assert_int_equal(d.done, 1);
			passed = d.error == 0;
		}
		alloc_fail_nth(0);
		discovery_teardown(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_target_without_an_address_is_where_it_was_asked),
		cmocka_unit_test(an_answer_in_pieces_is_put_together),
		cmocka_unit_test(an_answer_without_end_is_cut_off),
		cmocka_unit_test(a_refused_discovery_tells_why),
		cmocka_unit_test(nobody_listening_is_told),
		cmocka_unit_test(a_question_that_is_not_answered_times_out),
		cmocka_unit_test(a_discovery_can_be_given_up),
		cmocka_unit_test(what_does_not_belong_to_a_discovery_ends_it),
		cmocka_unit_test(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The LUNs that a session sees, and what a reload makes of them (target/session_luns.c). */
#include "tests/unit/target/session_kit.h"

#include "common/scsi/cdb.h"

static void a_lun_that_is_not_there_is_an_illegal_request(void **state)
{
	struct iscsi_pdu pdu;
	struct kit_conn c;

	(void)state;
	ready(&c);
	pdu = test_unit_ready(&c, 1);
	pdu.lun = iscsi_lun_encode(5);
	submit(&c, pdu);
	assert_int_equal(responds(&c, 1, SCSI_CHECK_CONDITION)->data[2 + 12], 0x25);
	kit_lose(&kit, &c);
}

static void a_reload(const char *text)
{
	struct config_report report = {0};
	struct config *c = kit_config(text);
	struct tgt_session *s, *next;

	assert_int_equal(target_set_reload(kit.set, c, &report), 0);
	config_release(c);
	list_for_each_safe(s, next, &kit.worker->sessions, worker_link)
		tgt_session_reload(s);
	worker_sweep_channels(kit.worker);
	kit_turn(&kit);
}

static void a_lun_that_a_reload_adds_is_there_and_announced(void **state)
{
	struct iscsi_pdu pdu;
	const struct kit_sent *s;
	struct kit_conn c;

	(void)state;
	ready(&c);
	a_reload("targets:\n- name: " KIT_TARGET "\n  luns:\n"
		 "  - {lun: 0, backend: memory, size: 1M}\n"
		 "  - {lun: 5, backend: memory, size: 2M}\n");
	submit(&c, test_unit_ready(&c, 1));
	s = responds(&c, 1, SCSI_CHECK_CONDITION);
	assert_int_equal(s->data[2 + 12], 0x3f); /* REPORTED LUNS DATA HAS CHANGED */
	assert_int_equal(s->data[2 + 13], 0x0e);
	pdu = test_unit_ready(&c, 2);
	pdu.lun = iscsi_lun_encode(5);
	submit(&c, pdu);
	assert_int_equal(responds(&c, 2, SCSI_CHECK_CONDITION)->data[2 + 12], 0x29);
	kit_lose(&kit, &c);
}

static void a_lun_that_a_reload_removes_is_gone(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	a_reload("targets:\n- name: " KIT_TARGET "\n");
	submit(&c, test_unit_ready(&c, 1));
	assert_int_equal(responds(&c, 1, SCSI_CHECK_CONDITION)->data[2 + 12], 0x25);
	kit_lose(&kit, &c);
}

static void a_reload_that_changes_nothing_is_not_noticed(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	a_reload(kit_default);
	submit(&c, test_unit_ready(&c, 1));
	responds(&c, 1, SCSI_GOOD);
	kit_lose(&kit, &c);
}

static void a_target_that_a_reload_removes_closes_its_sessions(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	a_reload("targets: []\n");
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

static void an_initiator_that_a_reload_shuts_out_is_closed(void **state)
{
	struct kit_conn c;

	(void)state;
	ready(&c);
	a_reload("targets:\n- name: " KIT_TARGET "\n  initiators: iqn.2026-01.org.example:other\n"
		 "  luns: [{lun: 0, backend: memory, size: 1M}]\n");
	assert_true(c.terminated);
	kit_lose(&kit, &c);
}

static const char luns_of_two[] = "targets:\n- name: " KIT_TARGET "\n  luns:\n"
				  "  - {lun: 0, backend: memory, size: 1M}\n"
				  "  - {lun: 7, backend: memory, size: 1M}\n"
				  "  - {lun: 300, backend: memory, size: 1M}\n"
				  "  initiators:\n"
				  "  - {name: " KIT_INITIATOR ", luns: [7, 300]}\n";

/* One test_unit_ready to a LUN; the ASC, 0 for GOOD. */
static uint8_t asc_of(struct kit_conn *c, uint32_t itt, uint16_t lun)
{
	struct iscsi_pdu pdu = test_unit_ready(c, itt);
	const struct kit_sent *s;

	pdu.lun = iscsi_lun_encode(lun);
	submit(c, pdu);
	s = kit_next(c);
	assert_int_equal(s->pdu.itt, itt);
	return s->pdu.response.status == SCSI_GOOD ? 0 : s->data[2 + 12];
}

static struct tgt_session *the_session(void)
{
	return list_first(&kit.worker->sessions, struct tgt_session, worker_link);
}

static void only_the_luns_that_are_shown_are_there(void **state)
{
	uint16_t luns[4];
	struct kit_conn c;

	(void)state;
	a_reload(luns_of_two);
	logged_in(&c);
	assert_int_equal(tgt_session_luns(the_session(), luns, 4), 2);
	assert_int_equal(luns[0], 7);
	assert_int_equal(luns[1], 300);
	/* Cut to what there is room for, but counted whole. */
	assert_int_equal(tgt_session_luns(the_session(), luns, 1), 2);
	assert_int_equal(asc_of(&c, 1, 0), 0x25);
	assert_int_equal(asc_of(&c, 2, 1), 0x25);
	assert_int_equal(asc_of(&c, 3, 7), 0x29);
	assert_int_equal(asc_of(&c, 4, 300), 0x29);
	assert_int_equal(asc_of(&c, 5, 301), 0x25);
	kit_lose(&kit, &c);
}

static void channels_are_opened_by_the_first_command_and_closed_after_removal(void **state)
{
	struct kit_conn c;

	(void)state;
	a_reload(luns_of_two);
	logged_in(&c);
	assert_true(list_empty(&kit.worker->channels));
	asc_of(&c, 1, 7);
	assert_false(list_empty(&kit.worker->channels));
	a_reload("targets:\n- name: " KIT_TARGET "\n");
	assert_true(list_empty(&kit.worker->channels));
	kit_lose(&kit, &c);
}

static void a_lun_keeps_its_nexus_over_a_reload_of_others(void **state)
{
	struct nexus *before;
	struct kit_conn c;

	(void)state;
	a_reload(luns_of_two);
	logged_in(&c);
	asc_of(&c, 1, 7);
	before = tgt_session_nexus(the_session(), 7);
	a_reload("targets:\n- name: " KIT_TARGET "\n  luns:\n"
		 "  - {lun: 7, backend: memory, size: 1M}\n");
	assert_ptr_equal(tgt_session_nexus(the_session(), 7), before);
	assert_null(tgt_session_nexus(the_session(), 300));
	/* REPORTED LUNS DATA HAS CHANGED, once. */
	assert_int_equal(asc_of(&c, 2, 7), 0x3f);
	assert_int_equal(asc_of(&c, 3, 7), 0);
	kit_lose(&kit, &c);
}

/* SPC-4 section 7.8.7, LUICLR: once for the nexus, not once for each LUN. */
static void a_change_of_luns_is_told_once(void **state)
{
	struct kit_conn c;

	(void)state;
	a_reload(luns_of_two);
	logged_in(&c);
	asc_of(&c, 1, 7);
	asc_of(&c, 2, 300);
	a_reload("targets:\n- name: " KIT_TARGET "\n  luns:\n"
		 "  - {lun: 7, backend: memory, size: 1M}\n"
		 "  - {lun: 9, backend: memory, size: 1M}\n"
		 "  - {lun: 300, backend: memory, size: 1M}\n");
	assert_int_equal(asc_of(&c, 3, 7), 0x3f);
	assert_int_equal(asc_of(&c, 4, 300), 0);
	kit_lose(&kit, &c);
}

/* SPC-4 section 6.33: who has asked needs no telling. */
static void report_luns_takes_the_attention_away(void **state)
{
	struct iscsi_pdu pdu;
	struct kit_conn c;

	(void)state;
	a_reload(luns_of_two);
	logged_in(&c);
	asc_of(&c, 1, 7);
	a_reload("targets:\n- name: " KIT_TARGET "\n  luns:\n"
		 "  - {lun: 7, backend: memory, size: 1M}\n");
	pdu = test_unit_ready(&c, 2);
	pdu.lun = iscsi_lun_encode(7);
	pdu.command.read = true;
	pdu.command.expected_length = 64;
	cdb_report_luns(pdu.command.cdb, 64);
	submit(&c, pdu);
	responds(&c, 2, SCSI_GOOD);
	assert_int_equal(asc_of(&c, 3, 7), 0);
	kit_lose(&kit, &c);
}

static void no_memory_for_a_nexus_is_a_lun_that_is_not_there_yet(void **state)
{
	struct kit_conn c;

	(void)state;
	logged_in(&c);
	for (unsigned long n = 1; n <= 3; n++) {
		unsigned long live = alloc_live();

		alloc_fail_nth(n);
		assert_null(tgt_session_nexus(the_session(), 0));
		alloc_fail_nth(0);
		worker_sweep_channels(kit.worker);
		assert_true(alloc_live() <= live + 2); /* at most the channel stays */
	}
	assert_non_null(tgt_session_nexus(the_session(), 0));
	kit_lose(&kit, &c);
}

static void no_memory_for_a_reload_ends_the_session_alone(void **state)
{
	struct config_report report = {0};
	struct config *next = kit_config(luns_of_two);
	struct kit_conn c;

	(void)state;
	logged_in(&c);
	assert_int_equal(target_set_reload(kit.set, next, &report), 0);
	config_release(next);
	alloc_fail_nth(1);
	tgt_session_reload(the_session());
	alloc_fail_nth(0);
	assert_true(c.terminated);
	kit_lose(&kit, &c);
	assert_int_equal(registry_count(&kit.set->registry), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_lun_that_is_not_there_is_an_illegal_request),
		TEST(a_lun_that_a_reload_adds_is_there_and_announced),
		TEST(a_lun_that_a_reload_removes_is_gone),
		TEST(a_reload_that_changes_nothing_is_not_noticed),
		TEST(a_target_that_a_reload_removes_closes_its_sessions),
		TEST(an_initiator_that_a_reload_shuts_out_is_closed),
		TEST(only_the_luns_that_are_shown_are_there),
		TEST(channels_are_opened_by_the_first_command_and_closed_after_removal),
		TEST(a_lun_keeps_its_nexus_over_a_reload_of_others),
		TEST(a_change_of_luns_is_told_once),
		TEST(report_luns_takes_the_attention_away),
		TEST(no_memory_for_a_nexus_is_a_lun_that_is_not_there_yet),
		TEST(no_memory_for_a_reload_ends_the_session_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

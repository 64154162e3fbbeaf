/* The LUN scan and the probe of a LUN (SPC-4 sections 6.6, 6.33 and 7.8, SBC-3 sections 5.16 and
 * 6). */
#include "initiator/probe.h"
#include "tests/unit/initiator/fake_scan.h"

static bool many_luns(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	static uint8_t data[8 + 8 * 512];
	static uint64_t luns[300];

	if (pdu->opcode != ISCSI_SCSI_COMMAND || pdu->command.cdb[0] != SCSI_REPORT_LUNS)
		return false;
	/* descending, one of them twice, and a well-known LUN */
	for (uint16_t i = 0; i < 298; i++)
		luns[i] = iscsi_lun_encode((uint16_t)(297 - i));
	luns[298] = iscsi_lun_encode(5);
	luns[299] = 0xc101000000000000ull;
	fake_data(f, pdu, task, data, report_luns_encode(luns, 300, data, sizeof(data)));
	return true;
}

static void many_luns_are_asked_for_a_second_time_and_sorted(void **state)
{
	static struct fake_scan s;

	(void)state;
	s = (struct fake_scan){0};
	owner_setup(&s.o);
	s.o.fake->override = many_luns;
	scan_run(&s);
	assert_int_equal(s.error, 0);
	assert_int_equal(s.count, 298);
	for (uint16_t i = 0; i < 298; i++)
		assert_int_equal(s.luns[i], i);
	owner_teardown(&s.o);
}

static bool no_report_luns(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	if (pdu->opcode != ISCSI_SCSI_COMMAND || pdu->command.cdb[0] != SCSI_REPORT_LUNS)
		return false;
	fake_check(f, pdu, task, SENSE_ILLEGAL_REQUEST, ASC_INVALID_COMMAND_OPERATION_CODE);
	return true;
}

static void a_target_without_report_luns_has_lun_0(void **state)
{
	struct fake_scan s = {0};

	(void)state;
	owner_setup(&s.o);
	s.o.fake->override = no_report_luns;
	scan_run(&s);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.luns[0], 0);
	owner_teardown(&s.o);
}

static void a_scan_goes_on_after_the_connection_was_lost(void **state)
{
	struct fake_scan s = {0};
	struct ini_scan *scan;

	(void)state;
	owner_setup(&s.o);
	s.o.fake->silent = true;
	assert_int_equal(ini_scan_start(s.o.session, scan_done, &s, &scan), 0);
	fake_turns(s.o.fake);
	fake_drop(s.o.fake, -ECONNRESET);
	s.o.fake->silent = false;
	fake_seconds(s.o.fake, 1);
	assert_int_equal(s.done, 1);
	assert_int_equal(s.count, 1);
	owner_teardown(&s.o);
}

static void a_scan_can_be_given_up_and_ends_with_its_session(void **state)
{
	struct fake_scan s = {0};
	struct ini_scan *scan;

	(void)state;
	owner_setup(&s.o);
	s.o.fake->silent = true;
	assert_int_equal(ini_scan_start(s.o.session, scan_done, &s, &scan), 0);
	fake_turns(s.o.fake);
	ini_scan_cancel(scan);
	fake_seconds(s.o.fake, 1);
	assert_int_equal(s.done, 1);
	assert_int_equal(s.error, -ECANCELED);
	assert_int_equal(ini_scan_start(s.o.session, scan_done, &s, &scan), 0);
	ini_session_close(s.o.session);
	fake_turns(s.o.fake);
	assert_int_equal(s.done, 2);
	assert_int_equal(s.error, -ESHUTDOWN);
	owner_teardown(&s.o);
}

static void running_out_of_memory_ends_the_scan(void **state)
{
	unsigned long n = 1;
	bool passed = false;

	(void)state;
	for (; !passed; n++) {
		struct fake_scan s = {0};
		struct ini_scan *scan;

		assert_true(n < 50);
		owner_setup(&s.o);
		s.o.fake->override = many_luns;
		alloc_fail_nth(n);
		if (ini_scan_start(s.o.session, scan_done, &s, &scan) == 0) {
			fake_seconds(s.o.fake, 1);
			assert_int_equal(s.done, 1);
			assert_true(s.error == 0 || s.error == -ENOMEM);
			passed = s.error == 0;
		}
		alloc_fail_nth(0);
		owner_teardown(&s.o);
	}
	assert_true(n > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_luns_are_asked_for_a_second_time_and_sorted),
		cmocka_unit_test(a_target_without_report_luns_has_lun_0),
		cmocka_unit_test(a_scan_goes_on_after_the_connection_was_lost),
		cmocka_unit_test(a_scan_can_be_given_up_and_ends_with_its_session),
		cmocka_unit_test(running_out_of_memory_ends_the_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A LUN is reset because somebody asked for it. */
#include "tests/unit/initiator/daemon/job_kit.h"

#include "initiator/daemon/job_reset.c"

static const struct job_operation op_reset = {.name = "reset", .start = job_reset_start};

static void start(void)
{
	job_setup(&op_reset, -1);
	it.job.options.lun = 3;
}

static void a_lun_is_reset(void **state)
{
	(void)state;
	start();
	reset_told(&it.job, ISCSI_TMF_COMPLETE);
	assert_int_equal(1, it.ends);
	assert_int_equal(STATUS_OK, it.status);
	assert_int_equal(3, (int)result("lun"));
	job_teardown();
}

static void a_target_that_cannot_reset_is_told_of(void **state)
{
	(void)state;
	start();
	reset_told(&it.job, ISCSI_TMF_NOT_SUPPORTED);
	assert_int_equal(STATUS_FAILED, it.status);
	assert_string_equal("LUN 3 was not reset: the target answers 5", it.line);
	job_teardown();
}

static void the_function_goes_out_for_that_lun(void **state)
{
	const struct iscsi_pdu *pdu;

	(void)state;
	start();
	job_reset_start(&it.job);
	fake_turns(it.disk.o.fake);
	pdu = fake_last(it.disk.o.fake, ISCSI_TMF_REQUEST);
	assert_non_null(pdu);
	assert_int_equal(ISCSI_TMF_LUN_RESET, pdu->tmf.function);
	it.job.over = true;
	job_teardown();
}

static void one_that_is_under_way_is_enough(void **state)
{
	(void)state;
	start();
	job_reset_start(&it.job);
	job_reset_start(&it.job);
	assert_int_equal(STATUS_FAILED, it.status);
	assert_non_null(strstr(it.line, "busy"));
	job_teardown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lun_is_reset),
		cmocka_unit_test(a_target_that_cannot_reset_is_told_of),
		cmocka_unit_test(the_function_goes_out_for_that_lun),
		cmocka_unit_test(one_that_is_under_way_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

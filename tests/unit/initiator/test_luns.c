/* The form of a LUN on the wire (SAM-5 section 4.7). */
#include "initiator/scan.h"
#include "initiator/session_private.h"
#include "tests/unit/initiator/fake_target.h"

/* As LIO with more than 256 LUNs has them: peripheral addressing whatever the number; then numbers
 * in flat form, as some arrays have them from 0 on; a well-known LUN. */
static const uint64_t listed[] = {0x0000000000000000, 0x012c000000000000, 0x4007000000000000,
	0x4100000000000000, 0xc101000000000000};

static bool report_luns(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	uint8_t data[8 + sizeof(listed)];

	if (pdu->opcode != ISCSI_SCSI_COMMAND || pdu->command.cdb[0] != SCSI_REPORT_LUNS)
		return false;
	fake_data(f, pdu, task, data,
		report_luns_encode(listed, ARRAY_SIZE(listed), data, sizeof(data)));
	return true;
}

static void scan_done(void *owner, int error, const struct disk_info *luns, size_t count)
{
	static const uint16_t numbers[] = {0, 7, 256, 300};

	*(bool *)owner = true;
	assert_int_equal(error, 0);
	assert_int_equal(count, ARRAY_SIZE(numbers));
	for (size_t i = 0; i < count; i++)
		assert_int_equal(luns[i].lun, numbers[i]);
}

/* How often a command with these bytes as its LUN went out. */
static unsigned sent_to(const struct fake *f, uint8_t opcode, uint64_t wire)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->sent_count; i++)
		n += f->sent[i].opcode == opcode && f->sent[i].lun == wire;
	return n;
}

static void reset_done(void *arg, int response)
{
	(void)arg;
	(void)response;
}

static void number_goes_out_in_the_form_that_report_luns_had(void **state)
{
	struct fake_owner o;
	struct ini_scan *scan;
	bool done = false;

	(void)state;
	owner_setup(&o);
	o.fake->override = report_luns;
	assert_int_equal(ini_scan_start(o.session, scan_done, &done, &scan), 0);
	fake_seconds(o.fake, 1);
	assert_true(done);
	for (size_t i = 0; i < 4; i++)
		assert_true(sent_to(o.fake, ISCSI_SCSI_COMMAND, listed[i]) > 0);
	assert_int_equal(sent_to(o.fake, ISCSI_SCSI_COMMAND, 0x412c000000000000), 0);
	assert_int_equal(sent_to(o.fake, ISCSI_SCSI_COMMAND, 0x0007000000000000), 0);
	assert_int_equal(ini_session_reset_lun(o.session, 300, reset_done, NULL), 0);
	fake_turns(o.fake);
	assert_int_equal(sent_to(o.fake, ISCSI_TMF_REQUEST, 0x012c000000000000), 1);
	owner_teardown(&o);
}

static void form_may_change_and_other_forms_change_nothing(void **state)
{
	static const uint64_t never[] = {
		0xc12c000000000000, 0x812c000000000000, 0x412c000100000000};
	struct fake_owner o;

	(void)state;
	owner_setup(&o);
	assert_true(session_lun_wire(o.session, 300) == 0x412c000000000000);
	ini_session_lun_seen(o.session, 0x012c000000000000);
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		ini_session_lun_seen(o.session, never[i]);
	assert_true(session_lun_wire(o.session, 300) == 0x012c000000000000);
	ini_session_lun_seen(o.session, 0x412c000000000000);
	assert_true(session_lun_wire(o.session, 300) == 0x412c000000000000);
	assert_true(session_lun_wire(o.session, 16383) == 0x7fff000000000000);
	owner_teardown(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_goes_out_in_the_form_that_report_luns_had),
		cmocka_unit_test(form_may_change_and_other_forms_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

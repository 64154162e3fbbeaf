/* What a LUN tells of itself, asked through a scan (SPC-4 sections 6.6 and 7.8, SBC-3 sections 5.16
 * and 6). */
#include "initiator/probe.h"
#include "tests/unit/initiator/fake_scan.h"

static void one_disk_is_found_with_its_properties(void **state)
{
	struct fake_scan s = {0};

	(void)state;
	owner_setup(&s.o);
	scan_run(&s);
	assert_int_equal(s.error, 0);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.first.lun, 0);
	assert_int_equal(s.first.size, FAKE_BLOCK * FAKE_BLOCKS);
	assert_int_equal(s.first.block_size, 512);
	assert_string_equal(s.first.vendor, "FAKE");
	assert_string_equal(s.first.product, "DISK");
	assert_string_equal(s.first.serial, "0001");
	assert_string_equal(s.first.wwid, "name." FAKE_TARGET ",L,0x0000");
	assert_true(s.first.write_cache);
	assert_true(s.first.fua);
	assert_true(s.first.unmap_zeroes);
	assert_false(s.first.rotational);
	assert_false(s.first.readonly);
	assert_int_equal(s.first.max_discard, 4096 * 512);
	assert_int_equal(s.first.max_write_zeroes, 2048 * 512);
	owner_teardown(&s.o);
}

static void a_target_without_a_limit_is_asked_for_512_kib_at_most(void **state)
{
	struct fake_scan s = {0};

	(void)state;
	owner_setup(&s.o);
	scan_run(&s);
	assert_int_equal(s.first.max_transfer, 512 * 1024);
	s.o.fake->max_transfer = 128;
	scan_run(&s);
	assert_int_equal(s.first.max_transfer, 64 * 1024);
	s.o.fake->max_transfer = UINT32_MAX;
	scan_run(&s);
	assert_int_equal(s.first.max_transfer, 4 * 1024 * 1024);
	owner_teardown(&s.o);
}

static bool no_unit(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	uint8_t data[36] = {0x7f};

	if (pdu->opcode != ISCSI_SCSI_COMMAND || pdu->command.cdb[0] != SCSI_INQUIRY)
		return false;
	fake_data(f, pdu, task, data, sizeof(data));
	return true;
}

static void what_is_no_disk_is_left_out(void **state)
{
	struct fake_scan s = {0};

	(void)state;
	owner_setup(&s.o);
	s.o.fake->override = no_unit;
	scan_run(&s);
	assert_int_equal(s.error, 0);
	assert_int_equal(s.count, 0);
	owner_teardown(&s.o);
}

/* READ CAPACITY(16) is unknown; READ CAPACITY(10), MODE SENSE and every page but 00h too, as of an
 * old device; INQUIRY data are 36 bytes. */
static bool old_device(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	uint8_t capacity[8] = {0, 0, 0x3f, 0xff, 0, 0, 2, 0};

	if (pdu->opcode != ISCSI_SCSI_COMMAND)
		return false;
	if (pdu->command.cdb[0] == SCSI_READ_CAPACITY_10)
		fake_data(f, pdu, task, capacity, sizeof(capacity));
	else if (pdu->command.cdb[0] == SCSI_INQUIRY && pdu->command.cdb[1] & 1)
		fake_check(f, pdu, task, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB);
	else if (pdu->command.cdb[0] == SCSI_SERVICE_ACTION_IN_16 ||
		 pdu->command.cdb[0] == SCSI_MODE_SENSE_6)
		fake_check(f, pdu, task, SENSE_ILLEGAL_REQUEST, ASC_INVALID_COMMAND_OPERATION_CODE);
	else
		return false;
	return true;
}

static void an_old_device_is_found_by_what_it_knows(void **state)
{
	struct fake_scan s = {0};

	(void)state;
	owner_setup(&s.o);
	s.o.fake->override = old_device;
	scan_run(&s);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.first.size, 0x4000 * 512);
	assert_int_equal(s.first.max_discard, 0);
	assert_true(s.first.write_cache); /* unknown: flushes are sent */
	assert_false(s.first.fua);
	assert_string_equal(s.first.wwid, "");
	owner_teardown(&s.o);
}

static bool strange_capacity(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	struct scsi_capacity *capacity = f->arg;
	uint8_t data[CAPACITY16_SIZE];

	if (pdu->opcode != ISCSI_SCSI_COMMAND || pdu->command.cdb[0] != SCSI_SERVICE_ACTION_IN_16)
		return false;
	capacity16_encode(capacity, data);
	fake_data(f, pdu, task, data, sizeof(data));
	return true;
}

static void sizes_that_cannot_be_are_left_out(void **state)
{
	struct scsi_capacity capacities[] = {
		{.last_lba = 100, .block_size = 520},
		{.last_lba = 100, .block_size = 1},
		{.last_lba = 100, .block_size = 0x80000000},
		{.last_lba = UINT64_MAX, .block_size = 512},
		{.last_lba = UINT64_MAX / 512, .block_size = 512},
	};
	struct fake_scan s = {0};

	(void)state;
	owner_setup(&s.o);
	s.o.fake->override = strange_capacity;
	for (size_t i = 0; i < ARRAY_SIZE(capacities); i++) {
		s.o.fake->arg = &capacities[i];
		scan_run(&s);
		assert_int_equal(s.error, 0);
		assert_int_equal(s.count, 0);
	}
	owner_teardown(&s.o);
}

static void devices_are_told_apart_by_designator_or_serial_number(void **state)
{
	struct disk_info a = {.wwid = "naa.1", .serial = "1"}, b = a;

	(void)state;
	assert_true(probe_same_device(&a, &b));
	strcpy(b.wwid, "naa.2");
	assert_false(probe_same_device(&a, &b));
	b.wwid[0] = 0;
	assert_false(probe_same_device(&a, &b)); /* it had one before */
	a.wwid[0] = 0;
	assert_true(probe_same_device(&a, &b));
	strcpy(b.serial, "2");
	assert_false(probe_same_device(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_disk_is_found_with_its_properties),
		cmocka_unit_test(a_target_without_a_limit_is_asked_for_512_kib_at_most),
		cmocka_unit_test(what_is_no_disk_is_left_out),
		cmocka_unit_test(an_old_device_is_found_by_what_it_knows),
		cmocka_unit_test(sizes_that_cannot_be_are_left_out),
		cmocka_unit_test(devices_are_told_apart_by_designator_or_serial_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

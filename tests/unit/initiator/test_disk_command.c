/* SCSI commands of a disk and what their answers mean (SBC-3 section 5). */
#include "tests/unit/initiator/fake_disk.h"

static void flush_discard_and_write_zeroes_become_their_commands(void **state)
{
	struct fake_disk_io f = {0};
	const struct iscsi_pdu *pdu;
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	assert_int_equal(io_run(&d, &f, DISK_FLUSH, 0, 0, NULL), 0);
	assert_int_equal(fake_last(d.o.fake, ISCSI_SCSI_COMMAND)->command.cdb[0], 0x35);
	assert_int_equal(io_run(&d, &f, DISK_DISCARD, 8192, 4096, NULL), 0);
	assert_int_equal(fake_last(d.o.fake, ISCSI_SCSI_COMMAND)->command.cdb[0], 0x42);
	assert_int_equal(fake_last(d.o.fake, ISCSI_SCSI_COMMAND)->command.expected_length, 24);
	memset(d.o.fake->disk, 0xff, 3 * 1024 * 1024);
	assert_int_equal(io_run(&d, &f, DISK_WRITE_ZEROES, 512, 2 * 1024 * 1024, NULL), 0);
	pdu = fake_last(d.o.fake, ISCSI_SCSI_COMMAND);
	assert_int_equal(pdu->command.cdb[0], 0x93);
	assert_int_equal(pdu->command.expected_length, 512); /* one block, repeated */
	assert_int_equal(d.o.fake->disk[511], 0xff);
	for (size_t i = 512; i < 512 + 2 * 1024 * 1024; i++)
		assert_int_equal(d.o.fake->disk[i], 0);
	assert_int_equal(d.o.fake->disk[512 + 2 * 1024 * 1024], 0xff);
	disk_teardown(&d);
}

static void zeroes_are_written_where_there_is_no_write_same(void **state)
{
	struct fake_disk_io f = {0};
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	d.o.fake->no_write_same = true;
	memset(d.o.fake->disk, 0xff, 3 * 1024 * 1024);
	assert_int_equal(io_run(&d, &f, DISK_WRITE_ZEROES, 512, 2 * 1024 * 1024, NULL), 0);
	assert_int_equal(d.o.fake->disk[511], 0xff);
	for (size_t i = 512; i < 512 + 2 * 1024 * 1024; i++)
		assert_int_equal(d.o.fake->disk[i], 0);
	assert_int_equal(d.o.fake->disk[512 + 2 * 1024 * 1024], 0xff);
	assert_int_equal(disk_info(d.disk)->max_write_zeroes, 0);
	assert_int_equal(io_run(&d, &f, DISK_WRITE_ZEROES, 0, 512, NULL), 0);
	assert_int_equal(d.o.fake->disk[0], 0);
	disk_teardown(&d);
}

static void fua_is_a_bit_or_a_flush(void **state)
{
	static uint8_t data[4096];
	struct fake_disk_io f = {.io = {.fua = true}};
	struct disk_info info;
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	assert_int_equal(io_run(&d, &f, DISK_WRITE, 0, sizeof(data), data), 0);
	assert_int_equal(fake_last(d.o.fake, ISCSI_SCSI_COMMAND)->command.cdb[1] & 0x08, 0x08);
	f.io.fua = true;
	assert_int_equal(io_run(&d, &f, DISK_WRITE_ZEROES, 0, 4096, NULL), 0);
	assert_int_equal(fake_last(d.o.fake, ISCSI_SCSI_COMMAND)->command.cdb[0], 0x35);
	info = *disk_info(d.disk);
	info.fua = false;
	assert_int_equal(disk_update(d.disk, &info), 0);
	f.io.fua = true;
	assert_int_equal(io_run(&d, &f, DISK_WRITE, 0, sizeof(data), data), 0);
	assert_int_equal(fake_last(d.o.fake, ISCSI_SCSI_COMMAND)->command.cdb[0], 0x35);
	disk_teardown(&d);
}

struct sense_case {
	uint8_t status, key;
	uint16_t code;
	int error;
};

static bool answer_case(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	const struct sense_case *c = f->arg;

	if (pdu->opcode != ISCSI_SCSI_COMMAND)
		return false;
	if (c->status == SCSI_CHECK_CONDITION)
		fake_check(f, pdu, task, c->key, c->code);
	else
		fake_status(f, pdu, task, c->status, NULL);
	return true;
}

static void what_the_target_says_becomes_an_errno(void **state)
{
	static const struct sense_case cases[] = {
		{SCSI_CHECK_CONDITION, SENSE_MEDIUM_ERROR, ASC_UNRECOVERED_READ_ERROR, -ENODATA},
		{SCSI_CHECK_CONDITION, SENSE_DATA_PROTECT,
			ASC_SPACE_ALLOCATION_FAILED_WRITE_PROTECT, -ENOSPC},
		{SCSI_CHECK_CONDITION, SENSE_DATA_PROTECT, ASC_WRITE_PROTECTED, -EROFS},
		{SCSI_CHECK_CONDITION, SENSE_ILLEGAL_REQUEST, ASC_LBA_OUT_OF_RANGE, -ENOSPC},
		{SCSI_CHECK_CONDITION, SENSE_ILLEGAL_REQUEST, ASC_INVALID_FIELD_IN_CDB, -EIO},
		{SCSI_CHECK_CONDITION, SENSE_HARDWARE_ERROR, ASC_INTERNAL_TARGET_FAILURE, -EIO},
		{SCSI_CHECK_CONDITION, SENSE_MISCOMPARE, ASC_MISCOMPARE_DURING_VERIFY, -EILSEQ},
		{SCSI_CHECK_CONDITION, SENSE_ILLEGAL_REQUEST, ASC_LOGICAL_UNIT_NOT_SUPPORTED,
			-ENODEV},
		{SCSI_RESERVATION_CONFLICT, 0, 0, -EBADE},
	};
	static uint8_t data[512];
	struct fake_disk_io f = {0};
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	d.o.fake->override = answer_case;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		d.o.fake->arg = (void *)&cases[i];
		assert_int_equal(io_run(&d, &f, DISK_WRITE, 0, 512, data), cases[i].error);
	}
	disk_teardown(&d);
}

static bool answer_short(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	if (pdu->opcode != ISCSI_SCSI_COMMAND)
		return false;
	fake_data(f, pdu, task, f->disk, 100);
	return true;
}

static void a_short_read_with_status_good_is_an_error(void **state)
{
	static uint8_t data[512];
	struct fake_disk_io f = {0};
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	d.o.fake->override = answer_short;
	assert_int_equal(io_run(&d, &f, DISK_READ, 0, 512, data), -EIO);
	disk_teardown(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flush_discard_and_write_zeroes_become_their_commands),
		cmocka_unit_test(zeroes_are_written_where_there_is_no_write_same),
		cmocka_unit_test(fua_is_a_bit_or_a_flush),
		cmocka_unit_test(what_the_target_says_becomes_an_errno),
		cmocka_unit_test(a_short_read_with_status_good_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Whether a LUN is still the same device after a reconnect. */
#include "tests/unit/initiator/fake_disk.h"

static void io_goes_on_after_the_connection_was_lost(void **state)
{
	static uint8_t data[256 * 1024];
	struct fake_disk_io f = {0};
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	memset(data, 0x5a, sizeof(data));
	d.o.fake->silent = true;
	io_submit(&d, &f, DISK_WRITE, 0, sizeof(data), data);
	fake_turns(d.o.fake);
	fake_drop(d.o.fake, -ECONNRESET);
	d.o.fake->silent = false;
	fake_seconds(d.o.fake, 1);
	assert_int_equal(f.done, 1);
	assert_int_equal(f.status, 0);
	assert_memory_equal(d.o.fake->disk, data, sizeof(data));
	assert_int_equal(d.gone + d.resized, 0);
	disk_teardown(&d);
}

static void another_device_at_the_lun_never_becomes_the_disk(void **state)
{
	static uint8_t data[256 * 1024];
	struct fake_disk_io f = {0}, later = {0};
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	memset(data, 0x5a, sizeof(data));
	d.o.fake->silent = true;
	io_submit(&d, &f, DISK_WRITE, 0, sizeof(data), data);
	fake_turns(d.o.fake);
	fake_drop(d.o.fake, -ECONNRESET);
	d.o.fake->silent = false;
	d.o.fake->wwid = "iqn.2026-11.org.example:other,L,0x0000";
	d.o.fake->sent_count = 0;
	fake_seconds(d.o.fake, 1);
	assert_int_equal(d.gone, 1);
	assert_int_equal(f.done, 1);
	assert_int_equal(f.status, -ENODEV);
	for (unsigned i = 0; i < d.o.fake->sent_count; i++)
		assert_int_not_equal(d.o.fake->sent[i].command.cdb[0], SCSI_WRITE_10);
	assert_int_equal(io_run(&d, &later, DISK_READ, 0, 512, data), -ENODEV);
	disk_teardown(&d);
}

static void a_size_that_changed_meanwhile_is_told(void **state)
{
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	d.o.fake->blocks = FAKE_BLOCKS / 2;
	fake_drop(d.o.fake, -ECONNRESET);
	fake_seconds(d.o.fake, 1);
	assert_int_equal(d.resized, 1);
	assert_int_equal(disk_info(d.disk)->size, FAKE_BLOCK * FAKE_BLOCKS / 2);
	disk_teardown(&d);
}

static void a_connection_lost_during_the_check_begins_it_anew(void **state)
{
	static uint8_t data[512];
	struct fake_disk_io f = {0};
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	d.o.fake->silent = true;
	io_submit(&d, &f, DISK_READ, 0, 512, data);
	fake_turns(d.o.fake);
	fake_drop(d.o.fake, -ECONNRESET);
	fake_seconds(d.o.fake, 1);
	assert_int_equal(d.o.logged_in, 2);
	fake_drop(d.o.fake, -ECONNRESET);
	d.o.fake->silent = false;
	fake_seconds(d.o.fake, 1);
	assert_int_equal(d.o.logged_in, 3);
	assert_int_equal(f.done, 1);
	assert_int_equal(f.status, 0);
	disk_teardown(&d);
}

static bool answer_no_unit(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	unsigned *left = f->arg;
	uint8_t data[36] = {0x7f}; /* peripheral qualifier 011b, type 1Fh */

	if (pdu->opcode != ISCSI_SCSI_COMMAND || pdu->command.cdb[0] != SCSI_INQUIRY || *left == 0)
		return false;
	--*left;
	fake_data(f, pdu, task, data, sizeof(data));
	return true;
}

static void a_lun_that_comes_a_little_later_is_waited_for(void **state)
{
	static uint8_t data[512];
	struct fake_disk_io f = {0};
	struct fake_disk d;
	unsigned left = 3;

	(void)state;
	disk_setup(&d);
	d.o.fake->override = answer_no_unit;
	d.o.fake->arg = &left;
	fake_drop(d.o.fake, -ECONNRESET);
	fake_turns(d.o.fake);
	io_submit(&d, &f, DISK_READ, 0, 512, data);
	fake_seconds(d.o.fake, 1);
	assert_int_equal(f.done, 0);
	fake_seconds(d.o.fake, 2);
	assert_int_equal(f.done, 1);
	assert_int_equal(f.status, 0);
	assert_int_equal(d.gone, 0);
	disk_teardown(&d);
}

static void a_lun_that_does_not_come_back_is_gone(void **state)
{
	static uint8_t data[512];
	struct fake_disk_io f = {0};
	struct fake_disk d;
	unsigned left = 1000;

	(void)state;
	disk_setup(&d);
	d.o.fake->override = answer_no_unit;
	d.o.fake->arg = &left;
	fake_drop(d.o.fake, -ECONNRESET);
	fake_turns(d.o.fake);
	io_submit(&d, &f, DISK_READ, 0, 512, data);
	fake_seconds(d.o.fake, 5);
	assert_int_equal(f.done, 1);
	assert_int_equal(f.status, -ENODEV);
	assert_int_equal(d.gone, 1);
	disk_teardown(&d);
}

static bool refuse_page_83(struct fake *f, const struct iscsi_pdu *pdu, struct dm_task *task)
{
	unsigned *left = f->arg;

	if (pdu->opcode != ISCSI_SCSI_COMMAND || pdu->command.cdb[0] != SCSI_INQUIRY ||
		pdu->command.cdb[2] != 0x83 || *left == 0)
		return false;
	--*left;
	fake_check(f, pdu, task, SENSE_ILLEGAL_REQUEST, 0x2400);
	return true;
}

/* Such as one whose store is still being opened: which disk it is cannot be told yet. */
static void a_lun_that_does_not_say_which_it_is_is_asked_again(void **state)
{
	static uint8_t data[512];
	struct fake_disk_io f = {0};
	struct fake_disk d;
	unsigned left = 9; /* of the next connection, too */

	(void)state;
	disk_setup(&d);
	d.o.fake->override = refuse_page_83;
	d.o.fake->arg = &left;
	fake_drop(d.o.fake, -ECONNRESET);
	fake_turns(d.o.fake);
	io_submit(&d, &f, DISK_WRITE, 0, 512, data);
	fake_seconds(d.o.fake, 1);
	assert_int_equal(f.done, 0);
	fake_seconds(d.o.fake, 20);
	assert_int_equal(left, 0);
	assert_int_equal(f.done, 1);
	assert_int_equal(f.status, 0);
	assert_int_equal(d.gone, 0);
	disk_teardown(&d);
}

static void a_disk_is_freed_while_its_lun_is_looked_for(void **state)
{
	struct fake_disk d;
	unsigned left = 1000;

	(void)state;
	disk_setup(&d);
	d.o.fake->override = answer_no_unit;
	d.o.fake->arg = &left;
	fake_drop(d.o.fake, -ECONNRESET);
	fake_seconds(d.o.fake, 1);
	disk_teardown(&d);
	assert_int_equal(d.gone, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(io_goes_on_after_the_connection_was_lost),
		cmocka_unit_test(another_device_at_the_lun_never_becomes_the_disk),
		cmocka_unit_test(a_size_that_changed_meanwhile_is_told),
		cmocka_unit_test(a_connection_lost_during_the_check_begins_it_anew),
		cmocka_unit_test(a_lun_that_comes_a_little_later_is_waited_for),
		cmocka_unit_test(a_lun_that_does_not_come_back_is_gone),
		cmocka_unit_test(a_lun_that_does_not_say_which_it_is_is_asked_again),
		cmocka_unit_test(a_disk_is_freed_while_its_lun_is_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

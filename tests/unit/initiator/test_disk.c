/* A disk: I/Os cut into commands, errors, properties, identity after a reconnect (SBC-3 section 5).
 */
#include "initiator/disk.h"
#include "initiator/scan.h"
#include "tests/unit/initiator/fake_target.h"

struct fake_disk {
	struct fake_owner o;
	struct disk *disk;
	struct disk_info info;
	unsigned resized, gone, freed;
	size_t found;
};

static void scan_done(void *owner, int error, const struct disk_info *luns, size_t count)
{
	struct fake_disk *d = owner;

	assert_int_equal(error, 0);
	d->found = count;
	d->info = luns[0];
}

static void disk_was_resized(void *owner)
{
	((struct fake_disk *)owner)->resized++;
}

static void disk_is_gone(void *owner, const char *why)
{
	((struct fake_disk *)owner)->gone++;
	assert_true(strlen(why) > 0);
}

static void disk_is_free(void *owner)
{
	((struct fake_disk *)owner)->freed++;
}

static const struct disk_events disk_events = {disk_was_resized, disk_is_gone};

static void disk_setup_config(struct fake_disk *d, uint32_t max_transfer, uint32_t queue_depth)
{
	struct ini_session_config c;
	struct ini_scan *scan;

	*d = (struct fake_disk){.o = {.fake = fake_new()}};
	c = owner_config(d->o.fake);
	c.queue_depth = queue_depth;
	d->o.fake->max_transfer = max_transfer;
	owner_start(&d->o, &c);
	assert_int_equal(ini_scan_start(d->o.session, scan_done, d, &scan), 0);
	fake_turns(d->o.fake);
	assert_int_equal(d->found, 1);
	assert_int_equal(disk_new(d->o.session, &d->info, &disk_events, d, &d->disk), 0);
	d->o.fake->sent_count = 0;
}

static void disk_setup(struct fake_disk *d)
{
	disk_setup_config(d, 64, 4); /* 32 KiB per command */
}

static void disk_teardown(struct fake_disk *d)
{
	disk_free(d->disk, disk_is_free, d);
	fake_seconds(d->o.fake, 1);
	assert_int_equal(d->freed, 1);
	owner_teardown(&d->o);
}

struct fake_disk_io {
	struct disk_io io;
	unsigned done;
	int status;
};

static void io_done(struct disk_io *io, int status)
{
	struct fake_disk_io *f = container_of(io, struct fake_disk_io, io);

	f->done++;
	f->status = status;
}

static void io_submit(struct fake_disk *d, struct fake_disk_io *f, enum disk_operation operation,
	uint64_t offset, uint64_t length, void *data)
{
	bool fua = f->io.fua;

	*f = (struct fake_disk_io){.io = {.operation = operation,
					   .offset = offset,
					   .length = length,
					   .data = data,
					   .fua = fua,
					   .done = io_done}};
	disk_submit(d->disk, &f->io);
	assert_int_equal(f->done, 0); /* never from inside */
}

static int io_run(struct fake_disk *d, struct fake_disk_io *f, enum disk_operation operation,
	uint64_t offset, uint64_t length, void *data)
{
	io_submit(d, f, operation, offset, length, data);
	fake_turns(d->o.fake);
	assert_int_equal(f->done, 1);
	return f->status;
}

static void a_long_read_and_write_are_cut_and_put_together(void **state)
{
	static uint8_t data[1024 * 1024], back[1024 * 1024];
	struct fake_disk_io f = {0};
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 512);
	assert_int_equal(io_run(&d, &f, DISK_WRITE, 4096, sizeof(data), data), 0);
	assert_memory_equal(d.o.fake->disk + 4096, data, sizeof(data));
	assert_int_equal(fake_count(d.o.fake, ISCSI_SCSI_COMMAND), 32);
	assert_int_equal(io_run(&d, &f, DISK_READ, 4096, sizeof(back), back), 0);
	assert_memory_equal(back, data, sizeof(data));
	disk_teardown(&d);
}

static void commands_of_one_io_are_under_way_together_but_bounded(void **state)
{
	static uint8_t data[1024 * 1024];
	struct fake_disk_io f = {0};
	struct fake_disk d;
	struct disk_statistics statistics;

	(void)state;
	disk_setup(&d);
	d.o.fake->silent = true;
	io_submit(&d, &f, DISK_READ, 0, sizeof(data), data);
	fake_turns(d.o.fake);
	assert_int_equal(fake_count(d.o.fake, ISCSI_SCSI_COMMAND), 4); /* the queue depth */
	disk_get_statistics(d.disk, &statistics);
	assert_int_equal(statistics.in_flight, 4);
	disk_teardown(&d);
	assert_int_equal(f.done, 1);
	assert_int_equal(f.status, -ESHUTDOWN);
}

static void a_short_io_does_not_wait_for_the_end_of_a_long_one(void **state)
{
	static uint8_t data[4 * 1024 * 1024], few[4096];
	struct fake_disk_io f = {0}, g = {0};
	struct fake_disk d;
	unsigned position = 0;

	(void)state;
	disk_setup(&d);
	io_submit(&d, &f, DISK_READ, 0, sizeof(data), data);
	io_submit(&d, &g, DISK_READ, 7 * 1024 * 1024, sizeof(few), few);
	fake_turns(d.o.fake);
	assert_int_equal(f.done + g.done, 2);
	for (unsigned i = 0; i < d.o.fake->sent_count; i++)
		if (get_be32(&d.o.fake->sent[i].command.cdb[2]) == 14336)
			position = i;
	assert_true(position > 0 && position < 16); /* of 129 */
	disk_teardown(&d);
}

static void what_cannot_be_is_refused(void **state)
{
	static uint8_t data[8192];
	const uint64_t size = FAKE_BLOCK * FAKE_BLOCKS;
	struct fake_disk_io f = {0};
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	assert_int_equal(io_run(&d, &f, DISK_READ, 1, 512, data), -EINVAL);
	assert_int_equal(io_run(&d, &f, DISK_READ, 0, 511, data), -EINVAL);
	assert_int_equal(io_run(&d, &f, DISK_READ, size, 512, data), -ENOSPC);
	assert_int_equal(io_run(&d, &f, DISK_READ, size - 512, 1024, data), -ENOSPC);
	assert_int_equal(io_run(&d, &f, DISK_READ, UINT64_MAX - 511, 512, data), -ENOSPC);
	assert_int_equal(io_run(&d, &f, DISK_READ, 512, UINT64_MAX - 511, data), -ENOSPC);
	assert_int_equal(io_run(&d, &f, DISK_READ, 0, 512, NULL), -EINVAL);
	assert_int_equal(io_run(&d, &f, DISK_READ, 0, 0, NULL), 0);
	assert_int_equal(io_run(&d, &f, DISK_READ, size - 512, 512, data), 0);
	disk_teardown(&d);
}

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

static void io_fails_when_the_session_ends(void **state)
{
	static uint8_t data[512];
	struct fake_disk_io f = {0};
	struct fake_disk d;

	(void)state;
	disk_setup(&d);
	d.o.fake->silent = true;
	io_submit(&d, &f, DISK_READ, 0, 512, data);
	ini_session_logout(d.o.session);
	disk_free(d.disk, disk_is_free, &d);
	fake_turns(d.o.fake);
	assert_int_equal(f.status, -ESHUTDOWN);
	assert_int_equal(d.freed, 1);
	owner_teardown(&d.o);
}

static void a_disk_without_usable_properties_is_not_made(void **state)
{
	struct disk_info info = {.size = 0, .block_size = 512, .max_transfer = 4096};
	struct fake_owner o;
	struct disk *disk;

	(void)state;
	owner_setup(&o);
	assert_int_equal(disk_new(o.session, &info, NULL, NULL, &disk), -EINVAL);
	owner_teardown(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_read_and_write_are_cut_and_put_together),
		cmocka_unit_test(commands_of_one_io_are_under_way_together_but_bounded),
		cmocka_unit_test(a_short_io_does_not_wait_for_the_end_of_a_long_one),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(flush_discard_and_write_zeroes_become_their_commands),
		cmocka_unit_test(zeroes_are_written_where_there_is_no_write_same),
		cmocka_unit_test(fua_is_a_bit_or_a_flush),
		cmocka_unit_test(what_the_target_says_becomes_an_errno),
		cmocka_unit_test(a_short_read_with_status_good_is_an_error),
		cmocka_unit_test(io_goes_on_after_the_connection_was_lost),
		cmocka_unit_test(another_device_at_the_lun_never_becomes_the_disk),
		cmocka_unit_test(a_size_that_changed_meanwhile_is_told),
		cmocka_unit_test(a_connection_lost_during_the_check_begins_it_anew),
		cmocka_unit_test(io_fails_when_the_session_ends),
		cmocka_unit_test(a_disk_without_usable_properties_is_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

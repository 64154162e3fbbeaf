/* A disk: I/Os cut into commands, errors, properties, identity after a reconnect (SBC-3 section 5).
 */
#include "tests/unit/initiator/fake_disk.h"

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

static void running_out_of_memory_makes_no_half_disk(void **state)
{
	struct fake_disk d;
	struct disk *other;
	int r = -ENOMEM;

	(void)state;
	disk_setup(&d);
	for (unsigned long n = 1; r < 0; n++) {
		alloc_fail_nth(n);
		r = disk_new(d.o.session, &d.info, NULL, NULL, &other);
		alloc_fail_nth(0);
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(n < 20);
	}
	disk_free(other, NULL, NULL);
	disk_free(NULL, NULL, NULL);
	disk_teardown(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_read_and_write_are_cut_and_put_together),
		cmocka_unit_test(commands_of_one_io_are_under_way_together_but_bounded),
		cmocka_unit_test(a_short_io_does_not_wait_for_the_end_of_a_long_one),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(io_fails_when_the_session_ends),
		cmocka_unit_test(a_disk_without_usable_properties_is_not_made),
		cmocka_unit_test(running_out_of_memory_makes_no_half_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

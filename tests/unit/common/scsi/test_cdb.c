/* CDBs as bytes from the figures of SBC-3 section 5 and SPC-4 section 6. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/scsi/cdb.h"

static void expect(const uint8_t *cdb, unsigned length, const char *bytes, unsigned expected)
{
	assert_int_equal(length, expected);
	assert_memory_equal(cdb, bytes, expected);
	for (unsigned i = expected; i < CDB_SIZE; i++)
		assert_int_equal(cdb[i], 0);
}

static void read_and_write_choose_their_length(void **state)
{
	uint8_t cdb[CDB_SIZE];
	unsigned length;

	(void)state;
	cdb_read_write(cdb, SCSI_DATA_IN, 0x01020304, 0x0506, false, &length);
	expect(cdb, length, "\x28\x00\x01\x02\x03\x04\x00\x05\x06\x00", 10);
	cdb_read_write(cdb, SCSI_DATA_OUT, 0xffffffff, 0xffff, true, &length);
	expect(cdb, length, "\x2a\x08\xff\xff\xff\xff\x00\xff\xff\x00", 10);
	cdb_read_write(cdb, SCSI_DATA_IN, 0x100000000, 1, false, &length);
	expect(cdb, length, "\x88\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00", 16);
	cdb_read_write(cdb, SCSI_DATA_OUT, 0, 0x10000, true, &length);
	expect(cdb, length, "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00", 16);
}

static void block_commands_in_bytes(void **state)
{
	uint8_t cdb[CDB_SIZE];

	(void)state;
	expect(cdb, cdb_sync_cache10(cdb, 1, 2), "\x35\0\0\0\0\1\0\0\2\0", 10);
	expect(cdb, cdb_sync_cache16(cdb, 1, 2), "\x91\0\0\0\0\0\0\0\0\1\0\0\0\2\0\0", 16);
	expect(cdb, cdb_write_same10(cdb, 1, 2, true), "\x41\x08\0\0\0\1\0\0\2\0", 10);
	expect(cdb, cdb_write_same16(cdb, 1, 2, true, true), "\x93\x09\0\0\0\0\0\0\0\1\0\0\0\2\0\0",
		16);
	expect(cdb, cdb_compare_and_write(cdb, 1, 2, true), "\x89\x08\0\0\0\0\0\0\0\1\0\0\0\2\0\0",
		16);
	expect(cdb, cdb_verify16(cdb, 1, 2, true), "\x8f\x02\0\0\0\0\0\0\0\1\0\0\0\2\0\0", 16);
	expect(cdb, cdb_unmap(cdb, 24), "\x42\0\0\0\0\0\0\0\x18\0", 10);
	expect(cdb, cdb_read_capacity10(cdb), "\x25\0\0\0\0\0\0\0\0\0", 10);
	expect(cdb, cdb_read_capacity16(cdb, 32), "\x9e\x10\0\0\0\0\0\0\0\0\0\0\0\x20\0\0", 16);
	expect(cdb, cdb_start_stop_unit(cdb, true), "\x1b\0\0\0\1\0", 6);
}

static void primary_commands_in_bytes(void **state)
{
	uint8_t cdb[CDB_SIZE];

	(void)state;
	expect(cdb, cdb_test_unit_ready(cdb), "\0\0\0\0\0\0", 6);
	expect(cdb, cdb_request_sense(cdb, true, 252), "\x03\1\0\0\xfc\0", 6);
	expect(cdb, cdb_inquiry(cdb, 0x0102), "\x12\0\0\1\2\0", 6);
	expect(cdb, cdb_inquiry_vpd(cdb, 0x83, 255), "\x12\1\x83\0\xff\0", 6);
	expect(cdb, cdb_report_luns(cdb, 0x10000), "\xa0\0\0\0\0\0\0\1\0\0\0\0", 12);
	expect(cdb, cdb_mode_sense6(cdb, 8, 2, true, 255), "\x1a\x08\x88\0\xff\0", 6);
	expect(cdb, cdb_mode_sense10(cdb, 0x3f, 0, false, 512), "\x5a\0\x3f\0\0\0\0\2\0\0", 10);
	expect(cdb, cdb_mode_select6(cdb, true, 24), "\x15\x11\0\0\x18\0", 6);
	expect(cdb, cdb_mode_select10(cdb, false, 24), "\x55\x10\0\0\0\0\0\0\x18\0", 10);
	expect(cdb, cdb_reserve6(cdb), "\x16\0\0\0\0\0", 6);
	expect(cdb, cdb_release6(cdb), "\x17\0\0\0\0\0", 6);
	expect(cdb, cdb_persistent_reserve_in(cdb, 1, 512), "\x5e\1\0\0\0\0\0\2\0\0", 10);
	expect(cdb, cdb_persistent_reserve_out(cdb, 4, 3, 24), "\x5f\4\3\0\0\0\0\0\x18\0", 10);
}

static void lengths_by_group_code(void **state)
{
	uint8_t cdb[CDB_SIZE] = {0};

	(void)state;
	for (unsigned code = 0; code < 256; code++) {
		static const unsigned expected[8] = {6, 10, 10, 0, 16, 12, 0, 0};

		cdb[0] = (uint8_t)code;
		cdb[7] = 24;
		assert_int_equal(cdb_length(cdb), code == 0x7f ? 32 : expected[code >> 5]);
	}
}

static void six_byte_block_command(void **state)
{
	static const uint8_t cdb[CDB_SIZE] = {0x08, 0xff, 0xfe, 0xfd, 0};
	static const uint8_t vendor[CDB_SIZE] = {0xc0};
	struct cdb_block b;

	(void)state;
	assert_int_equal(cdb_block_decode(cdb, &b), 0);
	assert_int_equal(b.lba, 0x1ffefd);
	assert_int_equal(b.blocks, 256);
	assert_int_equal(b.flags, 0);
	assert_int_equal(cdb_block_decode(vendor, &b), -EINVAL);
}

static void decoded_as_encoded(void **state)
{
	uint8_t cdb[CDB_SIZE];
	struct cdb_block b;
	unsigned length;

	(void)state;
	cdb_read_write(cdb, SCSI_DATA_IN, 0x123456789a, 77, true, &length);
	assert_int_equal(cdb_block_decode(cdb, &b), 0);
	assert_int_equal(b.lba, 0x123456789a);
	assert_int_equal(b.blocks, 77);
	assert_int_equal(b.flags, CDB_FUA);
	cdb_compare_and_write(cdb, 0x123456789a, 200, false);
	cdb_compare_and_write_decode(cdb, &b);
	assert_int_equal(b.lba, 0x123456789a);
	assert_int_equal(b.blocks, 200);
}

static void unmap_list_in_bytes(void **state)
{
	static const struct unmap_extent extents[] = {{1, 2}, {0x100000000, 4}};
	static const uint8_t expected[40] = {0, 38, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
		0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4};
	uint8_t out[40];
	struct unmap_extent e;

	(void)state;
	assert_int_equal(unmap_list_encode(extents, 2, out, sizeof(out)), 40);
	assert_memory_equal(out, expected, 40);
	assert_int_equal(unmap_list_encode(extents, 2, out, 39), 0);
	assert_int_equal(unmap_list_encode(extents, 5000, out, SIZE_MAX), 0);
	assert_int_equal(unmap_list_count(expected, 40), 2);
	unmap_list_get(expected, 1, &e);
	assert_int_equal(e.lba, 0x100000000);
	assert_int_equal(e.blocks, 4);
}

static void unmap_list_that_is_cut_or_lies(void **state)
{
	uint8_t list[40] = {0, 38, 0, 32};

	(void)state;
	for (size_t n = 0; n <= 40; n++)
		assert_int_equal(unmap_list_count(list, n), n < 24 ? 0 : (n - 8) / 16);
	list[2] = 0xff; /* more than came */
	assert_int_equal(unmap_list_count(list, 40), 2);
	list[2] = 0;
	list[3] = 16; /* less */
	assert_int_equal(unmap_list_count(list, 40), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_and_write_choose_their_length),
		cmocka_unit_test(block_commands_in_bytes),
		cmocka_unit_test(primary_commands_in_bytes),
		cmocka_unit_test(lengths_by_group_code),
		cmocka_unit_test(six_byte_block_command),
		cmocka_unit_test(decoded_as_encoded),
		cmocka_unit_test(unmap_list_in_bytes),
		cmocka_unit_test(unmap_list_that_is_cut_or_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

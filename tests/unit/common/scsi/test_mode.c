/* Mode parameter lists (common/scsi/mode.c): SPC-4 section 7.5. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/scsi/mode.h"

/* MODE SENSE(6) data of a disk: header, block descriptor, pages 08h and 0Ah. */
static const uint8_t sense6[4 + 8 + 20 + 12] = {
	43, 0, 0x90, 8, 0, 1, 0, 0, 0, 0, 2, 0, 0x88, 0x12, 0x04, [32] = 0x0a, 0x0a};

static void headers_in_bytes(void **state)
{
	struct mode_header h = {.data_length = 0x0123,
				   .device_specific = 0x90,
				   .block_descriptor_length = 8},
			   again;
	uint8_t out[16];
	struct bytes_writer w = bytes_writer(out, sizeof(out));
	struct bytes_reader r;

	(void)state;
	mode_header_encode(&h, true, &w);
	mode_block_descriptor_encode(0x100000000, 4096, &w);
	assert_memory_equal(
		out, "\x01\x23\x00\x90\x00\x00\x00\x08\xff\xff\xff\xff\x00\x00\x10\x00", 16);
	r = bytes_reader(out, 16);
	assert_int_equal(mode_header_decode(&r, true, &again), 0);
	assert_int_equal(again.data_length, h.data_length);
	assert_int_equal(again.device_specific, h.device_specific);
	assert_int_equal(again.block_descriptor_length, 8);
	assert_false(again.long_lba);
	assert_int_equal(r.left, 8);
	w = bytes_writer(out, sizeof(out));
	mode_header_encode(&h, false, &w);
	assert_memory_equal(out, "\x23\x00\x90\x08", 4);
	for (size_t n = 0; n < 8; n++) {
		r = bytes_reader(out, n);
		assert_int_equal(mode_header_decode(&r, true, &again), -EPROTO);
	}
}

static void pages_are_walked(void **state)
{
	static const uint8_t pages[] = {0x88, 2, 1, 2, 0x4a, 0x01, 0, 1, 9, 0x0a, 0};
	struct bytes_reader r = bytes_reader(pages, sizeof(pages));
	struct mode_page p;

	(void)state;
	assert_int_equal(mode_page_next(&r, &p), 1);
	assert_int_equal(p.code, 0x08);
	assert_true(p.savable);
	assert_int_equal(p.length, 4);
	assert_int_equal(mode_page_next(&r, &p), 1);
	assert_int_equal(p.code, 0x0a);
	assert_int_equal(p.subpage, 1);
	assert_int_equal(p.length, 5);
	assert_int_equal(mode_page_next(&r, &p), 1);
	assert_int_equal(p.length, 2);
	assert_int_equal(mode_page_next(&r, &p), 0);
	for (size_t n = 1; n < 4; n++) {
		r = bytes_reader(pages, n);
		assert_int_equal(mode_page_next(&r, &p), -EPROTO);
	}
	for (size_t n = 5; n < 9; n++) {
		r = bytes_reader(pages + 4, n - 4);
		assert_int_equal(mode_page_next(&r, &p), -EPROTO);
	}
}

static void cache_and_protection_of_a_disk(void **state)
{
	struct mode_caching c;
	bool protected = false;

	(void)state;
	assert_int_equal(mode_caching_decode(sense6, sizeof(sense6), false, &c), 0);
	assert_true(c.write_cache && !c.read_cache_disabled);
	assert_int_equal(mode_write_protect_decode(sense6, sizeof(sense6), false, &protected), 0);
	assert_true(protected);
}

static void cut_data_of_every_length(void **state)
{
	uint8_t copy[sizeof(sense6)];
	struct mode_caching c;

	(void)state;
	for (size_t n = 0; n < 32; n++) {
		int err;

		memcpy(copy, sense6, n);
		err = mode_caching_decode(copy, n, false, &c);
		assert_int_equal(err, n == 12 ? -ENOENT : -EPROTO);
	}
	memcpy(copy, sense6, sizeof(copy));
	copy[0] = 11; /* MODE DATA LENGTH ends before the pages */
	assert_int_equal(mode_caching_decode(copy, sizeof(copy), false, &c), -ENOENT);
	copy[0] = 0; /* and before the header does */
	assert_int_equal(mode_caching_decode(copy, sizeof(copy), false, &c), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_in_bytes),
		cmocka_unit_test(pages_are_walked),
		cmocka_unit_test(cache_and_protection_of_a_disk),
		cmocka_unit_test(cut_data_of_every_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

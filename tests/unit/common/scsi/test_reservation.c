/* Persistent reservation parameter data (common/scsi/reservation.c): SPC-4 sections 6.15 and 6.16.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/scsi/reservation.h"

static void out_list_in_bytes(void **state)
{
	static const uint8_t expected[24] = {
		0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0x05};
	struct reservation_out o = {.key = 1,
				       .service_action_key = 2,
				       .all_tg_pt = true,
				       .aptpl = true},
			       again;
	uint8_t out[24];

	(void)state;
	reservation_out_encode(&o, out);
	assert_memory_equal(out, expected, 24);
	reservation_out_decode(out, &again);
	reservation_out_encode(&again, out);
	assert_memory_equal(out, expected, 24);
}

static void keys_that_do_not_fit_are_still_counted(void **state)
{
	static const uint64_t keys[] = {5, 6};
	uint8_t out[24];
	struct bytes_writer w = bytes_writer(out, sizeof(out));

	(void)state;
	reservation_keys_encode(3, keys, 2, &w);
	assert_memory_equal(out, "\0\0\0\3\0\0\0\x10\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\6", 24);
	w = bytes_writer(out, 16);
	reservation_keys_encode(3, keys, 2, &w);
	assert_int_equal(w.used, 16);
	assert_memory_equal(out, "\0\0\0\3\0\0\0\x10", 8);
}

static void holder_and_no_holder(void **state)
{
	uint8_t out[24];
	struct bytes_writer w = bytes_writer(out, sizeof(out));

	(void)state;
	reservation_holder_encode(9, 0, 0, &w);
	assert_int_equal(w.used, 8);
	assert_memory_equal(out, "\0\0\0\x09\0\0\0\0", 8);
	w = bytes_writer(out, sizeof(out));
	reservation_holder_encode(9, 7, RESERVATION_EXCLUSIVE_ACCESS, &w);
	assert_memory_equal(out, "\0\0\0\x09\0\0\0\x10\0\0\0\0\0\0\0\7\0\0\0\0\0\3\0\0", 24);
}

static void capabilities_in_bytes(void **state)
{
	uint8_t out[8];
	struct bytes_writer w = bytes_writer(out, sizeof(out));

	(void)state;
	reservation_capabilities_encode(&w);
	assert_memory_equal(out, "\x00\x08\x10\x80\xea\x01\x00\x00", 8);
}

static void full_status_of_one_port(void **state)
{
	struct reservation_status s = {.key = 7,
		.holder = true,
		.type = 1,
		.relative_port = 1,
		.initiator_port = "iqn.a,i,0x01"};
	uint8_t out[64];
	struct bytes_writer w = bytes_writer(out, sizeof(out));
	size_t begun = reservation_full_begin(2, &w);

	(void)state;
	reservation_status_encode(&s, &w);
	reservation_full_end(begun, &w);
	assert_int_equal(w.used, 8 + 24 + 4 + 16);
	assert_int_equal(get_be32(out + 4), 44);
	assert_int_equal(out[8 + 12], 1);
	assert_int_equal(out[8 + 13], 1);
	assert_int_equal(get_be32(out + 8 + 20), 20);
	assert_memory_equal(out + 32, "\x45\x00\x00\x10iqn.a,i,0x01\0\0\0\0", 20);
	w = bytes_writer(out, 40);
	reservation_status_encode(&s, &w);
	assert_true(w.overflow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(out_list_in_bytes),
		cmocka_unit_test(keys_that_do_not_fit_are_still_counted),
		cmocka_unit_test(holder_and_no_holder),
		cmocka_unit_test(capabilities_in_bytes),
		cmocka_unit_test(full_status_of_one_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

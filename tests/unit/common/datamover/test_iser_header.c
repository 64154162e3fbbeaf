/* RFC 7145 section 9 and the CM private data: values from the standard and from frames of Linux
 * peers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/datamover/iser_header.h"

/* ib_iser, an INQUIRY: read STag bce68701 at ff49759e030aff00. */
static const uint8_t inquiry[ISER_HEADER_SIZE] = {
	0x14, [16] = 0xbc, 0xe6, 0x87, 0x01, 0xff, 0x49, 0x75, 0x9e, 0x03, 0x0a, 0xff, 0x00};
/* ib_iser, a 64 KiB write with 8 KiB of immediate data. */
static const uint8_t write_64k[ISER_HEADER_SIZE] = {
	0x18, 0, 0, 0, 0xbc, 0xe6, 0x87, 0x11, 0xff, 0x49, 0x75, 0x9e, 0x26, 0xfe, 0x70, 0x00};

static void read_tag_of_linux_is_decoded(void **state)
{
	struct iser_header h;

	(void)state;
	assert_int_equal(iser_header_decode(inquiry, &h), 0);
	assert_int_equal(h.opcode, ISER_CONTROL);
	assert_true(h.read_valid);
	assert_false(h.write_valid);
	assert_int_equal(h.read_stag, 0xbce68701);
	assert_true(h.read_address == 0xff49759e030aff00ull);
}

static void write_tag_of_linux_is_decoded(void **state)
{
	struct iser_header h;

	(void)state;
	assert_int_equal(iser_header_decode(write_64k, &h), 0);
	assert_true(h.write_valid);
	assert_false(h.read_valid);
	assert_int_equal(h.write_stag, 0xbce68711);
	assert_true(h.write_address == 0xff49759e26fe7000ull);
}

static void headers_encode_to_the_frames_of_linux(void **state)
{
	struct iser_header h = {.opcode = ISER_CONTROL,
		.read_valid = true,
		.read_stag = 0xbce68701,
		.read_address = 0xff49759e030aff00ull};
	uint8_t wire[ISER_HEADER_SIZE];

	(void)state;
	iser_header_encode(&h, wire);
	assert_memory_equal(wire, inquiry, sizeof(wire));
	h = (struct iser_header){.opcode = ISER_CONTROL,
		.write_valid = true,
		.write_stag = 0xbce68711,
		.write_address = 0xff49759e26fe7000ull};
	iser_header_encode(&h, wire);
	assert_memory_equal(wire, write_64k, sizeof(wire));
}

static void control_header_without_tags_is_ten_and_zeros(void **state)
{
	static const uint8_t expected[ISER_HEADER_SIZE] = {0x10};
	struct iser_header h = {.opcode = ISER_CONTROL, .read_stag = 7, .write_address = 9};
	uint8_t wire[ISER_HEADER_SIZE];

	(void)state;
	iser_header_encode(&h, wire);
	assert_memory_equal(wire, expected, sizeof(wire));
}

static void tags_that_are_not_valid_are_not_returned(void **state)
{
	uint8_t wire[ISER_HEADER_SIZE];
	struct iser_header h;

	(void)state;
	memset(wire, 0xff, sizeof(wire));
	wire[0] = 0x10;
	assert_int_equal(iser_header_decode(wire, &h), 0);
	assert_int_equal(h.read_stag, 0);
	assert_int_equal(h.write_stag, 0);
}

static void unknown_opcodes_are_refused(void **state)
{
	(void)state;
	for (unsigned opcode = 0; opcode < 16; opcode++) {
		uint8_t wire[ISER_HEADER_SIZE] = {(uint8_t)(opcode << 4)};
		struct iser_header h = {.opcode = 99};
		int expected = opcode >= 1 && opcode <= 3 ? 0 : -EPROTO;

		assert_int_equal(iser_header_decode(wire, &h), expected);
		if (expected)
			assert_int_equal(h.opcode, 99);
	}
}

static void hello_carries_versions_and_ird(void **state)
{
	static const uint8_t wire[ISER_HEADER_SIZE] = {0x20, 0xa1, 0x00, 0x10};
	uint8_t out[ISER_HEADER_SIZE];
	struct iser_hello h;

	(void)state;
	assert_int_equal(iser_hello_decode(wire, &h), 0);
	assert_int_equal(h.max_version, 10);
	assert_int_equal(h.min_version, 1);
	assert_int_equal(h.ird, 16);
	iser_hello_encode(&h, out);
	assert_memory_equal(out, wire, sizeof(out));
}

static void hello_with_versions_upside_down_is_refused(void **state)
{
	static const uint8_t wire[ISER_HEADER_SIZE] = {0x20, 0x1a};
	struct iser_hello h;

	(void)state;
	assert_int_equal(iser_hello_decode(wire, &h), -EPROTO);
}

static void hello_is_answered_with_version_ten(void **state)
{
	static const uint8_t expected[ISER_HEADER_SIZE] = {0x30, 0xaa, 0x00, 0x04};
	struct iser_hello h = {.max_version = 10, .min_version = 10, .ird = 4};
	struct iser_hello_reply reply = iser_hello_answer(&h, 16);
	uint8_t wire[ISER_HEADER_SIZE];

	(void)state;
	iser_hello_reply_encode(&reply, wire);
	assert_memory_equal(wire, expected, sizeof(wire));
	assert_int_equal(iser_hello_reply_decode(wire, &reply), 0);
	assert_false(reply.reject);
	assert_int_equal(reply.ord, 4);
}

static void hello_of_another_version_is_rejected(void **state)
{
	struct iser_hello old = {.max_version = 1, .min_version = 1, .ird = 4};
	struct iser_hello_reply reply = iser_hello_answer(&old, 16);
	uint8_t wire[ISER_HEADER_SIZE];

	(void)state;
	iser_hello_reply_encode(&reply, wire);
	assert_int_equal(wire[0], 0x31);
}

static void private_data_is_eighty_or_c0(void **state)
{
	uint8_t wire[ISER_CM_SIZE];

	(void)state;
	iser_cm_encode(true, wire);
	assert_memory_equal(wire, "\x80\0\0\0", 4);
	iser_cm_encode(false, wire);
	assert_memory_equal(wire, "\xc0\0\0\0", 4);
}

static void absent_private_data_allows_nothing(void **state)
{
	uint8_t zeros[56] = {0};

	(void)state;
	assert_false(iser_cm_allows_invalidate(zeros, 0));
	assert_false(iser_cm_allows_invalidate(zeros, sizeof(zeros)));
	assert_false(iser_cm_allows_invalidate("\x80\0\0", 3));
	assert_false(iser_cm_allows_invalidate("\xc0\0\0\0", 4));
	assert_false(iser_cm_allows_invalidate("\x40\0\0\0", 4));
}

static void private_data_of_linux_allows_invalidate(void **state)
{
	uint8_t padded[56] = {0x80};

	(void)state;
	assert_true(iser_cm_allows_invalidate("\x80\0\0\0", 4));
	assert_true(iser_cm_allows_invalidate(padded, sizeof(padded)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_tag_of_linux_is_decoded),
		cmocka_unit_test(write_tag_of_linux_is_decoded),
		cmocka_unit_test(headers_encode_to_the_frames_of_linux),
		cmocka_unit_test(control_header_without_tags_is_ten_and_zeros),
		cmocka_unit_test(tags_that_are_not_valid_are_not_returned),
		cmocka_unit_test(unknown_opcodes_are_refused),
		cmocka_unit_test(hello_carries_versions_and_ird),
		cmocka_unit_test(hello_with_versions_upside_down_is_refused),
		cmocka_unit_test(hello_is_answered_with_version_ten),
		cmocka_unit_test(hello_of_another_version_is_rejected),
		cmocka_unit_test(private_data_is_eighty_or_c0),
		cmocka_unit_test(absent_private_data_allows_nothing),
		cmocka_unit_test(private_data_of_linux_allows_invalidate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

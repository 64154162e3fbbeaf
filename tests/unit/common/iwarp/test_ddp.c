/* DDP headers, with those of a captured iSER session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/iwarp/ddp.h"

static const uint8_t send_inv[] = "\x41\x44\xbc\xe6\x87\x01\0\0\0\0\0\0\0\2\0\0\5\x90";
static const uint8_t write[] = "\x81\x40\xbc\xe6\x87\x01\xff\x49\x75\x9e\x03\x0a\xff\x00";

static void untagged_header_is_decoded(void **state)
{
	struct ddp_segment s;

	(void)state;
	ddp_segment_decode(send_inv, &s);
	assert_false(s.tagged);
	assert_true(s.last);
	assert_int_equal(s.version, 1);
	assert_int_equal(s.ulp_control, 0x44);
	assert_int_equal(s.un.ulp_word, 0xbce68701);
	assert_int_equal(s.un.queue, 0);
	assert_int_equal(s.un.msn, 2);
	assert_int_equal(s.un.offset, 0x590);
}

static void tagged_header_is_decoded(void **state)
{
	struct ddp_segment s;

	(void)state;
	ddp_segment_decode(write, &s);
	assert_true(s.tagged);
	assert_false(s.last);
	assert_int_equal(s.tag.stag, 0xbce68701);
	assert_true(s.tag.offset == 0xff49759e030aff00);
}

static void headers_are_encoded_as_they_were_seen(void **state)
{
	struct ddp_segment un = {.last = true,
		.ulp_control = 0x44,
		.un = {.ulp_word = 0xbce68701, .msn = 2, .offset = 0x590}};
	struct ddp_segment tag = {.tagged = true,
		.ulp_control = 0x40,
		.tag = {.stag = 0xbce68701, .offset = 0xff49759e030aff00}};
	uint8_t out[DDP_UNTAGGED_SIZE];

	(void)state;
	assert_int_equal(ddp_segment_encode(&un, out), DDP_UNTAGGED_SIZE);
	assert_memory_equal(out, send_inv, DDP_UNTAGGED_SIZE);
	assert_int_equal(ddp_segment_encode(&tag, out), DDP_TAGGED_SIZE);
	assert_memory_equal(out, write, DDP_TAGGED_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(untagged_header_is_decoded),
		cmocka_unit_test(tagged_header_is_decoded),
		cmocka_unit_test(headers_are_encoded_as_they_were_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

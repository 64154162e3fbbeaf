/* CRC32c against the examples of RFC 3720 appendix B.4 (which RFC 7143 keeps by reference). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/base/bytes.h"
#include "common/base/crc32c.h"

/* What the appendix lists are the four bytes as they are on the wire. */
static void assert_on_wire(const void *data, size_t length, const uint8_t expected[4])
{
	uint8_t wire[4];

	put_le32(wire, crc32c_update(0, data, length));
	assert_memory_equal(expected, wire, 4);
}

static void examples_of_the_standard(void **state)
{
	static const uint8_t read_pdu[48] = {0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x14, 0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0,
		0, 0x02, 0, 0, 0, 0, 0, 0, 0};
	uint8_t data[32];

	(void)state;
	memset(data, 0, sizeof(data));
	assert_on_wire(data, 32, (const uint8_t[]){0xaa, 0x36, 0x91, 0x8a});
	memset(data, 0xff, sizeof(data));
	assert_on_wire(data, 32, (const uint8_t[]){0x43, 0xab, 0xa8, 0x62});
	for (uint8_t i = 0; i < 32; i++)
		data[i] = i;
	assert_on_wire(data, 32, (const uint8_t[]){0x4e, 0x79, 0xdd, 0x46});
	for (uint8_t i = 0; i < 32; i++)
		data[i] = (uint8_t)(31 - i);
	assert_on_wire(data, 32, (const uint8_t[]){0x5c, 0xdb, 0x3f, 0x11});
	assert_on_wire(read_pdu, 48, (const uint8_t[]){0x56, 0x3a, 0x96, 0xd9});
}

static void check_value_of_the_polynomial(void **state)
{
	(void)state;
	assert_int_equal(0xe3069283, crc32c_update(0, "123456789", 9));
	assert_int_equal(0, crc32c_update(0, "", 0));
}

static void any_cut_gives_the_same_value(void **state)
{
	uint8_t data[100];
	uint32_t whole;

	(void)state;
	for (uint8_t i = 0; i < 100; i++)
		data[i] = (uint8_t)(i * 7);
	whole = crc32c_update(0, data, 100);
	for (size_t cut = 0; cut <= 100; cut++)
		assert_int_equal(
			whole, crc32c_update(crc32c_update(0, data, cut), data + cut, 100 - cut));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples_of_the_standard),
		cmocka_unit_test(check_value_of_the_polynomial),
		cmocka_unit_test(any_cut_gives_the_same_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* common/iscsi/keys.c: RFC 7143 section 6.1. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/bytes.h"
#include "common/iscsi/keys.h"

static int first(const char *text, size_t length, struct key_pair *ret)
{
	size_t offset = 0;

	return keys_next(text, length, &offset, ret);
}

static void pairs_are_walked_and_empty_strings_passed_over(void **state)
{
	static const char text[] = "\0A=1\0\0\0Bc=x=y\0D=\0";
	struct key_pair pair;
	size_t offset = 0;

	(void)state;
	assert_int_equal(keys_next(text, sizeof(text) - 1, &offset, &pair), 1);
	assert_string_equal(pair.key, "A");
	assert_string_equal(pair.value, "1");
	assert_int_equal(keys_next(text, sizeof(text) - 1, &offset, &pair), 1);
	assert_string_equal(pair.key, "Bc");
	assert_string_equal(pair.value, "x=y");
	assert_int_equal(keys_next(text, sizeof(text) - 1, &offset, &pair), 1);
	assert_string_equal(pair.key, "D");
	assert_string_equal(pair.value, "");
	assert_int_equal(keys_next(text, sizeof(text) - 1, &offset, &pair), 0);
}

static void text_that_is_not_pairs_is_refused(void **state)
{
	static const char without_equals[] = "InitiatorName";
	static const char without_nul[] = {'A', '=', '1'};
	static const char without_key[] = "=1";
	static const char longest[] =
		"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg=1";
	static const char too_long[] =
		"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg=1";
	struct key_pair pair;

	(void)state;
	assert_int_equal(first(without_equals, sizeof(without_equals), &pair), -EPROTO);
	assert_int_equal(first(without_nul, sizeof(without_nul), &pair), -EPROTO);
	assert_int_equal(first(without_key, sizeof(without_key), &pair), -EPROTO);
	assert_int_equal(first(longest, sizeof(longest), &pair), 1);
	assert_int_equal(first(too_long, sizeof(too_long), &pair), -EPROTO);
	assert_int_equal(first(NULL, 0, &pair), 0);
}

static void eight_kilobytes_without_a_separator_are_refused(void **state)
{
	char *text = test_malloc(ISCSI_TEXT_MAX);
	struct key_pair pair;

	(void)state;
	memset(text, 'a', ISCSI_TEXT_MAX);
	assert_int_equal(first(text, ISCSI_TEXT_MAX, &pair), -EPROTO);
	text[ISCSI_TEXT_MAX - 1] = '\0';
	assert_int_equal(first(text, ISCSI_TEXT_MAX, &pair), -EPROTO);
	test_free(text);
}

static void a_pair_that_does_not_fit_leaves_the_writer_as_it_was(void **state)
{
	uint8_t room[10];
	struct bytes_writer w = bytes_writer(room, sizeof(room));

	(void)state;
	assert_int_equal(keys_put(&w, "A", "12"), 0);
	assert_int_equal(w.used, 5);
	assert_int_equal(keys_put(&w, "Bcd", "1"), -ENOSPC);
	assert_int_equal(w.used, 5);
	assert_false(w.overflow);
	assert_int_equal(keys_put_number(&w, "B", 42), 0);
	assert_memory_equal(room, "A=12\0B=42", 10);
}

static void numbers_are_decimal_or_hexadecimal_and_have_32_bits(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint32_t value;
	} cases[] = {
		{"0", 0, 0},
		{"262144", 0, 262144},
		{"4294967295", 0, UINT32_MAX},
		{"0x2000", 0, 8192},
		{"0XfFfFfFfF", 0, UINT32_MAX},
		{"4294967296", -ERANGE, 0},
		{"0x100000000", -ERANGE, 0},
		{"99999999999999999999999999", -ERANGE, 0},
		{"", -EPROTO, 0},
		{"0x", -EPROTO, 0},
		{"-1", -EPROTO, 0},
		{"12a", -EPROTO, 0},
		{" 1", -EPROTO, 0},
		{"1~5", -EPROTO, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t value = 0;

		assert_int_equal(keys_number(cases[i].text, &value), cases[i].rc);
		assert_int_equal(value, cases[i].value);
	}
}

static void lists_are_walked_and_empty_entries_refused(void **state)
{
	char entry[8];
	size_t offset = 0;

	(void)state;
	assert_int_equal(keys_list_next("CRC32C,None", &offset, entry, sizeof(entry)), 1);
	assert_string_equal(entry, "CRC32C");
	assert_int_equal(keys_list_next("CRC32C,None", &offset, entry, sizeof(entry)), 1);
	assert_string_equal(entry, "None");
	assert_int_equal(keys_list_next("CRC32C,None", &offset, entry, sizeof(entry)), 0);
	offset = 0;
	assert_int_equal(keys_list_next("", &offset, entry, sizeof(entry)), -EPROTO);
	assert_int_equal(keys_list_next("eightlong", &offset, entry, sizeof(entry)), -EPROTO);
	assert_int_equal(keys_list_next("a,", &offset, entry, sizeof(entry)), 1);
	assert_int_equal(keys_list_next("a,", &offset, entry, sizeof(entry)), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_walked_and_empty_strings_passed_over),
		cmocka_unit_test(text_that_is_not_pairs_is_refused),
		cmocka_unit_test(eight_kilobytes_without_a_separator_are_refused),
		cmocka_unit_test(a_pair_that_does_not_fit_leaves_the_writer_as_it_was),
		cmocka_unit_test(numbers_are_decimal_or_hexadecimal_and_have_32_bits),
		cmocka_unit_test(lists_are_walked_and_empty_entries_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

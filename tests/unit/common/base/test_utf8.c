/* UTF-8; the sequences are those of RFC 3629 sections 3, 4 and 10 (common/base/utf8.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/base/bytes.h"
#include "common/base/utf8.h"

static const struct {
	const char *text, *tamed;
} rows[] = {
	{"", ""},
	{"iqn.2026-01.org.example:disk", "iqn.2026-01.org.example:disk"},
	{"A\xe2\x89\xa2\xce\x91.", "A\xe2\x89\xa2\xce\x91."},
	{"\xed\x95\x9c\xea\xb5\xad", "\xed\x95\x9c\xea\xb5\xad"},
	{"\xf0\xa3\x8e\xb4", "\xf0\xa3\x8e\xb4"},
	{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
	{"\xff\xfe", "??"},
	{"a\x80z", "a?z"},
	{"\xc0\x80", "??"},	      /* U+0000, too long */
	{"\xc1\xbf", "??"},	      /* too long */
	{"\xe0\x9f\xbf", "???"},      /* too long */
	{"\xed\xa0\x80", "???"},      /* a surrogate */
	{"\xf0\x8f\xbf\xbf", "????"}, /* too long */
	{"\xf4\x90\x80\x80", "????"}, /* beyond U+10FFFF */
	{"\xf5\x80\x80\x80", "????"},
	{"\xc3", "?"}, /* cut off */
	{"\xe2\x89z", "??z"},
	{"\xf0\xa3\x8e", "???"},
	{"\xc3\xa4\xe2\x82", "\xc3\xa4??"},
};

static void bytes_that_are_no_character_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(utf8_valid(rows[i].text), !strcmp(rows[i].text, rows[i].tamed));
}

static void bytes_that_are_no_character_become_question_marks(void **state)
{
	char text[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t length = strlen(rows[i].text);

		memcpy(text, rows[i].text, length + 1);
		utf8_tame(text, length);
		assert_string_equal(text, rows[i].tamed);
	}
}

static void what_is_behind_the_length_is_not_looked_at(void **state)
{
	char text[] = "\xc3\xa4";

	(void)state;
	utf8_tame(text, 1);
	assert_memory_equal(text, "?\xa4", 2);
}

static void control_characters_are_found(void **state)
{
	(void)state;
	assert_int_equal(1, utf8_control_length("\x01"));
	assert_int_equal(1, utf8_control_length("\x1b["));
	assert_int_equal(1, utf8_control_length("\x7f"));
	assert_int_equal(2, utf8_control_length("\xc2\x80"));
	assert_int_equal(2, utf8_control_length("\xc2\x9f"));
	assert_int_equal(0, utf8_control_length("\xc2\xa0"));
	assert_int_equal(0, utf8_control_length(" "));
	assert_int_equal(0, utf8_control_length(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_that_are_no_character_are_found),
		cmocka_unit_test(bytes_that_are_no_character_become_question_marks),
		cmocka_unit_test(control_characters_are_found),
		cmocka_unit_test(what_is_behind_the_length_is_not_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

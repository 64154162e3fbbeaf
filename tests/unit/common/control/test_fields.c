/* Fields of answers: what is missing, and what is of another type, reads as nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "common/control/fields.h"

static void fields_that_are_there_are_read(void **state)
{
	struct json_object *o = json_tokener_parse("{\"t\": \"text\", \"n\": 18446744073709551, "
						   "\"d\": 1.5, \"f\": true, \"l\": [1, 2]}");

	(void)state;
	assert_string_equal("text", field_text(o, "t"));
	assert_int_equal(18446744073709551, field_number(o, "n"));
	assert_true(field_double(o, "d") > 1.4);
	assert_true(field_flag(o, "f"));
	assert_int_equal(2, field_count(o, "l"));
	assert_int_equal(2, json_object_get_int(field_item(o, "l", 1)));
	json_object_put(o);
}

static void fields_that_are_missing_read_as_nothing(void **state)
{
	struct json_object *o = json_tokener_parse("{\"null\": null, \"t\": \"text\"}");
	const char *const keys[] = {"null", "none"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_null(field_object(o, keys[i]));
		assert_string_equal("", field_text(o, keys[i]));
		assert_int_equal(0, field_number(o, keys[i]));
		assert_false(field_flag(o, keys[i]));
		assert_int_equal(0, field_count(o, keys[i]));
		assert_null(field_item(o, keys[i], 0));
	}
	assert_int_equal(0, field_count(o, "t"));
	assert_null(field_item(o, "t", 3));
	assert_string_equal("", field_text(NULL, "t"));
	assert_int_equal(0, field_count(NULL, "t"));
	json_object_put(o);
}

static void bytes_have_the_unit_that_fits(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal("0 B", bytes_text(0, out));
	assert_string_equal("1023 B", bytes_text(1023, out));
	assert_string_equal("1.0 KiB", bytes_text(1024, out));
	assert_string_equal("1.5 GiB", bytes_text(3ull << 29, out));
	assert_string_equal("16.0 EiB", bytes_text(UINT64_MAX, out));
}

static void printed_answer_has_no_ok(void **state)
{
	struct json_object *o = json_tokener_parse("{\"ok\": true, \"path\": \"/a/b\"}");
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	reply_print(o, out);
	fclose(out);
	assert_string_equal("{\n  \"path\":\"/a/b\"\n}\n", text);
	free(text);
	json_object_put(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_that_are_there_are_read),
		cmocka_unit_test(fields_that_are_missing_read_as_nothing),
		cmocka_unit_test(bytes_have_the_unit_that_fits),
		cmocka_unit_test(printed_answer_has_no_ok),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

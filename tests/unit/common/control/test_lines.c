/* JSON lines over a byte stream (common/control/lines.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/alloc.h"
#include "common/control/control.h"
#include "common/control/lines.h"

static int append(struct lines *l, const char *text)
{
	return lines_append(l, text, strlen(text), 2 * CONTROL_LINE_MAX);
}

static void takes(struct lines *l, const char *key, int value)
{
	struct json_object *json = NULL, *field;

	assert_int_equal(1, lines_take(l, &json));
	assert_true(json_object_object_get_ex(json, key, &field));
	assert_int_equal(value, json_object_get_int(field));
	json_object_put(json);
}

static void lines_come_out_in_order_however_the_bytes_came(void **state)
{
	static const char text[] = "{\"a\": 1}\n{\"b\": 2}\n{\"c\": 3}\n";
	struct json_object *json = NULL;

	(void)state;
	for (size_t piece = 1; piece <= strlen(text); piece++) {
		struct lines l = {0};
		const char *keys = "abc";

		for (size_t at = 0; at < strlen(text); at += piece) {
			size_t left = strlen(text) - at;

			assert_int_equal(
				0, lines_append(&l, text + at, left < piece ? left : piece, 1000));
			while (l.used && memchr(l.data, '\n', l.used)) {
				char key[2] = {*keys, '\0'};

				takes(&l, key, *keys - 'a' + 1);
				keys++;
			}
			assert_int_equal(0, lines_take(&l, &json));
		}
		assert_int_equal('\0', *keys);
		assert_int_equal(0, l.used);
		lines_free(&l);
	}
}

static void what_is_no_object_is_refused_and_the_next_line_is_read(void **state)
{
	static const char *const wrong[] = {"\n", "[1]\n", "1\n", "null\n", "{\"a\": }\n",
		"{\"a\": 1\n", "{\"a\": 1} {\"b\": 2}\n", "{\"a\": 1}x\n", "x\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct json_object *json = NULL;
		struct lines l = {0};

		append(&l, wrong[i]);
		append(&l, "{\"after\": 9}\n");
		assert_int_equal(-EPROTO, lines_take(&l, &json));
		assert_null(json);
		takes(&l, "after", 9);
		lines_free(&l);
	}
}

static void nul_within_a_line_is_refused(void **state)
{
	struct json_object *json = NULL;
	struct lines l = {0};

	(void)state;
	assert_int_equal(0, lines_append(&l, "{\"a\": 1}\0{\"b\": 2}\n", 18, 1000));
	assert_int_equal(-EPROTO, lines_take(&l, &json));
	lines_free(&l);
}

/* The parser recurses: who sends a million brackets must not have our stack. */
static void deep_nesting_is_refused(void **state)
{
	struct json_object *json = NULL;
	struct lines l = {0};

	(void)state;
	append(&l, "{\"a\": ");
	for (unsigned i = 0; i < 500000; i++)
		append(&l, "[");
	append(&l, "\n");
	assert_int_equal(-EPROTO, lines_take(&l, &json));
	lines_free(&l);
}

static void line_without_end_is_refused_at_the_limit(void **state)
{
	char *text = malloc(CONTROL_LINE_MAX);
	struct json_object *json = NULL;
	struct lines l = {0};

	(void)state;
	memset(text, ' ', CONTROL_LINE_MAX);
	assert_int_equal(0, lines_append(&l, text, CONTROL_LINE_MAX - 1, CONTROL_LINE_MAX));
	assert_int_equal(0, lines_take(&l, &json));
	assert_int_equal(-EMSGSIZE, lines_append(&l, text, 2, CONTROL_LINE_MAX));
	assert_int_equal(0, lines_append(&l, text, 1, CONTROL_LINE_MAX));
	assert_int_equal(-EMSGSIZE, lines_take(&l, &json));
	assert_int_equal(-EMSGSIZE, lines_append(&l, text, SIZE_MAX, CONTROL_LINE_MAX));
	lines_free(&l);
	free(text);
}

static void no_memory_leaves_what_was_there(void **state)
{
	struct lines l = {0};
	char text[5000];

	(void)state;
	memset(text, ' ', sizeof(text));
	append(&l, "{\"a\": 1}");
	alloc_fail_nth(1);
	assert_int_equal(-ENOMEM, lines_append(&l, text, sizeof(text), 1 << 20));
	alloc_fail_nth(0);
	append(&l, "\n");
	takes(&l, "a", 1);
	lines_free(&l);
	assert_null(l.data);
	assert_int_equal(0, alloc_live());
}

static void text_has_neither_spaces_nor_escaped_slashes(void **state)
{
	struct json_object *json = json_object_new_object();
	size_t length;

	(void)state;
	assert_true(lines_put(json, "path", json_object_new_string("/run/a\nb")));
	assert_false(lines_put(json, "none", NULL));
	assert_string_equal("{\"path\":\"/run/a\\nb\"}", lines_print(json, &length));
	assert_int_equal(20, length);
	json_object_put(json);
}

/* unix(7): sun_path holds 108 bytes with its NUL. */
static void address_of_a_path(void **state)
{
	struct sockaddr_un a;
	char path[120];

	(void)state;
	assert_int_equal(0, control_address("/run/x", &a));
	assert_int_equal(AF_UNIX, a.sun_family);
	assert_string_equal("/run/x", a.sun_path);
	memset(path, 'x', sizeof(path));
	path[107] = '\0';
	assert_int_equal(0, control_address(path, &a));
	assert_string_equal(path, a.sun_path);
	path[107] = 'x';
	path[108] = '\0';
	assert_int_equal(-ENAMETOOLONG, control_address(path, &a));
	/* An empty one would be bound to a name of the kernel's choice. */
	assert_int_equal(-ENAMETOOLONG, control_address("", &a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_out_in_order_however_the_bytes_came),
		cmocka_unit_test(what_is_no_object_is_refused_and_the_next_line_is_read),
		cmocka_unit_test(nul_within_a_line_is_refused),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(line_without_end_is_refused_at_the_limit),
		cmocka_unit_test(no_memory_leaves_what_was_there),
		cmocka_unit_test(text_has_neither_spaces_nor_escaped_slashes),
		cmocka_unit_test(address_of_a_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

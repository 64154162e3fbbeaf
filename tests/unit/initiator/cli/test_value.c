/* Values that need not stand on the command line. */
#include "tests/unit/initiator/cli/cli_kit.h"

#include <unistd.h>

#include "initiator/cli/value.c"

static char path[64] = "/tmp/test-value-XXXXXX";

static const char *file_with(const char *text)
{
	static char word[80];
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	snprintf(word, sizeof(word), "@%s", path);
	return word;
}

static int take_caught(const char *word, char out[32], char message[256])
{
	struct caught c;
	int status;

	catch_output(&c);
	status = take_value(word, out, 32);
	release_output(&c);
	snprintf(message, 256, "%s", c.text[1]);
	free_output(&c);
	return status;
}

static void plain_word_is_the_value(void **state)
{
	char out[32], message[256];

	(void)state;
	assert_int_equal(STATUS_OK, take_caught("CHAP", out, message));
	assert_string_equal("CHAP", out);
}

static void file_gives_its_first_line(void **state)
{
	char out[32], message[256];

	(void)state;
	assert_int_equal(STATUS_OK, take_caught(file_with("secret 12\nrest\n"), out, message));
	assert_string_equal("secret 12", out);
	assert_int_equal(STATUS_OK, take_caught(file_with("no newline"), out, message));
	assert_string_equal("no newline", out);
}

static void dash_is_standard_input(void **state)
{
	char out[32], message[256], text[] = "from stdin\n";
	FILE *was = stdin;

	(void)state;
	stdin = fmemopen(text, sizeof(text) - 1, "r");
	assert_int_equal(STATUS_OK, take_caught("-", out, message));
	fclose(stdin);
	stdin = was;
	assert_string_equal("from stdin", out);
}

static void file_that_is_not_there_empty_or_too_long_is_told(void **state)
{
	char out[32], message[256];

	(void)state;
	assert_int_equal(STATUS_USAGE, take_caught("@/no/such/file", out, message));
	assert_string_equal("iseradm: /no/such/file: No such file or directory\n", message);
	assert_int_equal(STATUS_USAGE, take_caught(file_with(""), out, message));
	assert_non_null(strstr(message, "there is no line in it"));
	assert_int_equal(STATUS_USAGE,
		take_caught(file_with("0123456789012345678901234567890123\n"), out, message));
	assert_non_null(strstr(message, "longer than any value"));
	assert_null(strstr(message, "0123"));
}

static int setup(void **state)
{
	(void)state;
	close(mkstemp(path));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_word_is_the_value),
		cmocka_unit_test(file_gives_its_first_line),
		cmocka_unit_test(dash_is_standard_input),
		cmocka_unit_test(file_that_is_not_there_empty_or_too_long_is_told),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

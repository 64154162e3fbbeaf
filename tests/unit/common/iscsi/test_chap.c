/* common/iscsi/chap.c. The digests are Python's:
 *     hashlib.new(name, bytes([0x2a]) + b'correct horse battery' + bytes(range(n))).hexdigest() */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/iscsi/chap.h"
#include "common/iscsi/login.h"

static const struct {
	unsigned algorithm;
	size_t size;
	const char *hex, *base64;
} vectors[] = {
	{CHAP_MD5, 16, "0x7efffe0f324cdaeb9442b9216e36d904", "0bfv/+DzJM2uuUQrkhbjbZBA=="},
	{CHAP_SHA1, 20, "0x1e250230131ebc7509a496f3e0de8cda749d45c3",
		"0BHiUCMBMevHUJpJbz4N6M2nSdRcM="},
	{CHAP_SHA256, 32, "0xc05343f6026f241c8949243ff78f6d24e30a9fd41140f28f01488b64e86366a8",
		"0bwFND9gJvJByJSSQ/949tJOMKn9QRQPKPAUiLZOhjZqg="},
	{CHAP_SHA3_256, 32, "0X28BA6ab7bf9c57558206b8c1b625144e1bbd4541f8ba6a75edac01906f403db6",
		"0bKLpqt7+cV1WCBrjBtiUUThu9RUH4ump17awBkG9APbY="},
};

static void every_algorithm_gives_what_python_gives(void **state)
{
	uint8_t challenge[32], expected[CHAP_DIGEST_MAX], got[CHAP_DIGEST_MAX];
	size_t length;

	(void)state;
	for (uint8_t i = 0; i < sizeof(challenge); i++)
		challenge[i] = i;
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		assert_int_equal(chap_digest_size(vectors[i].algorithm), vectors[i].size);
		assert_int_equal(chap_digest(vectors[i].algorithm, 0x2a, "correct horse battery",
					 challenge, vectors[i].size, got),
			0);
		assert_int_equal(
			chap_decode(vectors[i].hex, expected, sizeof(expected), &length), 0);
		assert_int_equal(length, vectors[i].size);
		assert_memory_equal(got, expected, length);
		assert_int_equal(
			chap_decode(vectors[i].base64, expected, sizeof(expected), &length), 0);
		assert_int_equal(length, vectors[i].size);
		assert_memory_equal(got, expected, length);
	}
	assert_int_equal(chap_digest_size(4), 0);
	assert_int_equal(chap_digest(4, 0, "x", challenge, 1, got), -ENOTSUP);
}

static void malformed_binary_values_are_refused(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
		{"", -EPROTO},
		{"0", -EPROTO},
		{"0x", -EPROTO},
		{"0b", -EPROTO},
		{"0x1", -EPROTO},
		{"0x1g", -EPROTO},
		{"x12", -EPROTO},
		{"1234", -EPROTO},
		{"0bAAA", -EPROTO},
		{"0bA===", -EPROTO},
		{"0b====", -EPROTO},
		{"0bAA=A", -EPROTO},
		{"0bAA A", -EPROTO},
		{"0x0102030405", -EMSGSIZE},
		{"0bAAECAwQ=", -EMSGSIZE},
	};
	uint8_t value[4];
	size_t length = 99;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			chap_decode(cases[i].text, value, sizeof(value), &length), cases[i].rc);
	assert_int_equal(length, 99);
	assert_int_equal(chap_decode("0bAAECAw==", value, sizeof(value), &length), 0);
	assert_int_equal(length, 4);
	assert_memory_equal(value, "\0\1\2\3", 4);
	assert_int_equal(chap_decode("0b+//+", value, sizeof(value), &length), 0);
	assert_memory_equal(value, "\xfb\xff\xfe", 3);
}

static void values_are_written_in_hexadecimal(void **state)
{
	static const uint8_t value[] = {0x00, 0x7f, 0xff};
	uint8_t room[32];
	struct bytes_writer w = bytes_writer(room, 15);

	(void)state;
	assert_int_equal(chap_put(&w, "CHAP_R", value, 3), -ENOSPC);
	assert_int_equal(w.used, 0);
	w = bytes_writer(room, 16);
	assert_int_equal(chap_put(&w, "CHAP_R", value, 3), 0);
	assert_int_equal(w.used, 16);
	assert_string_equal((char *)room, "CHAP_R=0x007fff");
}

static void the_first_algorithm_in_common_is_chosen(void **state)
{
	static const uint8_t ours[] = {7, 8, 6, 5, 0}, old[] = {5, 0};
	char list[16];

	(void)state;
	assert_int_equal(chap_choose("5,7", ours), 5);
	assert_int_equal(chap_choose("7,5", old), 5);
	assert_int_equal(chap_choose("4,9,6", ours), 6);
	assert_int_equal(chap_choose("6", old), 0);
	assert_int_equal(chap_choose("", ours), 0);
	assert_int_equal(chap_choose("x,5", ours), 0);
	assert_int_equal(chap_choose("0,5", old), 5);
	chap_list(ours, list);
	assert_string_equal(list, "7,8,6,5");
	chap_list(old, list);
	assert_string_equal(list, "5");
}

static void names_are_compared_whole(void **state)
{
	char longer[300];

	(void)state;
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_true(chap_same_text("joe", "joe"));
	assert_false(chap_same_text("joe", "joey"));
	assert_false(chap_same_text("joe", ""));
	assert_false(chap_same_text(longer, longer));
}

static void challenges_differ(void **state)
{
	uint8_t a[32], b[32], id;

	(void)state;
	assert_int_equal(chap_challenge(&id, a, sizeof(a)), 0);
	assert_int_equal(chap_challenge(&id, b, sizeof(b)), 0);
	assert_false(chap_same(a, b, sizeof(a)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_algorithm_gives_what_python_gives),
		cmocka_unit_test(malformed_binary_values_are_refused),
		cmocka_unit_test(values_are_written_in_hexadecimal),
		cmocka_unit_test(the_first_algorithm_in_common_is_chosen),
		cmocka_unit_test(names_are_compared_whole),
		cmocka_unit_test(challenges_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

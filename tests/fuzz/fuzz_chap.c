/* Values of CHAP (common/iscsi/chap.c): binary values in hexadecimal and base64, algorithm lists.
 * Input: the limit (2), then one value. */
#include "common/iscsi/chap.h"
#include "common/iscsi/login.h"
#include "tests/fuzz/fuzz.h"

static void try_binary(const char *text, size_t limit)
{
	uint8_t *value = malloc(limit), again[CHAP_CHALLENGE_MAX];
	char out[2 * CHAP_CHALLENGE_MAX + 16];
	struct bytes_writer w = bytes_writer(out, sizeof(out));
	size_t length = 0, length_again = 0;

	if (chap_decode(text, value, limit, &length) == 0) {
		FUZZ_CHECK(length >= 1 && length <= limit);
		FUZZ_CHECK(chap_put(&w, "C", value, length) == 0);
		FUZZ_CHECK(!memcmp(out, "C=0x", 4) && w.used == 4 + 2 * length + 1);
		FUZZ_CHECK(chap_decode(out + 2, again, sizeof(again), &length_again) == 0);
		FUZZ_CHECK(length == length_again && chap_same(value, again, length));
	} else {
		FUZZ_CHECK(length == 0);
	}
	free(value);
}

static void try_list(const char *text)
{
	static const uint8_t all[] = {7, 8, 6, 5, 0}, one[] = {5, 0};
	unsigned chosen = chap_choose(text, all);

	FUZZ_CHECK(chosen == 0 || chap_digest_size(chosen) > 0);
	chosen = chap_choose(text, one);
	FUZZ_CHECK(chosen == 0 || chosen == CHAP_MD5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	size_t limit = 1 + fuzz_u16(&in) % CHAP_CHALLENGE_MAX;
	char *text = (char *)fuzz_copy(in.at, in.left, true);

	try_binary(text, limit);
	try_list(text);
	if (strlen(text) <= LOGIN_CHAP_SECRET_MAX)
		FUZZ_CHECK(chap_same_text(text, text));
	free(text);
	return 0;
}

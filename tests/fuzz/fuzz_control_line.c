/* Lines of the control socket (common/control/lines.c): bounded JSON lines in pieces.
 * Input: seed of the cuts, limit in units of 16 bytes, then the bytes. */
#include "common/control/control.h"
#include "common/control/lines.h"
#include "tests/fuzz/fuzz.h"

static void check_object(struct json_object *o)
{
	size_t length = 0;
	const char *text;

	FUZZ_CHECK(json_object_is_type(o, json_type_object));
	text = lines_print(o, &length);
	FUZZ_CHECK(text && length == strlen(text) && !memchr(text, '\n', length));
	json_object_put(o);
}

/* False: the client is closed. */
static bool take_all(struct lines *l)
{
	struct json_object *o = NULL;
	int r;

	while ((r = lines_take(l, &o)) > 0)
		check_object(o);
	return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	struct fuzz_cut cut = fuzz_cut(fuzz_u8(&in));
	size_t limit = 16 + 16u * fuzz_u8(&in);
	struct lines l = {0};

	while (in.left) {
		const uint8_t *bytes;
		size_t n = fuzz_take(&in, fuzz_piece(&cut, in.left), &bytes);

		if (lines_append(&l, bytes, n, limit) < 0)
			break;
		FUZZ_CHECK(l.used <= limit && l.used <= l.size);
		if (!take_all(&l))
			break;
	}
	lines_free(&l);
	FUZZ_CHECK(alloc_live() == 0);
	return 0;
}

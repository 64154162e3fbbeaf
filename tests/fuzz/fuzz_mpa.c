/* MPA request and reply frames (common/iwarp/mpa.c; RFC 5044, RFC 6581).
 * Input: flags, our IRD and ORD (1 each), then what came. */
#include "common/iwarp/mpa.h"
#include "tests/fuzz/fuzz.h"

static void check_frame(const struct mpa_frame *f, const uint8_t *bytes, size_t length)
{
	uint8_t out[MPA_FRAME_MAX];
	struct mpa_frame again;
	int n;

	FUZZ_CHECK(f->private_length == 0 ||
		   (f->private_data >= bytes &&
			   f->private_data + f->private_length == bytes + length));
	n = mpa_frame_encode(f, out, sizeof(out));
	if (n < 0)
		return;
	FUZZ_CHECK(mpa_frame_length(out, f->kind) == n);
	FUZZ_CHECK(mpa_frame_decode(out, (size_t)n, f->kind, &again) == 0);
	FUZZ_CHECK(again.private_length == f->private_length && again.enhanced == f->enhanced);
	FUZZ_CHECK(again.crc == f->crc && again.markers == f->markers && again.reject == f->reject);
}

static void try_agree(const struct mpa_frame *f, const struct mpa_wish *wish)
{
	struct mpa_agreement a = {0};
	struct mpa_frame reply;
	uint8_t out[MPA_FRAME_MAX];

	if (f->kind == MPA_REQUEST) {
		int r = mpa_answer(f, wish, &reply, &a);

		FUZZ_CHECK(r == 0 || reply.reject);
		FUZZ_CHECK(mpa_frame_encode(&reply, out, sizeof(out)) > 0);
		if (r)
			return;
	} else if (mpa_conclude(wish, f, &a)) {
		return;
	}
	FUZZ_CHECK(a.reads_in <= MPA_READS_MAX && a.reads_out <= MPA_READS_MAX);
}

static void try_kind(
	const uint8_t *bytes, size_t length, enum mpa_kind kind, const struct mpa_wish *wish)
{
	struct mpa_frame f;
	int whole;

	if (length >= MPA_FIXED_SIZE) {
		whole = mpa_frame_length(bytes, kind);
		FUZZ_CHECK(whole < 0 || whole <= MPA_FRAME_MAX);
		if (whole > 0 && (size_t)whole < length)
			length = (size_t)whole;
	}
	if (mpa_frame_decode(bytes, length, kind, &f) < 0)
		return;
	check_frame(&f, bytes, length);
	try_agree(&f, wish);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);
	struct mpa_wish wish = {.crc = fuzz_u8(&in) & 1};
	uint8_t *bytes;
	int match;

	wish.reads_in = fuzz_u8(&in) % (MPA_READS_MAX + 1);
	wish.reads_out = fuzz_u8(&in) % (MPA_READS_MAX + 1);
	bytes = fuzz_copy(in.at, in.left, false);
	match = mpa_key_match(bytes, in.left);
	FUZZ_CHECK(match >= 0 && match <= 2);
	try_kind(bytes, in.left, MPA_REQUEST, &wish);
	try_kind(bytes, in.left, MPA_REPLY, &wish);
	free(bytes);
	return 0;
}
